"""Weights from a checkpoint file into a network: known by their content, refused where they are another network's."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluation.encoders._entries import EncoderEntry
from evaluation.encoders._network import build_network
from evaluation.encoders._protocol import EncoderError

_WRAPPERS = ("state_dict", "model", "teacher")
"""Keys under which training programs store what they trained."""

_PREFIXES = ("module.", "backbone.", "encoder.")
_OF_TRAINING = (
    "mask_token",
    "embeddings.mask_token",
    "dino_head.",
    "ibot_head.",
    "head.",
    "fc.",
    "pooler.",
    "classifier.",
)
"""What a checkpoint may hold beyond the encoder: heads and tokens that only training uses."""

_NAMED = 5
"""So many names of tensors stand in a message."""


def load_checkpoint(entry: EncoderEntry, path: Path) -> tuple[Any, EncoderEntry, str]:
    """Return an entry's network with the weights of a file, the entry with all facts, and the file's SHA-256.

    Raises:
        EncoderError: the file cannot be read, or its tensors are not those of the network; the message names them.
    """
    if not path.is_file():
        raise EncoderError(f"the checkpoint of {entry.name}, {path}, is no file on this machine")
    if entry.build is None:
        entry = entry.with_facts(path.with_suffix(".json"))
    digest = _sha256(path, path.stat().st_mtime_ns, path.stat().st_size)
    stored = _plain_names(_read(path))
    entry = _with_grid_of(entry, stored)
    network = build_network(entry)
    wanted = network.state_dict()
    stored = _with_positions_of(
        network, {name: value for name, value in stored.items() if name in wanted or not name.startswith(_OF_TRAINING)}
    )
    # Training's own token is part of transformers' networks, used by none of their encoders, and often not stored.
    missing = [name for name in wanted if name not in stored and not name.endswith("mask_token")]
    foreign = [name for name in stored if name not in wanted]
    shapes = [
        f"{name} {tuple(stored[name].shape)} for {tuple(wanted[name].shape)}"
        for name in wanted
        if name in stored and stored[name].shape != wanted[name].shape
    ]
    faults = [
        f"{what} {', '.join(names[:_NAMED])}{f' and {len(names) - _NAMED} more' if len(names) > _NAMED else ''}"
        for what, names in (("without", missing), ("beyond it", foreign), ("of another shape", shapes))
        if names
    ]
    if faults:
        raise EncoderError(f"{path} does not hold the weights of {entry.name}: {'; '.join(faults)}")
    network.load_state_dict(stored, strict=False)
    return network, entry, digest


def fetch_checkpoint(entry: EncoderEntry) -> Path:
    """Return an entry's checkpoint from the Hugging Face hub, fetched unless it is in the hub's cache.

    Raises:
        EncoderError: it is not on the hub, has to be asked for, or cannot be fetched.
    """
    weights = entry.weights
    if weights.hub is None or weights.file is None:
        raise EncoderError(f"the weights of {entry.name} are on no hub: name their file (setting encoder_checkpoints)")
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(weights.hub, weights.file))
    except GatedRepoError:
        raise EncoderError(
            f"the weights of {entry.name} have to be asked for: do so at {weights.ask}, then log in with "
            "'hf auth login' or set HF_TOKEN"
        ) from None
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise EncoderError(f"{weights.hub} cannot be fetched from the Hugging Face hub: {error}") from None


@functools.lru_cache(maxsize=8)
def _sha256(path: Path, _changed: int, _size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(path: Path) -> Mapping[str, Any]:
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return dict(load_file(path))
        import torch

        stored = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of pickle, zip, safetensors or torch: all say that this is no checkpoint
        raise EncoderError(f"{path} cannot be read as a checkpoint: {str(error).splitlines()[0]}") from None
    while isinstance(stored, Mapping) and (inner := next((key for key in _WRAPPERS if key in stored), None)):
        stored = stored[inner]
    if not isinstance(stored, Mapping) or not stored or not all(hasattr(value, "shape") for value in stored.values()):
        raise EncoderError(f"{path} holds no named tensors: it is no checkpoint of an encoder")
    return stored


def _plain_names(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Take away what training programs put before names, and the number of the chunk that DINOv2's blocks lie in."""
    names = list(stored)
    for prefix in _PREFIXES:
        own = [name for name in names if not name.startswith(("dino_head.", "ibot_head."))]
        if own and all(name.startswith(prefix) for name in own):
            stored = {name.removeprefix(prefix): value for name, value in stored.items()}
            names = list(stored)
    return {re.sub(r"^blocks\.\d+\.(\d+)\.", r"blocks.\1.", name): value for name, value in stored.items()}


def _with_grid_of(entry: EncoderEntry, stored: Mapping[str, Any]) -> EncoderEntry:
    """Return the entry with the grid that a transformers checkpoint's positions have; they are resampled in use."""
    positions = stored.get("embeddings.position_embeddings")
    if entry.build is None or entry.build.library != "transformers" or positions is None or positions.ndim != 3:
        return entry
    side = round((positions.shape[1] - 1) ** 0.5)
    arguments = {**entry.build.arguments, "image_size": side * int(entry.build.arguments["patch_size"])}
    return entry.model_copy(update={"build": entry.build.model_copy(update={"arguments": arguments})})


def _with_positions_of(network: Any, stored: dict[str, Any]) -> dict[str, Any]:
    """Return the tensors with timm's position embedding resampled where the network has another grid."""
    name = "trunk.pos_embed" if "trunk.pos_embed" in stored else "pos_embed"
    trunk = getattr(network, "trunk", network)
    own = getattr(trunk, "pos_embed", None)
    if own is None or name not in stored or stored[name].shape == own.shape or stored[name].shape[-1] != own.shape[-1]:
        return stored
    from timm.layers import resample_abs_pos_embed

    prefix = 0 if trunk.no_embed_class else trunk.num_prefix_tokens
    grid = trunk.patch_embed.grid_size
    return {**stored, name: resample_abs_pos_embed(stored[name], list(grid), num_prefix_tokens=prefix)}
