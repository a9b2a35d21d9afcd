"""What a run has encoded and not put into the feature file yet: records behind each other, each with its sum.

A batch is appended and brought to the disk at once, which costs as little for the last batch as for the first. What a
killed run left ends with a record that is whole: a torn one behind it is cut off before the next is appended.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.extraction._key import FeatureKey, Frame

_ROWS_AT_ONCE = 1024
"""So many records are held in memory while they are read."""


class Journal:
    """Vectors that wait for their file; one process at a time writes it (the file's lock)."""

    def __init__(self, path: Path, key: FeatureKey, dimension: int) -> None:
        self.path = path
        # The name says whose vectors these are; the head lets a file that was renamed or damaged be noticed.
        self._head = f"{key} {dimension}\n".encode()
        self._row = np.dtype(
            [("x", "<i8"), ("y", "<i8"), ("size", "<i8"), ("mpp", "<f8"), ("vector", "<f4", (dimension,))]
        )
        self._record = np.dtype([("row", self._row), ("sum", "<u4")])

    def append(self, frames: Sequence[Frame], vectors: NDArray[np.float32]) -> None:
        """Add a batch and bring it to the disk."""
        records = np.zeros(len(frames), dtype=self._record)
        for record, frame, vector in zip(records, frames, vectors, strict=True):
            record["row"] = (frame.x, frame.y, frame.size, frame.mpp, vector)
        records["sum"] = [zlib.crc32(row.tobytes()) for row in records["row"]]
        with self.path.open("ab") as file:
            if file.tell() == 0:
                file.write(self._head)
            file.write(records.tobytes())
            file.flush()
            os.fsync(file.fileno())

    def count(self) -> int:
        """Return how many whole records there are, and cut off what is torn behind them."""
        if not self.path.exists():
            return 0
        whole = sum(len(rows) for rows in self._batches())
        length = len(self._head) + whole * self._record.itemsize if whole else 0
        if self.path.stat().st_size != length:
            os.truncate(self.path, length)
        return whole

    def read(self) -> Iterator[tuple[list[Frame], NDArray[np.float32]]]:
        """Yield frames and vectors (n, dimension) in the order in which they were added, some at a time."""
        for rows in self._batches():
            frames = [Frame(int(row["x"]), int(row["y"]), int(row["size"]), float(row["mpp"])) for row in rows]
            yield frames, np.ascontiguousarray(rows["vector"], dtype=np.float32)

    def clear(self) -> None:
        """Forget all: it is in the file."""
        self.path.unlink(missing_ok=True)

    def _batches(self) -> Iterator[NDArray[np.void]]:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            if file.read(len(self._head)) != self._head:
                return
            while data := file.read(self._record.itemsize * _ROWS_AT_ONCE):
                whole = len(data) // self._record.itemsize
                records = np.frombuffer(data, dtype=self._record, count=whole)
                good = next(
                    (place for place, one in enumerate(records) if zlib.crc32(one["row"].tobytes()) != one["sum"]),
                    whole,
                )
                if good:
                    yield records["row"][:good]
                if good < _ROWS_AT_ONCE:
                    return
