"""The routes of signing in: sign-in and out, invitations and reset links, the own password, who is signed in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from http import HTTPStatus

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from curator_app.identity import Access
from curator_app.routes._account_forms import (
    FormTokens,
    address_of,
    faults_of_password,
    faults_of_person,
    go_to,
    own_page,
    providers_cookies_gone,
    sentence,
)
from curator_app.routes._account_html import (
    invitation_page,
    message_page,
    password_page,
    sign_in_page,
    sign_out_page,
)
from curator_app.routes._protected import ProtectedRoute, who_asks, who_sent
from pipeline.errors import InputError, NotFoundError
from pipeline.people import (
    Offer,
    OpenedSession,
    SignedIn,
    SignInRefusedError,
    TooManyAttemptsError,
    accept_invitation,
    change_own_password,
    confirm_password,
    end_session,
    find_account,
    open_invitation,
    reset_by_link,
    sign_in,
)
from pipeline.permissions import Permission
from pipeline.workspace import Workspace

PASSWORD_ADDRESS = "password"  # noqa: S105  (an address)
_WRONG = HTTPStatus.UNPROCESSABLE_ENTITY


def account_routes(
    workspace: Workspace, access: Access, *, pages: Collection[str], provider_name: str | None = None
) -> list[Route]:
    """Return the routes of signing in.

    Args:
        workspace: whose people sign in.
        access: reads and writes the cookies.
        pages: addresses of the app's pages, without the slash before them: where one may go after signing in.
        provider_name: what people call the identity provider, if one is set up.
    """
    ways = _AccountPages(workspace, access, frozenset({*pages, PASSWORD_ADDRESS}), provider_name)
    return [
        Route("/sign-in", ways.sign_in, methods=["GET", "POST"]),
        Route("/sign-out", ways.sign_out, methods=["GET", "POST"]),
        Route("/invitation/{token:path}", ways.invitation, methods=["GET", "POST"]),
        ProtectedRoute(f"/{PASSWORD_ADDRESS}", ways.password, Permission.OWN_ACCOUNT, methods=["GET", "POST"]),
        Route("/api/session", ways.session, methods=["GET"]),
    ]


class _AccountPages:
    """The handlers; what hashes a password or waits for the database runs in a thread."""

    def __init__(self, workspace: Workspace, access: Access, pages: frozenset[str], provider_name: str | None) -> None:
        self._workspace = workspace
        self._access = access
        self._pages = pages
        self._provider_name = provider_name
        self._tokens = FormTokens(access)

    async def session(self, request: Request) -> Response:
        """Say who is signed in; asking is no use of the session."""
        known = who_sent(request)
        needed = await run_in_threadpool(self._access.sign_in_needed)
        account = known.actor.account_id if known is not None else None
        return JSONResponse(
            {"signed_in": known is not None, "account": account, "needed": needed},
            headers={"Cache-Control": "no-store"},
        )

    async def sign_in(self, request: Request) -> Response:
        """Ask for name and password, and open a session."""
        if not await run_in_threadpool(self._access.sign_in_needed):
            return go_to("/")
        if request.method == "POST":
            return await self._tokens.use_posted(request, self._sign_in)
        next_page = own_page(request.query_params.get("next", ""), self._pages)
        if who_sent(request) is not None:
            return go_to(next_page)
        return self._sign_in_page(request, next_page=next_page, ended=request.query_params.get("ended") == "1")

    async def _sign_in(self, request: Request, fields: Mapping[str, str]) -> Response:
        next_page = own_page(fields.get("next", ""), self._pages)
        name, password = fields.get("name", ""), fields.get("password", "")
        try:
            return await self._signed_in(request, name, password, next_page)
        except SignInRefusedError as error:
            said = {"": f"{error.message}."}
            return self._sign_in_page(request, HTTPStatus.UNAUTHORIZED, name=name, next_page=next_page, faults=said)
        except TooManyAttemptsError as error:
            answer = self._sign_in_page(
                request,
                HTTPStatus.TOO_MANY_REQUESTS,
                name=name,
                next_page=next_page,
                faults={"": error.message},
            )
            return _wait(answer, error)

    def _sign_in_page(
        self,
        request: Request,
        status: HTTPStatus = HTTPStatus.OK,
        *,
        next_page: str,
        name: str = "",
        ended: bool = False,
        faults: Mapping[str, str] | None = None,
    ) -> Response:
        html = sign_in_page(
            token=self._tokens.token(request),
            name=name,
            next_page=next_page,
            provider_name=self._provider_name,
            ended=ended,
            faults=faults or {},
        )
        return self._tokens.answer(request, html, status)

    async def _signed_in(self, request: Request, name: str, password: str, next_page: str) -> Response:
        """Open a session and send the browser on with its cookie; the session that it had ends.

        Raises:
            SignInRefusedError: name and password do not belong together.
            TooManyAttemptsError: too many failures before.
        """
        address = address_of(request, self._workspace.settings)
        browser = request.headers.get("user-agent", "")

        def open_one() -> OpenedSession:
            opened = sign_in(self._workspace, name, password, address=address, browser=browser)
            self._end(who_sent(request), because="signed in anew")
            return opened

        opened = await run_in_threadpool(open_one)
        return go_to(next_page, self._access.session_cookie(opened))

    def _end(self, known: SignedIn | None, *, because: str) -> None:
        if known is not None and known.session_id:
            end_session(self._workspace, known.session_id, because=because)

    async def sign_out(self, request: Request) -> Response:
        """End the session here and in the browser.

        A post needs no form token: it changes nothing but the browser's own session, and comes from our own pages.
        """
        if not await run_in_threadpool(self._access.sign_in_needed):
            return go_to("/")
        known = who_sent(request)
        if request.method != "POST" and known is not None:
            return self._tokens.answer(request, sign_out_page(token=self._tokens.token(request)))
        await run_in_threadpool(self._end, known, because="signed out")
        answer = go_to("/sign-in", self._access.no_cookie(), *providers_cookies_gone(request.cookies))
        # Else slides and pictures would stay readable on a shared computer for as long as they may be kept.
        answer.headers["Clear-Site-Data"] = '"cache"'
        return answer

    async def invitation(self, request: Request) -> Response:
        """Show what a link offers, and use it."""
        try:
            offer = await run_in_threadpool(open_invitation, self._workspace, _token(request))
            if request.method != "POST":
                return self._invitation_page(request, offer)
            return await self._tokens.use_posted(
                request, lambda request, fields: self._use_link(request, offer, fields)
            )
        except NotFoundError as error:
            html = message_page("This link does not work", error.message, link="/sign-in", words="Go to the sign-in")
            return self._tokens.answer(request, html, HTTPStatus.NOT_FOUND)

    async def _use_link(self, request: Request, offer: Offer, fields: Mapping[str, str]) -> Response:
        token = _token(request)
        password = fields.get("new", "")
        typed = {field: fields.get(field, "").strip() for field in ("name", "display_name")}
        name = offer.name or typed["name"]
        faults = {} if offer.name else faults_of_person(typed["name"], typed["display_name"])
        faults |= faults_of_password(password, fields.get("again", ""), name=name)

        def use() -> None:
            if offer.name is not None:
                reset_by_link(self._workspace, token, password=password)
            else:
                accept_invitation(
                    self._workspace, token, name=name, display_name=typed["display_name"], password=password
                )

        if not faults:
            try:
                await run_in_threadpool(use)
            except NotFoundError:
                raise
            except InputError as error:
                faults = {"name": sentence(error)}
        if faults:
            return self._invitation_page(request, offer, _WRONG, faults=faults, typed=typed)
        try:
            return await self._signed_in(request, name, password, "/")
        except (SignInRefusedError, TooManyAttemptsError):
            # The link was used; only too many failures of this address before are in the way.
            return go_to("/sign-in")

    def _invitation_page(
        self,
        request: Request,
        offer: Offer,
        status: HTTPStatus = HTTPStatus.OK,
        *,
        faults: Mapping[str, str] | None = None,
        typed: Mapping[str, str] | None = None,
    ) -> Response:
        known = who_sent(request)
        html = invitation_page(
            offer,
            path=request.url.path,
            token=self._tokens.token(request),
            faults=faults or {},
            typed=typed or {},
            signed_in_as=known.actor.name if known is not None and known.session_id else None,
        )
        return self._tokens.answer(request, html, status)

    async def password(self, request: Request) -> Response:
        """Change the own password."""
        known = who_asks(request)
        account = await run_in_threadpool(find_account, self._workspace, known.actor.name)
        if account is None or account.password_hash is None:
            html = message_page(
                "No password here",
                f"{known.actor.name} does not sign in with a password, so there is none to change.",
                link="/my-account",
                words="Back to My account",
            )
            return self._tokens.answer(request, html)
        if request.method == "POST":
            return await self._tokens.use_posted(request, self._change_password, session=known.session_id)
        return self._password_page(request, changed=request.query_params.get("changed") == "1")

    async def _change_password(self, request: Request, fields: Mapping[str, str]) -> Response:
        known = who_asks(request)
        current, new = fields.get("password", ""), fields.get("new", "")
        address = address_of(request, self._workspace.settings)
        own = self._workspace.acting_as(known.actor)

        def change() -> None:
            # Counts wrong passwords: whoever finds an open tab must not try them out here.
            confirm_password(own, known.actor, current, address=address)
            change_own_password(own, current=current, new=new, keep_session=known.session_id)

        # Looked at first, so that a slip in the new one costs no attempt at the current one.
        if faults := faults_of_password(new, fields.get("again", ""), name=known.actor.name):
            return self._password_page(request, _WRONG, faults=faults)
        try:
            await run_in_threadpool(change)
        except TooManyAttemptsError as error:
            answer = self._password_page(request, HTTPStatus.TOO_MANY_REQUESTS, faults={"": error.message})
            return _wait(answer, error)
        except SignInRefusedError:
            said = {"password": "The current password does not fit; nothing was changed."}
            return self._password_page(request, _WRONG, faults=said)
        except InputError as error:
            return self._password_page(request, _WRONG, faults={"": sentence(error)})
        return go_to(f"/{PASSWORD_ADDRESS}?changed=1")

    def _password_page(
        self,
        request: Request,
        status: HTTPStatus = HTTPStatus.OK,
        *,
        faults: Mapping[str, str] | None = None,
        changed: bool = False,
    ) -> Response:
        known = who_asks(request)
        token = self._tokens.token(request, session=known.session_id)
        html = password_page(name=known.actor.name, token=token, faults=faults or {}, changed=changed)
        return self._tokens.answer(request, html, status)


def _token(request: Request) -> str:
    """Return the token of a link; whoever copies it may take a slash along."""
    return str(request.path_params["token"]).rstrip("/")


def _wait(answer: Response, error: TooManyAttemptsError) -> Response:
    answer.headers["Retry-After"] = str(error.seconds)
    return answer
