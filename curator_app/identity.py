"""Who sends a request: the signed cookie of a session, or of a visit where nobody has to sign in."""

from __future__ import annotations

import os
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock
from urllib.parse import urlsplit

from itsdangerous import BadSignature, Signer
from starlette.requests import cookie_parser

from pipeline.errors import InputError
from pipeline.people import OpenedSession, SignedIn, accounts_exist, signed_in
from pipeline.troubles import trouble_of
from pipeline.workspace import Workspace

SECRET_KEY_VARIABLE = "HISTOCURATOR_SECRET_KEY"  # noqa: S105  (the name of a variable)
MIN_KEY_LENGTH = 32

KEY_FILE = "session.key"
"""Signs cookies where no key is in the environment; kept in the workspace so that a restart signs nobody out."""

MAX_TABS = 10_000
"""Open tabs whose owner is remembered; the oldest are forgotten first and must be reloaded for an upload."""

_VISIT = "visit"

_NO_HOST = re.compile(r"[@/?#\\\s]")
"""What stands in an address before or after the host."""


def given_key() -> str | None:
    """Return the secret key of the environment, if one is set.

    Raises:
        InputError: it is too short to keep cookies from being forged. It is not repeated.
    """
    key = os.environ.get(SECRET_KEY_VARIABLE)
    if not key:
        return None
    if len(key) < MIN_KEY_LENGTH:
        raise InputError(
            f"{SECRET_KEY_VARIABLE} has {len(key)} characters; at least {MIN_KEY_LENGTH} random ones are needed "
            "('python -c \"import secrets; print(secrets.token_hex(32))\"' prints such a key)"
        )
    return key


def secret_key(workspace: Workspace) -> str:
    """Return the key that signs cookies: the environment's, else the workspace's own, made on first use.

    Raises:
        InputError: the environment's key is too short.
    """
    if (key := given_key()) is not None:
        return key
    path = workspace.root / KEY_FILE
    with (
        suppress(FileExistsError),
        os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file,
    ):
        file.write(secrets.token_hex(32))
    return path.read_text(encoding="ascii")


class Access:
    """Reads and writes the cookie of one server, and asks the workspace whom it belongs to.

    As long as no account can sign in, whoever opens a page on this computer works as the person who made the
    workspace; the cookie then only shows that a page of this app was opened. From the first account on, it must be
    that of a session. The cookie's name is derived from the key, since browsers share cookies between ports.
    """

    def __init__(self, workspace: Workspace, key: str) -> None:
        self._workspace = workspace
        self._signer = Signer(key, salt="histocurator visit")
        self._sessions = Signer(key, salt="histocurator session")
        self._forms = Signer(key, salt="histocurator form")
        self._tabs: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()
        self._accounts_exist = False
        self.cookie = f"histocurator_{self._signer.get_signature('name').decode()[:8]}"

    @property
    def secure(self) -> bool:
        """Whether people reach the app by https, so that cookies may travel in no other way."""
        return (self._workspace.settings.public_url or "").startswith("https://")

    def sign_in_needed(self) -> bool:
        """Say whether accounts exist; once they do, it stays so."""
        if not self._accounts_exist:
            self._accounts_exist = accounts_exist(self._workspace)
        return self._accounts_exist

    def who_sends(self, cookies: Mapping[str, str], *, counts: bool = True) -> SignedIn | None:
        """Return whose cookie this is, or None where it is missing, forged, ended or expired.

        Args:
            cookies: the request's, by name.
            counts: whether the request is a sign of use, which puts off the idle expiry.
        """
        value = cookies.get(self.cookie, "")
        if not self.sign_in_needed():
            try:
                known = self._signer.unsign(value) == _VISIT.encode()
            except BadSignature:
                known = False
            return SignedIn(self._workspace.actor, "") if known else None
        try:
            secret = self._sessions.unsign(value).decode()
        except (BadSignature, UnicodeDecodeError):
            return None
        try:
            return signed_in(self._workspace, secret, counts=counts)
        except Exception as error:
            if not counts or trouble_of(error) is None:
                raise
            # On a full disk the use cannot be noted; who it is can be read all the same.
            return signed_in(self._workspace, secret, counts=False)

    def visit_cookie(self) -> str:
        """Return the Set-Cookie value of a visit."""
        return f"{self.cookie}={self._signer.sign(_VISIT).decode()}; Path=/; HttpOnly; SameSite=Strict"

    def session_cookie(self, opened: OpenedSession) -> str:
        """Return the Set-Cookie value of a new session.

        Lax, so that a link in a message opens the page that it names; what changes anything is checked by origin.
        """
        return f"{self.cookie}={self._sessions.sign(opened.secret).decode()}; {self._attributes()}"

    def no_cookie(self) -> str:
        """Return the Set-Cookie value that takes the session's cookie away."""
        return f"{self.cookie}=; Max-Age=0; {self._attributes()}"

    def _attributes(self) -> str:
        return "Path=/; HttpOnly; SameSite=Lax" + ("; Secure" if self.secure else "")

    def form_token(self, binding: str) -> str:
        """Return the token that a form of this server carries; `binding` ties it to one browser."""
        return self._forms.get_signature(binding).decode()

    def form_token_fits(self, binding: str, token: str) -> bool:
        """Say whether a form came from this server and this browser."""
        return bool(binding) and self._forms.verify_signature(binding, token)

    def remember_tab(self, tab: str, account_id: str) -> None:
        """Remember whose tab (Streamlit session) this is; Streamlit itself does not know accounts."""
        with self._lock:
            self._tabs[tab] = account_id
            self._tabs.move_to_end(tab)
            while len(self._tabs) > MAX_TABS:
                self._tabs.popitem(last=False)

    def owner_of_tab(self, tab: str) -> str | None:
        """Return the account that a tab belongs to, or None for an unknown tab."""
        with self._lock:
            return self._tabs.get(tab)


def cookies_of(header: str) -> dict[str, str]:
    """Return the cookies of a Cookie header.

    Read as leniently as browsers and Streamlit do: other apps on this computer set cookies for all its ports, and
    one that Python's own parser stumbles over would hide ours.
    """
    return cookie_parser(header)


def host_name(host: str) -> str | None:
    """Return the name in a Host header, without the port, or None where it is none."""
    if _NO_HOST.search(host):
        return None
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def client_address(peer: str, forwarded_for: str, trusted_proxies: list[str]) -> str:
    """Return the network address a request comes from; only a trusted proxy's word counts for another one."""
    hops = [hop.strip() for hop in forwarded_for.split(",") if hop.strip()]
    address = peer
    while address in trusted_proxies and hops:
        address = hops.pop()
    return address
