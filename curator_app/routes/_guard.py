"""The guard before every request: this app's pages only, and nothing but the way in for who is not signed in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from http import HTTPStatus
from urllib.parse import parse_qs, quote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from curator_app.identity import Access, cookies_of, host_name
from curator_app.listening import THIS_COMPUTER
from curator_app.routes._answers import json_error
from curator_app.single_sign_on import CALLBACK, IDENTITY_COOKIE, LOGIN, way_cookie
from pipeline.people import SignedIn
from pipeline.permissions import Permission
from pipeline.settings import Settings

NOT_PAGES = ("/api/", "/auth/", "/media/", "/_stcore/", "/static/", "/vendor/", "/component/", "/oauth2callback")
"""Addresses of data, scripts and signing in."""

FREE = ("/static/", "/vendor/")
FREE_ADDRESSES = frozenset({"/_stcore/health", "/_stcore/host-config", "/api/session"})
"""What holds no data of anybody: Streamlit's and our scripts, whether the server is up, whether one is signed in."""

WAY_IN = ("/sign-in/", "/invitation/")
WAY_IN_ADDRESSES = frozenset({"/sign-in", "/sign-out"})
"""The pages for who is not signed in; signing out also clears up after a session that ended by itself."""

UPLOADS = "/_stcore/upload_file"
UNUSED = ("/media", "/_stcore/agent", "/_stcore/metrics")
"""What of Streamlit this app does not use: whoever knows an address of /media gets the file, and the metrics count
who is here."""

STREAM = "/_stcore/stream"
SIGN_IN_PAGE = "/sign-in"

TO_PROVIDER = {"sign-in": ["provider"]}
"""Query of the start page that begins the sign-in at the provider."""

MAKES_CHANGES = frozenset({"POST", "PUT", "PATCH", "DELETE"})

PROVIDER_WAY = frozenset({LOGIN, CALLBACK})
"""What the way over an identity provider needs before there is a session, besides the start page."""

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    # Streamlit evaluates and styles inline; nothing is fetched from, sent to or framed by another site.
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
        "frame-src 'self' blob: data:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
HTTPS_ONLY = "max-age=31536000"

LONG_BODY = 64_000
"""Bytes; a shorter body has arrived before anything is answered."""

_ENDED = 4401
"""Code with which the connection of an ended session is closed."""


