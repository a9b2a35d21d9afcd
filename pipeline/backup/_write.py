"""Makes a backup while the app runs and writes: first the database as of one moment, then the files it refers to."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import sqlite3
import tarfile
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from db import (
    connect,
    copy_database,
    copy_sqlite_file,
    count_rows,
    faults_of_copy,
    make_one_file,
    read_session,
    schema_revision,
    utc_now,
)
from db.audit import HEAD_FILE, ChainLink, advance_head, begin_head, read_head, trail_head, verify_chain
from pipeline.backup._files import (
    SMALL_FILE,
    HashingReader,
    files_of,
    read_unchanged,
    settings_without_url,
)
from pipeline.backup._manifest import MANIFEST_FILE, BackupFile, BackupManifest
from pipeline.errors import InputError
from pipeline.permissions import Permission, needs
from pipeline.progress import Progress, silent
from pipeline.settings import SETTINGS_FILE
from pipeline.stored_files import referenced_files, sync_folder
from pipeline.workspace import DATABASE_FILE, QUEUE_FILE, Workspace


@dataclass(frozen=True)
class BackupSummary:
    """What a backup holds. `faults` of the audit trail and `missing` files were so in the workspace already."""

    path: Path
    files: int
    bytes: int
    rows: dict[str, int]
    head: ChainLink
    faults: list[str]
    missing: list[str]
    left_out: list[str]


@needs(Permission.MANAGE_WORKSPACE)
def write_backup(workspace: Workspace, target: Path, *, progress: Progress = silent) -> BackupSummary:
    """Write a consistent copy of database and files into one tar file; others go on working meanwhile.

    The database is copied as it is at one moment, then the files: every file that a row refers to was whole before
    the row was written. The backup appears under its name when it is complete, readable by its owner alone.

    Args:
        workspace: what to copy.
        target: a new file whose name ends in .tar, outside the workspace.
        progress: told after each file.

    Raises:
        InputError: the target will not do, there is not enough space, or a file cannot be read. Nothing is left.
    """
    target = target.expanduser().absolute()
    _check_target(workspace, target)
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as staging:
            made = Path(staging) / "backup.tar"
            summary = _write(workspace, Path(staging), made, target, progress)
            # Asked again: minutes have passed.
            if target.exists():
                raise InputError(f"{target} was made by somebody else meanwhile; choose another file")
            made.chmod(0o600)
            made.replace(target)
            sync_folder(target.parent)
    except OSError as error:
        raise _in_words(target, error) from None
    except (sqlite3.Error, DBAPIError) as error:
        raise _database_in_words(target, error) from None
    return summary


def _check_target(workspace: Workspace, target: Path) -> None:
    if target.suffix != ".tar":
        raise InputError(f"{target}: a backup is a .tar file; give it that ending")
    if target.exists():
        raise InputError(f"{target} exists; choose another file, a backup replaces none")
    if not target.parent.is_dir():
        raise InputError(f"{target.parent} is no folder; make it first")
    if target.parent.resolve().is_relative_to(workspace.root.resolve()):
        raise InputError(f"{target} lies inside the workspace; a backup belongs elsewhere, best on another disk")


@dataclass(frozen=True)
class _Copied:
    """The databases and the head beside the tar file, before they are in it, and what the copy says."""

    files: list[Path]
    manifest: BackupManifest
    head: ChainLink
    faults: list[str]
    wanted: dict[str, str]
    lost: list[str]


def _write(workspace: Workspace, staging: Path, made: Path, target: Path, progress: Progress) -> BackupSummary:
    _check_space(workspace, files_of(workspace)[0], target)
    copied = _copy_databases(workspace, staging)
    # Listed after the database was copied: what its rows refer to is there by now.
    names, left_out = files_of(workspace)
    entries = copied.manifest.files
    total = len(copied.files) + len(names)
    with made.open("xb") as file, tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in copied.files:
            entries.append(_add(tar, path, path.name))
            path.unlink()
            progress(len(entries), total, path.name)
        for number, name in enumerate(names, start=len(copied.files) + 1):
            added = _add_if_there(tar, workspace.root, name)
            if added is not None:
                entries.append(added)
            progress(number, total, name)
        _add_bytes(tar, copied.manifest.model_dump_json(indent=1).encode(), MANIFEST_FILE)
        tar.close()
        file.flush()
        os.fsync(file.fileno())
    held = {entry.path for entry in entries}
    return BackupSummary(
        path=target,
        files=len(entries),
        bytes=made.stat().st_size,
        rows=copied.manifest.rows,
        head=copied.head,
        faults=copied.faults,
        missing=sorted(f"{name} ({what})" for name, what in copied.wanted.items() if name not in held),
        left_out=[*copied.lost, *left_out],
    )


def _copy_databases(workspace: Workspace, staging: Path) -> _Copied:
    copy, queue, head_file = staging / DATABASE_FILE, staging / QUEUE_FILE, staging / HEAD_FILE
    # The queue first: a step that it does not know as done is done again, one that the database lacks would be lost.
    lost = _copy_queue(workspace.root / QUEUE_FILE, queue)
    # Before the copy is made, so that the copy must reach as far.
    noted = _noted_head(workspace)
    if noted is not None:
        begin_head(head_file, noted)
    copy_database(workspace.engine, copy)
    engine = connect(f"sqlite:///{copy}")
    try:
        head, faults = _check_trail(workspace, engine, head_file)
        # Else the note stays as it was: a backup must not make a trail whole whose end was cut off.
        if not faults:
            advance_head(head_file, head, lambda _: True)
        manifest = _manifest(workspace, engine, head)
        with read_session(engine) as session:
            wanted = referenced_files(session)
    finally:
        engine.dispose()
    make_one_file(copy)
    made = [path for path in (copy, queue, head_file) if path.is_file()]
    return _Copied(made, manifest, head, faults, wanted, lost)


def _copy_queue(file: Path, target: Path) -> list[str]:
    """Copy the job queue; where it is damaged, say so: it is the least that is to be lost."""
    if not file.exists():
        return []
    try:
        copy_sqlite_file(file, target)
        faults = faults_of_copy(target)
    except sqlite3.OperationalError as error:
        if "full" in str(error):
            raise
        faults = [str(error)]
    except sqlite3.DatabaseError as error:
        faults = [str(error)]
    if not faults:
        return []
    for path in target.parent.glob(f"{target.name}*"):
        path.unlink()
    return [f"{file.name!r}: it is damaged ({faults[0]}), so that no job is in the backup"]


def _check_space(workspace: Workspace, names: list[str], target: Path) -> None:
    files = sum(_size(workspace.root / name) for name in names)
    # The copy of the database lies beside the tar file until it is in it.
    databases = 2 * sum(_size(workspace.root / name) for name in (DATABASE_FILE, QUEUE_FILE))
    needed, free = files + databases, shutil.disk_usage(target.parent).free
    if free < needed:
        raise InputError(
            f"{target.parent} has {_mb(free)} free and the backup needs {_mb(needed)}; make room or choose another "
            "disk. Nothing was written."
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _mb(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def _noted_head(workspace: Workspace) -> ChainLink | None:
    try:
        return read_head(workspace.audit_head)
    except ValueError:
        return None  # The check says so.


def _check_trail(workspace: Workspace, engine: Engine, head_file: Path) -> tuple[ChainLink, list[str]]:
    """Return how far the copied trail reaches, and what is wrong with it."""
    _, faults = verify_chain(engine, head_file if head_file.is_file() else None)
    with read_session(engine) as session:
        head = trail_head(session)
    said = [str(fault) for fault in faults]
    if not head_file.is_file():
        said.append(f"{workspace.audit_head} is missing or damaged: nothing shows whether rows were removed")
    return head, said


def _manifest(workspace: Workspace, engine: Engine, head: ChainLink) -> BackupManifest:
    return BackupManifest(
        made_at=utc_now(),
        program=version("histocurator"),
        workspace=str(workspace.root),
        database="sqlite" if workspace.engine.dialect.name == "sqlite" else "postgresql",
        schema_revision=schema_revision(engine) or "",
        audit_rows=head.sequence,
        audit_head=head.sha256,
        rows=count_rows(engine),
        files=[],
    )


def _add_if_there(tar: tarfile.TarFile, root: Path, name: str) -> BackupFile | None:
    """Add a file; one that is gone by now (a draft that was saved, a candidate that was not kept) is passed over."""
    try:
        if name == SETTINGS_FILE:
            return _add_bytes(tar, settings_without_url(root / name), name)
        return _add(tar, root / name, name)
    except FileNotFoundError:
        return None


def _add(tar: tarfile.TarFile, path: Path, name: str) -> BackupFile:
    size = path.stat().st_size
    if size <= SMALL_FILE:
        return _add_bytes(tar, read_unchanged(path), name)
    with path.open("rb") as source:
        size = os.fstat(source.fileno()).st_size
        hashing = HashingReader(source)
        header = tarfile.TarInfo(name)
        header.size, header.mtime = size, path.stat().st_mtime
        try:
            tar.addfile(header, hashing)
        except OSError as error:
            # tarfile says this of a source that ends early; an error of the disk has a number.
            if error.errno is not None:
                raise
            raise InputError(f"{path} became shorter while it was copied; make the backup again") from None
    return BackupFile(path=name, bytes=size, sha256=hashing.digest.hexdigest())


def _add_bytes(tar: tarfile.TarFile, data: bytes, name: str) -> BackupFile:
    header = tarfile.TarInfo(name)
    header.size, header.mtime = len(data), utc_now().timestamp()
    tar.addfile(header, io.BytesIO(data))
    return BackupFile(path=name, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def _in_words(target: Path, error: OSError) -> InputError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(f"There is no space left in {target.parent} for the backup; no part of it was kept there.")
    place = f"{error.filename}: " if error.filename is not None else ""
    return InputError(f"The backup {target} was not made: {place}{error.strerror or error}. No part of it was kept.")


def _database_in_words(target: Path, error: Exception) -> InputError:
    what = error.orig if isinstance(error, DBAPIError) else error
    if "full" in str(what):
        return _in_words(target, OSError(errno.ENOSPC, str(what)))
    return InputError(f"The backup {target} was not made: the database cannot be copied: {what}")
