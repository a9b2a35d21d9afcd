"""What the clients were told: each save is noted the moment its answer arrives, each sending before it is made."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["draft", "new seed", "seed edit", "approve", "reject", "undo"]
SEEDS: tuple[Kind, ...] = ("new seed", "seed edit")
DECISIONS: tuple[Kind, ...] = ("approve", "reject", "undo")


@dataclass(frozen=True)
class Save:
    """An acknowledged save.

    `act` names the press of a button; for a draft it is the act of writing, `number` the count of its sendings and
    `object_id` the draft's name. `version` is what the save left, `over` what it was made over. `ms` is the time from
    the sending to the answer, None where the client spoilt it on purpose. `ended` is the draft and the writing that
    it ended.
    """

    kind: Kind
    account_id: str
    who: str
    act: str
    object_id: str
    texts: Mapping[str, str]
    version: int = 0
    over: int | None = None
    number: int = 0
    ended: tuple[str, str] | None = None
    ms: float | None = None


@dataclass(frozen=True)
class Seen:
    """The notes at one moment."""

    saves: tuple[Save, ...]
    sent: frozenset[tuple[str, str]]
    refused: frozenset[tuple[str, str]]
    faults: tuple[str, ...]


@dataclass
class Notes:
    """What all clients note together. `sent` and `refused` are account and act."""

    saves: list[Save] = field(default_factory=list)
    sent: set[tuple[str, str]] = field(default_factory=set)
    refused: set[tuple[str, str]] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    conflicts: list[float] = field(default_factory=list)
    repeated: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def sending(self, account_id: str, act: str) -> None:
        """Note that an act is about to be sent."""
        with self._lock:
            self.sent.add((account_id, act))

    def saved(self, save: Save) -> None:
        """Note that a save was acknowledged."""
        with self._lock:
            self.saves.append(save)

    def conflict(self, account_id: str, act: str, ms: float | None) -> None:
        """Note that an act was refused, since somebody else had changed its object."""
        with self._lock:
            self.refused.add((account_id, act))
            if ms is not None:
                self.conflicts.append(ms)

    def again(self) -> None:
        """Note that a request was sent once more."""
        with self._lock:
            self.repeated += 1

    def fault(self, what: str) -> None:
        """Note an answer that should not be."""
        with self._lock:
            self.faults.append(what)

    def now(self) -> Seen:
        """Return the notes as they are."""
        with self._lock:
            return Seen(tuple(self.saves), frozenset(self.sent), frozenset(self.refused), tuple(self.faults))
