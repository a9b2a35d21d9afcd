"""Errors that a person can act on: what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


class InputError(Exception):
    """The input is wrong and nothing was changed; `problems` lists every fault that was found."""

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__("\n".join([message, *(f"  {problem}" for problem in problems)]))
        self.message = message
        self.problems = tuple(problems)


class IncompleteError(InputError):
    """A text is not complete; `faults` says of each field that has one what is wrong with it."""

    def __init__(self, message: str, faults: Mapping[str, str]) -> None:
        super().__init__(message, [f"{field} {fault}" for field, fault in faults.items()])
        self.faults = dict(faults)


@dataclass(frozen=True)
class Standing:
    """How an object stands that was changed since it was read: what a person needs to decide between two texts.

    `document` is its text now, `written_by` the account name and `writer` the name that colleagues see of who wrote
    it, at `written_at`. `number` counts an item's versions, 0 for a seed. A `row_version` that is not the one read
    with the same text means that only the state changed.
    """

    object_id: str
    row_version: int
    state: str
    changed_at: datetime
    document: Mapping[str, Any]
    written_by: str
    writer: str
    written_at: datetime
    number: int = 0


class ChangedError(InputError):
    """The object was changed since the person looked at it: nothing was done, they should look again."""


class ConflictError(ChangedError):
    """Somebody else changed a text since it was read; `now` is how it stands."""

    def __init__(self, message: str, now: Standing) -> None:
        super().__init__(message)
        self.now = now


class NotFoundError(InputError):
    """No such slide, ROI, seed, item or release in this workspace."""


def require_range(name: str, value: float, low: float, high: float) -> None:
    """Refuse a value of an option that is out of range.

    Raises:
        InputError: it is below `low` or above `high`.
    """
    if not low <= value <= high:
        raise InputError(f"--{name} is {value}; it must lie between {low} and {high}. Nothing was changed.")
