"""How long work tells whoever watches it where it stands."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called after each unit of work with how many of how many are done and a word on the last one."""

    def __call__(self, done: int, total: int, message: str, /) -> None: ...


def silent(_done: int, _total: int, _message: str, /) -> None:
    """Tell nobody."""
