"""Who changed an object last, for a person who wants to change what they saw before that."""

from __future__ import annotations

from sqlmodel import Session, col, select

from db.tables import Account, AuditEvent, Roi, Row
from pipeline.errors import ChangedError

_ACTS = {
    "write": "wrote it",
    "edit": "changed its text",
    "draw": "drew it",
    "bin": "put it into a bin",
    "set quotas": "set its quotas",
    "import": "imported it",
    "withdraw": "withdrew it",
    "restore": "restored it",
    "add": "added it",
    "close": "closed it",
    "change the password": "changed its password",
    "change the display name": "changed its display name",
}


def require_unchanged(session: Session, row: Row, expected_version: int | None, *, who: str) -> None:
    """Refuse a change of an object that is not in the row version that the person saw; None is any.

    Raises:
        ChangedError: it is in another one; the message says who did what when.
    """
    if expected_version is not None and row.row_version != expected_version:
        raise ChangedError(f"{said_change(session, row, who=who)} Nothing was done; look at it again.")


def said_change(session: Session, row: Row, *, who: str) -> str:
    """Return in a sentence who changed an object last, in what way and when, for the account `who`."""
    kind = type(row).__name__
    told = (col(AuditEvent.object_id) == row.id) & (col(AuditEvent.object_type) == kind.lower())
    if isinstance(row, Roi) and row.binning_id is not None:
        # Which bin each ROI went into is told by one row for all of them.
        told |= (col(AuditEvent.object_id) == row.binning_id) & (col(AuditEvent.action) == "bin")
    # A figure that was measured changes nothing.
    last = session.exec(
        select(AuditEvent)
        .where(told, AuditEvent.action != "measure")
        .order_by(col(AuditEvent.sequence).desc())
        .limit(1)
    ).first()
    name = f"The account {row.name}" if isinstance(row, Account) else f"This {_KINDS.get(kind, kind.lower())}"
    if last is None:
        return f"{name} was changed at {row.changed_at.astimezone():%H:%M:%S}."
    at = f"{last.at.astimezone():%H:%M:%S}"
    shown = session.exec(select(Account.display_name).where(Account.name == last.who)).first()
    by = "you, elsewhere," if last.who == who else shown or last.who
    return f"{name} was changed since you saw it: {by} {_what(last)} at {at}."


_KINDS = {"Roi": "ROI", "Binning": "clustering"}


def _what(event: AuditEvent) -> str:
    new = event.new or {}
    if event.action == "state":
        return f"made it {str(new.get('state')).replace('_', ' ')}"
    if event.action == "set roles":
        return f"gave it the roles {', '.join(new.get('roles', ()))}"
    if event.action == "edit" and event.object_type == "slide":
        return f"changed its {', '.join(new).replace('_', ' ')}"
    if event.action == "version":
        return f"wrote v{new.get('number')}"
    return _ACTS.get(event.action, f"changed it ({event.action})")
