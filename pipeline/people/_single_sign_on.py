"""Single sign-on: what an identity provider says of a person, turned into an account and its roles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlmodel import Session, select

from db.tables import Account
from evaluation.items import normalise_text
from pipeline.errors import InputError
from pipeline.people._accounts import (
    MAX_DISPLAY_NAME,
    account_meant,
    end_all_sessions,
    store_account,
    store_roles,
    system_actor,
)
from pipeline.people._sessions import OpenedSession, open_session
from pipeline.permissions import NotAllowedError, Role
from pipeline.settings import Settings
from pipeline.workspace import Workspace

WHO = "single sign-on"
MAX_IDENTITY = 255
"""Characters of an issuer or a subject; OpenID Connect allows no more for a subject."""


def sign_in_with_claims(
    workspace: Workspace, claims: Mapping[str, Any], *, address: str, browser: str
) -> OpenedSession:
    """Open a session for the person whom a provider's verified claims describe; see `account_of_claims`.

    Raises:
        InputError: the claims name no person.
        NotAllowedError: the person has no account and may not get one by themselves, or it is closed, or the
            provider gives the person no role any more: then the account has none from now on.
    """
    # The provider decides on accounts and roles here, and has no role itself.
    with workspace.acting_as(system_actor(WHO)).writing() as session:
        account = account_of_claims(session, workspace.settings, claims)
        if account.roles:
            return open_session(session, workspace.settings, account, address=address, browser=browser, how=WHO)
    raise NotAllowedError("Your organisation gives you no role in this workspace any more.")


def account_of_claims(session: Session, settings: Settings, claims: Mapping[str, Any]) -> Account:
    """Return the account of the person whom verified claims describe, made or changed as the settings say.

    A person is known by issuer (`iss`) and subject (`sub`), never by an e-mail address, which may change hands.
    The claim `oidc_role_claim` (say, groups) is mapped by `oidc_roles`; where a mapping is set, the provider
    decides on the roles at each sign-in, and takes the last one away too. A person without an account gets one if
    the mapping gives them a role.

    Args:
        session: an open writing transaction.
        settings: the workspace's.
        claims: of an identity token that was verified.

    Raises:
        InputError: the claims name no person.
        NotAllowedError: no role for a person without an account, or a closed account.
    """
    issuer, subject = _identity(claims)
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
            display_name=_display_name(claims),
            who=WHO,
            identity=(issuer, subject),
        )
    if account.withdrawn_at is not None:
        raise NotAllowedError("Your account in this workspace is closed. Ask its administrator.")
    if settings.oidc_roles:
        store_roles(session, account, roles, who=WHO)
        if not roles:
            end_all_sessions(session, account, because="the identity provider gives no role any more", who=WHO)
    return account


def _identity(claims: Mapping[str, Any]) -> tuple[str, str]:
    found = [claims.get(name) for name in ("iss", "sub")]
    issuer, subject = (
        value if isinstance(value, str) and value.isprintable() and len(value) <= MAX_IDENTITY else ""
        for value in found
    )
    if not issuer or not subject:
        raise InputError("The identity provider did not say who you are (iss or sub is missing or no plain text)")
    return issuer, subject


def _display_name(claims: Mapping[str, Any]) -> str:
    """Return what of the claim `name` can be shown: a strange name keeps nobody out."""
    given = claims.get("name")
    seen = given[: 10 * MAX_DISPLAY_NAME] if isinstance(given, str) else ""
    seen = "".join(character if character.isprintable() else " " for character in seen)
    return " ".join(normalise_text(seen).split())[:MAX_DISPLAY_NAME]


def mapped_roles(settings: Settings, claims: Mapping[str, Any]) -> list[str]:
    """Return the roles that a person's claims give them, in the order of the table."""
    value = claims.get(settings.oidc_role_claim)
    given = value if isinstance(value, list | tuple | set) else [value]
    values = {str(one) for one in given if isinstance(one, str | int)}
    return [role.value for role in Role if role in {settings.oidc_roles.get(one) for one in values}]


def _free_name(session: Session, claims: Mapping[str, Any]) -> str:
    """Return a sign-in name made of what the provider calls the person, with a number where it is taken."""
    offered = (claims.get(claim) for claim in ("preferred_username", "email", "sub"))
    given = next(one for one in offered if isinstance(one, str) and one)[:MAX_IDENTITY]
    base = re.sub(r"[^a-z0-9._-]+", "-", given.partition("@")[0].lower()).strip("-._")[:32]
    base = base if len(base) > 1 else "person"
    name, number = base, 1
    while account_meant(session, name) is not None:
        number += 1
        name = f"{base}-{number}"
    return name
