"""Requests straight to a running server: every route and page, for every role and every cookie that is none.

The routes are those that the server registers: one that is new and stands in no table here fails a test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from sqlmodel import select
from starlette.routing import Mount, Route
from streamlit.web.server.starlette.starlette_app import create_streamlit_routes
from websockets.exceptions import InvalidStatus

from curator_app import server
from curator_app.drafts import DraftStore
from curator_app.identity import Access, secret_key
from curator_app.rail import addresses
from curator_app.routes import ProtectedRoute
from db import utc_now
from db.tables import Account, AccountSession
from evaluation.items import CATEGORIES
from pipeline.ingest import add_slides, list_slides
from pipeline.leases import lease_roi
from pipeline.people import end_sessions_of, invite
from pipeline.permissions import Permission, Role
from pipeline.releases import build_release
from pipeline.rois import list_rois, select_roi
from pipeline.sampling import sample_candidates
from pipeline.seeds import list_seeds
from pipeline.workspace import Workspace
from tests.curator_app.filled import approve_all, fill_with_items
from tests.curator_app.raw_requests import STREAM, Answer, ask, draw_page, page_connection
from tests.curator_app.served import Served, serving
from tests.curator_app.visitors import PASSWORD, actor, add_person, cookie_of, form_token, opened_session
from tests.databases import new_workspace
from tests.pipeline.conftest import METADATA

PEOPLE = {role.value: role for role in Role}
"""One account for each role, called like it."""

OTHERS = ("second-author", "leaver")

WAY_IN = {
    "/sign-in": "asks for the password",
    "/sign-out": "ends the session of the cookie that comes with it",
    "/invitation/{token:path}": "its token is the secret",
    "/api/session": "says whether one is signed in",
}
"""Routes that ask for no permission, and why they need none."""

SAVES = (
    "/api/seeds",
    "/api/items/item_x/decisions",
    "/api/leases/roi_x/end",
    "/api/rois",
    "/api/rois/roi_x/withdrawal",
)
SCRIPTS = "/vendor/"

STREAMLITS: Mapping[str, int | None] = {
    "/_stcore/health": None,
    "/_stcore/host-config": None,
    "/static": None,
    "/_stcore/metrics": 403,
    "/media/{file_id:path}": 403,
    "/_stcore/agent/interact": 403,
    "/_stcore/agent/openapi.json": 403,
    "/_stcore/agent/mcp": 403,
    "/_stcore/upload_file/{session_id}/{file_id}": 401,
    "/component/{path:path}": 401,
    "/_stcore/bidi-components/{path:path}": 401,
    "/auth/login": 401,
    "/auth/logout": 401,
    "/oauth2callback": 401,
    "/_stcore/stream": 401,
    "": 303,
}
"""Streamlit's own routes, and what they answer somebody without a session; None: they hold nothing of anybody."""


@dataclass(frozen=True)
class Running:
    """The server under test and the cookies that are tried on it."""

    served: Served
    access: Access
    ids: Mapping[str, str]
    people: dict[str, str] = field(default_factory=dict)
    void: dict[str, str | None] = field(default_factory=dict)

    @property
    def workspace(self) -> Workspace:
        return self.served.workspace

    def ask(self, method: str, target: str, *, cookie: str | None = None, **more: object) -> Answer:
        return ask(self.served.port, method, target, cookie=cookie, **more)  # type: ignore[arg-type]

    def account_id(self, name: str) -> str:
        return actor(self.workspace, name).account_id

    def own_routes(self) -> dict[str, tuple[str, Permission]]:
        """Every route of ours that asks for a permission, with the ids of real objects."""
        routes = {}
        for route in _registered(self.workspace):
            if isinstance(route, ProtectedRoute):
                method = "GET" if "GET" in (route.methods or ()) else "POST"
                routes[self._real(route.path)] = (method, route.permission)
        return routes

    def _real(self, path: str) -> str:
        kind = "release" if "/releases/" in path else "slide" if "/slides/" in path else "roi"
        for part, value in {
            "{id}": self.ids[kind],
            "{file:path}": "manifest.json",
            "{name}": "seed_x",
            "{item}": "item_x",
            "{object}": "roi_x",
            "{roi}": "roi_x",
            "{level:int}": "0",
            "{column:int}": "0",
            "{row:int}": "0",
        }.items():
            path = path.replace(part, value)
        assert "{" not in path, f"{path}: say here what its parts are"
        return path


