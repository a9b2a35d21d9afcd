"""One open slide: its facts, regions at any resolution, overviews and deep-zoom tiles."""

from __future__ import annotations

import io
import math
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import openslide
from numpy.typing import NDArray
from openslide.deepzoom import DeepZoomGenerator
from PIL import Image

from evaluation.slides._backend import Backend, DeepZoomSource, ReadError
from evaluation.slides._files import primary_file
from evaluation.slides._opening import open_backend
from evaluation.slides._resolution import TOLERANCE, decide_resolution
from evaluation.slides._tiff_tiles import read_straight
from evaluation.slides._types import Level, Region, SlideError, SlideInfo

DEEP_ZOOM_TILE_SIZE = 254
DEEP_ZOOM_OVERLAP = 1
"""The tiles that OpenSeadragon expects: 254 px and one shared pixel on each side make 256 px."""

_JPEG_QUALITY = 85
_LEVEL_TOLERANCE = 0.01
"""Levels are rounded to whole pixels, so a level of 4.016 still serves a request for 4."""

_BLOCK = 4096
"""Source pixels along a side that are held in memory at a time (64 MiB as RGBA)."""

_RESAMPLING_SUPPORT = 2.0
"""Reach of the bicubic kernel in output pixels: a block is read that much wider than it is written."""


class TileNotFoundError(SlideError):
    """A deep-zoom address that the slide does not have."""


class Slide:
    """An open slide; use as a context manager. Reading is thread-safe; label and macro are never read."""

    def __init__(self, path: Path, backend: Backend, info: SlideInfo) -> None:
        self._path = path
        self._backend = backend
        self._info = info
        self._deepzoom = DeepZoomGenerator(
            DeepZoomSource(backend), DEEP_ZOOM_TILE_SIZE, DEEP_ZOOM_OVERLAP, limit_bounds=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        self._backend.close()

    @property
    def info(self) -> SlideInfo:
        """What the file says of itself; `content_sha256` is empty here."""
        return self._info

    @property
    def properties(self) -> dict[str, str]:
        """What the file says of itself, under OpenSlide's names."""
        return dict(self._backend.properties)

    def read_region(self, region: Region, *, allow_upsampling: bool = False) -> NDArray[np.uint8]:
        """Return a region as RGB uint8 (size, size, 3) at the region's resolution.

        Read from the coarsest pyramid level that is at least as fine as asked and resampled (bicubic,
        antialiased). What lies outside the slide or is transparent is white.

        Args:
            region: the field of view.
            allow_upsampling: also serve a resolution more than 5 % finer than level 0, by interpolation.

        Raises:
            SlideError: the region is finer than the slide, or the file cannot be read there.
            ValueError: size or resolution of the region are not positive.
        """
        if region.size <= 0 or not (math.isfinite(region.mpp) and region.mpp > 0):
            raise ValueError(f"a region needs a positive size and resolution, not {region}")
        if region.mpp < self._info.mpp * (1 - TOLERANCE) and not allow_upsampling:
            raise SlideError(
                self._path,
                f"{region.mpp:g} µm/px is finer than the slide's {self._info.mpp:.4g} µm/px.",
                f"Ask for {self._info.mpp:.4g} µm/px or coarser.",
            )
        return self._read(float(region.x), float(region.y), region.size, region.size, region.mpp)

    def read_overview(self, mpp: float) -> NDArray[np.uint8]:
        """Return the whole slide as RGB uint8 (height, width, 3) at `mpp` micrometres per pixel.

        Both sides are rounded up, so that the last row and column may hold a white margin.

        Raises:
            SlideError: the file cannot be read.
            ValueError: `mpp` is not positive.
        """
        if not (math.isfinite(mpp) and mpp > 0):
            raise ValueError(f"an overview needs a positive resolution, not {mpp} µm/px")
        scale = self._info.mpp / mpp
        width = max(1, math.ceil(self._info.width * scale))
        height = max(1, math.ceil(self._info.height * scale))
        return self._read(0.0, 0.0, width, height, mpp)

    def thumbnail(self, max_px: int) -> NDArray[np.uint8]:
        """Return the whole slide as RGB uint8 whose longer side has at most `max_px` pixels, never enlarged.

        Raises:
            SlideError: the file cannot be read.
            ValueError: `max_px` is not positive.
        """
        if max_px <= 0:
            raise ValueError(f"a thumbnail needs a positive side, not {max_px} px")
        factor = max(1.0, max(self._info.width, self._info.height) / max_px)
        width = max(1, min(max_px, round(self._info.width / factor)))
        height = max(1, min(max_px, round(self._info.height / factor)))
        return self._read(0.0, 0.0, width, height, self._info.mpp * factor)

    @property
    def deepzoom_descriptor(self) -> str:
        """The Deep Zoom descriptor (XML) that a viewer reads before it asks for tiles."""
        return str(self._deepzoom.get_dzi("jpeg"))

    def tile(self, level: int, column: int, row: int) -> bytes:
        """Return a deep-zoom tile as JPEG (254 px, 1 px overlap); level 0 is the single-pixel end.

        Raises:
            TileNotFoundError: the slide has no such tile.
            SlideError: the file cannot be read there.
        """
        try:
            image = self._deepzoom.get_tile(level, (column, row))
        except ValueError as error:
            raise TileNotFoundError(
                self._path,
                f"there is no deep-zoom tile {level}/{column}_{row}.",
                "Ask within the descriptor's size.",
            ) from error
        except ReadError as error:
            raise self._unreadable(error) from error
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=_JPEG_QUALITY, icc_profile=None)
        return buffer.getvalue()

    def read_level(self, x: int, y: int, level: int, width: int, height: int) -> Image.Image:
        """Return `width` × `height` pixels of a pyramid level as RGB on white; `x`, `y` are level-0 pixels.

        Raises:
            SlideError: the file cannot be read there.
        """
        try:
            read = self._backend.read_region((x, y), level, (width, height))
        except ReadError as error:
            raise self._unreadable(error) from error
        if read.mode == "RGB":
            return read
        image = Image.new("RGB", read.size, "white")
        image.paste(read, mask=read.getchannel("A"))
        return image

    def _unreadable(self, error: Exception) -> SlideError:
        return SlideError(
            self._path,
            f"the file opens but its image cannot be read ({error}).",
            "It is damaged or cut off: copy it again from its source.",
        )

    def _best_level(self, downsample: float) -> int:
        fitting = [
            index
            for index, level in enumerate(self._info.levels)
            if level.downsample <= downsample * (1 + _LEVEL_TOLERANCE)
        ]
        return max(fitting, key=lambda index: self._info.levels[index].downsample, default=0)

    def _read(self, x: float, y: float, width: int, height: int, mpp: float) -> NDArray[np.uint8]:
        """Read `width` × `height` output pixels from level-0 position (x, y), block by block."""
        wanted = mpp / self._info.mpp
        level = self._best_level(wanted)
        downsample = self._info.levels[level].downsample
        scale = wanted / downsample  # level pixels per output pixel
        block = max(1, int(_BLOCK / scale))
        output = np.empty((height, width, 3), dtype=np.uint8)
        for top in range(0, height, block):
            rows = min(block, height - top)
            for left in range(0, width, block):
                columns = min(block, width - left)
                output[top : top + rows, left : left + columns] = self._read_block(
                    level,
                    x / downsample + left * scale,
                    y / downsample + top * scale,
                    columns,
                    rows,
                    scale,
                )
        return output

    def _read_block(self, level: int, x: float, y: float, width: int, height: int, scale: float) -> NDArray[np.uint8]:
        """Resample one block; `x` and `y` are pixels of the level."""
        downsample = self._info.levels[level].downsample
        if scale == 1.0 and x.is_integer() and y.is_integer():
            # The level's own pixels: resampling would give the same ones.
            own = self.read_level(round(x * downsample), round(y * downsample), level, width, height)
            return np.asarray(own, dtype=np.uint8)
        margin = math.ceil(_RESAMPLING_SUPPORT * max(1.0, scale)) + 1
        # Start on a whole pixel of the level, so that OpenSlide itself does not interpolate.
        first_x, first_y = math.floor(x) - margin, math.floor(y) - margin
        left, top = x - first_x, y - first_y
        right, bottom = left + width * scale, top + height * scale
        source = self.read_level(
            round(first_x * downsample),
            round(first_y * downsample),
            level,
            math.ceil(right) + margin,
            math.ceil(bottom) + margin,
        )
        resampled = source.resize((width, height), Image.Resampling.BICUBIC, box=(left, top, right, bottom))
        return np.asarray(resampled, dtype=np.uint8)


