"""Puts a backup in place: unpacked beside the folder and checked whole, before anything that is there is moved."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from sqlmodel import col, select

from db import (
    NotEmptyError,
    SchemaError,
    connect,
    faults_of_copy,
    load_copy,
    migrate,
    read_session,
    record_event,
    schema_revision,
    utc_now,
)
from db.audit import HEAD_FILE, ChainLink, begin_head, read_head, trail_head, verify_chain
from db.tables import Account, AccountSession, Invitation
from pipeline.backup._manifest import BackupManifest
from pipeline.backup._read import opened_backup
from pipeline.errors import InputError
from pipeline.in_use import having_alone
from pipeline.jobs import release_ended_seeds
from pipeline.location import note_location
from pipeline.progress import Progress, silent
from pipeline.settings import SETTINGS_FILE, Settings
from pipeline.stored_files import referenced_files
from pipeline.workspace import DATABASE_FILE, QUEUE_FILE, Workspace, open_workspace, operating_system_user

RESTORED = "the workspace was restored from a backup"
"""Why sessions and links of the backup do not work any more."""


@dataclass(frozen=True)
class RestoreSummary:
    """What was put in place. `former` is where the workspace lies now that was there; `faults` were accepted."""

    root: Path
    files: int
    rows: dict[str, int]
    head: ChainLink
    former: Path | None
    faults: list[str]
    missing: list[str]
    jobs: bool
    sessions_ended: int
    links_withdrawn: int


@dataclass(frozen=True)
class _Checked:
    head: ChainLink
    faults: list[str]
    missing: list[str]


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
                settings = _settings(staged)
                checked = _check_content(staged, backup.manifest, accept_audit_faults=accept_audit_faults)
                note_location(staged / "cache", Path(backup.manifest.workspace))
                with _loaded(staged, settings.database_url):
                    former = _put_in_place(staged, root)
    except OSError as error:
        raise _in_words(root, error) from None
    except DBAPIError as error:
        raise InputError(f"{root}: the database cannot be written, nothing was replaced: {error.orig}") from None
    return _begin_anew(root, former, backup.manifest, checked, jobs=jobs)


def _check_place(root: Path, *, replace: bool) -> None:
    if not root.exists() or (root.is_dir() and not any(root.iterdir())):
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


def _settings(staged: Path) -> Settings:
    """Read the settings as the restored workspace will, so that it can be opened."""
    try:
        own = tomllib.loads((staged / SETTINGS_FILE).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"The backup's {SETTINGS_FILE} is not valid TOML: {error}") from None
    if "database_url" in own:
        raise InputError(f"The backup's {SETTINGS_FILE} names a database; no backup does. Nothing was changed.")
    settings = Settings.load(staged)
    if settings.database_url is not None and settings.database_url.startswith("sqlite"):
        raise InputError(
            "HISTOCURATOR_DATABASE_URL names a SQLite file, but the database is restored into the workspace's folder; "
            "unset the variable. Nothing was changed."
        )
    return settings


def _check_content(staged: Path, manifest: BackupManifest, *, accept_audit_faults: bool) -> _Checked:
    for name in (DATABASE_FILE, QUEUE_FILE):
        if (staged / name).is_file() and (damage := faults_of_copy(staged / name)):
            raise InputError(f"The backup's {name} is damaged; nothing was changed:", damage)
    engine = connect(f"sqlite:///{staged / DATABASE_FILE}")
    try:
        revision = schema_revision(engine)
        if revision is None or revision != manifest.schema_revision:
            raise InputError(
                f"The backup's database is at schema {revision}, its manifest says {manifest.schema_revision}; it is "
                "none that can be restored. Nothing was changed."
            )
        migrate(engine)
        faults = _trail_faults(engine, staged, manifest)
        if faults and not accept_audit_faults:
            raise InputError(
                "The audit trail in the backup is not whole; nothing was changed. Take an earlier backup, or give "
                "--accept-audit-faults if you know why:",
                faults,
            )
        with read_session(engine) as session:
            wanted = referenced_files(session)
            head = trail_head(session)
        # Where the backup has none, that is among the faults that were accepted, which the trail will name. What is
        # noted stays, so that rows which were removed show for ever.
        begin_head(staged / HEAD_FILE, head)
    except SchemaError as error:
        raise InputError(str(error)) from None
    except (DBAPIError, ValueError, TypeError) as error:
        # Tables that are not there, documents that are none: it was not written by this program.
        what = error.orig if isinstance(error, DBAPIError) else error
        raise InputError(f"The backup's {DATABASE_FILE} cannot be read; nothing was changed: {what}") from None
    finally:
        engine.dispose()
    missing = sorted(f"{name} ({what})" for name, what in wanted.items() if not (staged / name).is_file())
    return _Checked(head, faults, missing)


def _trail_faults(engine: Engine, staged: Path, manifest: BackupManifest) -> list[str]:
    rows, found = verify_chain(engine, staged / HEAD_FILE)
    faults = [str(fault).replace(f"{staged}/", "") for fault in found]
    with read_session(engine) as session:
        head = trail_head(session)
    if ChainLink(manifest.audit_rows, manifest.audit_head) != head:
        faults.append(f"it has {rows} rows and does not end with the row that the manifest names")
    return faults


@contextmanager
def _loaded(staged: Path, url: str | None) -> Iterator[None]:
    """Have the checked database in the PostgreSQL that is named, if one is; it is empty again where the block fails."""
    if url is None:
        yield
        return
    try:
        engine = connect(url)
    except ValueError as error:
        raise InputError(f"HISTOCURATOR_DATABASE_URL: {error}") from None
    try:
        _load(staged, engine)
        try:
            # The file is not needed beside it.
            (staged / DATABASE_FILE).unlink()
            yield
        except BaseException:
            # Else the next try would be refused, since the database holds rows already.
            migrate(engine, to="base")
            raise
    finally:
        engine.dispose()


def _load(staged: Path, engine: Engine) -> None:
    try:
        load_copy(staged / DATABASE_FILE, engine)
    except NotEmptyError as error:
        raise InputError(
            f"The database that HISTOCURATOR_DATABASE_URL names cannot take the backup: {error}. Name an empty one."
        ) from None
    except SchemaError as error:
        raise InputError(str(error)) from None


def _put_in_place(staged: Path, root: Path) -> Path | None:
    # What was written must be on the disk before the name says that it is whole.
    os.sync()
    if not root.exists() or not any(root.iterdir()):
        staged.rename(root)
        return None
    former = root.with_name(f"{root.name}.replaced-{utc_now():%Y%m%dT%H%M%SZ}")
    shutil.copymode(root, staged)
    with having_alone(root):
        root.rename(former)
        try:
            staged.rename(root)
        except OSError:
            former.rename(root)
            raise
    return former


def _begin_anew(
    root: Path, former: Path | None, manifest: BackupManifest, checked: _Checked, *, jobs: bool
) -> RestoreSummary:
    """Open the restored workspace, end what must not work any more, and record that it was restored."""
    workspace = open_workspace(root)
    try:
        ended, withdrawn = _end_sessions_and_links(workspace)
        _record(workspace, manifest, checked, former, jobs=jobs)
        if not jobs:
            release_ended_seeds(workspace, who=workspace.actor.name)
    finally:
        workspace.engine.dispose()
    return RestoreSummary(
        root=root,
        files=len(manifest.files),
        rows=manifest.rows,
        head=checked.head,
        former=former,
        faults=checked.faults,
        missing=checked.missing,
        jobs=jobs,
        sessions_ended=ended,
        links_withdrawn=withdrawn,
    )


def _end_sessions_and_links(workspace: Workspace) -> tuple[int, int]:
    now, who = utc_now(), workspace.actor.name
    with workspace.writing() as session:
        sessions = session.exec(select(AccountSession).where(col(AccountSession.ended_at).is_(None))).all()
        for one in sessions:
            one.ended_at, one.ended_because = now, RESTORED
            session.add(one)
            record_event(session, who=who, action="sign out", row=one, reason=RESTORED)
        links = session.exec(
            select(Invitation).where(
                col(Invitation.used_at).is_(None), col(Invitation.withdrawn_at).is_(None), Invitation.expires_at > now
            )
        ).all()
        for link in links:
            link.withdrawn_at, link.withdrawn_reason = now, RESTORED
            session.add(link)
            record_event(session, who=who, action="withdraw", row=link, reason=RESTORED)
    return len(sessions), len(links)


def _record(
    workspace: Workspace, manifest: BackupManifest, checked: _Checked, former: Path | None, *, jobs: bool
) -> None:
    """Note in the trail that it goes on from a backup: what was written after that is in the former workspace."""
    replaced: ChainLink | None = None
    if former is not None:
        with suppress(ValueError):
            replaced = read_head(former / HEAD_FILE)
    with workspace.writing() as session:
        record_event(
            session,
            who=workspace.actor.name,
            action="restore workspace",
            row=session.get_one(Account, workspace.owner().id),
            new={
                "by": operating_system_user(),
                "backup_made_at": manifest.made_at.isoformat(),
                "backup_rows": checked.head.sequence,
                "backup_head": checked.head.sha256,
                "replaced_rows": replaced.sequence if replaced else None,
                "replaced_head": replaced.sha256 if replaced else None,
                "jobs": jobs,
                "accepted_faults": checked.faults,
            },
        )


def _in_words(root: Path, error: OSError) -> InputError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(f"There is no space left in {root.parent}; nothing was replaced and no part was kept.")
    if error.errno in (errno.EBUSY, errno.EXDEV):
        return InputError(f"{root} is a mount point; restore into a folder inside it. Nothing was changed.")
    place = f"{error.filename}: " if error.filename is not None else ""
    return InputError(f"The backup was not restored to {root}: {place}{error.strerror or error}. Nothing was changed.")
