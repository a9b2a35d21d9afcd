"""Who works on what at the moment, so that two people get different work. A lease locks nothing: versions do.

A lease ends when its holder goes on to something else, and by itself after `LEASE` without activity.
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


@dataclass(frozen=True)
class Holder:
    """Somebody else who works on an object: the name that colleagues see, and until when it holds."""

    name: str
    until: datetime


@needs(Permission.WRITE_SEEDS)
def lease_roi(workspace: Workspace, roi_ids: Sequence[str]) -> str | None:
    """Take the first ROI that nobody else works on; None where others work on all of them."""
    return _lease_first(workspace, roi_ids)


@needs(Permission.EDIT_ITEMS)
def lease_item(workspace: Workspace, item_ids: Sequence[str]) -> str | None:
    """Take the first item that nobody else works on; None where others work on all of them."""
    return _lease_first(workspace, item_ids)


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


def _others(session: Session, account_id: str) -> dict[str, Holder]:
    held = select(Lease, Account).where(
        Lease.account_id == Account.id,
        Lease.account_id != account_id,
        col(Lease.until) > utc_now(),
        col(Account.withdrawn_at).is_(None),
    )
    return {lease.object_id: Holder(account.display_name, lease.until) for lease, account in session.exec(held)}


def _lease_first(workspace: Workspace, object_ids: Sequence[str]) -> str | None:
    account_id = workspace.actor.account_id
    with workspace.reading() as session:
        first = next((one for one in object_ids if one not in _others(session, account_id)), None)
        lease = session.get(Lease, first) if first is not None else None
        fresh = lease is not None and lease.until > utc_now() + LEASE - RENEWED_AFTER
        if first is None or (fresh and lease is not None and lease.account_id == account_id):
            return first
    with workspace.writing() as session:
        # Asked again: another person may have taken it meanwhile.
        others = _others(session, account_id)
        first = next((one for one in object_ids if one not in others), None)
        if first is not None:
            # Whoever had it before has left it, or has a closed account.
            session.merge(Lease(object_id=first, account_id=account_id, until=utc_now() + LEASE))
    return first
