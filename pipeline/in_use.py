"""Whether something runs on a workspace: commands, server and worker say so by a lock that ends with their process."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import InputError


@contextmanager
def using(root: Path) -> Iterator[None]:
    """Say, as long as the block lasts, that this process works on a workspace; where there is no folder, nothing.

    Raises:
        InputError: the workspace is being replaced at this moment, or its folder may not be read.
    """
    if not root.is_dir():
        yield
        return
    with _locked(root, fcntl.LOCK_SH) as locked:
        if not locked:
            raise InputError(f"{root} is being replaced by a restore at this moment; try again when it is done")
        yield


@contextmanager
def having_alone(root: Path) -> Iterator[None]:
    """Keep everything else on this machine from working on a workspace as long as the block lasts.

    Raises:
        InputError: something works on it, or its folder may not be read.
    """
    with _locked(root, fcntl.LOCK_EX) as locked:
        if not locked:
            raise InputError(
                f"{root} is in use by a server, a worker or another command; end it first. Nothing was changed."
            )
        yield


@contextmanager
def _locked(root: Path, kind: int) -> Iterator[bool]:
    """Lock the folder itself, and say whether that went: a lock in a file could be removed with the file."""
    try:
        handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        raise InputError(f"{root} may not be read by you; ask the person whom the folder belongs to") from None
    try:
        yield _has_locked(handle, kind) and _lies_at(handle, root)
    finally:
        os.close(handle)


def _has_locked(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lies_at(handle: int, root: Path) -> bool:
    """Say whether the folder that was opened is still the one of this name: another may have taken its place since."""
    try:
        return os.path.samestat(os.fstat(handle), root.stat())
    except FileNotFoundError:
        return False
