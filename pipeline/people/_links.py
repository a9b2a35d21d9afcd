"""Links that were sent out: who may make which, and how they stop working before they expire."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from db import record_event, utc_now
from db.tables import Invitation
from pipeline.permissions import Actor, Permission, Role


def permission_to_make(roles: Sequence[str], *, resets: bool) -> Permission:
    """Return what somebody needs who makes or withdraws a link for these roles, or one that resets a password."""
    return Permission.INVITE_READERS if list(roles) == [Role.READER] and not resets else Permission.MANAGE_PEOPLE


def withdraw_links(
    session: Session, which: ColumnElement[bool], *, because: str, who: str, unless_made_by: Actor | None = None
) -> None:
    """Withdraw links that were not used yet, in an open transaction.

    Args:
        session: the transaction.
        which: a condition on invitations.
        because: the reason that stands in them.
        who: the account that makes the change which ends them.
        unless_made_by: those that this actor might make now go on working.
    """
    unused = select(Invitation).where(which, col(Invitation.used_at).is_(None), col(Invitation.withdrawn_at).is_(None))
    for link in session.exec(unused):
        needed = permission_to_make(link.roles, resets=link.account_id is not None)
        if unless_made_by is None or not unless_made_by.may(needed):
            link.withdrawn_at, link.withdrawn_reason = utc_now(), because
            session.add(link)
            record_event(session, who=who, action="withdraw", row=link, reason=because)
