"""The registry of encoders: what is known of each from its published card (assets/encoders.json)."""

from __future__ import annotations

import functools
import json
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from evaluation.encoders._protocol import EncoderError

Triple = tuple[float, float, float]
Pooling = Literal["class", "mean", "class+mean", "own"]

LOCAL_FACTS = ("architecture", "arguments", "input_size", "mean", "std", "dimension")
"""What the JSON file beside a checkpoint says of an encoder whose network nobody has published."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Build(_Frozen):
    """How the network is built: the library's name of the architecture, and what deviates from its defaults."""

    library: Literal["built-in", "timm", "transformers", "conch"]
    architecture: str
    arguments: dict[str, Any] = {}


class Weights(_Frozen):
    """Where weights come from: repository and file on the Hugging Face hub, or a package; `ask` is the page to ask."""

    hub: str | None
    file: str | None
    package: str | None
    ask: str | None


class EncoderEntry(_Frozen):
    """One encoder. What is not surely known is None or empty, and `unknown` names it.

    `input_size` is the side in pixels, `mpp` the micrometres per pixel that it was trained at, `mean` and `std` belong
    to values of 0 to 1, `grid` is the side of the token grid, `dimension` the length of a vector after `pooling`.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")
    version: str
    description: str
    licence: str | None
    gated: bool | None
    input_size: int | None
    mpp: tuple[float, ...]
    mean: Triple | None
    std: Triple | None
    dimension: int | None
    grid: int | None
    class_token: bool | None
    pooling: Pooling
    build: Build | None
    weights: Weights
    source: tuple[str, ...]
    unknown: tuple[str, ...]
    extra: Literal["gpu"] | None

    @model_validator(mode="after")
    def _says_what_is_unknown(self) -> Self:
        for value, what in ((self.licence, "licence"), (self.gated, "gated"), (self.dimension, "dimension")):
            if value is None and what not in self.unknown:
                raise ValueError(f"{self.name}: {what} is not given and not named among what is unknown")
        return self

    @property
    def built_in(self) -> bool:
        """Whether the program itself brings network and weights."""
        return self.build is not None and self.build.library == "built-in"

    def with_facts(self, file: Path) -> EncoderEntry:
        """Return the entry with what the JSON file beside a checkpoint says.

        Raises:
            EncoderError: there is none, or it lacks something.
        """
        wanted = f"a JSON object with {', '.join(LOCAL_FACTS)} (the network as timm builds it)"
        try:
            said = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise EncoderError(
                f"the network of {self.name} is not published: {file} must describe it, {wanted}"
            ) from None
        except (OSError, ValueError) as error:
            raise EncoderError(f"{file} cannot be read ({error}); it must be {wanted}") from None
        if not isinstance(said, dict) or sorted(said) != sorted(LOCAL_FACTS):
            raise EncoderError(f"{file} must be {wanted}, no more and no less")
        build = {"library": "timm", "architecture": said.pop("architecture"), "arguments": said.pop("arguments")}
        try:
            return EncoderEntry.model_validate({**self.model_dump(), **said, "build": build})
        except ValidationError as error:
            fault = error.errors()[0]
            raise EncoderError(f"{file}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from None


@functools.cache
def encoder_entries() -> dict[str, EncoderEntry]:
    """Return all entries by name, in the order of the file."""
    text = resources.files("assets").joinpath("encoders.json").read_text(encoding="utf-8")
    return {entry.name: entry for entry in map(EncoderEntry.model_validate, json.loads(text))}
