"""Links that work once: an invitation makes an account, a reset link sets a new password."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session, col, select

from db import new_id, record_event, utc_now
from db.tables import Account, Invitation
from pipeline.errors import InputError, NotFoundError
from pipeline.people._accounts import (
    ask_again,
    checked_display_name,
    checked_roles,
    open_account,
    store_account,
    store_password,
)
from pipeline.people._links import permission_to_make
from pipeline.people._passwords import checked_password, hash_password
from pipeline.people._sign_in import forgive_account
from pipeline.permissions import Permission, Role, needs
from pipeline.workspace import Workspace

RESET_HOURS = 24
MAX_DAYS = 60

NEW_ACCOUNT = "new account"
"""The purpose of a link that invites; any other one sets a new password."""

NO_LINK = "This link was used already, has expired or was withdrawn. Ask who sent it for a new one."
"""One message for every link that does not work: which it was is nobody's business."""


@dataclass(frozen=True)
class Offer:
    """What a working link is for: a new account with these roles, or (`name` set) a new password."""

    roles: tuple[Role, ...]
    display_name: str
    name: str | None
    expires_at: datetime


@dataclass(frozen=True)
class InvitationRow:
    """An invitation or reset link as the page of people shows it; its token is known to nobody but its receiver."""

    id: str
    purpose: str
    roles: tuple[Role, ...]
    display_name: str
    state: str
    expires_at: datetime
    created_by: str
    used_by: str | None


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def invite(
    workspace: Workspace, *, roles: Collection[str], display_name: str = "", days: int | None = None, who: str
) -> tuple[Invitation, str]:
    """Make an invitation and return it with its token, which is shown once and kept nowhere.

    Coordinators may invite readers, administrators anybody.

    Args:
        workspace: where.
        roles: what the new account will be.
        display_name: whom it is for; they may change it.
        days: how long it works, 1 to 60; the workspace's setting where not given.
        who: the account that invites.

    Raises:
        InputError: a role is unknown or the days are out of range.
        NotAllowedError: the actor may not invite people of these roles.
    """
    wanted = checked_roles(roles)
    workspace.actor.require(permission_to_make(wanted, resets=False))
    days = workspace.settings.invitation_days if days is None else days
    if not 1 <= days <= MAX_DAYS:
        raise InputError(f"An invitation works for 1 to {MAX_DAYS} days, not {days}")
    shown = checked_display_name(display_name, name="") if display_name.strip() else ""
    return _make(workspace, roles=wanted, display_name=shown, lasts=timedelta(days=days), who=who)


@needs(Permission.MANAGE_PEOPLE)
def reset_link(workspace: Workspace, name: str, *, who: str) -> tuple[Invitation, str]:
    """Make a link with which a person sets a new password, and return it with its token.

    Raises:
        NotFoundError: no such open account.
        InputError: the account signs in by single sign-on alone.
    """
    with workspace.reading() as session:
        account = open_account(session, name)
    if account.identity_issuer and not account.password_hash:
        raise InputError(f"{name} signs in by single sign-on; there is no password to reset here")
    return _make(
        workspace,
        roles=list(account.roles),
        display_name="",
        lasts=timedelta(hours=RESET_HOURS),
        who=who,
        account_id=account.id,
    )


def _make(
    workspace: Workspace,
    *,
    roles: list[str],
    display_name: str,
    lasts: timedelta,
    who: str,
    account_id: str | None = None,
) -> tuple[Invitation, str]:
    token = secrets.token_urlsafe(32)
    with workspace.writing() as session:
        ask_again(session, workspace.actor, permission_to_make(roles, resets=account_id is not None))
        invitation = Invitation(
            id=new_id("inv"),
            created_by=who,
            token_sha256=_hashed(token),
            account_id=account_id,
            roles=roles,
            display_name=display_name,
            expires_at=utc_now() + lasts,
        )
        session.add(invitation)
        new = {"roles": roles} if account_id is None else {"account": account_id}
        action = "invite" if account_id is None else "make a reset link"
        record_event(session, who=who, action=action, row=invitation, new=new)
    return invitation, token


def open_invitation(workspace: Workspace, token: str) -> Offer:
    """Return what a link is for, without using it.

    Raises:
        NotFoundError: it does not work (any more).
    """
    with workspace.reading() as session:
        invitation, account = _working(session, token)
    return Offer(
        roles=tuple(Role(role) for role in invitation.roles),
        display_name=invitation.display_name,
        name=account.name if account is not None else None,
        expires_at=invitation.expires_at,
    )


