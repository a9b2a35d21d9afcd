"""What the machine refuses now and may do later (a full disk, a database that does not answer), in words.

A module without imports of its own weight: the core install has no database, and asks here all the same.
"""

from __future__ import annotations

import errno
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})

_FULL_ON_POSTGRESQL = "53100"
_READ_ONLY_ON_POSTGRESQL = "25006"

_log = logging.getLogger(__name__)

_SHORT = {
    "full": "the disk of the server is full",
    "database": "the database cannot be used now",
    "files": "the server cannot use its files",
}


@dataclass(frozen=True)
class Trouble:
    """A fault of neither the program nor the person: what cannot be used, as the system says it, and which file."""

    kind: Literal["full", "database", "files"]
    cause: str
    place: str = ""

    @property
    def short(self) -> str:
        """Half a sentence for people who do not know the server's folders."""
        return _SHORT[self.kind]

    @property
    def in_words(self) -> str:
        """A sentence for who runs the server or a command."""
        if self.place:
            return f"{self.place}: {self.cause}. What was finished is kept."
        if self.kind == "database":
            return f"The database cannot be used now: {self.cause}. What was finished is kept."
        return f"{self.cause}. What was finished is kept."


def trouble_of(error: BaseException) -> Trouble | None:
    """Return what an error says of the machine; None for one that says something else."""
    if isinstance(error, OSError):
        if not error.strerror:
            return None
        place = str(error.filename) if error.filename is not None else ""
        return Trouble("full" if error.errno in _FULL else "files", error.strerror, place)
    # Where it was never imported, no error is the database's.
    return _of_database(error) if "sqlalchemy" in sys.modules else None


@contextmanager
def not_needed(what: str) -> Iterator[None]:
    """Go on without something that nobody's work depends on, where the machine refuses it; the log says so."""
    try:
        yield
    except Exception as error:
        if trouble_of(error) is None:
            raise
        _log.warning("%s: %s", what, error)


def _of_database(error: BaseException) -> Trouble | None:
    from sqlalchemy.exc import DBAPIError, OperationalError
    from sqlalchemy.exc import TimeoutError as NoConnectionLeft

    if isinstance(error, NoConnectionLeft):
        return Trouble("database", "all of its connections are in use")
    if not isinstance(error, DBAPIError):
        return None
    said, state = error.orig, getattr(error.orig, "sqlstate", None)
    if getattr(said, "sqlite_errorname", None) == "SQLITE_FULL" or state == _FULL_ON_POSTGRESQL:
        return Trouble("full", f"The database cannot be used now: {said}")
    if isinstance(error, OperationalError) or state == _READ_ONLY_ON_POSTGRESQL:
        return Trouble("database", str(said))
    return None
