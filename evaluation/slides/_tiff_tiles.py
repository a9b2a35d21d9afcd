"""Tiles of TIFF slides decoded without OpenSlide, where it was proven for the file that the pixels are equal.

OpenSlide paints every tile onto a canvas with alpha; decoding the tiles straight into the image takes less time.
It is done only for levels whose probes were equal, and only inside of a level: the rest is OpenSlide's.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openslide
from numpy.typing import NDArray
from PIL import Image

from evaluation.slides._backend import OPENSLIDE, Backend, OpenSlideBackend, ReadError

_VENDORS = frozenset({"aperio", "generic-tiff"})
"""Formats whose levels are plain grids of tiles, without overlap or gaps."""

_COMPRESSIONS = frozenset({1, 5, 7, 8, 32946})
"""None, LZW, JPEG and the two numbers of Deflate."""

_JPEG = 7
_RGB = 2
_YCBCR = 6

_PROBES_PER_SIDE = 3
_WHOLE = 1e-9
"""A place between the pixels of a level, by more than this, is interpolated by OpenSlide."""

_CACHED_BYTES = 32 * 1024 * 1024
"""Decoded tiles that an open slide keeps, as many as OpenSlide does by default."""

_KNOWN_FILES = 256

_Decode = Callable[..., tuple[NDArray[np.uint8] | None, Any, Any]]
_FileKey = tuple[str, int, int, int]


@dataclass(frozen=True)
class _TiledLevel:
    """Where the tiles of a level lie in the file, and how they are decoded."""

    width: int
    height: int
    tile_width: int
    tile_height: int
    offsets: tuple[int, ...]
    byte_counts: tuple[int, ...]
    decode: _Decode
    tables: bytes | None

    @property
    def across(self) -> int:
        """Tiles in a row."""
        return -(-self.width // self.tile_width)

    def tile(self, file: int, index: int) -> NDArray[np.uint8]:
        """Decode a tile, cut to the level's bounds, as (height, width, 3).

        Raises:
            ReadError: it is missing or does not decode.
        """
        count = self.byte_counts[index]
        data = os.pread(file, count, self.offsets[index]) if count else b""
        if len(data) != count or not count:
            raise ReadError(f"tile {index} is missing")
        try:
            decoded, _, _ = self.decode(data, index, jpegtables=self.tables)
        except Exception as error:
            # Each codec has its own kinds of errors; what OpenSlide makes of the tile counts.
            raise ReadError(f"tile {index} does not decode ({error})") from error
        if decoded is None or decoded.shape[-1] != 3 or decoded.dtype != np.uint8:
            raise ReadError(f"tile {index} is no RGB picture")
        return decoded.reshape(decoded.shape[-3:])


_proven: OrderedDict[_FileKey, tuple[_TiledLevel | None, ...]] = OrderedDict()
_proving = threading.Lock()


class TiffTilesBackend:
    """An open TIFF slide whose tiles are decoded straight where that gives OpenSlide's pixels. Thread-safe."""

    def __init__(self, behind: Backend, file: int, levels: Sequence[_TiledLevel | None]) -> None:
        self._behind = behind
        self._file = file
        self._levels = levels
        self._tiles = _TileCache()
        self.name = behind.name
        self.dimensions = behind.dimensions
        self.level_dimensions = behind.level_dimensions
        self.level_downsamples = behind.level_downsamples
        self.properties: Mapping[str, str] = behind.properties

    @property
    def levels_read_straight(self) -> int:
        """How many levels passed the proof."""
        return sum(level is not None for level in self._levels)

    def read_region(self, location: tuple[int, int], level: int, size: tuple[int, int]) -> Image.Image:
        """See `Backend.read_region`; RGB where nothing is transparent."""
        tiled = self._levels[level] if 0 <= level < len(self._levels) else None
        if tiled is not None and (place := _place(tiled, location, self.level_downsamples[level], size)) is not None:
            with contextlib.suppress(ReadError):
                return Image.fromarray(self._assemble(level, tiled, place, size))
        return self._behind.read_region(location, level, size)

    def _assemble(
        self, level: int, tiled: _TiledLevel, place: tuple[int, int], size: tuple[int, int]
    ) -> NDArray[np.uint8]:
        return _assemble(
            tiled, place, size, lambda index: self._tiles.get((level, index), lambda: tiled.tile(self._file, index))
        )

    def close(self) -> None:
        """See `Backend.close`."""
        self._behind.close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def read_straight(backend: Backend, path: Path) -> Backend:
    """Return a backend that reads `path` straight where that is proven, or the one given where nothing is gained."""
    is_plain = backend.name == OPENSLIDE and backend.properties.get(openslide.PROPERTY_NAME_VENDOR) in _VENDORS
    if not is_plain or not hasattr(os, "pread"):
        return backend
    try:
        import imagecodecs  # noqa: F401
        import tifffile  # noqa: F401
    except ImportError:
        return backend
    file = os.open(path, os.O_RDONLY)
    levels = _proven_levels(backend, path, file)
    if any(levels):
        return TiffTilesBackend(backend, file, levels)
    os.close(file)
    return backend


class _TileCache:
    """The tiles that were decoded last, up to a number of bytes."""

    def __init__(self) -> None:
        self._tiles: OrderedDict[tuple[int, int], NDArray[np.uint8]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: tuple[int, int], make: Callable[[], NDArray[np.uint8]]) -> NDArray[np.uint8]:
        """Return a tile, made outside the lock where it is not there: two threads may both make it."""
        with self._lock:
            if (known := self._tiles.get(key)) is not None:
                self._tiles.move_to_end(key)
                return known
        tile = make()
        with self._lock:
            if key not in self._tiles:
                self._tiles[key] = tile
                self._bytes += tile.nbytes
            while self._bytes > _CACHED_BYTES and len(self._tiles) > 1:
                self._bytes -= self._tiles.popitem(last=False)[1].nbytes
        return tile


