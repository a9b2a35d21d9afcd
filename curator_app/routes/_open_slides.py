"""Slides that stay open between tiles: opening one costs more than reading from it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from db.tables import Slide as SlideRow
from evaluation.slides import Slide, open_slide

MAX_OPEN = 8
"""Slides that are kept open at once; each holds file handles and OpenSlide's tile cache."""


@dataclass
class _Entry:
    slide: Slide
    users: int = 0
    evicted: bool = False


class OpenSlides:
    """The most recently used slides, open; one that is still being read is closed by its last reader."""

    def __init__(self, limit: int = MAX_OPEN) -> None:
        self._limit = limit
        self._lock = Lock()
        self._opening: dict[str, Lock] = {}
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    @contextmanager
    def using(self, row: SlideRow) -> Iterator[Slide]:
        """Give the open slide; several threads may read it at once.

        Raises:
            SlideError: the file is gone or cannot be read.
        """
        entry = self._take(row)
        try:
            yield entry.slide
        finally:
            self._give_back(entry)

    def close(self) -> None:
        """Close all slides that nobody reads; the others close when they are given back."""
        with self._lock:
            for entry in self._entries.values():
                self._evict(entry)
            self._entries.clear()

    def _take(self, row: SlideRow) -> _Entry:
        with self._lock:
            opening = self._opening.setdefault(row.id, Lock())
        with opening:
            with self._lock:
                entry = self._entries.get(row.id)
                if entry is not None:
                    entry.users += 1
                    self._entries.move_to_end(row.id)
                    return entry
            slide = open_slide(Path(row.path), mpp=row.mpp)
            with self._lock:
                entry = self._entries[row.id] = _Entry(slide, users=1)
                while len(self._entries) > self._limit:
                    self._evict(self._entries.popitem(last=False)[1])
            return entry

    def _give_back(self, entry: _Entry) -> None:
        with self._lock:
            entry.users -= 1
            if entry.evicted and entry.users == 0:
                entry.slide.close()

    def _evict(self, entry: _Entry) -> None:
        entry.evicted = True
        if entry.users == 0:
            entry.slide.close()
