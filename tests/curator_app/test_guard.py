"""The guard: which requests are answered, for whom, and what every answer carries."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.proto.BackMsg_pb2 import BackMsg

from curator_app.identity import Access
from curator_app.routes import ProtectedRoute
from db import utc_now
from db.tables import AccountSession
from pipeline.people import close_account, end_sessions_of, set_roles
from pipeline.permissions import Permission
from pipeline.workspace import Workspace
from tests.curator_app.visitors import (
    KEY,
    ORIGIN,
    add_person,
    browser_of,
    cookie_of,
    guarded,
    opened_session,
)

DATA = ["/api/rois/x/image", "/api/slides/x/tiles/0/0_0.jpeg", "/api/drafts/seed_x", "/component/x", "/auth/logout"]
OPEN = ["/_stcore/health", "/_stcore/host-config", "/static/js/x.js", "/vendor/x.js", "/api/session"]
STREAM = ORIGIN.replace("http", "ws") + "/_stcore/stream"
UPLOAD = "/_stcore/upload_file/tab-1/file-1"


async def _echo(websocket: WebSocket) -> None:
    await websocket.accept()
    async for data in websocket.iter_bytes():
        await websocket.send_bytes(data)


def _say(request: Request) -> PlainTextResponse:
    known = request.state.signed_in
    return PlainTextResponse(known.actor.name if known is not None else "nobody")


def _app(access: Access, **options: object) -> Starlette:
    paths = (*DATA, *OPEN, "/people", "/sign-in", "/invitation/x", "/media/x", "/_stcore/agent/x", UPLOAD)
    return guarded(
        access,
        [
            ProtectedRoute("/api/slides/y", _say, Permission.VIEW_SLIDES, methods=["GET"]),
            *(Route(path, _say, methods=["GET", "POST", "PUT", "DELETE"]) for path in paths),
            WebSocketRoute("/_stcore/stream", _echo),
        ],
        **options,
    )


@pytest.fixture
def access(workspace: Workspace) -> Access:
    return Access(workspace, KEY)


@pytest.fixture
def alone(access: Access) -> TestClient:
    """A browser on a computer where nobody has to sign in."""
    return browser_of(_app(access))


@pytest.fixture
def people(workspace: Workspace) -> Workspace:
    """The workspace with an administrator and a reader."""
    add_person(workspace, "ada")
    add_person(workspace, "rita", "reader")
    return workspace


@pytest.fixture
def client(people: Workspace, access: Access) -> TestClient:
    """A browser in which nobody is signed in yet."""
    return browser_of(_app(access))


@pytest.fixture
def ada(client: TestClient, people: Workspace, access: Access) -> TestClient:
    """A browser in which the administrator is signed in."""
    client.headers["Cookie"] = cookie_of(access, opened_session(people, "ada"))
    return client


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.5:8501", "[::2]", "", "[bad", "localhost@evil.example:1"]
)
def test_other_host_names_are_refused(alone: TestClient, host: str) -> None:
    answer = alone.get("/", headers={"Host": host, "Origin": f"http://{host}"})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9000", "LOCALHOST:8501", "[::1]:8501"])
def test_this_machines_names_are_answered(alone: TestClient, host: str) -> None:
    assert alone.get("/", headers={"Host": host, "Origin": f"http://{host}"}).status_code == 200


def test_only_the_names_that_the_server_has_are_answered(access: Access) -> None:
    client = browser_of(_app(access, hosts={"histocurator.example.org"}))
    for host, status in (("histocurator.example.org", 200), ("127.0.0.1", 403)):
        assert client.get("/", headers={"Host": host, "Origin": f"http://{host}"}).status_code == status


class TestAlone:
    """Nobody can sign in yet: whoever opens a page here works as the person who made the workspace."""

    @pytest.mark.parametrize("path", DATA)
    def test_data_needs_a_visit(self, alone: TestClient, workspace: Workspace, path: str) -> None:
        assert alone.get(path).status_code == 403
        alone.get("/slides")
        assert alone.get(path).text == workspace.actor.name

    @pytest.mark.parametrize("path", OPEN)
    def test_what_holds_no_data_needs_no_visit(self, alone: TestClient, path: str) -> None:
        answer = alone.get(path)
        assert answer.text == "nobody"
        assert "set-cookie" not in answer.headers

    def test_the_cookie_is_given_once_for_this_site_and_not_for_scripts(self, alone: TestClient) -> None:
        cookie = alone.get("/").headers["set-cookie"]
        for attribute in ("HttpOnly", "SameSite=Strict", "Path=/"):
            assert attribute in cookie
        assert "set-cookie" not in alone.get("/").headers

    def test_a_cookie_of_another_key_or_a_changed_one_is_no_visit(self, workspace: Workspace, access: Access) -> None:
        other = Access(workspace, "o" * 64)
        assert other.cookie != access.cookie, "two workspaces on two ports must not overwrite each other's cookie"
        client = browser_of(_app(access))
        own, foreign = (one.visit_cookie().partition(";")[0].partition("=")[2] for one in (access, other))
        for value in (foreign, "visit", own[:-1], own + "x", "", "ä"):
            answer = client.get(DATA[0], headers={"Cookie": f"{access.cookie}={value}".encode()})
            assert answer.status_code == 403, value
        assert client.get(DATA[0], headers={"Cookie": f"{access.cookie}={own}"}).status_code == 200

    def test_a_connection_needs_a_visit(self, alone: TestClient, access: Access) -> None:
        with pytest.raises(WebSocketDisconnect), alone.websocket_connect(STREAM):
            pass
        cookie = access.visit_cookie().partition(";")[0]
        with alone.websocket_connect(STREAM, headers={"Cookie": cookie}) as socket:
            socket.send_bytes(b"")
            assert socket.receive_bytes() == b""

    def test_a_visit_is_worth_nothing_once_somebody_can_sign_in(
        self, alone: TestClient, workspace: Workspace, access: Access
    ) -> None:
        cookie = access.visit_cookie().partition(";")[0]
        with alone.websocket_connect(STREAM, headers={"Cookie": cookie}) as socket:
            add_person(workspace, "ada")
            assert alone.get(DATA[0], headers={"Cookie": cookie}).status_code == 401
            socket.send_bytes(b"")
            with pytest.raises(WebSocketDisconnect) as ended:
                socket.receive_bytes()
        assert ended.value.code == 4401


class TestAccounts:
    """Somebody can sign in: then everybody has to."""

    @pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
    def test_data_is_refused_in_words(self, client: TestClient, method: str) -> None:
        for path in (*DATA, UPLOAD):
            self._is_refused(client, method, path)

    def _is_refused(self, client: TestClient, method: str, path: str) -> None:
        answer = client.request(method, path)
        assert answer.status_code == 401
        assert answer.json() == {"error": "Sign in first."}
        assert answer.headers["cache-control"] == "no-store"

    def test_a_page_leads_to_the_sign_in_and_back(self, client: TestClient) -> None:
        for path in ("/", "/slides", "/people", "/nothing/here", "/password"):
            answer = client.get(path)
            assert answer.status_code == 303
            assert answer.headers["location"] == "/sign-in" + ("" if path == "/" else f"?next={path}")
            assert client.post(path).status_code == 401

    def test_the_way_in_is_open(self, client: TestClient) -> None:
        for path in (*OPEN, "/sign-in", "/invitation/x"):
            assert client.get(path).text == "nobody"

    def test_the_way_over_a_provider_is_closed_where_there_is_none(self, client: TestClient) -> None:
        for path in ("/?sign-in=provider", "/oauth2callback", "/auth/login"):
            assert client.get(path, headers={"Cookie": "_streamlit_user=x"}).status_code in (303, 401), path

    def test_a_session_opens_the_pages_and_the_data(self, ada: TestClient) -> None:
        assert ada.get(DATA[0]).text == "ada"
        assert ada.get("/").status_code == 200
        assert "set-cookie" not in ada.get("/").headers

    def test_a_cookie_that_is_forged_cut_or_of_another_key_opens_nothing(
        self, client: TestClient, people: Workspace, access: Access
    ) -> None:
        opened = opened_session(people, "ada")
        own = cookie_of(access, opened).partition("=")[2]
        foreign = cookie_of(Access(people, "o" * 64), opened).partition("=")[2]
        visit = access.visit_cookie().partition(";")[0].partition("=")[2]
        secret, _, signature = own.rpartition(".")
        forged = [
            foreign,
            visit,
            secret,
            own[:-1],
            own + "x",
            f"{secret}x.{signature}",
            f".{signature}",
            "",
            "'--",
            "ä",
        ]
        for value in forged:
            answer = client.get(DATA[0], headers={"Cookie": f"{access.cookie}={value}".encode()})
            assert answer.status_code == 401, value
        assert client.get(DATA[0], headers={"Cookie": f"{access.cookie}={own}"}).text == "ada"

    def test_a_session_of_which_the_database_knows_nothing_opens_nothing(
        self, client: TestClient, people: Workspace, access: Access
    ) -> None:
        opened = opened_session(people, "ada")
        with people.writing() as session:
            session.delete(session.get_one(AccountSession, opened.id))
        assert client.get(DATA[0], headers={"Cookie": cookie_of(access, opened)}).status_code == 401

    @pytest.mark.parametrize(
        "change",
        [
            {"expires_at": -timedelta(seconds=1)},
            {"last_seen_at": -timedelta(minutes=120)},
            {"ended_at": -timedelta(seconds=1)},
        ],
        ids=["expired", "idle", "ended"],
    )
    def test_a_session_that_is_over_opens_nothing(
        self, client: TestClient, people: Workspace, access: Access, change: dict[str, timedelta]
    ) -> None:
        opened = opened_session(people, "ada")
        with people.writing() as session:
            row = session.get_one(AccountSession, opened.id)
            for column, ago in change.items():
                setattr(row, column, utc_now() + ago)
            session.add(row)
        for path in (DATA[0], "/api/drafts/seed_x", UPLOAD):
            assert client.get(path, headers={"Cookie": cookie_of(access, opened)}).status_code == 401

    def test_asking_for_the_session_is_no_use_of_it(
        self, client: TestClient, people: Workspace, access: Access
    ) -> None:
        opened = opened_session(people, "ada")
        before = utc_now() - timedelta(minutes=100)
        with people.writing() as session:
            row = session.get_one(AccountSession, opened.id)
            row.last_seen_at = before
            session.add(row)
        for path, used in (("/api/session", False), (DATA[0], True)):
            assert client.get(path, headers={"Cookie": cookie_of(access, opened)}).text == "ada"
            with people.reading() as session:
                assert (session.get_one(AccountSession, opened.id).last_seen_at > before) is used

    def test_what_is_done_to_an_account_counts_at_once(self, ada: TestClient, people: Workspace) -> None:
        add_person(people, "eve")
        assert ada.get("/api/slides/y").text == "ada"
        set_roles(people, "ada", roles=["reader"], who="test")
        answer = ada.get("/api/slides/y")
        assert answer.status_code == 403
        assert "reader" in answer.json()["error"]
        close_account(people, "ada", reason="left", who="test")
        assert ada.get("/api/slides/y").status_code == 401

    def test_streamlits_own_stores_are_closed_to_everybody(self, ada: TestClient) -> None:
        for path in ("/media/x", "/_stcore/agent/x"):
            assert ada.get(path).status_code == 403


class TestUploads:
    """Streamlit takes a file for any tab that is open; the guard knows whose tab it is."""

    def test_only_into_ones_own_tab(self, ada: TestClient, people: Workspace, access: Access) -> None:
        assert ada.put(UPLOAD).status_code == 403, "nobody's tab"
        accounts = {name: add_person(people, name, "author").id for name in ("bob", "eve")}
        access.remember_tab("tab-1", accounts["bob"])
        cookies = {name: cookie_of(access, opened_session(people, name)) for name in accounts}
        for method in ("PUT", "DELETE", "POST"):
            assert ada.request(method, UPLOAD, headers={"Cookie": cookies["eve"]}).status_code == 403
            assert ada.request(method, UPLOAD, headers={"Cookie": cookies["bob"]}).text == "bob"

    def test_only_for_who_may_add_something(self, client: TestClient, people: Workspace, access: Access) -> None:
        auditor = add_person(people, "otto", "auditor")
        access.remember_tab("tab-1", auditor.id)
        cookie = cookie_of(access, opened_session(people, "otto"))
        assert client.put(UPLOAD, headers={"Cookie": cookie}).status_code == 403

    def test_the_oldest_tabs_are_forgotten(self, access: Access, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("curator_app.identity.MAX_TABS", 2)
        for tab in ("a", "b", "a", "c"):
            access.remember_tab(tab, "account")
        assert [access.owner_of_tab(tab) for tab in "abc"] == ["account", None, "account"]


class TestConnections:
    """A page's connection, over which everything of Streamlit goes."""

    def test_needs_a_session(self, client: TestClient) -> None:
        with pytest.raises(WebSocketDisconnect), client.websocket_connect(STREAM):
            pass

    @pytest.mark.parametrize("origin", [None, "http://127.0.0.1:9999", "null", "http://evil.example", ""])
    def test_needs_the_origin(self, people: Workspace, access: Access, ada: TestClient, origin: str | None) -> None:
        headers = {"Cookie": ada.headers["Cookie"], **({"Origin": origin} if origin is not None else {})}
        bare = TestClient(ada.app, base_url=ORIGIN)
        with pytest.raises(WebSocketDisconnect), bare.websocket_connect(STREAM, headers=headers):
            pass

    def test_is_closed_by_the_first_message_after_the_session(self, ada: TestClient, people: Workspace) -> None:
        with ada.websocket_connect(STREAM) as socket:
            socket.send_bytes(b"1")
            assert socket.receive_bytes() == b"1"
            end_sessions_of(people, "ada", who="test")
            socket.send_bytes(b"2")
            with pytest.raises(WebSocketDisconnect) as ended:
                socket.receive_bytes()
        assert ended.value.code == 4401

    def test_a_page_that_refreshes_itself_is_no_use(self, ada: TestClient, people: Workspace) -> None:
        before = utc_now() - timedelta(minutes=100)
        own, by_itself = BackMsg(), BackMsg()
        own.rerun_script.query_string = ""
        by_itself.rerun_script.is_auto_rerun = True
        for message, used in ((by_itself, False), (own, True)):
            with people.writing() as session:
                (row,) = session.exec(AccountSession.__table__.select()).all()  # type: ignore[attr-defined]
                one = session.get_one(AccountSession, row.id)
                one.last_seen_at = before
                session.add(one)
            with ada.websocket_connect(STREAM) as socket:
                socket.send_bytes(message.SerializeToString())
                socket.receive_bytes()
            with people.reading() as session:
                assert (session.get_one(AccountSession, row.id).last_seen_at > before) is used

    def test_somebody_elses_tab_is_not_gone_on_with(self, ada: TestClient, people: Workspace, access: Access) -> None:
        rita = opened_session(people, "rita")
        access.remember_tab("tab-1", "account of ada")
        protocols = ["streamlit", "xsrf", "tab-1"]
        with (
            pytest.raises(WebSocketDisconnect),
            ada.websocket_connect(STREAM, subprotocols=protocols, headers={"Cookie": cookie_of(access, rita)}),
        ):
            pass
        with ada.websocket_connect(STREAM, subprotocols=[*protocols[:2], "tab-2"]) as socket:
            socket.send_bytes(b"1")
            assert socket.receive_bytes() == b"1"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_what_changes_something_names_its_origin(ada: TestClient, method: str) -> None:
    bare = TestClient(ada.app, base_url=ORIGIN, headers={"Cookie": ada.headers["Cookie"]})
    assert bare.request(method, DATA[2]).status_code == 403
    for wrong in ("null", "http://[bad", "http://", "", "http://127.0.0.1:9999", "http://127.0.0.1:8501.evil.example"):
        assert bare.request(method, DATA[2], headers={"Origin": wrong}).status_code == 403, wrong
    assert bare.request(method, DATA[2], headers={"Origin": ORIGIN}).status_code in (200, 405)


