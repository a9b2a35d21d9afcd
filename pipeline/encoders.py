"""The encoders of a workspace: the registry's, with the checkpoints that its settings name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evaluation.encoders import (
    NEVER_LOADED,
    Encoder,
    EncoderEntry,
    get_encoder,
    list_encoders,
    missing_packages,
    weights_here,
)
from pipeline.workspace import Workspace


@dataclass(frozen=True)
class KnownEncoder:
    """An encoder as people choose it: `missing` are packages that are not installed, `weights` where they are."""

    entry: EncoderEntry
    missing: tuple[str, ...]
    weights: str

    @property
    def name(self) -> str:
        """The name by which it is asked for."""
        return self.entry.name

    @property
    def description(self) -> str:
        """One sentence for people."""
        return self.entry.description

    @property
    def available(self) -> bool:
        """Whether `load_encoder` can work here."""
        return not self.missing and self.weights != NEVER_LOADED


def load_encoder(workspace: Workspace, name: str, *, checkpoint: Path | None = None) -> Encoder:
    """Return an encoder, ready to use, with the checkpoint given or named in the settings.

    Raises:
        EncoderError: the name is unknown, packages or weights are missing, or the weights are another network's.
    """
    settings = workspace.settings
    return get_encoder(
        name, checkpoint=checkpoint or settings.encoder_checkpoints.get(name), downloads=settings.encoder_downloads
    )


def known_encoders(workspace: Workspace) -> tuple[KnownEncoder, ...]:
    """Return all encoders, with what is missing for each here."""
    settings = workspace.settings
    return tuple(
        KnownEncoder(
            entry,
            missing_packages(entry),
            weights_here(entry, settings.encoder_checkpoints.get(entry.name), downloads=settings.encoder_downloads),
        )
        for entry in list_encoders()
    )
