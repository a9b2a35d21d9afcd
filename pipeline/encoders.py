"""The encoders of a workspace: the registry's, with the checkpoints that its settings name."""

from __future__ import annotations

from evaluation.encoders import Encoder, EncoderInfo, get_encoder, list_encoders
from pipeline.workspace import Workspace


def load_encoder(workspace: Workspace, name: str) -> Encoder:  # noqa: ARG001
    """Return an encoder, ready to use.

    Raises:
        EncoderError: the name is unknown, packages or weights are missing.
    """
    return get_encoder(name)


def known_encoders(workspace: Workspace) -> tuple[EncoderInfo, ...]:  # noqa: ARG001
    """Return all encoders, with what is missing for each here."""
    return list_encoders()
