"""Routes that ask for a permission before they answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from http import HTTPStatus
from inspect import iscoroutinefunction
from typing import cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from curator_app.routes._answers import json_error
from pipeline.people import SignedIn
from pipeline.permissions import NotAllowedError, Permission

Handler = Callable[[Request], Response] | Callable[[Request], Awaitable[Response]]


class ProtectedRoute(Route):
    """A route that answers only to who has its permission; the guard says who asks."""

    def __init__(self, path: str, handler: Handler, permission: Permission, *, methods: list[str]) -> None:
        self.permission = permission
        super().__init__(path, _asking(handler, permission), methods=methods)


def who_sent(request: Request) -> SignedIn | None:
    """Return who the guard found to have sent a request, or None for somebody who is not signed in."""
    known: SignedIn | None = getattr(request.state, "signed_in", None)
    return known


def who_asks(request: Request) -> SignedIn:
    """Return who the guard found to ask; behind the guard there is always somebody."""
    return cast("SignedIn", request.state.signed_in)


def _asking(handler: Handler, permission: Permission) -> Callable[[Request], Awaitable[Response]]:
    @wraps(handler)
    async def ask(request: Request) -> Response:
        known = who_sent(request)
        if known is None:
            return json_error(HTTPStatus.UNAUTHORIZED, "Sign in first.")
        try:
            known.actor.require(permission)
        except NotAllowedError as error:
            return json_error(HTTPStatus.FORBIDDEN, error.message)
        if any("\0" in str(value) for value in request.path_params.values()):
            # Nothing is called so, and PostgreSQL refuses such a text even in a question.
            return json_error(HTTPStatus.NOT_FOUND, "Nothing has such a name.")
        if iscoroutinefunction(handler):
            return cast("Response", await handler(request))
        # In a thread: these handlers read files and decode slides.
        return cast("Response", await run_in_threadpool(handler, request))

    return ask
