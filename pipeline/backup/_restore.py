"""Puts a backup in place: unpacked beside the folder and checked whole, before anything that is there is moved."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from db import utc_now
from db.audit import HEAD_FILE, ChainLink, read_head
from pipeline.backup._anew import begin_anew
from pipeline.backup._check import check_content, read_settings
from pipeline.backup._load import loaded
from pipeline.backup._read import opened_backup
from pipeline.errors import InputError
from pipeline.in_use import having_alone
from pipeline.progress import Progress, silent
from pipeline.settings import SETTINGS_FILE
from pipeline.workspace import DATABASE_FILE, QUEUE_FILE


@dataclass(frozen=True)
class RestoreSummary:
    """What was put in place. `former` is where the workspace lies now that was there; `faults` were accepted.

    `outside` are folders outside the workspace that its rows refer to: what lies there is read, and shown to people.
    """

    root: Path
    files: int
    rows: dict[str, int]
    head: ChainLink
    former: Path | None
    faults: list[str]
    missing: list[str]
    outside: list[str]
    jobs: bool
    sessions_ended: int
    links_withdrawn: int


def restore_backup(
    file: Path,
    root: Path,
    *,
    replace: bool = False,
    jobs: bool = False,
    accept_audit_faults: bool = False,
    progress: Progress = silent,
) -> RestoreSummary:
    """Make a workspace from a backup.

    Names, sizes, sums, the database and its audit trail are checked before anything in place is touched. The
    database goes into the folder as a SQLite file, or into the empty PostgreSQL that HISTOCURATOR_DATABASE_URL names.
    Sessions and links of the backup end, since they may have been ended after it was made.

    Args:
        file: the backup.
        root: a new or empty folder.
        replace: the folder may be a workspace that nothing runs on; it is moved aside, never deleted.
        jobs: bring back the job queue, whose waiting and running jobs then go on where they were.
        accept_audit_faults: restore although the audit trail in the backup is not whole.
        progress: told after each file.

    Raises:
        InputError: the backup or the folder will not do; nothing was changed.
    """
    root = root.expanduser().resolve()
    _check_place(root, replace=replace)
    try:
        with opened_backup(file) as backup:
            _check_space(root, backup.bytes)
            root.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=root.parent, prefix=f".{root.name}.") as staging:
                staged = Path(staging) / "workspace"
                staged.mkdir()
                backup.unpack(staged, progress=progress)
                if not jobs:
                    (staged / QUEUE_FILE).unlink(missing_ok=True)
                settings = read_settings(staged)
                checked = check_content(staged, backup.manifest, accept_audit_faults=accept_audit_faults)
                # Asked again: minutes have passed, and somebody may have made one there.
                _check_place(root, replace=replace)
                with _kept_from_changing(root) as replaced:
                    ended = begin_anew(staged, root, backup.manifest, checked, replaced=replaced, jobs=jobs)
                    with loaded(staged, root, settings.database_url):
                        former = _put_in_place(staged, root)
                manifest = backup.manifest
    except OSError as error:
        raise _in_words(root, error) from None
    except DBAPIError as error:
        raise InputError(f"{root}: the database cannot be written, nothing was replaced: {error.orig}") from None
    return RestoreSummary(
        root=root,
        files=len(manifest.files),
        rows=manifest.rows,
        head=checked.head,
        former=former,
        faults=checked.faults,
        missing=checked.missing,
        outside=checked.outside,
        jobs=jobs,
        sessions_ended=ended.sessions,
        links_withdrawn=ended.links,
    )


def _check_place(root: Path, *, replace: bool) -> None:
    if _is_free(root):
        return
    if not root.is_dir():
        raise InputError(f"{root} is no folder")
    if not any((root / name).exists() for name in (SETTINGS_FILE, DATABASE_FILE)):
        raise InputError(f"{root} holds something else than a workspace; choose a new or empty folder")
    if not replace:
        raise InputError(
            f"{root} is a workspace; choose a new or empty folder, or give --replace: the workspace is moved aside then"
        )
    if root.stat().st_uid != os.geteuid():
        raise InputError(f"{root} belongs to another operating-system user; only its owner may replace it")
    with having_alone(root):
        return


def _check_space(root: Path, needed: int) -> None:
    place = next(folder for folder in root.parents if folder.exists())
    free = shutil.disk_usage(place).free
    if free < needed:
        raise InputError(
            f"{place} has {free / 1e6:,.1f} MB free and the backup holds {needed / 1e6:,.1f} MB; make room or choose "
            "another disk. Nothing was changed."
        )


@contextmanager
def _kept_from_changing(root: Path) -> Iterator[ChainLink | None]:
    """Keep a workspace that is to be replaced from changing, and yield how far its trail is noted to reach."""
    if _is_free(root):
        yield None
        return
    with having_alone(root):
        noted: ChainLink | None = None
        with suppress(ValueError):
            noted = read_head(root / HEAD_FILE)
        yield noted


def _is_free(root: Path) -> bool:
    return not root.exists() or (root.is_dir() and not any(root.iterdir()))


def _for_its_owner_alone(folder: Path) -> None:
    """Close a folder to others, as a new workspace is: it holds hashes of passwords and the keys of items."""
    folder.chmod(0o700)
    for place, folders, files in os.walk(folder):
        for names, mode in ((folders, 0o700), (files, 0o600)):
            for name in names:
                (Path(place) / name).chmod(mode)


def _put_in_place(staged: Path, root: Path) -> Path | None:
    _for_its_owner_alone(staged)
    # What was written must be on the disk before the name says that it is whole.
    os.sync()
    if _is_free(root):
        staged.rename(root)
        return None
    former = root.with_name(f"{root.name}.replaced-{utc_now():%Y%m%dT%H%M%SZ}")
    root.rename(former)
    try:
        staged.rename(root)
    except OSError:
        former.rename(root)
        raise
    return former


def _in_words(root: Path, error: OSError) -> InputError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(f"There is no space left in {root.parent}; nothing was replaced and no part was kept.")
    if error.errno in (errno.EBUSY, errno.EXDEV):
        return InputError(f"{root} is a mount point; restore into a folder inside it. Nothing was changed.")
    place = f"{error.filename}: " if error.filename is not None else ""
    return InputError(f"The backup was not restored to {root}: {place}{error.strerror or error}. Nothing was changed.")
