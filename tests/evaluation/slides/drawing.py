"""Small slides for tests: tiled TIFF pyramids that OpenSlide opens, and tissue drawn by optical density."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tifffile
from numpy.typing import NDArray
from PIL import Image

GLASS = 245
_HAEMATOXYLIN = np.array([0.65, 0.70, 0.29])
_EOSIN = np.array([0.07, 0.99, 0.11])


def write_tiff(
    path: Path,
    image: NDArray[np.uint8],
    *,
    mpp: tuple[float, float] | None = (0.5, 0.5),
    levels: int = 1,
    bigtiff: bool = False,
) -> Path:
    """Write a tiled, uncompressed pyramid whose levels are 2 × 2 means."""
    resolution = {} if mpp is None else {"resolution": (10_000 / mpp[0], 10_000 / mpp[1]), "resolutionunit": 3}
    with tifffile.TiffWriter(path, bigtiff=bigtiff) as writer:
        level = image
        for index in range(levels):
            scale = 2**index
            if mpp is not None:
                resolution["resolution"] = (10_000 / mpp[0] / scale, 10_000 / mpp[1] / scale)
            writer.write(
                level,
                tile=(64, 64),
                photometric="rgb",
                subfiletype=1 if index else 0,
                metadata=None,
                **resolution,
            )
            height, width = level.shape[0] // 2, level.shape[1] // 2
            halves = level[: height * 2, : width * 2].reshape(height, 2, width, 2, 3)
            level = halves.mean(axis=(1, 3)).round().astype(np.uint8)
    return path


def glass(height: int, width: int, *, noise: float = 1.5, seed: int = 0) -> NDArray[np.uint8]:
    """Bare glass with camera noise."""
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(GLASS, noise, (height, width, 3)), 0, 255).astype(np.uint8)


def stain(image: NDArray[np.uint8], where: NDArray[np.bool_], haematoxylin: float, eosin: float) -> NDArray[np.uint8]:
    """Return the image with stain in optical density (base 10) added where the mask is set."""
    density = haematoxylin * _HAEMATOXYLIN + eosin * _EOSIN
    out = image.astype(np.float64)
    out[where] *= 10.0**-density
    return np.clip(out, 0, 255).astype(np.uint8)


def disc(height: int, width: int, y: float, x: float, radius: float) -> NDArray[np.bool_]:
    """A filled circle."""
    rows, columns = np.mgrid[:height, :width]
    return np.asarray((rows - y) ** 2 + (columns - x) ** 2 <= radius**2)


BLOCK = 4_096
"""Side of the pieces of tissue on a large drawn slide, in level-0 pixels."""


def draw_large_slide(path: Path, *, side: int = 30_000) -> Path:
    """Write a slide of `side` pixels at 0.5 µm/px, in JPEG tiles, with tissue on every second block.

    All tiles of one kind are the same bytes, so that it takes seconds, not minutes.
    """
    ground = glass(256, 256)
    tissue = stain(ground, np.ones((256, 256), dtype=bool), 0.1, 0.25)
    for number in range(24):
        nucleus = disc(256, 256, 20 + (number * 97) % 220, 20 + (number * 61) % 220, 8)
        tissue = stain(tissue, nucleus, 0.6, 0.0)
    kinds = [_jpeg(ground), _jpeg(tissue)]

    def tiles(step: int) -> Iterator[bytes]:
        level = side // step
        for y in range(0, level, 256):
            for x in range(0, level, 256):
                yield kinds[(y * step // BLOCK + x * step // BLOCK) % 2]

    with tifffile.TiffWriter(path, bigtiff=True) as writer:
        for step in (1, 4, 16):
            writer.write(
                tiles(step),
                shape=(side // step, side // step, 3),
                dtype=np.uint8,
                tile=(256, 256),
                photometric="ycbcr",
                subsampling=(2, 2),
                compression="jpeg",
                subfiletype=1 if step > 1 else 0,
                metadata=None,
                resolution=(20_000 / step, 20_000 / step),
                resolutionunit="CENTIMETER",
            )
    return path


def _jpeg(image: NDArray[np.uint8]) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "JPEG", quality=80, subsampling="4:2:0")
    return stream.getvalue()
