"""The guard before every request: this machine's names only, this app's pages only, a visit's cookie for data."""

from __future__ import annotations

from http.cookies import SimpleCookie
from urllib.parse import urlsplit

from itsdangerous import BadSignature, Signer
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
"""What the address bar may say; another name that resolves to this machine is DNS rebinding."""

GUARDED = ("/api/", "/media/", "/_stcore/upload_file", "/_stcore/stream")
"""What holds data of the workspace: answered only to a browser that opened a page of this app."""

NOT_PAGES = ("/api/", "/auth/", "/media/", "/_stcore/", "/static/", "/vendor/", "/component/")
"""Addresses of data, scripts and signing in."""

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Content-Security-Policy": "frame-ancestors 'self'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
}
_VISIT = "visit"


class LocalGuard:
    """ASGI middleware for a server that one person uses on their own machine.

    A page sets a signed cookie that scripts cannot read and that other sites cannot send; the routes with data
    ask for it. The cookie's name is derived from the key, since browsers share cookies between ports.
    """

    def __init__(self, app: ASGIApp, *, key: str) -> None:
        self._app = app
        self._signer = Signer(key, salt="histocurator visit")
        self.cookie = f"histocurator_{self._signer.get_signature('name').decode()[:8]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse or pass on one request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        path = str(scope["path"])
        known = self._has_cookie(headers)
        if _name_of(headers.get("host", "")) not in LOCAL_NAMES:
            await _refuse(scope, receive, send, "This app answers only to 127.0.0.1 and localhost.")
        elif not _same_origin(headers):
            await _refuse(scope, receive, send, "Requests from other sites are refused.")
        elif path.startswith(GUARDED) and not known:
            await _refuse(scope, receive, send, "Open a page of the app in this browser first.")
        else:
            gives = scope["type"] == "http" and not known and not path.startswith(NOT_PAGES)
            await self._app(scope, receive, self._with_headers(send, gives_cookie=gives))

    def _has_cookie(self, headers: Headers) -> bool:
        cookies: SimpleCookie = SimpleCookie(headers.get("cookie", ""))
        if self.cookie not in cookies:
            return False
        try:
            return self._signer.unsign(cookies[self.cookie].value) == _VISIT.encode()
        except BadSignature:
            return False

    def _with_headers(self, send: Send, *, gives_cookie: bool) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers[name] = value
                if gives_cookie:
                    value = self._signer.sign(_VISIT).decode()
                    headers.append("Set-Cookie", f"{self.cookie}={value}; Path=/; HttpOnly; SameSite=Strict")
            await send(message)

        return send_with_headers


def _name_of(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _same_origin(headers: Headers) -> bool:
    origin = headers.get("origin")
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc == headers.get("host")
    except ValueError:
        return False


async def _refuse(scope: Scope, receive: Receive, send: Send, reason: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": reason})
        return
    response = PlainTextResponse(reason, status_code=403, headers=SECURITY_HEADERS)
    await response(scope, receive, send)
