"""What is kept of people, for how long, and why: stated and carried out here, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete
from sqlmodel import col, or_

from db import utc_now
from db.tables import AccountSession, Act, Invitation, SignInThrottle
from pipeline.people._sign_in import WINDOW
from pipeline.permissions import Permission, needs
from pipeline.settings import Settings
from pipeline.workspace import DRAFTS, Workspace

FOR_EVER = "as long as the workspace"

KEEP_ACTS = timedelta(days=7)
"""A browser that still asks for the same change after this was closed in the meantime."""


UNFINISHED = timedelta(days=1)
"""After that nobody is writing a draft's file any more."""


@dataclass(frozen=True)
class Kept:
    """One kind of record about people: how long it is kept, what is in it, and what it is for."""

    what: str
    how_long: str
    setting: str | None
    why: str


def retention_rules(settings: Settings) -> list[Kept]:
    """Return what is kept of people under these settings."""
    return [
        Kept(
            "sign-in name, roles, pseudonym",
            FOR_EVER,
            None,
            "the audit trail and the answers of studies refer to them; choose a name that says no more than needed",
        ),
        Kept(
            "display name",
            "until the account is closed with --forget-name",
            None,
            "so that colleagues know each other; exports of readers' answers carry the pseudonym instead",
        ),
        Kept("password (as an argon2id hash)", "until changed or the account is closed", None, "to sign in"),
        Kept(
            "issuer and subject of a single sign-on",
            FOR_EVER,
            None,
            "to know the person again, and a closed account as closed",
        ),
        Kept(
            "sessions: times, network address, browser",
            f"{settings.keep_sessions_days} days after they end",
            "keep_sessions_days",
            "so that people see where they are signed in, and administrators what happened",
        ),
        Kept(
            "invitations and reset links (the token as a hash)",
            f"{settings.keep_invitations_days} days after they expire",
            "keep_invitations_days",
            "to see who was invited by whom",
        ),
        Kept(
            "failed attempts to sign in (name and address as hashes)",
            f"{WINDOW.total_seconds() / 60:.0f} minutes",
            None,
            "to slow down guessing",
        ),
        Kept(
            "drafts of texts not yet saved",
            f"{settings.keep_drafts_days} days after the last key",
            "keep_drafts_days",
            "to give them back after a reload",
        ),
        Kept(
            "typed texts that the server could not take yet (in the browser that they were typed in)",
            "until the server has them, or the person signs out",
            None,
            "so that a lost connection, a closed tab or a full disk loses nothing; whoever uses that browser's profile "
            "could find them there",
        ),
        Kept(
            "which change a browser asked for (a random number)",
            f"{KEEP_ACTS.days} days",
            None,
            "so that a save which is repeated, since its answer was lost, is not made twice",
        ),
        Kept("audit trail", FOR_EVER, None, "who changed what, when and why"),
        Kept("log files", "the last 30 MB", None, "to find faults; they hold no secrets and no answers"),
    ]


@needs(Permission.MANAGE_WORKSPACE)
def apply_retention(workspace: Workspace) -> dict[str, int]:
    """Delete what has been kept long enough and return how much of each kind; the server does it once a day."""
    settings, now = workspace.settings, utc_now()
    ended = now - timedelta(days=settings.keep_sessions_days)
    expired = now - timedelta(days=settings.keep_invitations_days)
    with workspace.writing() as session:
        sessions = session.execute(
            delete(AccountSession).where(
                or_(col(AccountSession.ended_at) < ended, col(AccountSession.expires_at) < ended)
            )
        )
        invitations = session.execute(delete(Invitation).where(col(Invitation.expires_at) < expired))
        attempts = session.execute(delete(SignInThrottle).where(col(SignInThrottle.since) < now - WINDOW))
        acts = session.execute(delete(Act).where(col(Act.at) < now - KEEP_ACTS))
        counts = {
            "sessions": int(getattr(sessions, "rowcount", 0)),
            "invitations": int(getattr(invitations, "rowcount", 0)),
            "failed attempts": int(getattr(attempts, "rowcount", 0)),
            "acts": int(getattr(acts, "rowcount", 0)),
        }
    return {**counts, "drafts": _old_drafts(workspace, now - timedelta(days=settings.keep_drafts_days))}


def _old_drafts(workspace: Workspace, before: datetime) -> int:
    count = 0
    for path in (workspace.root / DRAFTS).rglob("*.*"):
        # Another ending is that of a file whose writing was killed: the draft itself is what stood before.
        kept = path.suffix == ".json"
        try:
            if path.stat().st_mtime < (before if kept else utc_now() - UNFINISHED).timestamp():
                path.unlink()
                count += kept
        except FileNotFoundError:
            continue  # its owner has just saved or dropped it
    return count