def open_slide(path: Path, *, mpp: float | None = None) -> Slide:
    """Open a slide for reading; close it, or use it as a context manager.

    Args:
        path: a file that OpenSlide knows, or the folder of one DICOM slide.
        mpp: micrometres per level-0 pixel where the file states none.

    Raises:
        SlideError: it does not open, is too large, or its resolution is missing, absurd or contradicted.
    """
    file = primary_file(path)
    backend = read_straight(open_backend(path, file), file)
    try:
        properties = dict(backend.properties)
        resolution = decide_resolution(path, properties, mpp)
        levels = tuple(
            Level(width, height, float(downsample))
            for (width, height), downsample in zip(backend.level_dimensions, backend.level_downsamples, strict=True)
        )
        info = SlideInfo(
            path=path,
            width=levels[0].width,
            height=levels[0].height,
            mpp=resolution.mpp,
            mpp_source=resolution.source,
            levels=levels,
            vendor=properties.get(openslide.PROPERTY_NAME_VENDOR),
            objective_power=_objective_power(properties),
            content_sha256="",
            reader=backend.name,
        )
        return Slide(path, backend, info)
    except BaseException:
        backend.close()
        raise


def _objective_power(properties: dict[str, str]) -> float | None:
    """Return the scanner's objective, None where it is no positive number (it decides nothing)."""
    try:
        power = float(properties[openslide.PROPERTY_NAME_OBJECTIVE_POWER])
    except (KeyError, ValueError):
        return None
    return power if math.isfinite(power) and power > 0 else None
