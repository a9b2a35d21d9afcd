"""Our scripts, style sheet and font: free of a session, since they hold nothing of anybody."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from streamlit import file_util

_TYPES = {".css": "text/css", ".js": "text/javascript"}
_FILES = ("account.css", "account.js", "connection.js", "session.js", "unsent.js")

_STREAMLITS_FONT = "static/media/SourceSansVF-Upright*.woff2"
"""The font of the app's pages; where a Streamlit lacks it, the pages of signing in have the system's."""


def script_routes() -> list[Route]:
    """Return the routes of what the pages of signing in, and the watch over the session, are made of."""
    here = resources.files("curator_app.routes")
    served = [
        Route(f"/vendor/{name}", _Served(here.joinpath(name).read_bytes(), _TYPES[Path(name).suffix]).answer)
        for name in _FILES
    ]
    font = next(Path(file_util.get_static_dir()).glob(_STREAMLITS_FONT), None)
    if font is not None:
        served.append(Route("/vendor/font.woff2", _Served(font.read_bytes(), "font/woff2").answer))
    return served


class _Served:
    """One file; the browser asks each time whether it is still the same."""

    def __init__(self, data: bytes, kind: str) -> None:
        self._data = data
        self._kind = kind
        self._headers = {"ETag": f'"{hashlib.sha256(data).hexdigest()[:32]}"', "Cache-Control": "no-cache"}

    async def answer(self, request: Request) -> Response:
        """Send the file, or say that it is the same."""
        if request.headers.get("if-none-match") == self._headers["ETag"]:
            return Response(status_code=304, headers=self._headers)
        return Response(self._data, media_type=self._kind, headers=self._headers)