def _working(session: Session, token: str) -> tuple[Invitation, Account | None]:
    found = session.exec(select(Invitation).where(Invitation.token_sha256 == _hashed(token))).first()
    usable = found is not None and found.used_at is None and found.withdrawn_at is None and found.expires_at > utc_now()
    if found is None or not usable:
        raise NotFoundError(NO_LINK)
    if found.account_id is None:
        return found, None
    account = session.get(Account, found.account_id)
    if account is None or account.withdrawn_at is not None:
        raise NotFoundError(NO_LINK)
    return found, account


def accept_invitation(workspace: Workspace, token: str, *, name: str, display_name: str, password: str) -> Account:
    """Use an invitation: make the account it offers.

    Raises:
        NotFoundError: the link does not work (any more).
        InputError: name, display name or password is not accepted; the link still works.
    """
    # Looked at before the password is hashed: that is work which nobody without a link may cause.
    if open_invitation(workspace, token).name is not None:
        raise NotFoundError(NO_LINK)
    hashed = _hash_for(name, password)
    with workspace.writing() as session:
        invitation, _ = _working(session, token)
        account = store_account(
            session,
            name,
            roles=list(invitation.roles),
            display_name=display_name or invitation.display_name,
            password_hash=hashed,
            who=name,
        )
        _use(session, invitation, name)
        return account


def reset_by_link(workspace: Workspace, token: str, *, password: str) -> Account:
    """Use a reset link: set a new password and end all sessions of the account.

    Raises:
        NotFoundError: the link does not work (any more).
        InputError: the password is not accepted; the link still works.
    """
    offer = open_invitation(workspace, token)
    if offer.name is None:
        raise NotFoundError(NO_LINK)
    hashed = _hash_for(offer.name, password)
    with workspace.writing() as session:
        invitation, account = _working(session, token)
        if account is None:
            raise NotFoundError(NO_LINK)
        _use(session, invitation, account.name)
        store_password(session, account, hashed, who=account.name)
        # Who forgot a password has often tried too many already.
        forgive_account(session, account.name)
        return account


def _hash_for(name: str, password: str) -> str:
    return hash_password(checked_password(password, name=name))


def _use(session: Session, invitation: Invitation, name: str) -> None:
    invitation.used_at, invitation.used_by = utc_now(), name
    session.add(invitation)
    record_event(session, who=name, action="use", row=invitation)


@needs(Permission.INVITE_READERS)
def list_invitations(workspace: Workspace) -> list[InvitationRow]:
    """Return the links that were made, newest first; their tokens are kept nowhere."""
    now = utc_now()
    with workspace.reading() as session:
        found = session.exec(select(Invitation).order_by(col(Invitation.created_at).desc())).all()
        names = {account.id: account.name for account in session.exec(select(Account))}
    return [
        InvitationRow(
            id=one.id,
            purpose=NEW_ACCOUNT if one.account_id is None else f"new password of {names[one.account_id]}",
            roles=tuple(Role(role) for role in one.roles),
            display_name=one.display_name,
            state=_state(one, now),
            expires_at=one.expires_at,
            created_by=one.created_by,
            used_by=one.used_by,
        )
        for one in found
    ]


def _state(invitation: Invitation, now: datetime) -> str:
    if invitation.used_at is not None:
        return "used"
    if invitation.withdrawn_at is not None:
        return "withdrawn"
    return "expired" if invitation.expires_at <= now else "open"


@needs(Permission.INVITE_READERS)
def withdraw_invitation(workspace: Workspace, invitation_id: str, *, who: str) -> None:
    """Make an open link useless.

    Raises:
        NotFoundError: there is none of this id.
        InputError: it was used or withdrawn already.
        NotAllowedError: it makes more than a reader, and the actor may not.
    """
    with workspace.writing() as session:
        invitation = session.get(Invitation, invitation_id)
        if invitation is None:
            raise NotFoundError(f"There is no invitation {invitation_id} in this workspace.")
        workspace.actor.require(permission_to_make(invitation.roles, resets=invitation.account_id is not None))
        if (state := _state(invitation, utc_now())) in ("used", "withdrawn"):
            raise InputError(f"The invitation is {state} already")
        invitation.withdrawn_at, invitation.withdrawn_reason = utc_now(), f"withdrawn by {who}"
        session.add(invitation)
        record_event(session, who=who, action="withdraw", row=invitation)
