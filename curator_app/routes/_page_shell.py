"""What a page's address answers: Streamlit's own HTML, told where the server is, or that there is no such page."""

from __future__ import annotations

import re
from collections.abc import Collection
from html import escape
from pathlib import Path

from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import file_util

from curator_app.routes._guard import NOT_PAGES, is_way_in

# Without it, Streamlit's script looks for the server below the page's own address first, which is an error in
# the browser's console at every reload.
_WHERE = '<script>window.__streamlit = { BACKEND_BASE_URL: window.location.origin + "/" };</script>'

# No modules: they must have run before Streamlit's script does.
_OWN = "".join(f'<script src="/vendor/{name}.js"></script>' for name in ("unsent", "session", "connection"))

_STREAMLITS_ICON = re.compile(r'<link rel="shortcut icon"[^>]*>')
_STREAMLITS_DESCRIPTION = re.compile(r'<link rel="service-desc"[^>]*>')

_NO_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>No such page · Histocurator</title>
<style>body {{ font: 16px system-ui, sans-serif; margin: 4rem auto; max-width: 34rem; padding: 0 1rem;
  color-scheme: light dark; }} code {{ overflow-wrap: anywhere; }}</style></head>
<body><h1>There is no such page.</h1><p><code>{path}</code></p><p><a href="/">Open Histocurator</a></p></body></html>"""


class PageShell:
    """ASGI middleware that answers the addresses of pages; everything else goes on to the app.

    Streamlit answers any unknown address with its start page, whose script lies at a relative address: below
    a second slash that is a blank window.
    """

    def __init__(self, app: ASGIApp, *, pages: Collection[str]) -> None:
        self._app = app
        self._pages = frozenset(pages)
        self._html: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        path = str(scope.get("path", ""))
        asked = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        if asked and path.removeprefix("/") in self._pages:
            answer = HTMLResponse(self._shell(), headers={"Cache-Control": "no-cache"})
        elif asked and "/" in path.strip("/") and not (path.startswith((*NOT_PAGES, "//")) or is_way_in(path)):
            answer = HTMLResponse(_NO_PAGE.format(path=escape(path)), status_code=404)
        else:
            await self._app(scope, receive, send)
            return
        await answer(scope, receive, send)

    def _shell(self) -> str:
        if self._html is None:
            html = (Path(file_util.get_static_dir()) / "index.html").read_text(encoding="utf-8")
            html = html.replace("<title>Streamlit</title>", "<title>Histocurator</title>")
            html = _STREAMLITS_ICON.sub('<link rel="icon" type="image/svg+xml" href="/vendor/icon.svg">', html)
            html = _STREAMLITS_DESCRIPTION.sub("", html)
            self._html = html.replace("<head>", f"<head>{_WHERE}{_OWN}", 1)
        return self._html


def nothing_else(prefix: str) -> Mount:
    """Return a route that answers 404 below an address of ours; it stands behind the routes that there are."""
    return Mount(prefix, app=_nothing_here)


async def _nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    answer = JSONResponse({"error": "There is nothing at this address."}, status_code=404)
    await answer(scope, receive, send)
