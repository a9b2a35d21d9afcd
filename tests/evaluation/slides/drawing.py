"""Small slides for tests: tiled TIFF pyramids that OpenSlide opens, and tissue drawn by optical density."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tifffile
from numpy.typing import NDArray

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
