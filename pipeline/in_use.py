"""Whether something runs on a workspace: commands, server and worker say so by a lock that ends with their process."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pipeline.errors import InputError

LOCK_FILE = "in-use.lock"
"""In the workspace's cache; what works on the workspace shares it, what replaces the workspace has it alone."""


@contextmanager
def using(root: Path) -> Iterator[None]:
    """Say, as long as the block lasts, that this process works on a workspace; a folder without one is left alone.

    Raises:
        InputError: the workspace is being replaced at this moment.
    """
    file = root / "cache" / LOCK_FILE
    if not file.parent.is_dir():
        yield
        return
    with _opened(file) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"{root} is being replaced by a restore at this moment; try again when it is done"
            ) from None
        yield


@contextmanager
def having_alone(root: Path) -> Iterator[None]:
    """Keep everything else on this machine from working on a workspace as long as the block lasts.

    Raises:
        InputError: something works on it.
    """
    cache = root / "cache"
    with suppress(FileExistsError):
        cache.mkdir(parents=True)
    with _opened(cache / LOCK_FILE) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"{root} is in use by a server, a worker or another command; end it first. Nothing was changed."
            ) from None
        yield


def _opened(file: Path) -> BinaryIO:
    try:
        return file.open("a+b")
    except PermissionError:
        # Another operating-system user made it: a lock needs no more than reading.
        return file.open("rb")
