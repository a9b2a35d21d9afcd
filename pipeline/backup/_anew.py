"""Begins a restored workspace anew before it takes its place: whatever ends a restore, what must end has ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlmodel import col, select

from db import record_event, utc_now
from db.audit import ChainLink
from db.tables import Account, AccountSession, Invitation
from pipeline.backup._check import Checked
from pipeline.backup._manifest import BackupManifest
from pipeline.errors import InputError
from pipeline.location import move_paths, note_location
from pipeline.seed_holds import job_holders, release_seeds
from pipeline.workspace import DATABASE_FILE, Workspace, open_workspace, operating_system_user

RESTORED = "the workspace was restored from a backup"
"""Why sessions and links of the backup do not work any more."""


@dataclass(frozen=True)
class Ended:
    """How many sessions and links of the backup were ended."""

    sessions: int
    links: int


def begin_anew(
    staged: Path,
    root: Path,
    manifest: BackupManifest,
    checked: Checked,
    *,
    replaced: ChainLink | None,
    jobs: bool,
) -> Ended:
    """Open an unpacked workspace as the app does, end what must not work any more, and record that it was restored.

    Args:
        staged: where it lies now, with its database as a SQLite file.
        root: where it will lie; paths inside the workspace say so.
        manifest: the backup's.
        checked: what the check of it found.
        replaced: the noted head of the trail of the workspace that it replaces, if it does.
        jobs: its queue comes back too, so that what jobs hold stays held.

    Raises:
        InputError: it cannot be opened.
        sqlalchemy.exc.DBAPIError: the database cannot be written.
    """
    note_location(staged / "cache", staged)
    try:
        workspace = open_workspace(staged, database_url=f"sqlite:///{staged / DATABASE_FILE}")
    except DBAPIError:
        raise
    except (SQLAlchemyError, LookupError, ValueError, TypeError, RecursionError) as error:
        raise InputError(
            f"The workspace in the backup cannot be opened as the app opens it; nothing was changed: {error}"
        ) from None
    try:
        move_paths(workspace, Path(manifest.workspace), root, who=workspace.actor.name)
        ended = _end_sessions_and_links(workspace)
        if not jobs:
            release_seeds(workspace, job_holders(workspace), who=workspace.actor.name)
        _record(workspace, manifest, checked, replaced, jobs=jobs)
    finally:
        workspace.engine.dispose()
    note_location(staged / "cache", root)
    return ended


def _end_sessions_and_links(workspace: Workspace) -> Ended:
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
    return Ended(len(sessions), len(links))


def _record(
    workspace: Workspace, manifest: BackupManifest, checked: Checked, replaced: ChainLink | None, *, jobs: bool
) -> None:
    """Note in the trail that it goes on from a backup: what was written after that is in the former workspace."""
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
