"""Sign-in by password: one message for every failure, and fewer tries the more fail."""

from __future__ import annotations

import hashlib
import math
from datetime import timedelta
from ipaddress import IPv6Address, IPv6Network, ip_address

from sqlmodel import Session

from db import record_event, utc_now
from db.tables import Account, SignInThrottle
from pipeline.errors import InputError
from pipeline.people._accounts import account_meant, find_account, open_account
from pipeline.people._passwords import password_fits
from pipeline.people._sessions import OpenedSession, open_session
from pipeline.permissions import Actor, Permission, needs
from pipeline.workspace import Workspace

WINDOW = timedelta(minutes=15)
"""Failures count together for so long after the first one."""

MAX_FAILURES_OF_ACCOUNT = 10
MAX_FAILURES_OF_ADDRESS = 50
"""More than of an account: a whole laboratory may come from one address."""


class SignInRefusedError(InputError):
    """Name and password do not belong together; whether the name exists is not said."""

    def __init__(self) -> None:
        super().__init__("Name or password is wrong")


class TooManyAttemptsError(InputError):
    """Too many failures of this account or address; `seconds` is how long to wait."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many failed attempts. Try again in {math.ceil(seconds / 60)} min.")
        self.seconds = seconds


def sign_in(workspace: Workspace, name: str, password: str, *, address: str, browser: str) -> OpenedSession:
    """Open a session for a name and its password.

    Args:
        workspace: where.
        name: as typed; case and spaces around it do not matter.
        password: as typed.
        address: the network address it comes from.
        browser: how the browser names itself, shown to the person among their sessions.

    Raises:
        SignInRefusedError: they do not belong together, or the account is closed.
        TooManyAttemptsError: too many failures before; the password was not looked at.
    """
    name = name.strip()
    keys = _count_attempt(workspace, name, address)
    with workspace.reading() as session:
        account = account_meant(session, name)
    usable = account if account is not None and account.withdrawn_at is None else None
    fits = password_fits(password, usable.password_hash if usable is not None else None)
    if usable is None or not fits:
        raise SignInRefusedError
    with workspace.writing() as session:
        # Read again: the account may have been closed, or given another password, since.
        account = session.get(Account, usable.id)
        if account is None or account.withdrawn_at is not None or account.password_hash != usable.password_hash:
            raise SignInRefusedError
        _forgive(session, keys)
        return open_session(session, workspace.settings, account, address=address, browser=browser, how="password")


def confirm_password(workspace: Workspace, actor: Actor, password: str, *, address: str) -> Account:
    """Return the actor's account if the password is theirs: asked again before a signature, a freeze or a lock.

    Raises:
        InputError: the actor's account has no password.
        SignInRefusedError: it does not fit.
        TooManyAttemptsError: too many failures before; the password was not looked at.
    """
    account = find_account(workspace, actor.name)
    if account is None or account.withdrawn_at is not None or account.password_hash is None:
        raise InputError(
            f"{actor.name} has no password here, so nothing can be signed as {actor.name}. Make an account with "
            "'histocurator users add NAME --role …' and sign as that one."
        )
    keys = _count_attempt(workspace, account.name, address)
    if not password_fits(password, account.password_hash):
        raise SignInRefusedError
    with workspace.writing() as session:
        _forgive(session, keys)
    return account


@needs(Permission.MANAGE_PEOPLE)
def unlock(workspace: Workspace, name: str, *, who: str) -> None:
    """Forget the failed attempts of an account, so that its owner may try again at once.

    Raises:
        NotFoundError: no such open account.
    """
    with workspace.writing() as session:
        account = open_account(session, name)
        forgive_account(session, name)
        record_event(session, who=who, action="unlock", row=account)


def forgive_account(session: Session, name: str) -> None:
    """Forget the failed attempts of an account in an open transaction."""
    _forgive(session, [_account_key(name)])


def _account_key(name: str) -> str:
    return _key(f"account:{name.lower()}")


def _address_key(address: str) -> str:
    return _key(f"address:{_subscriber(address)}")


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _subscriber(address: str) -> str:
    """Return what counts as one address: of IPv6 the first half, since a subscriber has all addresses below it."""
    try:
        known = ip_address(address)
    except ValueError:
        return address
    if not isinstance(known, IPv6Address):
        return str(known)
    return str(known.ipv4_mapped or IPv6Network((int(known), 64), strict=False))


def _count_attempt(workspace: Workspace, name: str, address: str) -> list[str]:
    """Count an attempt as failed before the password is looked at, so that many at once cannot slip through.

    Raises:
        TooManyAttemptsError: the account or the address has no attempt left.
    """
    limits = {_account_key(name): MAX_FAILURES_OF_ACCOUNT, _address_key(address): MAX_FAILURES_OF_ADDRESS}
    now = utc_now()
    with workspace.writing() as session:
        rows = []
        for key, limit in limits.items():
            row = session.get(SignInThrottle, key) or SignInThrottle(key=key, since=now)
            if now - row.since >= WINDOW:
                row.failures, row.since = 0, now
            if row.failures >= limit:
                raise TooManyAttemptsError(max(1, math.ceil((row.since + WINDOW - now).total_seconds())))
            rows.append(row)
        for row in rows:
            row.failures += 1
            session.add(row)
    return list(limits)


def _forgive(session: Session, keys: list[str]) -> None:
    """Forget the account's failures; of an address only this attempt, so that one's own account clears no others."""
    for key in keys:
        row = session.get(SignInThrottle, key)
        if row is None:
            continue
        row.failures = row.failures - 1 if key is keys[-1] and len(keys) > 1 else 0
        if row.failures > 0:
            session.add(row)
        else:
            session.delete(row)
