"""The files of a workspace as they go into a backup: which ones, and how each is read while others write."""

from __future__ import annotations

import hashlib
import io
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pipeline.backup._manifest import LEFT_OUT, belongs_in_backup, fault_of_name
from pipeline.errors import InputError
from pipeline.workspace import DATABASE_FILE, Workspace

CHUNK = 1024 * 1024
SMALL_FILE = 16 * CHUNK
"""Up to this size a file that changes while it is read is read again, until it was the same throughout."""

_READINGS = 5

_URL_LEFT_OUT = (
    "# database_url is not in a backup: it may hold a password, and a restored workspace has its own database"
)


def files_of(workspace: Workspace) -> tuple[list[str], list[str]]:
    """Return the files that belong in a backup, and what does not although it looks as if, with the reason."""
    root, database = workspace.root, workspace.engine.url.database
    own = Path(database).name if workspace.engine.dialect.name == "sqlite" and database else DATABASE_FILE
    names: list[str] = []
    left_out: list[str] = []
    for top in sorted(root.iterdir()):
        if top.name in LEFT_OUT or top.name.startswith(own):
            continue
        # A folder of the workspace may be a link to another disk; links further down are somebody's own.
        found = _below(top) if top.is_dir() and not top.name.startswith(".") else [top]
        for path in found:
            name = path.relative_to(root).as_posix()
            if path.name.startswith(".") and path.is_dir():
                left_out.append(f"{name!r}: it is hidden, as what is unfinished is")
            if not belongs_in_backup(PurePosixPath(name)):
                continue
            fault = "it is a link" if path.is_symlink() else None if path.is_file() else "it is no file"
            fault = fault or fault_of_name(name)
            if fault is None:
                names.append(name)
            else:
                left_out.append(f"{name!r}: {fault}")
    return sorted(names), left_out


def _below(folder: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise error  # What cannot be listed must not be missing in silence.

    for place, folders, files in os.walk(folder, onerror=refuse):
        hidden = [name for name in folders if name.startswith(".")]
        folders[:] = [name for name in folders if name not in hidden]
        linked = [name for name in folders if (Path(place) / name).is_symlink()]
        yield from (Path(place) / name for name in (*files, *linked, *hidden))


def read_unchanged(path: Path) -> bytes:
    """Read a file that its writer may be changing: as it was between two changes, where they leave the time."""
    data = b""
    for _ in range(_READINGS):
        before = path.stat()
        data = path.read_bytes()
        after = path.stat()
        if (before.st_ino, before.st_mtime_ns, len(data)) == (after.st_ino, after.st_mtime_ns, after.st_size):
            break
    return data


class HashingReader(io.RawIOBase):
    """A file that is read once, with its SHA-256."""

    def __init__(self, source: io.BufferedReader) -> None:
        super().__init__()
        self._source = source
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self.digest.update(data)
        return data


def settings_without_url(path: Path) -> bytes:
    """Return the settings without the URL of the database, which may hold a password.

    Raises:
        InputError: it is written in a way that cannot be taken out.
    """
    text = path.read_text(encoding="utf-8")
    lines = [
        _URL_LEFT_OUT if line.split("=")[0].strip().strip("\"'") == "database_url" else line
        for line in text.splitlines()
    ]
    kept = "\n".join(lines) + "\n"
    try:
        read = tomllib.loads(kept)
    except tomllib.TOMLDecodeError:
        read = {"database_url": ""}
    if "database_url" in read:
        raise InputError(f'{path}: write database_url = "…" on one line; a backup leaves that line out')
    return kept.encode()
