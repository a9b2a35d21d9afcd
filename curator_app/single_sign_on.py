"""Single sign-on: the provider that a secrets file describes, and the hand-over from its sign-in to our session."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
import time
import tomllib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from curator_app.identity import Access
from curator_app.listening import THIS_COMPUTER
from pipeline.errors import InputError
from pipeline.workspace import Workspace

BEGIN, COMPLETE = "/sign-in/provider", "/sign-in/complete"
"""Our routes at both ends of the way over the provider."""

LOGIN, CALLBACK = "/auth/login", "/oauth2callback"
"""Streamlit's routes between them: to the provider, and back from it."""

TICKET_S = 60
"""So long a browser has to go from Streamlit's page to the route that opens the session."""

FRESH_S = 15 * 60
"""So old an identity token may be: providers antedate it by some minutes, and clocks differ."""

CLOCK_S = 120
"""So far the provider's clock may be ahead."""

MAX_TICKETS = 1_000

IDENTITY_COOKIE = "_streamlit_user"
_IDENTITY_COOKIES = re.compile(r"_streamlit_user(_\d+)?")

_OF_STREAMLIT = frozenset({"is_logged_in", "provider", "tokens"})
"""What Streamlit adds to the claims of the identity token."""


class _AuthSection(BaseModel):
    """The [auth] section of Streamlit's secrets file, for one provider."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)

    client_id: str = Field(min_length=1)
    client_secret: str = Field(min_length=1)
    server_metadata_url: str
    redirect_uri: str | None = None
    cookie_secret: str | None = None
    client_kwargs: dict[str, str | int | float | bool] = {}


@dataclass(frozen=True)
class Provider:
    """An identity provider that people of this workspace may sign in at.

    `origin` is the address under which it sends people back; `secrets` is for Streamlit and never shown.
    """

    name: str
    client_id: str
    origin: str
    secrets: Mapping[str, Any] = field(repr=False)


def load_provider(workspace: Workspace, url: str) -> Provider | None:
    """Return the provider that the settings name, or None where they name none.

    Streamlit signs its identity cookie with a secret of this start of the server, whatever the file says: the
    cookie is only needed until our own session has begun.

    Args:
        workspace: whose settings say where the secrets file is.
        url: the app's address where no public one is set.

    Raises:
        InputError: the file is missing, lies in the workspace, is readable by others or is wrong. No secret is
            repeated.
    """
    settings = workspace.settings
    if settings.oidc_secrets is None:
        return None
    file = settings.oidc_secrets.expanduser()
    section = _read(file, workspace.root)
    redirect_uri = section.redirect_uri or (settings.public_url or url) + CALLBACK
    _check_addresses(file, section, redirect_uri, settings.public_url)
    auth: dict[str, Any] = {
        "client_id": section.client_id,
        "client_secret": section.client_secret,
        "server_metadata_url": section.server_metadata_url,
        "redirect_uri": redirect_uri,
        "cookie_secret": secrets.token_hex(32),
        "client_kwargs": _client_options(file, section.client_kwargs),
    }
    return Provider(settings.oidc_name, section.client_id, redirect_uri.removesuffix(CALLBACK), {"auth": auth})


def _read(file: Path, root: Path) -> _AuthSection:
    """Return the checked [auth] section of a secrets file."""
    if not file.is_absolute():
        raise InputError(
            f"oidc_secrets is {file}; name the file by its whole path, such as /etc/histocurator/oidc.toml"
        )
    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            content = opened.read()
    except OSError as error:
        raise InputError(f"oidc_secrets: {file} cannot be read ({error.strerror})") from None
    if file.resolve().is_relative_to(root.resolve()):
        raise InputError(
            f"oidc_secrets: {file} lies in the workspace, whose copies would carry the secret; move it elsewhere"
        )
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise InputError(f"oidc_secrets: other users of this machine can read {file}; run: chmod 600 {file}")
    try:
        document = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        # The parser's own words could repeat a secret.
        raise InputError(f"oidc_secrets: {file} is not valid TOML") from None
    section = document.get("auth")
    if not isinstance(section, dict):
        raise InputError(f"oidc_secrets: {file} has no section [auth] with client_id, client_secret, …")
    try:
        return _AuthSection.model_validate(section)
    except ValidationError as error:
        problems = [_in_words(fault["loc"], fault["type"], fault["msg"]) for fault in error.errors()]
        raise InputError(f"oidc_secrets: section [auth] of {file} is wrong:", list(dict.fromkeys(problems))) from None


def _in_words(place: tuple[int | str, ...], kind: str, message: str) -> str:
    name = str(place[0])
    if kind == "missing":
        return f"{name} is missing"
    if kind == "extra_forbidden":
        return f"{name} is not used here (known: {', '.join(_AuthSection.model_fields)}; one provider only)"
    if name == "client_kwargs":
        return "client_kwargs must be a table of texts, numbers and true or false"
    return f"{name}: {message}"


def _check_addresses(file: Path, section: _AuthSection, redirect_uri: str, public_url: str | None) -> None:
    """Refuse addresses over which identities would travel unencrypted, or that do not lead back here.

    Raises:
        InputError: which address is wrong.
    """
    back = f"redirect_uri in {file}" if section.redirect_uri else "public_url"
    _check_encrypted(f"server_metadata_url in {file}", section.server_metadata_url)
    _check_encrypted(back, redirect_uri)
    origin = redirect_uri.removesuffix(CALLBACK)
    if not redirect_uri.endswith(CALLBACK) or origin != "{0.scheme}://{0.netloc}".format(urlsplit(redirect_uri)):
        raise InputError(f"oidc_secrets: redirect_uri in {file} must be this app's address and then {CALLBACK}")
    if public_url is None and urlsplit(origin).hostname not in THIS_COMPUTER:
        raise InputError(f"oidc_secrets: redirect_uri in {file} leads to {origin}; set public_url to that address too")
    if public_url not in (None, origin):
        raise InputError(
            f"oidc_secrets: redirect_uri in {file} leads to {origin}, but public_url is {public_url}; take "
            "redirect_uri out of the file or make them agree"
        )


def _check_encrypted(what: str, address: str) -> None:
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        host = ""
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and host in THIS_COMPUTER)):
        raise InputError(
            f"oidc_secrets: {what} must be an address that begins with https://, so that nobody reads along"
        )


def _client_options(file: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what goes to the provider and to the library that speaks with it.

    Raises:
        InputError: an option would leave out the identity or the check of the provider's certificate.
    """
    if "openid" not in str(options.get("scope", "openid")).split():
        raise InputError(f"oidc_secrets: scope in client_kwargs of {file} must contain openid")
    if options.get("verify") is False:
        raise InputError(
            f"oidc_secrets: verify = false in client_kwargs of {file} would let anybody pose as the provider; "
            "name the file of its certificate authority instead"
        )
    return dict(options)