def test_another_site_may_not_even_read(ada: TestClient) -> None:
    assert ada.get(DATA[0], headers={"Origin": "http://evil.example"}).status_code == 403


@pytest.mark.parametrize("who", ["alone", "ada", "client"])
def test_every_answer_carries_the_security_headers(request: pytest.FixtureRequest, who: str) -> None:
    client = request.getfixturevalue(who)
    for path in ("/", "/slides", "/media/x", "/api/rois/x/image", "/api/nothing", "/sign-in", "/nothing/x"):
        _is_guarded(client.get(path).headers)


def _is_guarded(headers: Mapping[str, str]) -> None:
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "SAMEORIGIN"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    policy = headers["content-security-policy"]
    for part in ("default-src 'self'", "frame-ancestors 'self'", "object-src 'none'", "form-action 'self'"):
        assert part in policy
    assert "http" not in policy, "nothing comes from another site"
    assert "strict-transport-security" not in headers


def test_https_stays_https(people: Workspace, access: Access) -> None:
    people.settings.public_url = "https://histocurator.example.org"
    answer = browser_of(_app(access)).get("/sign-in")
    assert answer.headers["strict-transport-security"].startswith("max-age=")
    assert "Secure" in access.session_cookie(opened_session(people, "ada"))
    assert "Secure" in access.no_cookie()
