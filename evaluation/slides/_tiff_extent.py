"""Whether a TIFF-based slide was cut off: do its directories point past the end of the file?

OpenSlide opens a slide whose tail is missing and reads the missing tiles only when somebody looks at them, so
the layout is compared with the file's size before the slide is accepted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

_TYPE_SIZES = {
    1: 1,
    2: 1,
    3: 2,
    4: 4,
    5: 8,
    6: 1,
    7: 1,
    8: 2,
    9: 4,
    10: 8,
    11: 4,
    12: 8,
    13: 4,
    16: 8,
    17: 8,
    18: 8,
}
_UNSIGNED = {3: "u2", 4: "u4", 13: "u4", 16: "u8", 18: "u8"}
_OFFSETS = {273, 324}
_BYTE_COUNTS = {279, 325}
_MAX_DIRECTORIES = 10_000


class _CutOffError(Exception):
    """A structure lies past the end of the file."""


def missing_bytes(path: Path) -> int | None:
    """Return how many bytes a TIFF file lacks at its end, 0 if it is whole, None if it is no TIFF.

    A missing directory counts as at least one byte. Classic TIFF and BigTIFF are understood; strips and tiles
    of every directory of the main chain are looked at. Not meaningful for Hamamatsu NDPI, whose offsets may
    wrap at 4 GiB.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(16)
        layout = _Layout.of(head)
        if layout is None:
            return None
        try:
            end = max((layout.extent(file, entries) for entries in layout.directories(file, head)), default=0)
        except _CutOffError:
            return 1
    return max(0, end - size)


class _Layout:
    """The widths of numbers in one of the two TIFF flavours, and the walk through its directories."""

    def __init__(self, order: str, big: bool) -> None:
        self._order = order
        self._big = big
        self._count_format = order + ("Q" if big else "H")
        self._entry_format = order + ("HHQ" if big else "HHI")
        self._offset_format = order + ("Q" if big else "I")
        self._entry_size = 20 if big else 12

    @classmethod
    def of(cls, head: bytes) -> _Layout | None:
        order = {b"II": "<", b"MM": ">"}.get(head[:2])
        if order is None or len(head) < 8:
            return None
        (magic,) = struct.unpack(order + "H", head[2:4])
        return cls(order, magic == 43) if magic in (42, 43) else None

    def directories(self, file: BinaryIO, head: bytes) -> Iterator[list[bytes]]:
        """Yield the raw entries of each directory.

        Raises:
            _CutOffError: a directory lies past the end of the file.
        """
        width = struct.calcsize(self._offset_format)
        start = head[8:16] if self._big else head[4:8]
        (offset,) = struct.unpack(self._offset_format, _exactly(start, width))
        seen: set[int] = set()
        while offset and offset not in seen and len(seen) < _MAX_DIRECTORIES:
            seen.add(offset)
            file.seek(offset)
            (count,) = self._read(file, self._count_format)
            body = _exactly(file.read(count * self._entry_size), count * self._entry_size)
            (offset,) = self._read(file, self._offset_format)
            yield [body[at : at + self._entry_size] for at in range(0, len(body), self._entry_size)]

    def extent(self, file: BinaryIO, entries: list[bytes]) -> int:
        """Return the offset just past the last strip or tile of a directory (0 if it has none)."""
        offsets = counts = None
        for entry in entries:
            tag = struct.unpack(self._order + "H", entry[:2])[0]
            if tag in _OFFSETS:
                offsets = self._values(file, entry)
            elif tag in _BYTE_COUNTS:
                counts = self._values(file, entry)
        if offsets is None or counts is None or offsets.size != counts.size or offsets.size == 0:
            return 0
        stored = counts > 0  # an empty tile is legal: the scanner skipped bare glass
        return int((offsets[stored] + counts[stored]).max()) if stored.any() else 0

    def _values(self, file: BinaryIO, entry: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint64]] | None:
        head_size = struct.calcsize(self._entry_format)
        _, kind, count = struct.unpack(self._entry_format, entry[:head_size])
        if kind not in _UNSIGNED:
            return None
        size = _TYPE_SIZES[kind] * count
        inline = entry[head_size:]
        if size <= len(inline):
            raw = inline[:size]
        else:
            file.seek(struct.unpack(self._offset_format, inline)[0])
            raw = _exactly(file.read(size), size)
        return np.frombuffer(raw, dtype=self._order + _UNSIGNED[kind]).astype(np.uint64)

    def _read(self, file: BinaryIO, form: str) -> tuple[int, ...]:
        size = struct.calcsize(form)
        return struct.unpack(form, _exactly(file.read(size), size))


def _exactly(data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise _CutOffError
    return data
