"""Settings of a workspace: defaults, then its settings.toml, then environment variables, then flags."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from pipeline.errors import InputError
from pipeline.permissions import Role

ENVIRONMENT_PREFIX = "HISTOCURATOR_"
SETTINGS_FILE = "settings.toml"


class Settings(BaseSettings):
    """Every setting with its default. An environment variable is HISTOCURATOR_ and the name in capitals; an empty one
    counts as unset.

    Keys and secrets are no settings: model providers read theirs from their own environment variables, and
    they are never stored, logged or shown.
    """

    model_config = SettingsConfigDict(env_prefix=ENVIRONMENT_PREFIX, env_ignore_empty=True, extra="forbid")

    database_url: str | None = Field(default=None, min_length=1)
    """SQLAlchemy URL that replaces the workspace's SQLite file."""
    species: str = "rat"
    stain: str = "H&E"
    audience: str = "veterinary pathology students and residents"
    generator: str = "offline/author"
    checker: str = "offline/test-wise"
    judge: str = "offline/synonyms"
    prompts: Path | None = None
    """Folder whose prompt files replace those that ship with the program."""
    encoder: str = "colour-texture"
    encoder_checkpoints: dict[str, Path] = {}
    """Encoder → file of its weights on this machine."""
    encoder_downloads: bool = False
    """Whether weights that are not on this machine are fetched from the Hugging Face hub."""
    stain_target: Path | None = None
    """An image whose stains are what stain normalisation aims at; the built-in reference where there is none."""
    cluster_jobs: int = Field(default=8, ge=1, le=1024)
    """Most processes of a local Dask cluster, or jobs that SLURM is asked for, to embed slides."""
    model_concurrency: int = Field(default=8, ge=1, le=256)
    max_output_tokens: int = Field(default=4096, ge=64)
    max_image_pixels: int = Field(default=100_000_000, ge=1_000_000)
    """An imported image with more pixels is refused."""
    max_text_length: int = Field(default=4_000, ge=100)
    tile_cache_mb: int = Field(default=128, ge=0, le=65_536)
    """Memory of the server for slides' tiles that were shown lately."""
    max_upload_mb: int = Field(default=200, ge=1)
    slide_folders: list[Path] = []
    """Folders on the server that slides and images may be added from by who is not an administrator."""
    organs_file: Path | None = None
    """JSON file of organ systems and structures that replaces the one that ships."""
    hide_dose_group: bool = False
    """Whether the dose group of slides is kept from those whose role need not know it."""
    control_dose_groups: list[str] = ["control", "vehicle", "vehicle control", "untreated", "0"]
    """Dose groups that count as controls, in any spelling of capitals."""
    public_url: str | None = Field(default=None, pattern=r"^https?://[^/\s]+$")
    """The address people open, such as https://histocurator.example.org, where a proxy stands before the app."""
    trusted_proxies: list[str] = []
    """Addresses of proxies whose X-Forwarded-For is believed."""
    session_idle_minutes: int = Field(default=120, ge=1)
    session_hours: int = Field(default=12, ge=1, le=24 * 30)
    invitation_days: int = Field(default=7, ge=1, le=60)
    oidc_secrets: Path | None = None
    """Streamlit secrets file whose [auth] section describes an OIDC provider; it lies outside the workspace."""
    oidc_name: str = "single sign-on"
    """What the button on the sign-in page calls the provider."""
    oidc_role_claim: str = "groups"
    oidc_roles: dict[str, Role] = {}
    """Value of the claim → role."""
    keep_sessions_days: int = Field(default=90, ge=1)
    keep_invitations_days: int = Field(default=90, ge=1)
    keep_drafts_days: int = Field(default=180, ge=1)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file = cls.model_config.get("toml_file")
        if file is None:
            return (init_settings, env_settings)
        return (init_settings, env_settings, TomlConfigSettingsSource(settings_cls))

    @classmethod
    def load(cls, workspace: Path, **flags: Any) -> Self:
        """Read the settings of a workspace; flags that are None do not count.

        Raises:
            InputError: the file is no TOML, or a setting is unknown or has a wrong value.
        """
        file = workspace / SETTINGS_FILE

        class _Here(cls):  # type: ignore[misc, valid-type]
            model_config = SettingsConfigDict(
                env_prefix=ENVIRONMENT_PREFIX,
                env_ignore_empty=True,
                extra="forbid",
                toml_file=file if file.is_file() else None,
            )

        given = {name: value for name, value in flags.items() if value is not None}
        try:
            loaded: Self = _Here(**given)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(f"{file} is not valid TOML: {error}") from None
        except ValidationError as error:
            problems = [
                _in_words(".".join(map(str, fault["loc"])), fault["type"], fault["msg"], fault.get("input"))
                for fault in error.errors()
            ]
            raise InputError(
                f"Settings are wrong (in {file} or in the environment); nothing was changed:", problems
            ) from None
        return loaded


def _in_words(name: str, kind: str, message: str, value: object) -> str:
    if kind == "extra_forbidden":
        return f"{name} is no setting (known: {', '.join(sorted(Settings.model_fields))})"
    return f"{name}: {message} (value {value!r})"
