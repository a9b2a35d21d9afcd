"""What is answered while the disk is full or the database cannot be used: not that the program failed."""

from __future__ import annotations

import logging
from http import HTTPStatus

from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from curator_app.routes._account_forms import PAGE_HEADERS
from curator_app.routes._account_html import message_page
from curator_app.routes._answers import json_error
from curator_app.troubles import trouble_in_words
from pipeline.errors import InputError, NotFoundError
from pipeline.troubles import Trouble, trouble_of

_log = logging.getLogger(__name__)


class Troubles:
    """ASGI middleware before everything else, also the guard, which asks the database who is there.

    What is wrong with a request and no route has caught is said too.

    507 says that the disk is full, 503 that something else cannot be used now. Browsers keep what they could not
    send, and send it again.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on; answer it where that fails for such a cause."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_on(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        except ClientDisconnect:
            return  # the browser was closed while it sent: nobody waits for an answer
        except Exception as error:
            if started:
                raise
            path = str(scope["path"])
            if isinstance(error, InputError):
                await _refused(path, error)(scope, receive, send)
                return
            trouble = trouble_of(error)
            if trouble is None:
                raise
            _log.error("%s %s: %s", scope["method"], path, trouble.in_words, exc_info=error)
            await _not_now(path, trouble)(scope, receive, send)


def _refused(path: str, error: InputError) -> Response:
    status = HTTPStatus.NOT_FOUND if isinstance(error, NotFoundError) else HTTPStatus.UNPROCESSABLE_ENTITY
    if path.startswith("/api/"):
        return json_error(status, error.message, problems=list(error.problems))
    html = message_page("This cannot be done", str(error), link="", words="Try again")
    return HTMLResponse(html, status_code=status, headers=PAGE_HEADERS)


def _not_now(path: str, trouble: Trouble) -> Response:
    full = trouble.kind == "full"
    status = HTTPStatus.INSUFFICIENT_STORAGE if full else HTTPStatus.SERVICE_UNAVAILABLE
    if path.startswith("/api/"):
        return json_error(status, trouble_in_words(trouble), why=trouble.short)
    html = message_page("Not now", trouble_in_words(trouble), link="", words="Try again")
    return HTMLResponse(html, status_code=status, headers=PAGE_HEADERS)