def _place(
    level: _TiledLevel, location: tuple[int, int], downsample: float, size: tuple[int, int]
) -> tuple[int, int] | None:
    """Return the place of a region in pixels of its level; None where it is between pixels or not wholly inside."""
    x, y = location[0] / downsample, location[1] / downsample
    left, top = round(x), round(y)
    if abs(x - left) > _WHOLE or abs(y - top) > _WHOLE or min(size) <= 0:
        return None
    inside = left >= 0 and top >= 0 and left + size[0] <= level.width and top + size[1] <= level.height
    return (left, top) if inside else None


def _assemble(
    level: _TiledLevel, place: tuple[int, int], size: tuple[int, int], tile: Callable[[int], NDArray[np.uint8]]
) -> NDArray[np.uint8]:
    """Put a region together from its tiles: RGB uint8 (height, width, 3)."""
    (left, top), (width, height) = place, size
    out = np.empty((height, width, 3), dtype=np.uint8)
    for row in range(top // level.tile_height, (top + height - 1) // level.tile_height + 1):
        for column in range(left // level.tile_width, (left + width - 1) // level.tile_width + 1):
            pixels = tile(row * level.across + column)
            tile_x, tile_y = column * level.tile_width, row * level.tile_height
            first_x, first_y = max(left, tile_x), max(top, tile_y)
            last_x = min(left + width, tile_x + level.tile_width)
            last_y = min(top + height, tile_y + level.tile_height)
            part = pixels[first_y - tile_y : last_y - tile_y, first_x - tile_x : last_x - tile_x]
            out[first_y - top : last_y - top, first_x - left : last_x - left] = part
    return out


def _proven_levels(behind: Backend, path: Path, file: int) -> tuple[_TiledLevel | None, ...]:
    """Return the levels that may be read straight, None for each other one; looked into once per process and file."""
    status = os.fstat(file)
    key = (str(path), status.st_ino, status.st_size, status.st_mtime_ns)
    with _proving:
        if key not in _proven:
            found = _tiled_levels(path, behind.level_dimensions)
            _proven[key] = _prove(found, path, file) if any(found) else tuple(found)
            while len(_proven) > _KNOWN_FILES:
                _proven.popitem(last=False)
        return _proven[key]


def _tiled_levels(path: Path, dimensions: Sequence[tuple[int, int]]) -> list[_TiledLevel | None]:
    import tifffile

    try:
        with tifffile.TiffFile(path) as tiff:
            pages = {(page.imagewidth, page.imagelength): page for page in reversed(list(tiff.pages)) if _suits(page)}
            return [_level_of(pages[size]) if size in pages else None for size in dimensions]
    except Exception:
        # Whatever the library does not understand, OpenSlide reads.
        return [None] * len(dimensions)


def _suits(page: Any) -> bool:
    return bool(
        page.is_tiled
        and page.compression in _COMPRESSIONS
        and (page.photometric == _RGB or (page.photometric == _YCBCR and page.compression == _JPEG))
        and page.samplesperpixel == 3
        and page.bitspersample == 8
        and page.planarconfig == 1
        and page.imagedepth == 1
        and page.fillorder == 1
    )


def _level_of(page: Any) -> _TiledLevel:
    return _TiledLevel(
        width=int(page.imagewidth),
        height=int(page.imagelength),
        tile_width=int(page.tilewidth),
        tile_height=int(page.tilelength),
        offsets=tuple(map(int, page.dataoffsets)),
        byte_counts=tuple(map(int, page.databytecounts)),
        decode=page.decode,
        tables=page.jpegtables,
    )


def _prove(found: Sequence[_TiledLevel | None], path: Path, file: int) -> tuple[_TiledLevel | None, ...]:
    # A handle of its own: after one tile that it cannot read, OpenSlide reads nothing more through a handle.
    with openslide.OpenSlide(path) as handle:
        behind = OpenSlideBackend(handle)
        return tuple(
            level if level is not None and _is_equal(behind, number, level, file) else None
            for number, level in enumerate(found)
        )


def _is_equal(behind: Backend, number: int, level: _TiledLevel, file: int) -> bool:
    """Whether probes spread over a level, across the seams of tiles and at its end, are OpenSlide's to the last bit."""
    if len(level.offsets) != level.across * -(-level.height // level.tile_height):
        return False
    downsample = behind.level_downsamples[number]
    width, height = min(level.width, level.tile_width), min(level.height, level.tile_height)
    compared = 0
    for y in _spread(level.height - height):
        for x in _spread(level.width - width):
            location = (round(x * downsample), round(y * downsample))
            if (place := _place(level, location, downsample, (width, height))) is None:
                continue
            try:
                ours = _assemble(level, place, (width, height), lambda index: level.tile(file, index))
            except ReadError:
                continue  # A missing tile is OpenSlide's in any case.
            try:
                theirs = np.asarray(behind.read_region(location, number, (width, height)))
            except ReadError:
                return False
            if not ((theirs[..., 3] == 255).all() and np.array_equal(ours, theirs[..., :3])):
                return False
            compared += 1
    return compared > 0


def _spread(last: int) -> list[int]:
    return sorted({last * step // (_PROBES_PER_SIDE - 1) for step in range(_PROBES_PER_SIDE)})