def _registered(workspace: Workspace) -> list[Route | Mount]:
    """The routes that the server registers besides Streamlit's."""
    return list(server.create_app(workspace.root)._user_routes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def running(drawn_slides: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A served workspace with something behind every route, and an account of every role."""
    folder = tmp_path_factory.mktemp("direct")
    workspace = new_workspace(folder / "workspace")
    approve_all(fill_with_items(workspace, folder))
    release = build_release(workspace, name="betula", version="1.0.0", who="test").release
    add_slides(workspace, drawn_slides[:1], METADATA, who="test")
    sample_candidates(workspace, organ="liver", count=2, size=128, who="test")
    candidate = list_rois(workspace, states=("candidate",))[0][0]
    select_roi(workspace, candidate.id, who="test")
    slide = next(one for one in list_slides(workspace) if one.kind == "slide")
    for name in (*PEOPLE, *OTHERS):
        add_person(workspace, name, PEOPLE.get(name, Role.AUTHOR))
    access = Access(workspace, secret_key(workspace))
    ids = {"release": release.id, "slide": slide.id, "roi": candidate.id}
    with serving(workspace, folder) as served:
        found = Running(served, access, ids)
        for name in (*PEOPLE, OTHERS[0]):
            found.people[name] = cookie_of(access, opened_session(workspace, name))
        found.void.update(_void_cookies(workspace, access))
        yield found
    workspace.engine.dispose()


def _void_cookies(workspace: Workspace, access: Access) -> dict[str, str | None]:
    """Cookies that open nothing, each made from a session of the administrator that would."""
    own = cookie_of(access, opened_session(workspace, "admin"))
    name, _, value = own.partition("=")
    secret, _, signature = value.rpartition(".")
    fresh = opened_session(workspace, "admin")
    cookies: dict[str, str | None] = {
        "none": None,
        "empty": f"{name}=",
        "forged": f"{name}={secret}.{signature[::-1]}",
        "unsigned": f"{name}={secret}",
        "cut short": own[:-3],
        "of another server": cookie_of(Access(workspace, "o" * 64), opened_session(workspace, "admin")),
        "another server's key under this name": f"{name}={Access(workspace, 'o' * 64)._sessions.sign(secret).decode()}",
        "under another name": own.replace(name, "session"),
        "of a visit": access.visit_cookie().partition(";")[0],
        "the id of a session": f"{name}={access._sessions.sign(fresh.id).decode()}",
        "what the database keeps": f"{name}={access._sessions.sign(_kept_secret(workspace, fresh.id)).decode()}",
    }
    past = utc_now() - timedelta(days=2)
    for kind, change in {
        "expired": {"expires_at": past},
        "not used for too long": {"last_seen_at": past},
        "ended": {"ended_at": past},
    }.items():
        opened = opened_session(workspace, "admin")
        with workspace.writing() as session:
            row = session.get_one(AccountSession, opened.id)
            for column, moment in change.items():
                setattr(row, column, moment)
            session.add(row)
        cookies[kind] = cookie_of(access, opened)
    cookies["another person's after it was ended"] = cookie_of(access, opened_session(workspace, "leaver"))
    end_sessions_of(workspace, "leaver", who="test")
    return cookies


def _kept_secret(workspace: Workspace, session_id: str) -> str:
    with workspace.reading() as session:
        return session.get_one(AccountSession, session_id).secret_sha256


def _drafts(running: Running) -> list[Path]:
    return sorted(running.workspace.root.glob("drafts/**/*.json"))


class TestTheTables:
    """Whatever the server answers stands in one of the tables of this file."""

    def test_every_route_of_ours_asks_for_a_permission_or_is_named_here(self, running: Running) -> None:
        free = {
            route.path
            for route in _registered(running.workspace)
            if isinstance(route, Route) and not isinstance(route, ProtectedRoute)
        }
        assert {path for path in free if not path.startswith(SCRIPTS)} == set(WAY_IN)
        mounts = {route.path for route in _registered(running.workspace) if isinstance(route, Mount)}
        assert mounts == {"/api", "/vendor", "/sign-in"}, "they answer that there is nothing"

    def test_every_route_of_streamlit_is_named_here(self) -> None:
        known = {route.path for route in create_streamlit_routes(MagicMock())}  # type: ignore[attr-defined]
        assert known == set(STREAMLITS) - {"/static"}, "decide what the guard does with it"


class TestWithoutASession:
    """No cookie, and every cookie that is none."""

    def test_no_route_of_ours_answers(self, running: Running) -> None:
        routes = running.own_routes()
        assert len(routes) > 7
        before = _drafts(running)
        for kind, cookie in running.void.items():
            for target, (method, _) in routes.items():
                page = not target.startswith("/api/")
                answer = running.ask(method, target, cookie=cookie, body=b"{}" if method == "POST" else None)
                assert answer.status == (303 if page else 401), (kind, target)
                assert len(answer.body) < 60, (kind, target, answer.body)
        assert _drafts(running) == before

    def test_no_route_of_streamlit_answers(self, running: Running) -> None:
        for kind, cookie in running.void.items():
            for path, status in STREAMLITS.items():
                if path == STREAM:
                    with pytest.raises(InvalidStatus) as refused, page_connection(running.served.port, cookie):
                        pass
                    assert refused.value.response.status_code == 403, kind
                    continue
                target = path.replace("{session_id}/{file_id}", "a/b").replace("{file_id:path}", "a.png")
                target = target.replace("{path:path}", "a/b.js") or "/"
                answer = running.ask("PUT" if "upload" in path else "GET", target, cookie=cookie)
                assert answer.status == (status or answer.status), (kind, target)
                assert status or b"betula" not in answer.body

    def test_every_page_leads_to_the_sign_in(self, running: Running) -> None:
        for kind, cookie in running.void.items():
            for address in (*addresses(), "password", "no-such-page", "slides/x", "home/_stcore/health"):
                answer = running.ask("GET", f"/{address}", cookie=cookie)
                there = f"?next=/{address}" if address else ""
                assert (answer.status, answer.headers["location"]) == (303, f"/sign-in{there}"), (kind, address)

    def test_the_way_in_is_no_way_further(self, running: Running) -> None:
        for target, status in {
            "/sign-in": 200,
            "/sign-in/": 404,
            "/sign-in/x": 404,
            "/sign-inx": 303,
            "/sign-in;x": 303,
            "/sign-out": 303,
            "/sign-outx": 303,
            "/sign-out/x": 303,
            "/invitation/x": 404,
            "/invitation/": 404,
            "/invitation/x/y": 404,
            "/invitation/../slides": 400,
            "/vendor/x": 404,
            "/vendor/../api/session": 400,
            # Streamlit's start page, which holds nothing of anybody and connects to nothing without a session.
            "/static/x.js": 200,
        }.items():
            assert running.ask("GET", target).status == status, target


class TestEveryRole:
    """Each role gets what the permission table grants it, and else a refusal that names the role."""

    def test_routes_answer_to_whom_the_table_names(self, running: Running) -> None:
        for name, role in PEOPLE.items():
            body = json.dumps({"account": running.account_id(name), "writing": "w", "fields": {"question": name}})
            for target, (method, permission) in running.own_routes().items():
                answer = running.ask(
                    method,
                    target,
                    cookie=running.people[name],
                    body=body.encode() if method == "POST" else None,
                )
                granted = actor(running.workspace, name).may(permission)
                # The body is a draft: what saves says so, to who may save.
                right = 422 if target in SAVES else 200
                assert answer.status == (right if granted else 403), (role, target)
                if not granted:
                    assert str(role) in answer.json()["error"]

    def test_the_test_meets_both_answers(self, running: Running) -> None:
        reader = actor(running.workspace, "reader")
        assert {reader.may(permission) for _, permission in running.own_routes().values()} == {True, False}

    def test_streamlits_stores_are_closed_to_everybody(self, running: Running) -> None:
        for name in PEOPLE:
            for path, status in STREAMLITS.items():
                if status == 403:
                    target = path.replace("{file_id:path}", "a.png")
                    for method in ("GET", "HEAD", "POST", "OPTIONS"):
                        assert running.ask(method, target, cookie=running.people[name]).status == 403, (name, target)

    def test_nobody_is_shown_more_than_the_shell_by_a_page(self, running: Running) -> None:
        for name in PEOPLE:
            for address in addresses():
                answer = running.ask("GET", f"/{address}", cookie=running.people[name])
                assert answer.status == 200
                assert b"betula" not in answer.body

    def test_a_readers_connection_is_told_nothing_of_the_workspace(self, running: Running) -> None:
        with page_connection(running.served.port, running.people["reader"]) as socket:
            for address in addresses():
                _, messages = draw_page(socket, address)
                said = b"".join(message.SerializeToString() for message in messages)
                for secret in (b"liver", b"Liver", b"necrosis", b"Tissue fold", b"betula", b"slide-0"):
                    assert secret not in said, (address, secret)
        with page_connection(running.served.port, running.people["auditor"]) as socket:
            _, messages = draw_page(socket, "releases")
            assert b"betula" in b"".join(message.SerializeToString() for message in messages)


class TestAnotherPersons:
    """Signed in, but after what is somebody else's."""

    def test_leases(self, running: Running) -> None:
        author, second = (running.workspace.acting_as(actor(running.workspace, one)) for one in ("author", OTHERS[0]))
        assert lease_roi(second, ["roi_held"]) == "roi_held"
        cookie, target = running.people["author"], "/api/leases/roi_held/end"
        for account, status in ((second.actor.account_id, 401), (author.actor.account_id, 204)):
            body = json.dumps({"account": account}).encode()
            assert running.ask("POST", target, cookie=cookie, body=body).status == status
            assert lease_roi(author, ["roi_held"]) is None, "only its holder gives it back"
        body = json.dumps({"account": second.actor.account_id}).encode()
        assert running.ask("POST", target, cookie=running.people[OTHERS[0]], body=body).status == 204
        assert lease_roi(author, ["roi_held"]) == "roi_held"

    def test_drafts(self, running: Running) -> None:
        author, second = (running.workspace.acting_as(actor(running.workspace, one)) for one in ("author", OTHERS[0]))
        DraftStore(second).write("seed_y", {"question": "mine"})
        body = {"account": second.actor.account_id, "writing": "w", "fields": {"question": "overwritten"}}
        target = "/api/drafts/seed_y"
        cookie = running.people["author"]
        assert running.ask("POST", target, cookie=cookie, body=json.dumps(body).encode()).status == 401
        body["account"] = author.actor.account_id
        assert running.ask("POST", target, cookie=cookie, body=json.dumps(body).encode()).status == 200
        assert DraftStore(second).read("seed_y").fields == {"question": "mine"}
        for path in (f"/api/drafts/../{second.actor.account_id}/seed_y", f"/api/drafts/..%2F{second.actor.account_id}"):
            assert running.ask("POST", path, cookie=cookie, body=json.dumps(body).encode()).status in (400, 404)
        assert running.ask("GET", target, cookie=cookie).status == 404
        assert DraftStore(author).read("seed_y").fields == {"question": "overwritten"}

    def test_nobody_saves_in_the_name_of_another_page(self, running: Running) -> None:
        """Somebody signs out and another person in; the page of the first one still sends."""
        seed = {"account": running.account_id(OTHERS[0]), "act": "a" * 32, "roi": running.ids["roi"], "question": "q?"}
        seed |= {"answer": "a", "category": CATEGORIES[0]}
        answer = running.ask("POST", "/api/seeds", cookie=running.people["author"], body=json.dumps(seed).encode())
        assert answer.status == 401
        assert "q?" not in [entry.seed.question for entry in list_seeds(running.workspace)]

    def test_a_tab_takes_neither_their_file_nor_their_connection(self, running: Running) -> None:
        with page_connection(running.served.port, running.people["author"]) as socket:
            tab, _ = draw_page(socket)
            target = f"/_stcore/upload_file/{tab}/file-1"
            for name in (*PEOPLE, OTHERS[0]):
                for method in ("PUT", "DELETE", "POST"):
                    own = name == "author"
                    answer = running.ask(method, target, cookie=running.people[name], body=b"")
                    assert (answer.status == 403) is (not own or b"XSRF" in answer.body), (name, method, answer.body)
            for trick in (f"/_stcore/upload_file//{tab}/f", f"/_stcore/upload_file/x/../{tab}/f"):
                assert running.ask("PUT", trick, cookie=running.people["reader"], body=b"").status == 403
        with (
            pytest.raises(InvalidStatus) as refused,
            page_connection(running.served.port, running.people[OTHERS[0]], tab=tab),
        ):
            pass
        assert refused.value.response.status_code == 403
        with page_connection(running.served.port, running.people["author"], tab=tab) as socket:
            assert draw_page(socket)[0] == tab

    def test_the_form_of_a_password(self, running: Running) -> None:
        page = running.ask("GET", "/password", cookie=running.people["author"])
        browser = page.headers["set-cookie"].partition(";")[0]
        typed = f"token={form_token(page.text)}&password={PASSWORD}&new=another+good+one+7&again=another+good+one+7"
        for name in ("reader", "admin", OTHERS[0]):
            answer = running.ask(
                "POST",
                "/password",
                cookie=f"{running.people[name]}; {browser}",
                headers=[("Content-Type", "application/x-www-form-urlencoded")],
                body=typed.encode(),
            )
            assert answer.status == 403
        with running.workspace.reading() as session:
            changed = session.exec(select(Account).where(Account.name == "admin")).one().password_changed_at
            assert changed is not None
            assert all(one.ended_at is None for one in _sessions_of(running, "author"))

    def test_signing_out_ends_the_own_session_only(self, running: Running) -> None:
        before = {one.id for one in _sessions_of(running, "author") if one.ended_at is None}
        cookie = cookie_of(running.access, opened_session(running.workspace, OTHERS[0]))
        assert running.ask("POST", "/sign-out?session=x", cookie=cookie, body=b"").status == 303
        assert running.ask("GET", "/slides", cookie=cookie).status == 303
        assert {one.id for one in _sessions_of(running, "author") if one.ended_at is None} == before

    def test_a_link_for_somebody_else_gives_no_other_role(self, running: Running) -> None:
        _, token = invite(running.workspace, roles=["reader"], who="test")
        target = f"/invitation/{token}"
        page = running.ask("GET", target)
        browser = page.headers["set-cookie"].partition(";")[0]
        form = [("Content-Type", "application/x-www-form-urlencoded")]
        typed = (
            f"token={form_token(page.text)}&name=guest&display_name=&new=a+long+enough+word&again=a+long+enough+word"
        )
        answer = running.ask(
            "POST", target, cookie=browser, headers=form, body=f"{typed}&roles=admin&role=admin".encode()
        )
        assert answer.status == 303, answer.text
        assert actor(running.workspace, "guest").roles == {Role.READER}
        again = running.ask(
            "POST", target, cookie=browser, headers=form, body=typed.replace("guest", "second").encode()
        )
        assert again.status == 404, "a link works once"


def _sessions_of(running: Running, name: str) -> list[AccountSession]:
    with running.workspace.reading() as session:
        found = session.exec(select(AccountSession).where(AccountSession.account_id == running.account_id(name)))
        return list(found.all())


class TestPaths:
    """What is written in another way is no way around the guard."""

    @pytest.fixture
    def hidden(self, running: Running) -> list[str]:
        roi, release = running.ids["roi"], running.ids["release"]
        return [
            f"/api/rois/{roi}/image",
            f"/api/releases/{release}/files/manifest.json",
            "/media/x.png",
            "/_stcore/metrics",
        ]

    def test_no_spelling_gives_what_is_behind_a_route(self, running: Running, hidden: list[str]) -> None:
        for target in hidden:
            first, _, rest = target[1:].partition("/")
            for spelled in (
                f"/{target}",
                f"//{target}",
                f"/./{target[1:]}",
                f"/x/..{target}",
                f"/vendor/..{target}",
                f"/static/..{target}",
                f"/static/%2e%2e{target}",
                f"/static%2f..{target}",
                f"/vendor/%2E%2E%2F{target[1:]}",
                f"/sign-in/..{target}",
                f"/_stcore/health/..{target}",
                f"/_stcore/health%2f..{target}",
                f"/{first}%2F{rest}",
                f"/{first.upper()}/{rest}",
                f"/{first};x/{rest}",
                f"/%{ord(first[0]):02x}{first[1:]}/{rest}",
                f"/{first}\\{rest}",
                f"{target}/",
                f"{target}%00",
                f"{target}%00.js",
                f"/vendor/x%00/..{target}",
                f"{target};.js",
                f"{target}%20",
                f"{target}?x=/vendor/",
                f"{target}%3Fx",
                f"http://127.0.0.1:{running.served.port}{target}",
                f"http://other.example{target}",
                f"/vendor/{target}",
                f"{target}#/vendor/",
                f"/%252e%252e{target}",
            ):
                answer = running.ask("GET", spelled)
                assert answer.status in (303, 400, 401, 403, 404), (spelled, answer.status)
                assert len(answer.body) < 400, (spelled, answer.body[:200])
                assert answer.headers.get("location", "/sign-in").startswith("/sign-in"), spelled

    def test_no_spelling_gives_a_reader_more(self, running: Running, hidden: list[str]) -> None:
        cookie = running.people["reader"]
        for target in hidden:
            first, _, rest = target[1:].partition("/")
            for spelled in (
                f"/{first}%2F{rest}",
                f"/%{ord(first[0]):02x}{first[1:]}/{rest}",
                f"{target}%00",
                f"{target}/",
                f"/vendor/..{target}",
                f"/{target}",
                f"/{first.upper()}/{rest}",
            ):
                answer = running.ask("GET", spelled, cookie=cookie)
                shell = b"<title>Histocurator" in answer.body or b"<title>Streamlit" in answer.body
                assert answer.status in (301, 307, 400, 403, 404) or shell, (spelled, answer.status)
                assert b"PNG" not in answer.body[:8], spelled
                assert b"sha256" not in answer.body, spelled

    def test_a_proxys_headers_move_no_prefix(self, running: Running, hidden: list[str]) -> None:
        for name in ("X-Forwarded-Prefix", "X-Script-Name", "X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Path"):
            for target in hidden:
                assert running.ask("GET", target, headers=[(name, "/vendor")]).status in (401, 403)
                assert running.ask("GET", "/vendor/icon.svg", headers=[(name, target)]).body.startswith(b"<svg")


class TestMethods:
    """Another method is no other way in."""

    def test_none_answers_without_a_session(self, running: Running) -> None:
        for target in running.own_routes():
            for method in ("HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get"):
                answer = running.ask(method, target, body=b"" if method in ("POST", "PUT", "PATCH") else None)
                page = not target.startswith("/api/") and method == "HEAD"
                assert answer.status in ((303,) if page else (401, 400)), (method, target, answer.status)

    def test_only_the_routes_own_methods_answer(self, running: Running) -> None:
        cookie = running.people["admin"]
        for target, (own, _) in running.own_routes().items():
            if target == "/password":
                continue
            for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} - {own}:
                answer = running.ask(method, target, cookie=cookie, body=b"" if method != "GET" else None)
                assert answer.status in (404, 405), (method, target)

    def test_no_header_changes_the_method(self, running: Running) -> None:
        cookie, target = running.people["author"], "/api/drafts/seed_z"
        body = json.dumps(
            {"account": running.account_id("author"), "writing": "w", "fields": {"question": "x"}}
        ).encode()
        for name in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"):
            answer = running.ask("GET", target, cookie=cookie, headers=[(name, "POST")], body=body)
            assert answer.status == 404
        assert running.ask("GET", f"{target}?_method=POST", cookie=cookie, body=body).status == 404

    def test_a_head_says_no_more_than_a_get(self, running: Running) -> None:
        target = f"/api/rois/{running.ids['roi']}/image"
        assert running.ask("HEAD", target, cookie=running.people["reader"]).status == 403
        answer = running.ask("HEAD", target, cookie=running.people["auditor"])
        assert (answer.status, answer.body) == (200, b"")


class TestHeaders:
    """What a request says of itself is believed only where it must be."""

    @pytest.mark.parametrize(
        "host",
        [
            "evil.example",
            "evil.example:{port}",
            "127.0.0.1.evil.example",
            "evil@127.0.0.1:{port}",
            "127.0.0.1:{port}@evil.example",
            "127.0.0.1/evil.example",
            "127.0.0.1?evil.example",
            "127.0.0.1#evil.example",
            "127.0.0.1\\evil.example",
            "",
        ],
    )
    def test_another_host_is_refused(self, running: Running, host: str) -> None:
        named = host.format(port=running.served.port)
        answer = running.ask(
            "GET", "/slides", cookie=running.people["admin"], headers=[("Host", named), ("Origin", f"http://{named}")]
        )
        assert answer.status in (400, 403)

    def test_two_hosts_are_refused(self, running: Running) -> None:
        own = f"127.0.0.1:{running.served.port}"
        for pair in ((own, "evil.example"), ("evil.example", own)):
            answer = running.ask(
                "GET", "/slides", cookie=running.people["admin"], headers=[("Host", one) for one in pair]
            )
            assert answer.status == 400

    def test_a_forwarded_host_counts_for_nothing(self, running: Running) -> None:
        for name in ("X-Forwarded-Host", "Forwarded", "X-Host", "X-Forwarded-Server"):
            answer = running.ask("GET", "/slides", headers=[(name, "evil.example")])
            assert (answer.status, answer.headers["location"]) == (303, "/sign-in?next=/slides")
            answer = running.ask("GET", "/slides", headers=[("Host", "evil.example"), (name, "127.0.0.1")])
            assert answer.status == 403

    @pytest.mark.parametrize(
        "origin",
        [
            "null",
            "",
            "http://127.0.0.1:1",
            "http://127.0.0.1",
            "http://localhost:{port}",
            "http://evil.example",
            "http://127.0.0.1:{port}.evil.example",
            "http://evil@127.0.0.1:{port}",
            "file://",
            "http://[",
        ],
    )
    def test_another_origin_changes_and_reads_nothing(self, running: Running, origin: str) -> None:
        named = [("Origin", origin.format(port=running.served.port))]
        cookie = running.people["admin"]
        before = _drafts(running)
        for method, target in (
            ("POST", "/api/drafts/seed_q"),
            ("POST", "/sign-out"),
            ("POST", "/password"),
            ("GET", "/"),
        ):
            body = b"" if method == "POST" else None
            assert running.ask(method, target, cookie=cookie, headers=named, body=body).status == 403, (target, origin)
        assert _drafts(running) == before
        assert running.ask("GET", "/slides", cookie=cookie).status == 200, "still signed in"

    def test_a_post_without_an_origin_is_refused(self, running: Running) -> None:
        answer = ask(
            running.served.port,
            "POST",
            "/sign-out",
            cookie=running.people["admin"],
            headers=[("origin", "")],
            body=b"",
        )
        assert answer.status == 403

    def test_the_address_of_a_person_is_the_connections(self, running: Running) -> None:
        for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "True-Client-IP", "CF-Connecting-IP"):
            page = running.ask("GET", "/sign-in")
            browser = page.headers["set-cookie"].partition(";")[0]
            answer = running.ask(
                "POST",
                "/sign-in",
                cookie=browser,
                headers=[(name, "203.0.113.9"), ("Content-Type", "application/x-www-form-urlencoded")],
                body=f"token={form_token(page.text)}&name=auditor&password={PASSWORD}".encode(),
            )
            assert answer.status == 303
        assert {one.address for one in _sessions_of(running, "auditor")} == {"127.0.0.1"}

    def test_cookies_twice_are_worth_no_more_than_once(self, running: Running) -> None:
        good, void = running.people["reader"], running.void["forged"]
        target = f"/api/rois/{running.ids['roi']}/image"
        for one, other in ((good, void), (void, good), (good, good)):
            assert running.ask("GET", target, cookie=f"{one}; {other}").status in (401, 403)
            answer = running.ask("GET", target, headers=[("Cookie", str(one)), ("Cookie", str(other))])
            assert answer.status in (401, 403)

    def test_the_cookies_of_other_apps_on_this_computer_sign_nobody_out(self, running: Running) -> None:
        own = running.people["author"]
        for foreign in ('prefs={"a": [1, 2]}', "a b=c d", "=x", "x", 'q="un;closed', "ä=ö", "_xsrf=2|a|b|1", "a[]=1"):
            for cookie in (f"{foreign}; {own}", f"{own}; {foreign}"):
                answer = running.ask("GET", "/api/session", headers=[("Cookie", cookie)])
                assert answer.json()["signed_in"] is True, cookie

    def test_headers_without_end_are_refused(self, running: Running) -> None:
        cookie = running.people["author"].partition("=")[0]
        for size in (10_000, 60_000, 1_000_000):
            answer = running.ask("GET", "/slides", cookie=f"{cookie}={'x' * size}")
            assert answer.status in (303, 400, 431), size
        assert running.ask("GET", "/slides", cookie=running.people["author"]).status == 200