class HandOverError(InputError):
    """The way from the provider to our session was left, or somebody else tries to go it."""


@dataclass(frozen=True)
class _Offer:
    claims: Mapping[str, Any]
    browser: bytes
    until: float


class HandOver:
    """Takes verified claims from Streamlit's page to the route that opens our session.

    Streamlit knows the claims only where its script runs, which can set no cookie. So the script makes a ticket,
    and the browser brings it to the route: once, soon, and together with the very identity cookie that the claims
    were read from. An identity token opens one session only, and only while it is fresh: Streamlit's cookie would
    otherwise let somebody in for a month, with the roles of then.
    """

    def __init__(self, provider: Provider, *, now: Callable[[], float] = time.time) -> None:
        self.provider = provider
        self._now = now
        self._offers: OrderedDict[bytes, _Offer] = OrderedDict()
        self._used: dict[bytes, float] = {}
        self._lock = Lock()

    def offer(self, claims: Mapping[str, Any], cookies: Mapping[str, str]) -> str:
        """Return a ticket for what Streamlit read from these cookies."""
        ticket = secrets.token_urlsafe(32)
        own = {name: value for name, value in claims.items() if name not in _OF_STREAMLIT}
        with self._lock:
            self._offers[_sha256(ticket)] = _Offer(own, _browser(cookies), self._now() + TICKET_S)
            while len(self._offers) > MAX_TICKETS:
                self._offers.popitem(last=False)
        return ticket

    def take(self, ticket: str, cookies: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the claims of a ticket, which is worth nothing from then on.

        Raises:
            HandOverError: there is no such ticket, it came too late or from another browser, or its identity token
                is stale, was used before or is meant for another app.
        """
        with self._lock:
            now = self._now()
            offer = self._offers.pop(_sha256(ticket), None)
            if offer is None or now > offer.until:
                raise HandOverError("This sign-in took too long or was completed before. Sign in again.")
            if not secrets.compare_digest(offer.browser, _browser(cookies)):
                raise HandOverError("This sign-in belongs to another browser. Sign in again.")
            self._check(offer.claims, now)
            self._used = {token: until for token, until in self._used.items() if until > now}
            token = _sha256(json.dumps(offer.claims, sort_keys=True))
            if token in self._used:
                raise HandOverError("This sign-in was completed before. Sign in again.")
            self._used[token] = now + FRESH_S + CLOCK_S
        return offer.claims

    def _check(self, claims: Mapping[str, Any], now: float) -> None:
        """Check what the library that verified the token leaves open.

        It takes a token for another app if that one's `azp` is ours, and a cookie keeps the token for a month.
        """
        meant_for = claims.get("aud")
        if self.provider.client_id not in (meant_for if isinstance(meant_for, list) else [meant_for]):
            raise HandOverError("The identity provider's answer is meant for another app. Ask your administrator.")
        issued, expires = claims.get("iat"), claims.get("exp")
        if not isinstance(issued, int | float) or not isinstance(expires, int | float):
            raise HandOverError("The identity provider did not say when its answer was given. Ask your administrator.")
        if not now - FRESH_S <= issued <= now + CLOCK_S or expires <= now - CLOCK_S:
            raise HandOverError(
                "The identity provider's answer is too old, or the clocks of the two servers differ. Sign in again."
            )


def way_cookie(access: Access) -> str:
    """Return the name of the cookie of who is on the way over the provider; its value is where they want to go."""
    return f"{access.cookie}_way"


def _browser(cookies: Mapping[str, str]) -> bytes:
    own = sorted((name, value) for name, value in cookies.items() if _IDENTITY_COOKIES.fullmatch(name))
    return _sha256(json.dumps(own))


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


_hand_over: HandOver | None = None


def use_hand_over(hand_over: HandOver | None) -> None:
    """Set the hand-over of this process; the server calls it once."""
    global _hand_over
    _hand_over = hand_over


def hand_over() -> HandOver | None:
    """Return the hand-over of this process, or None where no provider is set."""
    return _hand_over
