"""Writes a drawn slide as a pyramidal, tiled JPEG TIFF that OpenSlide opens with its resolution."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TILE_SIDE = 256
STRIP = TILE_SIDE * 4
"""Rows that are coloured at a time."""

LEVEL_STEP = 4
"""Each pyramid level is a quarter of the one before in width and height."""

REDUCED_QUALITY = 93
"""JPEG quality of the reduced levels, where every pixel is a nucleus or a wall and losses show most."""

SMALLEST_LEVEL = 512
"""Levels are added until the longer side falls below this."""


def shrink(strip: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the strip at a quarter of its size (means of 4 × 4 pixels; a remainder is cut off)."""
    height = strip.shape[0] // LEVEL_STEP * LEVEL_STEP
    width = strip.shape[1] // LEVEL_STEP * LEVEL_STEP
    whole = strip[:height, :width].astype(np.uint16)
    rows = whole[0::4] + whole[1::4] + whole[2::4] + whole[3::4]
    means = (rows[:, 0::4] + rows[:, 1::4] + rows[:, 2::4] + rows[:, 3::4] + 8) >> 4
    return np.asarray(means, dtype=np.uint8)


def _tiles(strips: Iterator[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
    for strip in strips:
        for top in range(0, strip.shape[0], TILE_SIDE):
            row = strip[top : top + TILE_SIDE]
            for left in range(0, row.shape[1], TILE_SIDE):
                tile = row[:, left : left + TILE_SIDE]
                if tile.shape != (TILE_SIDE, TILE_SIDE, 3):
                    missing = (TILE_SIDE - tile.shape[0], TILE_SIDE - tile.shape[1])
                    tile = np.pad(tile, ((0, missing[0]), (0, missing[1]), (0, 0)), mode="edge")
                yield np.ascontiguousarray(tile)


def write_pyramid(
    path: Path,
    strips: Iterator[NDArray[np.uint8]],
    *,
    width: int,
    height: int,
    mpp: float,
    quality: int,
) -> tuple[int, int]:
    """Write RGB strips (uint8, `STRIP` rows each) as a pyramid; return its levels and its pixels in all.

    The file is written beside `path` and moved there when complete, so that a half-written slide is never
    taken for a slide.
    """
    import tifffile

    reduced: list[NDArray[np.uint8]] = []

    def watch() -> Iterator[NDArray[np.uint8]]:
        for strip in strips:
            reduced.append(shrink(strip))
            yield strip

    part = path.with_name(path.name + ".part")
    per_centimetre = 10_000.0 / mpp
    common: dict[str, Any] = {
        "photometric": "rgb",
        "tile": (TILE_SIDE, TILE_SIDE),
        "compression": "jpeg",
        "metadata": None,
        "dtype": np.uint8,
    }
    pixels, levels = width * height, 1
    with tifffile.TiffWriter(part) as writer:
        writer.write(
            _tiles(watch()),
            shape=(height, width, 3),
            resolution=(per_centimetre, per_centimetre),
            resolutionunit="CENTIMETER",
            maxworkers=1,
            compressionargs={"level": quality},
            **common,
        )
        level = np.concatenate(reduced)
        reduced.clear()
        scale = float(LEVEL_STEP)
        while True:
            writer.write(
                _tiles(iter([level])),
                shape=level.shape,
                subfiletype=1,
                resolution=(per_centimetre / scale, per_centimetre / scale),
                resolutionunit="CENTIMETER",
                maxworkers=1,
                compressionargs={"level": REDUCED_QUALITY},
                **common,
            )
            pixels, levels = pixels + level.shape[0] * level.shape[1], levels + 1
            if max(level.shape[:2]) < SMALLEST_LEVEL * LEVEL_STEP:
                break
            level, scale = shrink(level), scale * LEVEL_STEP
    part.replace(path)
    return levels, pixels
