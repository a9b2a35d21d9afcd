"""Accounts: made, given roles, closed; the sign-in name stays for ever, since the audit trail speaks of it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, func, or_, select

from db import new_id, record_event, utc_now
from db.tables import Account, AccountSession, Invitation
from evaluation.items import fault_of_text, normalise_text
from pipeline.errors import InputError, NotFoundError
from pipeline.last_change import require_unchanged
from pipeline.notes import checked_note
from pipeline.people._links import withdraw_links
from pipeline.people._passwords import checked_password, hash_password
from pipeline.permissions import Actor, Permission, Role, needs
from pipeline.workspace import Workspace, operating_system_user

NAME_RULE = "2 to 40 of a-z, 0-9, '.', '-' and '_', beginning with a letter or digit"
MAX_DISPLAY_NAME = 80

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{1,39}")


@dataclass(frozen=True)
class PersonRow:
    """An account as the page of people and `users list` show it; nothing secret is in it."""

    name: str
    row_version: int
    display_name: str
    pseudonym: str
    roles: tuple[Role, ...]
    signs_in_by: str
    last_seen_at: datetime | None
    sessions: int
    closed_at: datetime | None
    closed_because: str | None
    operating_system_owner: bool


def actor_of(account: Account) -> Actor:
    """Return who acts as this account; a closed one has no roles left."""
    roles = frozenset(Role(role) for role in account.roles) if account.withdrawn_at is None else frozenset()
    return Actor(account.name, roles, account_id=account.id, display_name=account.display_name)


def system_actor(name: str) -> Actor:
    """Return an actor without an account and without any role."""
    return Actor(name, frozenset())


def ask_again(session: Session, actor: Actor, permission: Permission) -> None:
    """Ask within a transaction whether the actor's account still allows what outlives a lost role.

    Raises:
        NotAllowedError: it was closed, or has lost the role since the actor was looked up.
    """
    account = session.get(Account, actor.account_id) if actor.account_id else None
    if account is not None:
        actor_of(account).require(permission)


def command_line_actor(workspace: Workspace) -> Actor:
    """Return who works on the command line.

    The workspace's operating-system owner acts as the account that was made with the workspace; anybody else as
    the account that has the name of their operating-system user, if there is one.
    """
    if workspace.is_operating_system_owner():
        return actor_of(workspace.owner())
    name = operating_system_user()
    account = find_account(workspace, name)
    return actor_of(account) if account is not None else system_actor(name)


def accounts_exist(workspace: Workspace) -> bool:
    """Say whether anybody could ever sign in here; from then on everybody has to."""
    able = or_(col(Account.password_changed_at).is_not(None), col(Account.identity_issuer).is_not(None))
    with workspace.reading() as session:
        return session.exec(select(Account.id).where(able).limit(1)).first() is not None


def find_account(workspace: Workspace, name: str) -> Account | None:
    """Return the account of a sign-in name, closed or not, or None."""
    with workspace.reading() as session:
        return account_named(session, name)


def account_named(session: Session, name: str) -> Account | None:
    """Return the account of a sign-in name within a transaction."""
    if not name.isprintable():
        # Nobody has such a name, and a database may refuse to look for it.
        return None
    return session.exec(select(Account).where(Account.name == name)).first()


def account_meant(session: Session, typed: str) -> Account | None:
    """Return the account of a sign-in name as people type it: case does not matter.

    Names are given in small letters, but the account made with the workspace has its operating system's spelling.
    """
    if not typed.isprintable():
        return None
    same = or_(Account.name == typed, func.lower(Account.name) == typed.lower())
    return session.exec(select(Account).where(same)).first()


def open_account(session: Session, name: str) -> Account:
    """Return an account that is not closed.

    Raises:
        NotFoundError: there is none of this name, or it is closed.
    """
    account = account_named(session, name)
    if account is None:
        raise NotFoundError(f"There is no account {name!r} in this workspace.")
    if account.withdrawn_at is not None:
        raise NotFoundError(f"The account {name!r} is closed.")
    return account


def checked_name(name: str) -> str:
    """Return a sign-in name that may be given to an account.

    Raises:
        InputError: it is none.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"The sign-in name {name!r} is not allowed: {NAME_RULE}")
    return name


