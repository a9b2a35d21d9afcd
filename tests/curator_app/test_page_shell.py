"""What the addresses of pages answer, and what other addresses do."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from curator_app.rail import RAIL, addresses
from curator_app.routes import PageShell, nothing_else


@pytest.fixture
def client() -> TestClient:
    async def other(scope, receive, send):  # type: ignore[no-untyped-def]
        await PlainTextResponse("passed on")(scope, receive, send)

    routes = [
        Route("/api/here", lambda _request: PlainTextResponse("here")),
        nothing_else("/api"),
        Mount("/", app=other),
    ]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(PageShell, pages=addresses())]))


@pytest.mark.parametrize("path", ["/", *(f"/{entry.address}" for entry in RAIL)])
def test_a_page_tells_its_script_where_the_server_is(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    before = answer.text.partition('<script type="module"')[0]
    assert "BACKEND_BASE_URL" in before
    assert '<script src="/vendor/session.js"></script>' in before, "it sends what was kept before the page reads it"
    assert '<script src="/vendor/connection.js"></script>' in before
    assert "<title>Histocurator</title>" in answer.text
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/slides/x", "/a/b/c", "/<b>/x"])
def test_an_address_below_a_page_is_said_to_be_none(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "There is no such page." in answer.text
    assert "<b>" not in answer.text


@pytest.mark.parametrize(
    "path",
    ["/favicon.png", "/slides/", "/_stcore/health", "/static/js/x.js", "/auth/login", "/invitation/x", "/sign-in/x"],
)
def test_other_addresses_go_on_to_the_app(client: TestClient, path: str) -> None:
    assert client.get(path).text == "passed on"


def test_what_no_route_takes_below_ours_is_missing(client: TestClient) -> None:
    assert client.get("/api/here").text == "here"
    answer = client.get("/api/rois/x/unknown")
    assert answer.status_code == 404
    assert answer.json()["error"]
