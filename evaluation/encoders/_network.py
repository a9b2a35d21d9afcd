"""Encoders whose network timm or transformers builds and whose weights come from a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from evaluation.encoders._conch import build_conch
from evaluation.encoders._entries import Build, EncoderEntry
from evaluation.encoders._protocol import EncodedTokens, EncoderError, check_images

_BATCH = 32


class NetworkEncoder:
    """A registry entry with its weights; on the first GPU if there is one, else on the CPU, always in float32."""

    def __init__(self, entry: EncoderEntry, network: Any, *, version: str, weights: str) -> None:
        import torch

        if entry.input_size is None or entry.dimension is None or entry.mean is None or entry.std is None:
            raise EncoderError(f"{entry.name}: input size, normalisation and dimension must be known")
        self.name, self.version, self.weights = entry.name, version, weights
        self.dimension, self.input_size = entry.dimension, entry.input_size
        self.description, self.licence = entry.description, entry.licence or "not known"
        self._entry = entry
        self._mean = np.array(entry.mean, dtype=np.float32)
        self._std = np.array(entry.std, dtype=np.float32)
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._network = network.eval().to(self._device)

    def encode(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Return float32 (n, dimension); each image is resampled to the input size first, whatever its shape.

        Raises:
            EncoderError: an entry is no RGB uint8 image.
        """
        check_images(images)
        rows = np.empty((len(images), self.dimension), dtype=np.float32)
        for start, raw in self._run(images):
            pooled = pool(self._entry, self._network, raw)
            rows[start : start + len(pooled)] = pooled.float().cpu().numpy()
        return rows

    def tokens(self, images: Sequence[NDArray[np.uint8]]) -> EncodedTokens:
        """Return class token and token grid; a convolutional network's last feature map is its grid.

        Raises:
            EncoderError: an entry is no RGB uint8 image.
        """
        check_images(images)
        found = [split(self._network, raw) for _, raw in self._run(images)]
        if not found:
            raise EncoderError("there is no image to encode")
        class_tokens = [class_token.float().cpu().numpy() for class_token, _ in found if class_token is not None]
        grid = np.concatenate([grid.float().cpu().numpy() for _, grid in found])
        return EncodedTokens(np.concatenate(class_tokens) if class_tokens else None, grid)

    def _run(self, images: Sequence[NDArray[np.uint8]]) -> Iterator[tuple[int, Any]]:
        import torch

        for start in range(0, len(images), _BATCH):
            pixels = np.stack([self._prepare(image) for image in images[start : start + _BATCH]])
            with torch.inference_mode():
                yield start, raw_features(self._entry, self._network, torch.from_numpy(pixels).to(self._device))

    def _prepare(self, image: NDArray[np.uint8]) -> NDArray[np.float32]:
        side = (self.input_size, self.input_size)
        picture = Image.fromarray(image)
        resized = picture if picture.size == side else picture.resize(side, Image.Resampling.BICUBIC)
        scaled = (np.asarray(resized, dtype=np.float32) / np.float32(255) - self._mean) / self._std
        return np.ascontiguousarray(scaled.transpose(2, 0, 1))


def build_network(entry: EncoderEntry) -> Any:
    """Return an entry's network without weights.

    Raises:
        EncoderError: this timm or transformers does not know the architecture.
    """
    build = entry.build
    if build is None or entry.input_size is None:
        raise EncoderError(f"the network of {entry.name} is not published: it comes from a local checkpoint only")
    try:
        if build.library == "conch":
            return build_conch(entry.input_size)
        return _build_timm(build) if build.library == "timm" else _build_transformers(build)
    except (RuntimeError, TypeError, ValueError, KeyError) as error:
        raise EncoderError(f"{build.library} cannot build {build.architecture} for {entry.name}: {error}") from error


def _build_timm(build: Build) -> Any:
    import timm
    import torch

    named = {"swiglu": timm.layers.SwiGLUPacked, "silu": torch.nn.SiLU}
    arguments = {
        key: named.get(value, value) if isinstance(value, str) else value for key, value in build.arguments.items()
    }
    return timm.create_model(build.architecture, pretrained=False, num_classes=0, **arguments)


def _build_transformers(build: Build) -> Any:
    import transformers

    config = transformers.AutoConfig.for_model(build.architecture, **build.arguments)
    pooler = {"add_pooling_layer": False} if build.architecture == "vit" else {}
    return transformers.AutoModel.from_config(config, **pooler)


def raw_features(entry: EncoderEntry, network: Any, pixels: Any) -> Any:
    """Return the network's last features: (n, tokens, d), or (n, d, rows, columns) of a convolutional one."""
    library = entry.build.library if entry.build is not None else ""
    if library == "transformers":
        return network(pixel_values=pixels).last_hidden_state
    return network.tokens(pixels) if library == "conch" else network.forward_features(pixels)


def split(network: Any, raw: Any) -> tuple[Any, Any]:
    """Return class token (n, d) or None, and token grid (n, rows, columns, d)."""
    if raw.ndim == 4:
        return None, raw.permute(0, 2, 3, 1)
    prefix = _prefix_tokens(network)
    side = round((raw.shape[1] - prefix) ** 0.5)
    return (raw[:, 0] if prefix else None), raw[:, prefix:].unflatten(1, (side, side))


def pool(entry: EncoderEntry, network: Any, raw: Any) -> Any:
    """Return one vector for each image, (n, dimension), as the entry's card pools."""
    import torch

    if entry.pooling == "own":
        return network.pool(raw)
    class_token, grid = split(network, raw)
    if entry.pooling == "class":
        return class_token
    mean = grid.mean(dim=(1, 2))
    return mean if entry.pooling == "mean" else torch.cat([class_token, mean], dim=-1)


def _prefix_tokens(network: Any) -> int:
    """Return how many tokens stand before those of the grid: class token and registers."""
    trunk = getattr(network, "trunk", network)
    if hasattr(trunk, "num_prefix_tokens"):
        return int(trunk.num_prefix_tokens)
    return 1 + int(getattr(network.config, "num_register_tokens", 0))
