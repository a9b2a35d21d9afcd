"""The encoders by name, and what has to be installed for each."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, replace

from evaluation.encoders import _colour_texture, _efficientnet
from evaluation.encoders._protocol import Encoder, EncoderError, EncoderInfo

DEFAULT_ENCODER = _colour_texture.INFO.name


@dataclass(frozen=True)
class _Entry:
    info: EncoderInfo
    requires: tuple[str, ...]
    build: Callable[[], Encoder]


_ENTRIES = {
    entry.info.name: entry
    for entry in (
        _Entry(_colour_texture.INFO, (), _colour_texture.ColourTexture),
        _Entry(_efficientnet.INFO, _efficientnet.REQUIRES, _efficientnet.EfficientNetLite0),
    )
}


def list_encoders() -> tuple[EncoderInfo, ...]:
    """Return all encoders that this version knows, with what is missing for each here."""
    return tuple(
        replace(
            entry.info,
            missing=tuple(name for name in entry.requires if importlib.util.find_spec(name) is None),
        )
        for entry in _ENTRIES.values()
    )


def get_encoder(name: str) -> Encoder:
    """Return an encoder, ready to use.

    Raises:
        EncoderError: the name is unknown, packages are missing, or its weights are not the published ones.
    """
    entry = _ENTRIES.get(name)
    if entry is None:
        raise EncoderError(f"there is no encoder {name!r}: choose one of {', '.join(sorted(_ENTRIES))}")
    info = next(info for info in list_encoders() if info.name == name)
    if info.missing:
        raise EncoderError(
            f"the encoder {name!r} needs {', '.join(info.missing)}: pip install -e '.[{info.extra}]' in the checkout"
        )
    return entry.build()
