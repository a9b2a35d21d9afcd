"""The audit trail: one row for each change, written in the transaction that makes it."""

from __future__ import annotations

from typing import Any

from sqlmodel import Session

from db.tables import AccountSession, AuditEvent, Row


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
    """Add an audit row for a change of `row` to the open transaction."""
    session.add(
        AuditEvent(
            who=who,
            action=action,
            object_type=type(row).__name__.lower(),
            object_id=row.id,
            old=old,
            new=new,
            reason=reason,
        )
    )
