"""People who sign in for tests: accounts, their sessions' cookies, and a client that asks as a browser would."""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute
from starlette.testclient import TestClient

from curator_app.identity import Access
from curator_app.rail import addresses
from curator_app.routes import Guard, PageShell, Troubles
from db.tables import Account
from pipeline.people import OpenedSession, actor_of, add_account
from pipeline.people._accounts import open_account
from pipeline.people._sessions import open_session
from pipeline.permissions import Actor
from pipeline.workspace import Workspace

ORIGIN = "http://127.0.0.1:8501"
KEY = "k" * 64
PASSWORD = "correct horse battery staple"

_TOKEN = re.compile(r'name="token" value="([^"]+)"')


def add_person(workspace: Workspace, name: str, role: str = "admin") -> Account:
    """Make an account with PASSWORD."""
    return add_account(workspace, name, roles=[role], password=PASSWORD, display_name=name.title(), who="test")


def actor(workspace: Workspace, name: str) -> Actor:
    """Return who acts as an account."""
    with workspace.reading() as session:
        return actor_of(open_account(session, name))


def opened_session(workspace: Workspace, name: str) -> OpenedSession:
    """Open a session without its password being hashed once more."""
    with workspace.writing() as session:
        account = open_account(session, name)
        return open_session(session, workspace.settings, account, address="127.0.0.1", browser="test", how="test")


def cookie_of(access: Access, opened: OpenedSession) -> str:
    """Return the Cookie header of a session."""
    return access.session_cookie(opened).partition(";")[0]


def guarded(access: Access, routes: Sequence[BaseRoute], **options: object) -> Starlette:
    """Return an app of these routes behind the guard and the page shell, as the server puts them together."""
    return Starlette(
        routes=list(routes),
        middleware=[
            Middleware(Troubles),
            Middleware(Guard, access=access, **options),
            Middleware(PageShell, pages=addresses()),
        ],
    )


def browser_of(app: Starlette) -> TestClient:
    """Return a client that names its origin and follows no redirect."""
    return TestClient(app, base_url=ORIGIN, headers={"Origin": ORIGIN}, follow_redirects=False)


def form_token(html: str) -> str:
    """Return the token of a page's form."""
    found = _TOKEN.search(html)
    assert found is not None, html
    return found[1]
