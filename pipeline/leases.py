"""Who works on what at the moment, so that two people get different work. A lease locks nothing: versions do.

A lease ends when its holder goes on to something else or closes the page, and by itself after `LEASE` without
activity. Who opens by hand what somebody holds who has done nothing for `AWAY` has it from then on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session, col, select

from db import utc_now
from db.tables import Account, Lease
from pipeline.permissions import Permission, needs
from pipeline.workspace import Workspace

LEASE = timedelta(minutes=5)

RENEWED_AFTER = timedelta(minutes=1)
"""Activity renews a lease that is this old, not with every key."""


AWAY = timedelta(minutes=3)
"""Who has renewed nothing for so long may be gone: the queue spares their work still, but who opens it has it."""


@dataclass(frozen=True)
class Holder:
    """Somebody else who works on an object: the name that colleagues see, and until when it holds."""

    name: str
    until: datetime


@needs(Permission.WRITE_SEEDS)
def lease_roi(workspace: Workspace, roi_ids: Sequence[str], *, by_hand: bool = False) -> str | None:
    """Take the first ROI that nobody else works on; None where others work on all of them.

    Args:
        workspace: where.
        roi_ids: in the order in which they are wanted.
        by_hand: whether the person opened it, so that they get it from somebody who seems to be away.
    """
    return _lease_first(workspace, roi_ids, by_hand=by_hand)


@needs(Permission.EDIT_ITEMS)
def lease_item(workspace: Workspace, item_ids: Sequence[str], *, by_hand: bool = False) -> str | None:
    """Take the first item that nobody else works on, as `lease_roi` does a ROI."""
    return _lease_first(workspace, item_ids, by_hand=by_hand)


@needs(Permission.OWN_ACCOUNT)
def release_lease(workspace: Workspace, object_id: str) -> None:
    """Give an object back; another person's lease stays."""
    with workspace.writing() as session:
        lease = session.get(Lease, object_id)
        if lease is not None and lease.account_id == workspace.actor.account_id:
            session.delete(lease)


@needs(Permission.OWN_ACCOUNT)
def renew_leases(workspace: Workspace) -> None:
    """Renew what the person works on, since they did something; what has run out stays so."""
    now = utc_now()
    mine = select(Lease).where(
        Lease.account_id == workspace.actor.account_id,
        col(Lease.until) > now,
        col(Lease.until) < now + LEASE - RENEWED_AFTER,
    )
    with workspace.reading() as session:
        if session.exec(mine).first() is None:
            return
    with workspace.writing() as session:
        for lease in session.exec(mine):
            lease.until = now + LEASE
            session.add(lease)


@needs(Permission.VIEW_ITEMS)
def others_at_work(workspace: Workspace) -> Mapping[str, Holder]:
    """Return who else works on what, by the object's id; closed accounts work on nothing."""
    with workspace.reading() as session:
        return _others(session, workspace.actor.account_id)


def _others(session: Session, account_id: str, *, idle: timedelta = LEASE) -> dict[str, Holder]:
    """Return who else works on what and was active within `idle`."""
    held = select(Lease, Account).where(
        Lease.account_id == Account.id,
        Lease.account_id != account_id,
        col(Lease.until) > utc_now() + LEASE - idle,
        col(Account.withdrawn_at).is_(None),
    )
    return {lease.object_id: Holder(account.display_name, lease.until) for lease, account in session.exec(held)}


def _lease_first(workspace: Workspace, object_ids: Sequence[str], *, by_hand: bool) -> str | None:
    account_id, idle = workspace.actor.account_id, AWAY if by_hand else LEASE
    with workspace.reading() as session:
        others = _others(session, account_id, idle=idle)
        first = next((one for one in object_ids if one not in others), None)
        lease = session.get(Lease, first) if first is not None else None
        fresh = lease is not None and lease.until > utc_now() + LEASE - RENEWED_AFTER
        if first is None or (fresh and lease is not None and lease.account_id == account_id):
            return first
    with workspace.writing() as session:
        # Asked again: another person may have taken it meanwhile.
        others = _others(session, account_id, idle=idle)
        first = next((one for one in object_ids if one not in others), None)
        if first is not None:
            # Whoever had it before has left it, or has a closed account.
            session.merge(Lease(object_id=first, account_id=account_id, until=utc_now() + LEASE))
    return first