def checked_display_name(display_name: str, *, name: str) -> str:
    """Return a name for people to read; the sign-in name where none is given.

    Raises:
        InputError: too long, or with characters that cannot be shown.
    """
    normal = " ".join(normalise_text(display_name).split()) or name
    if (fault := fault_of_text(normal)) is not None:
        raise InputError(f"The display name {fault}")
    if len(normal) > MAX_DISPLAY_NAME:
        raise InputError(f"The display name has {len(normal)} characters; at most {MAX_DISPLAY_NAME} are allowed")
    return normal


def checked_roles(roles: Collection[str]) -> list[str]:
    """Return roles in the order of the table, without doubles.

    Raises:
        InputError: none is given, or one is unknown.
    """
    unknown = sorted(set(roles) - set(Role))
    if unknown:
        raise InputError(f"{', '.join(unknown)} is no role (known: {', '.join(Role)})")
    if not roles:
        raise InputError(f"An account needs at least one role of {', '.join(Role)}")
    return [role.value for role in Role if role in roles]


@needs(Permission.MANAGE_PEOPLE)
def add_account(
    workspace: Workspace, name: str, *, roles: Collection[str], password: str, display_name: str = "", who: str
) -> Account:
    """Make an account that signs in with a password.

    Raises:
        InputError: the name is taken or not allowed, a role is unknown, or the password is not accepted.
    """
    name = checked_name(name)
    hashed = hash_password(checked_password(password, name=name))
    with workspace.writing() as session:
        ask_again(session, workspace.actor, Permission.MANAGE_PEOPLE)
        return store_account(
            session, name, roles=checked_roles(roles), display_name=display_name, password_hash=hashed, who=who
        )


def store_account(
    session: Session,
    name: str,
    *,
    roles: list[str],
    display_name: str,
    who: str,
    password_hash: str | None = None,
    identity: tuple[str, str] | None = None,
) -> Account:
    """Write a new account in an open transaction.

    Raises:
        InputError: the name is taken or not allowed.
    """
    name = checked_name(name)
    if account_meant(session, name) is not None:
        raise InputError(f"The sign-in name {name!r} is taken; choose another one")
    account = Account(
        id=new_id("acc"),
        created_by=who,
        name=name,
        display_name=checked_display_name(display_name, name=name),
        roles=roles,
        password_hash=password_hash,
        password_changed_at=utc_now() if password_hash else None,
        identity_issuer=identity[0] if identity else None,
        identity_subject=identity[1] if identity else None,
    )
    session.add(account)
    # The display name may be erased one day: the audit trail, which is not, never holds it.
    record_event(session, who=who, action="add", row=account, new={"name": name, "roles": roles})
    return account


@needs(Permission.VIEW_PEOPLE)
def list_people(workspace: Workspace) -> list[PersonRow]:
    """Return all accounts, open ones first, by name."""
    now = utc_now()
    with workspace.reading() as session:
        accounts = session.exec(select(Account).order_by(col(Account.name))).all()
        sessions = session.exec(select(AccountSession)).all()
    rows = []
    for account in sorted(accounts, key=lambda account: account.withdrawn_at is not None):
        own = [one for one in sessions if one.account_id == account.id]
        rows.append(
            PersonRow(
                name=account.name,
                row_version=account.row_version,
                display_name=account.display_name,
                pseudonym=account.pseudonym,
                roles=tuple(Role(role) for role in account.roles),
                signs_in_by=_signs_in_by(account),
                last_seen_at=max((one.last_seen_at for one in own), default=None),
                sessions=sum(one.ended_at is None and one.expires_at > now for one in own),
                closed_at=account.withdrawn_at,
                closed_because=account.withdrawn_reason,
                operating_system_owner=account.operating_system_owner,
            )
        )
    return rows


def _signs_in_by(account: Account) -> str:
    ways = [
        *(["password"] if account.password_hash else []),
        *(["single sign-on"] if account.identity_issuer else []),
        *(["this computer's command line"] if account.operating_system_owner else []),
    ]
    return ", ".join(ways) or "nothing"


@needs(Permission.MANAGE_PEOPLE)
def set_roles(
    workspace: Workspace, name: str, *, roles: Collection[str], who: str, expected_version: int | None = None
) -> Account:
    """Give an account exactly these roles, at once and in all its sessions.

    Raises:
        ChangedError: the account was changed since `expected_version` was seen.
        InputError: a role is unknown, or no administrator who can sign in would be left.
        NotFoundError: no such open account.
    """
    wanted = checked_roles(roles)
    with workspace.writing() as session:
        ask_again(session, workspace.actor, Permission.MANAGE_PEOPLE)
        account = open_account(session, name)
        require_unchanged(session, account, expected_version, who=who)
        if account.operating_system_owner and Role.ADMIN not in wanted:
            raise InputError(f"{name} made this workspace and stays admin: the command line acts as this account")
        if Role.ADMIN not in wanted:
            _keep_an_admin(session, account)
        store_roles(session, account, wanted, who=who)
        return account


