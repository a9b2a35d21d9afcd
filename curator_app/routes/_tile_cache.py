"""Tiles that were asked for lately, within a bound of bytes: the second reader of a place waits for no slide."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

TileKey = tuple[str, int, int, int]
"""A slide's id, and level, column and row of the tile."""

OVERHEAD = 200
"""Bytes that an entry takes beside its picture, about."""


class TileCache:
    """The most recently used tiles; `hits` and `misses` count what was asked for. Several threads may use it."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._tiles: OrderedDict[TileKey, bytes] = OrderedDict()
        self.size = 0
        self.hits = 0
        self.misses = 0

    @property
    def hit_share(self) -> float | None:
        """Share of what was asked for that was there; None before anything was."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else None

    def get(self, key: TileKey) -> bytes | None:
        """Return a tile that is there, and count the question."""
        with self._lock:
            data = self._tiles.get(key)
            if data is None:
                self.misses += 1
                return None
            self.hits += 1
            self._tiles.move_to_end(key)
            return data

    def put(self, key: TileKey, data: bytes) -> None:
        """Keep a tile, and give up those that were not used for longest where there is no room."""
        if len(data) + OVERHEAD > self._max_bytes:
            return
        with self._lock:
            if (before := self._tiles.pop(key, None)) is not None:
                self.size -= len(before) + OVERHEAD
            self._tiles[key] = data
            self.size += len(data) + OVERHEAD
            while self.size > self._max_bytes:
                self.size -= len(self._tiles.popitem(last=False)[1]) + OVERHEAD
