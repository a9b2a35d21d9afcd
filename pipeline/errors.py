"""Errors that a person can act on: what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Sequence


class InputError(Exception):
    """The input is wrong and nothing was changed; `problems` lists every fault that was found."""

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__("\n".join([message, *(f"  {problem}" for problem in problems)]))
        self.message = message
        self.problems = tuple(problems)


class ConflictError(InputError):
    """Somebody else changed the object since it was read."""


class NotFoundError(InputError):
    """No such slide, ROI, seed, item or release in this workspace."""
