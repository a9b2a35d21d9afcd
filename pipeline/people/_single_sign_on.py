"""Single sign-on: what an identity provider says of a person, turned into an account and its roles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlmodel import Session, select

from db import record_event
from db.tables import Account
from pipeline.errors import InputError
from pipeline.people._accounts import account_named, store_account
from pipeline.people._sessions import OpenedSession, open_session
from pipeline.permissions import NotAllowedError, Role
from pipeline.settings import Settings
from pipeline.workspace import Workspace


def sign_in_with_claims(
    workspace: Workspace, claims: Mapping[str, Any], *, address: str, browser: str
) -> OpenedSession:
    """Open a session for the person whom a provider's verified claims describe; see `account_of_claims`.

    Raises:
        InputError: the claims name no person.
        NotAllowedError: the person has no account and may not get one by themselves, or it is closed.
    """
    with workspace.writing() as session:
        account = account_of_claims(session, workspace.settings, claims)
        return open_session(
            session, workspace.settings, account, address=address, browser=browser, how="single sign-on"
        )


def account_of_claims(session: Session, settings: Settings, claims: Mapping[str, Any]) -> Account:
    """Return the account of the person whom verified claims describe, made or changed as the settings say.

    A person is known by issuer (`iss`) and subject (`sub`), never by an e-mail address, which may change hands.
    The claim `oidc_role_claim` (say, groups) is mapped by `oidc_roles`; where a mapping is set, the provider
    decides on the roles at each sign-in. A person without an account gets one if the mapping gives them a role.

    Args:
        session: an open writing transaction.
        settings: the workspace's.
        claims: of an identity token that was verified.

    Raises:
        InputError: the claims name no person.
        NotAllowedError: no role for this person, or a closed account.
    """
    issuer, subject = claims.get("iss"), claims.get("sub")
    if not (isinstance(issuer, str) and issuer and isinstance(subject, str) and subject):
        raise InputError("The identity provider did not say who you are (iss and sub are missing)")
    roles = mapped_roles(settings, claims)
    account = session.exec(
        select(Account).where(Account.identity_issuer == issuer, Account.identity_subject == subject)
    ).first()
    if account is None:
        if not roles:
            raise NotAllowedError(
                "You are signed in at your organisation, but have no role in this workspace. Ask its administrator."
            )
        return store_account(
            session,
            _free_name(session, claims),
            roles=roles,
            display_name=str(claims.get("name") or ""),
            who="single sign-on",
            identity=(issuer, subject),
        )
    if account.withdrawn_at is not None:
        raise NotAllowedError("Your account in this workspace is closed. Ask its administrator.")
    if settings.oidc_roles and list(account.roles) != roles:
        if not roles:
            raise NotAllowedError("Your organisation gives you no role in this workspace any more.")
        before = list(account.roles)
        account.roles = roles
        session.add(account)
        record_event(
            session,
            who="single sign-on",
            action="set roles",
            row=account,
            old={"roles": before},
            new={"roles": roles},
        )
    return account


def mapped_roles(settings: Settings, claims: Mapping[str, Any]) -> list[str]:
    """Return the roles that a person's claims give them, in the order of the table."""
    value = claims.get(settings.oidc_role_claim)
    values = {str(one) for one in value} if isinstance(value, list | tuple | set) else {str(value)}
    return [role.value for role in Role if role in {settings.oidc_roles.get(one) for one in values}]


def _free_name(session: Session, claims: Mapping[str, Any]) -> str:
    """Return a sign-in name made of what the provider calls the person, with a number where it is taken."""
    given = str(claims.get("preferred_username") or claims.get("email") or claims.get("sub"))
    base = re.sub(r"[^a-z0-9._-]+", "-", given.partition("@")[0].lower()).strip("-._")[:32]
    base = base if len(base) > 1 else "person"
    name, number = base, 1
    while account_named(session, name) is not None:
        number += 1
        name = f"{base}-{number}"
    return name
