"""What routes share: an error as JSON, and the body of a request up to a limit."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse


class TooLongError(Exception):
    """A body has more bytes than a route takes."""


def json_error(status: int, message: str, **more: Any) -> JSONResponse:
    """Return an error answer that nobody keeps; `more` stands beside the message."""
    return JSONResponse({"error": message, **more}, status_code=status, headers={"Cache-Control": "no-store"})


async def body_of(request: Request, *, most: int) -> bytes:
    """Return the body of a request; what comes beyond `most` bytes is not waited for.

    Raises:
        TooLongError: it is longer.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise TooLongError
    return body