class Guard:
    """ASGI middleware that finds out who asks and refuses what is not for them.

    It puts the `SignedIn` into the request's state for the routes, which ask for the permission of what they give.
    """

    def __init__(
        self, app: ASGIApp, *, access: Access, hosts: Collection[str] | None = THIS_COMPUTER, provider: bool = False
    ) -> None:
        """Guard an app.

        Args:
            app: what stands behind.
            access: reads the cookies.
            hosts: names that the address bar may say; None for any, where a cookie protects everything.
            provider: whether one may sign in by an identity provider.
        """
        self._app = app
        self._access = access
        self._hosts = frozenset(hosts) if hosts is not None else None
        self._provider = provider

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse or pass on one request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if _is_long(headers):
            receive, send = _closing(receive, send)
        if self._hosts is not None and host_name(headers.get("host", "")) not in self._hosts:
            await self._refuse(scope, receive, send, "This app does not answer to this name.")
        elif not _same_origin(scope, headers):
            await self._refuse(scope, receive, send, "Requests from other sites are refused.")
        else:
            await self._identify(scope, receive, send, headers)

    async def _identify(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        path = str(scope["path"])
        if path.startswith(UNUSED):
            await self._refuse(scope, receive, send, "Nothing of this app is kept here.")
            return
        cookies = cookies_of(headers.get("cookie", ""))
        counts = scope["type"] == "http" and path not in FREE_ADDRESSES
        # Dozens of scripts belong to one page: nobody is looked up for them.
        free = path.startswith(FREE)
        known = None if free else await run_in_threadpool(self._access.who_sends, cookies, counts=counts)
        scope.setdefault("state", {})["signed_in"] = known
        if known is not None:
            await self._pass_known(scope, receive, send, headers, known)
        elif path in FREE_ADDRESSES or free:
            await self._app(scope, receive, self._with_headers(send))
        elif not await run_in_threadpool(self._access.sign_in_needed):
            await self._welcome(scope, receive, send)
        elif is_way_in(path) or (self._provider and self._leads_to_provider(scope, headers, cookies)):
            await self._app(scope, receive, self._with_headers(send))
        else:
            await self._to_sign_in(scope, receive, send)

    async def _pass_known(self, scope: Scope, receive: Receive, send: Send, headers: Headers, known: SignedIn) -> None:
        path = str(scope["path"])
        if path.startswith(UPLOADS) and not self._may_upload(path, known):
            await self._refuse(scope, receive, send, "Files are taken only from your own page, if you may add any.")
        elif scope["type"] == "websocket":
            tab = _resumed_tab(headers)
            if tab and self._access.owner_of_tab(tab) not in (None, known.actor.account_id):
                await self._refuse(scope, receive, send, "This tab belongs to somebody else.")
            else:
                await self._app(scope, self._while_signed_in(receive, send, headers), self._with_headers(send))
        else:
            await self._app(scope, receive, self._with_headers(send))

    def _leads_to_provider(self, scope: Scope, headers: Headers, cookies: Mapping[str, str]) -> bool:
        """Say whether somebody is on the way over the identity provider, whose script shows nothing else.

        What comes back from the provider goes to the start page and has Streamlit's cookie of an identity. A tab
        that was somebody's is not gone on with.
        """
        path = str(scope["path"])
        if path == "/":
            return IDENTITY_COOKIE in cookies or parse_qs(str(scope["query_string"], "latin-1")) == TO_PROVIDER
        if path == STREAM:
            tab = _resumed_tab(headers)
            under_way = IDENTITY_COOKIE in cookies or way_cookie(self._access) in cookies
            return under_way and (tab is None or self._access.owner_of_tab(tab) is None)
        return path in PROVIDER_WAY

    async def _welcome(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Give the cookie of a visit with a page; everything else needs it."""
        if scope["type"] == "http" and not str(scope["path"]).startswith(NOT_PAGES):
            await self._app(scope, receive, self._with_headers(send, cookie=self._access.visit_cookie()))
        else:
            await self._refuse(scope, receive, send, "Open a page of the app in this browser first.")

    async def _to_sign_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope["path"])
        if scope["type"] == "websocket":
            await self._refuse(scope, receive, send, "Sign in first.")
            return
        answer: Response
        if scope["method"] in ("GET", "HEAD") and not path.startswith(NOT_PAGES):
            there = "" if path == "/" else f"?next={quote(path)}"
            answer = RedirectResponse(
                SIGN_IN_PAGE + there, status_code=HTTPStatus.SEE_OTHER, headers={"Cache-Control": "no-store"}
            )
        else:
            answer = json_error(HTTPStatus.UNAUTHORIZED, "Sign in first.")
        await answer(scope, receive, self._with_headers(send))

    def _may_upload(self, path: str, known: SignedIn) -> bool:
        """Streamlit takes a file for any open tab whose id is known: only one's own is allowed here."""
        tab = path.removeprefix(UPLOADS).strip("/").partition("/")[0]
        own = self._access.owner_of_tab(tab) == known.actor.account_id
        return own and (known.actor.may(Permission.WRITE_SEEDS) or known.actor.may(Permission.ADD_SLIDES))

    def _while_signed_in(self, receive: Receive, send: Send, headers: Headers) -> Receive:
        """Pass on what a page's connection sends as long as its session lasts; then close it."""
        cookies = cookies_of(headers.get("cookie", ""))

        async def receive_if_signed_in() -> Message:
            message = await receive()
            if message["type"] != "websocket.receive":
                return message
            counts = _is_use(message.get("bytes") or b"")
            if await run_in_threadpool(self._access.who_sends, cookies, counts=counts) is not None:
                return message
            await send({"type": "websocket.close", "code": _ENDED, "reason": "The session has ended."})
            return {"type": "websocket.disconnect", "code": _ENDED}

        return receive_if_signed_in

    def _with_headers(self, send: Send, *, cookie: str | None = None) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if self._access.secure:
                    headers["Strict-Transport-Security"] = HTTPS_ONLY
                if cookie is not None:
                    headers.append("Set-Cookie", cookie)
            await send(message)

        return send_with_headers

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, reason: str) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": reason})
            return
        answer = PlainTextResponse(reason, status_code=HTTPStatus.FORBIDDEN)
        await answer(scope, receive, self._with_headers(send))


def is_way_in(path: str) -> bool:
    """Say whether an address is one of the pages for who is not signed in."""
    return path in WAY_IN_ADDRESSES or path.startswith(WAY_IN)


def answered_names(settings: Settings, host: str) -> frozenset[str] | None:
    """Return the names that the address bar may say, or None for any.

    Beyond this computer, where everybody signs in, a cookie protects everything: a foreign name that resolves to the
    server gets none of it. A public address that is set is the only one there.
    """
    public = host_name((settings.public_url or "").partition("://")[2])
    if public is not None:
        return THIS_COMPUTER | {public}
    return THIS_COMPUTER if host in THIS_COMPUTER else None


def _same_origin(scope: Scope, headers: Headers) -> bool:
    """Say whether a request comes from a page of this server, as far as it must.

    Browsers name the origin with whatever makes changes and with every connection; who names none is no browser's
    page and is refused there, so that no other site can act in a person's name.
    """
    origin = headers.get("origin")
    if origin is None:
        return scope["type"] == "http" and scope["method"] not in MAKES_CHANGES
    try:
        return urlsplit(origin).netloc == headers.get("host")
    except ValueError:
        return False


def _is_long(headers: Headers) -> bool:
    """Say whether a request has, or may have, a long body."""
    length = headers.get("content-length", "0")
    return "transfer-encoding" in headers or not length.isdecimal() or int(length) > LONG_BODY


def _closing(receive: Receive, send: Send) -> tuple[Receive, Send]:
    """Close the connection after the answer where the body was not read to its end.

    The server would else take what still comes and throw it away, for as long as somebody sends.
    """
    whole = False

    async def receive_part() -> Message:
        nonlocal whole
        message = await receive()
        whole = whole or not message.get("more_body", False)
        return message

    async def send_and_close(message: Message) -> None:
        if message["type"] == "http.response.start" and not whole:
            MutableHeaders(scope=message)["Connection"] = "close"
        await send(message)

    return receive_part, send_and_close


def _resumed_tab(headers: Headers) -> str | None:
    """Return the id of the Streamlit session that a connection asks to go on with."""
    parts = [part.strip() for part in headers.get("sec-websocket-protocol", "").split(",")]
    return parts[2] if len(parts) > 2 and parts[2] else None


def _is_use(data: bytes) -> bool:
    """Say whether a person did something, rather than a page that refreshes itself."""
    try:
        message = BackMsg.FromString(data)
    except Exception:
        return False
    return bool(message.WhichOneof("type") == "rerun_script" and not message.rerun_script.is_auto_rerun)
