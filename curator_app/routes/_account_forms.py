"""What the pages of signing in send and get: fields and their faults, form tokens, cookies, where one goes on."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from curator_app.identity import Access, client_address
from curator_app.routes._account_html import message_page
from curator_app.routes._answers import TooLongError, body_of
from pipeline.errors import InputError
from pipeline.people import checked_display_name, checked_name, checked_password
from pipeline.settings import Settings

MAX_BYTES = 16_000
MAX_FIELDS = 20
FORM_TYPE = "application/x-www-form-urlencoded"

PAGE_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
        "font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Frame-Options": "DENY",
    # The address of an invitation is its secret: no request names it. 'no-referrer' would hide the origin as well,
    # without which the guard refuses a form.
    "Referrer-Policy": "strict-origin",
}

Use = Callable[[Request, Mapping[str, str]], Awaitable[Response]]
"""What is done with the fields of a form."""

_BROWSER = re.compile(r"[A-Za-z0-9_-]{16,64}")
_PROVIDERS_COOKIE = re.compile(r"_streamlit_user(_tokens)?(_+\d+)?")


class FormError(InputError):
    """A form that is not read; `status` is what the answer says."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


def own_page(asked: str, pages: Collection[str]) -> str:
    """Return where a person goes after signing in: the page that was asked for if it is one of ours, else the first.

    Args:
        asked: a path as it came with the request, from whomever.
        pages: the addresses of the pages, without the slash before them.
    """
    return asked if asked.startswith("/") and asked[1:] in pages else "/"


async def form_fields(request: Request) -> dict[str, str]:
    """Return the fields of a posted form.

    Raises:
        FormError: it is too large, or no form.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM_TYPE:
        raise FormError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "This is no form of this app.")
    try:
        body = await body_of(request, most=MAX_BYTES)
    except TooLongError:
        raise FormError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A form has at most {MAX_BYTES:,} bytes.") from None
    try:
        # A text that is no UTF-8 fits no name and no password; it need not be refused in another way.
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:
        raise FormError(HTTPStatus.BAD_REQUEST, "This is no form of this app.") from None


class FormTokens:
    """Ties each form to one browser, one address and, behind the sign-in, to one session.

    The guard refuses posts of other sites by their origin already; this holds where a browser names none.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._cookie = f"{access.cookie}_form"

    def browser(self, request: Request) -> str:
        """Return what the browser is known by: its cookie, or something new, which `answer` sets."""
        known = self._known(request)
        if known is None:
            known = secrets.token_urlsafe(24)
            request.state.new_browser = known
        return known

    def token(self, request: Request, *, session: str = "") -> str:
        """Return the token for a form that posts to the request's own address."""
        return self._access.form_token(_binding(request, self.browser(request), session))

    def require(self, request: Request, fields: Mapping[str, str], *, session: str = "") -> None:
        """Raise FormError unless the posted form is one that this browser was given."""
        known = self._known(request)
        given = fields.get("token", "")
        # The signature is ASCII; comparing anything else with it is an error of its own.
        fits = given.isascii() and self._access.form_token_fits(_binding(request, known or "", session), given)
        if known is None or not fits:
            raise FormError(
                HTTPStatus.FORBIDDEN, "This form is too old, or this browser takes no cookies. Open it anew, try again."
            )

    async def use_posted(self, request: Request, use: Use, *, session: str = "") -> Response:
        """Read a posted form, check its token and use its fields; or say why not."""
        try:
            fields = await form_fields(request)
            self.require(request, fields, session=session)
        except FormError as error:
            html = message_page("Try again", error.message, link=request.url.path, words="Open the form anew")
            return self.answer(request, html, error.status)
        return await use(request, fields)

    def answer(self, request: Request, html: str, status: HTTPStatus = HTTPStatus.OK) -> HTMLResponse:
        """Return a page of signing in, with what the browser will be known by."""
        answer = HTMLResponse(html, status_code=status, headers=PAGE_HEADERS)
        new = getattr(request.state, "new_browser", None)
        if new is not None:
            secure = "; Secure" if self._access.secure else ""
            answer.headers.append("Set-Cookie", f"{self._cookie}={new}; Path=/; HttpOnly; SameSite=Strict{secure}")
        return answer

    def _known(self, request: Request) -> str | None:
        value = request.cookies.get(self._cookie, "")
        return value if _BROWSER.fullmatch(value) else None


def _binding(request: Request, browser: str, session: str) -> str:
    return f"{browser} {session} {request.url.path}"


def go_to(path: str, *cookies: str) -> Response:
    """Return the answer that sends the browser on to one of our addresses, with these Set-Cookie values."""
    answer = RedirectResponse(path, status_code=HTTPStatus.SEE_OTHER, headers={"Cache-Control": "no-store"})
    for cookie in cookies:
        answer.headers.append("Set-Cookie", cookie)
    return answer


def providers_cookies_gone(cookies: Mapping[str, str]) -> list[str]:
    """Return the Set-Cookie values that take away what Streamlit keeps of a sign-in by an identity provider."""
    return [
        f"{name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax" for name in cookies if _PROVIDERS_COOKIE.fullmatch(name)
    ]


def address_of(request: Request, settings: Settings) -> str:
    """Return the network address that a request comes from."""
    peer = request.client.host if request.client is not None else ""
    forwarded = ",".join(request.headers.getlist("x-forwarded-for"))
    return client_address(peer, forwarded, settings.trusted_proxies)


def faults_of_person(name: str, display_name: str) -> dict[str, str]:
    """Return what is wrong with the names of a new account, by field."""
    return _faults(
        name=lambda: checked_name(name),
        display_name=lambda: checked_display_name(display_name, name=name),
    )


def faults_of_password(password: str, again: str, *, name: str) -> dict[str, str]:
    """Return what is wrong with a new password that was typed twice, by field."""
    faults = _faults(new=lambda: checked_password(password, name=name))
    if password != again:
        faults["again"] = "The two new passwords differ."
    return faults


def _faults(**checks: Callable[[], object]) -> dict[str, str]:
    """Return what each field's check complains of, so that all of it is said at once."""
    faults = {}
    for field, check in checks.items():
        try:
            check()
        except InputError as error:
            faults[field] = sentence(error)
    return faults


def sentence(error: InputError) -> str:
    """Return an error's message as a page says it."""
    return error.message if error.message.endswith(".") else f"{error.message}."
