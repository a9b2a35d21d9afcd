"""Signed-in browsers: opened by a sign-in, looked up at every request, ended here for all of them at once."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session, col, select

from db import new_id, record_event, utc_now
from db.tables import Account, AccountSession
from pipeline.errors import NotFoundError
from pipeline.people._accounts import actor_of, end_all_sessions, open_account
from pipeline.permissions import Actor, Permission, needs
from pipeline.settings import Settings
from pipeline.workspace import Workspace

TOUCH_INTERVAL = timedelta(seconds=60)
"""How exactly the last use is known; a write for every tile would be too many."""

MAX_BROWSER = 200


@dataclass(frozen=True)
class OpenedSession:
    """A new session; `secret` goes into the cookie and is kept nowhere else."""

    id: str
    secret: str
    expires_at: datetime


@dataclass(frozen=True)
class SignedIn:
    """Who sends a request, and by which session."""

    actor: Actor
    session_id: str


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def open_session(
    session: Session, settings: Settings, account: Account, *, address: str, browser: str, how: str
) -> OpenedSession:
    """Write a new session of an account in an open transaction."""
    secret = secrets.token_urlsafe(32)
    opened = AccountSession(
        id=new_id("ses"),
        secret_sha256=_hashed(secret),
        account_id=account.id,
        expires_at=utc_now() + timedelta(hours=settings.session_hours),
        address=address,
        browser=browser[:MAX_BROWSER],
    )
    session.add(opened)
    record_event(session, who=account.name, action=f"sign in ({how})", row=opened)
    return OpenedSession(opened.id, secret, opened.expires_at)


def signed_in(workspace: Workspace, secret: str, *, counts: bool = True) -> SignedIn | None:
    """Return who holds a session's secret, or None where the session is unknown, ended, idle too long or expired.

    The account's roles are those of this moment. Being looked up counts as use, unless `counts` is false.
    """
    now = utc_now()
    with workspace.reading() as session:
        found = session.exec(
            select(AccountSession, Account)
            .join(Account, col(Account.id) == col(AccountSession.account_id))
            .where(AccountSession.secret_sha256 == _hashed(secret))
        ).first()
    if found is None:
        return None
    one, account = found
    if one.ended_at is not None or account.withdrawn_at is not None:
        return None
    idle = timedelta(minutes=workspace.settings.session_idle_minutes)
    if now >= one.expires_at or now - one.last_seen_at >= idle:
        end_session(workspace, one.id, because="expired" if now >= one.expires_at else "not used for too long")
        return None
    # Well before the idle time is over, however short it is: a session in use must not end.
    if counts and now - one.last_seen_at >= min(TOUCH_INTERVAL, idle / 4):
        _touch(workspace, one.id, now)
    return SignedIn(actor_of(account), one.id)


def _touch(workspace: Workspace, session_id: str, now: datetime) -> None:
    with workspace.writing() as session:
        one = session.get(AccountSession, session_id)
        if one is not None and one.ended_at is None and one.last_seen_at < now:
            one.last_seen_at = now
            session.add(one)


def end_session(workspace: Workspace, session_id: str, *, because: str) -> None:
    """End a session; one that has ended stays as it ended. The server calls this, pages call `end_own_session`."""
    with workspace.writing() as session:
        one = session.get(AccountSession, session_id)
        if one is None or one.ended_at is not None:
            return
        one.ended_at, one.ended_because = utc_now(), because
        session.add(one)
        account = session.get_one(Account, one.account_id)
        record_event(session, who=account.name, action="sign out", row=one, reason=because)


@needs(Permission.OWN_ACCOUNT)
def list_own_sessions(workspace: Workspace) -> Sequence[AccountSession]:
    """Return the actor's own sessions that have not ended, the one used last first."""
    with workspace.reading() as session:
        return session.exec(
            select(AccountSession)
            .where(
                AccountSession.account_id == workspace.actor.account_id,
                col(AccountSession.ended_at).is_(None),
                AccountSession.expires_at > utc_now(),
            )
            .order_by(col(AccountSession.last_seen_at).desc())
        ).all()


@needs(Permission.OWN_ACCOUNT)
def end_own_session(workspace: Workspace, session_id: str) -> None:
    """End one of the actor's own sessions.

    Raises:
        NotFoundError: none of the actor's sessions has this id.
    """
    with workspace.reading() as session:
        one = session.get(AccountSession, session_id)
    if one is None or one.account_id != workspace.actor.account_id:
        raise NotFoundError(f"You have no session {session_id}.")
    end_session(workspace, session_id, because="ended by its owner")


@needs(Permission.MANAGE_PEOPLE)
def end_sessions_of(workspace: Workspace, name: str, *, who: str) -> int:
    """End all sessions of an account and return how many there were.

    Raises:
        NotFoundError: no such open account.
    """
    with workspace.writing() as session:
        return end_all_sessions(session, open_account(session, name), because=f"ended by {who}", who=who)
