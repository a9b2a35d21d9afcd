"""The guard: which requests are answered, and what every answer carries."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from curator_app.routes import LocalGuard


async def _echo(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text("open")
    await websocket.close()


def _client(key: str = "one key", host: str = "127.0.0.1:8501") -> TestClient:
    paths = ("/", "/slides", "/api/rois/x/image", "/media/x", "/_stcore/upload_file/x", "/_stcore/health")
    routes = [
        *(Route(path, lambda _request: PlainTextResponse("answered"), methods=["GET", "POST"]) for path in paths),
        WebSocketRoute("/_stcore/stream", _echo),
    ]
    app = Starlette(routes=routes, middleware=[Middleware(LocalGuard, key=key)])
    return TestClient(app, base_url=f"http://{host}")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.5:8501", "[::2]", "", "[bad"])
def test_other_host_names_are_refused(host: str) -> None:
    answer = _client().get("/", headers={"Host": host})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9000", "LOCALHOST:8501", "[::1]:8501"])
def test_this_machines_names_are_answered(host: str) -> None:
    assert _client().get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("path", ["/api/rois/x/image", "/media/x", "/_stcore/upload_file/x"])
def test_data_needs_a_visit(path: str) -> None:
    client = _client()
    assert client.get(path).status_code == 403
    client.get("/slides")
    assert client.get(path).text == "answered"


def test_health_and_pages_need_no_visit() -> None:
    assert _client().get("/_stcore/health").text == "answered"


def test_the_cookie_is_for_this_site_and_not_for_scripts() -> None:
    cookie = _client().get("/").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Path=/" in cookie


def test_the_cookie_is_given_once_and_only_by_pages() -> None:
    client = _client()
    assert "set-cookie" not in client.get("/_stcore/health").headers
    assert "set-cookie" in client.get("/").headers
    assert "set-cookie" not in client.get("/").headers


def test_a_cookie_of_another_key_or_a_changed_one_is_no_visit() -> None:
    other = _client("another key")
    other.get("/")
    (name, value), *_ = other.cookies.items()
    client = _client()
    client.get("/")
    own_name = next(iter(client.cookies))
    assert own_name != name, "two workspaces on two ports must not overwrite each other's cookie"
    assert _client().get("/media/x", headers={"Cookie": f"{own_name}={value}"}).status_code == 403
    assert _client().get("/media/x", headers={"Cookie": f"{own_name}=visit"}).status_code == 403


def test_other_origins_are_refused_even_with_the_cookie() -> None:
    client = _client()
    client.get("/")
    assert client.post("/media/x", headers={"Origin": "http://127.0.0.1:9999"}).status_code == 403
    for wrong in ("null", "http://[bad", "http://", ""):
        assert client.post("/media/x", headers={"Origin": wrong}).status_code == 403
    assert client.post("/media/x", headers={"Origin": "http://127.0.0.1:8501"}).status_code == 200


def test_a_websocket_needs_a_visit() -> None:
    client = _client()
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/_stcore/stream"):
        pass
    client.get("/")
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    with client.websocket_connect("/_stcore/stream", headers={"Cookie": cookie, "Host": "localhost"}) as socket:
        assert socket.receive_text() == "open"


@pytest.mark.parametrize("path", ["/", "/media/x"])
def test_every_answer_carries_the_security_headers(path: str) -> None:
    headers = _client().get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "frame-ancestors 'self'"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
