"""Adds rows to the trail, in the transaction that makes the change."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection
from sqlmodel import Session, col, select

from db._time import utc_now
from db.audit._chain import START, ChainLink, digest
from db.tables import Account, AccountSession, AuditEvent, Row

HEAD = "audit_head"
"""Under which a session's info keeps the last row that it added."""

CHANGED = "audit_changed"
"""Under which a session's info keeps the object of the last row that it added."""

ACTOR = "audit_actor"
"""Under which a session's info keeps the name of who works in it."""

ROLE = "audit_role"
"""Under which a session's info keeps the roles of who works in it."""


def record_event(
    session: Session,
    *,
    who: str,
    action: str,
    row: Row | AccountSession,
    old: dict[str, Any] | None = None,
    new: dict[str, Any] | None = None,
    reason: str | None = None,
) -> None:
    """Add an audit row for a change of `row` to the open writing transaction.

    The roles are those of the account that `who` names, whoever runs the program: the server signs people in, and a
    look at the queue ends what somebody else began. A name that is no account's has the roles of who works in the
    session.

    Writers follow each other, so the row before is the last one for certain; where they did not, the database
    refuses the second row of a number, and the transaction with it.
    """
    head = trail_head(session)
    event = AuditEvent(
        sequence=head.sequence + 1,
        at=utc_now(),
        who=who,
        role=_roles_of(session, who),
        action=action,
        object_type=type(row).__name__.lower(),
        object_id=row.id,
        old=_as_stored(old),
        new=_as_stored(new),
        reason=reason,
        previous_sha256=head.sha256,
        sha256="",
    )
    event.sha256 = digest(event.model_dump())
    session.add(event)
    session.info[HEAD] = ChainLink(head.sequence + 1, event.sha256)
    session.info[CHANGED] = row


def last_changed(session: Session) -> Row | AccountSession | None:
    """Return the object of the last audit row of the open transaction; None where it has none."""
    row: Row | AccountSession | None = session.info.get(CHANGED)
    return row


def _roles_of(session: Session, who: str) -> str:
    own = str(session.info.get(ROLE, ""))
    if who == session.info.get(ACTOR):
        return own
    with session.no_autoflush:
        account = session.exec(select(Account).where(Account.name == who)).first()
    if account is None:
        account = next((new for new in session.new if isinstance(new, Account) and new.name == who), None)
    if account is None:
        return own
    return ", ".join(account.roles) if account.withdrawn_at is None else ""


def is_row(connection: Connection, link: ChainLink) -> bool:
    """Say whether the trail has the row of this number with this sum."""
    found = connection.execute(select(AuditEvent.sha256).where(AuditEvent.sequence == link.sequence)).scalar()
    return found == link.sha256


def trail_head(session: Session) -> ChainLink:
    """Return the last row of the trail, as this session sees it; `START` where there is none."""
    known = session.info.get(HEAD)
    if isinstance(known, ChainLink):
        return known
    with session.no_autoflush:
        last = session.exec(
            select(AuditEvent.sequence, AuditEvent.sha256).order_by(col(AuditEvent.sequence).desc()).limit(1)
        ).first()
    return START if last is None else ChainLink(*last)


def _as_stored(document: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a document as it comes back from the database: what is hashed is what can be read again."""
    if document is None:
        return None
    stored: dict[str, Any] = json.loads(json.dumps(document))
    return stored
