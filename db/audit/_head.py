"""The head of the trail in a file outside the database: a trail whose end was cut off no longer reaches it.

What stands there is only ever replaced by a later row of the same trail. Otherwise the next change would cover up that
the end was cut off, or that the file was removed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from db.audit._chain import START, ChainLink

HEAD_FILE = "audit-head"

_WIDTH = 96
"""Bytes of the one line; always the same, so that writing it anew replaces it whole and needs no more room."""


_MAX_SEQUENCE = 2**63 - 1
"""No database numbers rows further, nor can it be asked for one."""


class HeadError(Exception):
    """What is noted does not belong to the trail, or nothing is noted; it was left as it is."""


def begin_head(path: Path, head: ChainLink) -> None:
    """Note the head of a trail that is new, or new in this place; a note that is there stays.

    Raises:
        OSError: the file cannot be written.
    """
    with _locked(path, os.O_RDWR | os.O_CREAT) as handle:
        if os.fstat(handle).st_size == 0:
            os.pwrite(handle, _line(head), 0)
            os.fsync(handle)


def advance_head(path: Path, head: ChainLink, is_row: Callable[[ChainLink], bool]) -> None:
    """Note how far the trail reaches now; a note that reaches further stays, since processes may come out of turn.

    Args:
        path: the file.
        head: a row that is committed.
        is_row: says whether the trail, as it is committed now, has this row.

    Raises:
        HeadError: the file is missing, holds something else, or names a row that the trail does not have.
        OSError: the file cannot be read or written.
    """
    try:
        with _locked(path, os.O_RDWR) as handle:
            noted = _parse(os.pread(handle, _WIDTH, 0))
            if noted is None:
                raise HeadError("it holds no head of an audit trail")
            if noted != START and not is_row(noted):
                raise HeadError(f"the trail has no row {noted.sequence} as it is noted there")
            if noted.sequence < head.sequence:
                os.pwrite(handle, _line(head), 0)
    except FileNotFoundError:
        raise HeadError("it is missing") from None


@contextmanager
def _locked(path: Path, flags: int) -> Iterator[int]:
    handle = os.open(path, flags, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def read_head(path: Path) -> ChainLink | None:
    """Return what was noted, or None where the file is missing.

    Raises:
        ValueError: the file holds something else, or is none that can be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    head = _parse(data)
    if head is None:
        raise ValueError(f"{path} holds no head of an audit trail")
    return head


def _line(head: ChainLink) -> bytes:
    return (f"{head.sequence:020d} {head.sha256}".ljust(_WIDTH - 1) + "\n").encode("ascii")


def _parse(data: bytes) -> ChainLink | None:
    parts = data.decode("ascii", "replace").split()
    if len(parts) != 2 or not parts[0].isdigit() or len(parts[1]) != 64 or int(parts[0]) > _MAX_SEQUENCE:
        return None
    return ChainLink(int(parts[0]), parts[1])
