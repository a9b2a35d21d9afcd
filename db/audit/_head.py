"""The head of the trail in a file outside the database: a trail whose end was cut off no longer reaches it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from db.audit._chain import ChainLink

HEAD_FILE = "audit-head"

_WIDTH = 96
"""Bytes of the one line; always the same, so that writing it anew replaces it whole."""


def write_head(path: Path, head: ChainLink) -> None:
    """Note how far the trail reaches; a note that reaches further stays."""
    line = f"{head.sequence:020d} {head.sha256}".ljust(_WIDTH - 1) + "\n"
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        # Processes that commit one after the other may come here the other way round.
        fcntl.flock(handle, fcntl.LOCK_EX)
        noted = _parse(os.pread(handle, _WIDTH, 0))
        if noted is None or noted.sequence < head.sequence:
            os.pwrite(handle, line.encode("ascii"), 0)
    finally:
        os.close(handle)


def read_head(path: Path) -> ChainLink | None:
    """Return what was noted, or None where the file is missing.

    Raises:
        ValueError: the file holds something else.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    head = _parse(data)
    if head is None:
        raise ValueError(f"{path} holds no head of an audit trail")
    return head


def _parse(data: bytes) -> ChainLink | None:
    parts = data.decode("ascii", "replace").split()
    if len(parts) != 2 or not parts[0].isdigit() or len(parts[1]) != 64:
        return None
    return ChainLink(int(parts[0]), parts[1])
