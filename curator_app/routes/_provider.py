"""The way in over an identity provider: where it begins, where it ends in a session, and what is said if it fails."""

from __future__ import annotations

from collections.abc import Collection
from http import HTTPStatus
from urllib.parse import quote, unquote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from curator_app.identity import Access
from curator_app.routes._account_forms import PAGE_HEADERS, address_of, go_to, own_page, providers_cookies_gone
from curator_app.routes._account_html import message_page
from curator_app.routes._protected import who_sent
from curator_app.single_sign_on import BEGIN, CALLBACK, COMPLETE, IDENTITY_COOKIE, LOGIN, HandOver, way_cookie
from pipeline.errors import InputError
from pipeline.people import OpenedSession, end_session, sign_in_with_claims
from pipeline.workspace import Workspace

AT_THE_PROVIDER_S = 10 * 60
"""So long somebody may take at the provider and still be led to the page that they wanted."""


def provider_routes(
    workspace: Workspace, access: Access, hand_over: HandOver, *, pages: Collection[str]
) -> list[Route]:
    """Return the routes of signing in at the provider; both are free of a session.

    Args:
        workspace: whose people sign in.
        access: writes the cookies.
        hand_over: knows the provider, and who signed in there.
        pages: addresses of the app's pages, without the slash before them: where one may go after signing in.
    """
    ways = _ProviderWay(workspace, access, hand_over, frozenset(pages))
    return [Route(BEGIN, ways.begin, methods=["GET"]), Route(COMPLETE, ways.complete, methods=["GET"])]


class _ProviderWay:
    """The handlers at both ends of the way."""

    def __init__(self, workspace: Workspace, access: Access, hand_over: HandOver, pages: frozenset[str]) -> None:
        self._workspace = workspace
        self._access = access
        self._hand_over = hand_over
        self._pages = pages

    async def begin(self, request: Request) -> Response:
        """Remember where somebody wants to go, and send them to Streamlit's page, which goes to the provider."""
        target = own_page(request.query_params.get("next", ""), self._pages)
        if who_sent(request) is not None:
            return go_to(target)
        origin = self._hand_over.provider.origin
        if request.headers.get("host") != urlsplit(origin).netloc and "moved" not in request.query_params:
            # The provider sends people back to this one address, where the cookies of the way must be.
            return go_to(f"{origin}{BEGIN}?moved=1&next={quote(target)}")
        return go_to(
            "/?sign-in=provider", self._way(target, AT_THE_PROVIDER_S), *providers_cookies_gone(request.cookies)
        )

    async def complete(self, request: Request) -> Response:
        """Open our session for a ticket, and take Streamlit's cookies away."""
        # Ours is the session from here on: what the provider said today must not let anybody in tomorrow.
        gone = [self._way("", 0), *providers_cookies_gone(request.cookies)]
        target = own_page(unquote(request.cookies.get(way_cookie(self._access), "")), self._pages)
        try:
            opened = await self._open_session(request)
        except InputError as error:
            return _page("You are not signed in", error.message, HTTPStatus.FORBIDDEN, *gone)
        return go_to(target, self._access.session_cookie(opened), *gone)

    async def _open_session(self, request: Request) -> OpenedSession:
        """Open a session for the claims of the ticket; the one that the browser had ends.

        Raises:
            InputError: the ticket is no good, or the person may not come in.
        """
        claims = self._hand_over.take(request.query_params.get("ticket", ""), request.cookies)
        address = address_of(request, self._workspace.settings)
        before = who_sent(request)

        def open_one() -> OpenedSession:
            opened = sign_in_with_claims(
                self._workspace, claims, address=address, browser=request.headers.get("user-agent", "")
            )
            if before is not None and before.session_id:
                end_session(self._workspace, before.session_id, because="signed in anew")
            return opened

        return await run_in_threadpool(open_one)

    def _way(self, target: str, seconds: int) -> str:
        """Return the Set-Cookie value that says that somebody is on the way, and to which page."""
        secure = "; Secure" if self._access.secure else ""
        # Lax: the way may begin with a link on a page of the organisation.
        attributes = f"Max-Age={seconds}; Path=/; HttpOnly; SameSite=Lax{secure}"
        return f"{way_cookie(self._access)}={quote(target)}; {attributes}"


class ProviderAnswers:
    """ASGI middleware that says in words what went wrong at the provider.

    Streamlit answers two words where the provider cannot be reached, and leads somebody whom the provider refused,
    or whose token is no good, to the start page without a word.
    """

    def __init__(self, app: ASGIApp, *, hand_over: HandOver) -> None:
        self._app = app
        self._name = hand_over.provider.name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one request, and replace an answer that leads nowhere."""
        if scope["type"] != "http" or scope["path"] not in (LOGIN, CALLBACK):
            await self._app(scope, receive, send)
            return
        leads_on = _leads_to_provider if scope["path"] == LOGIN else _brings_identity
        replaced = False

        async def send_in_words(message: Message) -> None:
            nonlocal replaced
            if message["type"] == "http.response.start":
                headers = Headers(scope=message)
                replaced = not leads_on(headers)
                if replaced:
                    await self._in_words(scope["path"], headers)(scope, receive, send)
            if not replaced:
                await send(message)

        await self._app(scope, receive, send_in_words)

    def _in_words(self, path: str, headers: Headers) -> Response:
        cookies = headers.getlist("set-cookie")
        if path == LOGIN:
            text = "Try again in a few minutes. If it stays so, tell an administrator of this workspace."
            return _page(f"No way to {self._name}", text, HTTPStatus.BAD_GATEWAY, *cookies)
        text = f"Signing in with {self._name} was cancelled, took too long, or was not accepted here."
        return _page("You are not signed in", text, HTTPStatus.FORBIDDEN, *cookies)


def _leads_to_provider(headers: Headers) -> bool:
    return urlsplit(headers.get("location", "")).scheme in ("http", "https")


def _brings_identity(headers: Headers) -> bool:
    """Say whether an answer sets Streamlit's cookie of an identity; an empty one takes it away."""
    start = f"{IDENTITY_COOKIE}="
    return any(one.startswith(start) and not one.startswith(f'{start}""') for one in headers.getlist("set-cookie"))


def _page(title: str, text: str, status: HTTPStatus, *cookies: str) -> HTMLResponse:
    html = message_page(title, text, link="/sign-in", words="Back to the sign-in")
    answer = HTMLResponse(html, status_code=status, headers=PAGE_HEADERS)
    for cookie in cookies:
        answer.headers.append("Set-Cookie", cookie)
    return answer