def store_roles(session: Session, account: Account, wanted: list[str], *, who: str) -> None:
    """Write an account's roles in an open transaction; its open links that it could not make now are withdrawn."""
    before = list(account.roles)
    if before == wanted:
        return
    account.roles = wanted
    session.add(account)
    record_event(session, who=who, action="set roles", row=account, old={"roles": before}, new={"roles": wanted})
    # Else somebody could keep an invitation to get the role back.
    withdraw_links(
        session,
        col(Invitation.created_by) == account.name,
        because=f"{account.name} may not invite like this any more",
        who=who,
        unless_made_by=actor_of(account),
    )


@needs(Permission.MANAGE_PEOPLE)
def close_account(
    workspace: Workspace,
    name: str,
    *,
    reason: str,
    who: str,
    forget_name: bool = False,
    expected_version: int | None = None,
) -> Account:
    """Close an account for good: its password is erased, its sessions end, its invitations no longer work.

    What the person wrote, decided and answered stays, under the sign-in name and the pseudonym.

    Args:
        workspace: where.
        name: the sign-in name.
        reason: why, for the audit trail.
        who: the account that closes it.
        forget_name: also replace the display name by the pseudonym.
        expected_version: the row version that the administrator saw.

    Raises:
        ChangedError: the account was changed since that version.
        InputError: no reason is given, or no administrator who can sign in would be left.
        NotFoundError: no such open account.
    """
    most = workspace.settings.max_text_length
    reason = checked_note(reason, name="reason", most=most, needed="Say why the account is closed")
    with workspace.writing() as session:
        account = open_account(session, name)
        require_unchanged(session, account, expected_version, who=who)
        if account.operating_system_owner:
            raise InputError(f"{name} made this workspace and cannot be closed: the command line acts as this account")
        _keep_an_admin(session, account)
        now = utc_now()
        account.withdrawn_at, account.withdrawn_reason = now, reason
        account.password_hash = None
        if forget_name:
            account.display_name = account.pseudonym
            named = select(Invitation).where(Invitation.used_by == name, Invitation.display_name != "")
            for used in session.exec(named):
                used.display_name = ""
                session.add(used)
                record_event(session, who=who, action="erase the display name", row=used)
        session.add(account)
        end_all_sessions(session, account, because="the account was closed", who=who)
        own = or_(col(Invitation.account_id) == account.id, col(Invitation.created_by) == name)
        withdraw_links(session, own, because=f"the account {name} was closed", who=who)
        record_event(
            session, who=who, action="close", row=account, new={"display name erased": forget_name}, reason=reason
        )
        return account


def end_all_sessions(session: Session, account: Account, *, because: str, who: str, but: str | None = None) -> int:
    """End the sessions of an account, but the one of the id `but`, in an open transaction; return how many."""
    unended = select(AccountSession).where(
        AccountSession.account_id == account.id, col(AccountSession.ended_at).is_(None)
    )
    ended = [one for one in session.exec(unended) if one.id != but]
    for one in ended:
        one.ended_at, one.ended_because = utc_now(), because
        session.add(one)
        record_event(session, who=who, action="sign out", row=one, reason=because)
    return len(ended)


def _keep_an_admin(session: Session, leaving: Account) -> None:
    """Raise InputError where nobody could sign in as administrator after this account is gone."""
    if Role.ADMIN not in leaving.roles:
        return
    others = session.exec(select(Account).where(Account.id != leaving.id, col(Account.withdrawn_at).is_(None))).all()
    able = [one for one in others if Role.ADMIN in one.roles and (one.password_hash or one.identity_issuer)]
    if not able:
        raise InputError(f"{leaving.name} is the last administrator who can sign in; make another one first")


def store_password(
    session: Session, account: Account, hashed: str, *, who: str, keep_session: str | None = None
) -> None:
    """Write a new password hash in an open transaction; the account's other sessions and reset links end."""
    account.password_hash, account.password_changed_at = hashed, utc_now()
    session.add(account)
    because = "the password was changed"
    end_all_sessions(session, account, because=because, who=who, but=keep_session)
    withdraw_links(session, col(Invitation.account_id) == account.id, because=because, who=who)
    record_event(session, who=who, action="change the password", row=account)
