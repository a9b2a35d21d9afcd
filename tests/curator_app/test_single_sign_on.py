"""Single sign-on without a browser: the secrets file, the hand-over of claims, and the routes around it."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path

import pytest
from httpx import Response
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.responses import Response as StarletteResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.testing.v1 import AppTest

from curator_app import session
from curator_app.identity import Access, cookies_of, secret_key
from curator_app.routes import Guard, PageShell, ProviderAnswers, provider_routes
from curator_app.routes._guard import STREAM
from curator_app.session import use_workspace
from curator_app.single_sign_on import (
    CLOCK_S,
    FRESH_S,
    MAX_TICKETS,
    TICKET_S,
    HandOver,
    HandOverError,
    Provider,
    load_provider,
    way_cookie,
)
from pipeline.errors import InputError
from pipeline.people import close_account, list_people, sign_in
from pipeline.workspace import Workspace, open_workspace
from tests.curator_app.provider import CLIENT, CLIENT_SECRET, NAME, PASSWORD, secrets_file, trusting

URL = "http://127.0.0.1:8501"
NOWHERE = "https://provider.invalid"
NOON = 1_800_000_000.0
COOKIES = {"_streamlit_user": "signed identity", "other": "x"}


def _claims(**changed: object) -> dict[str, object]:
    claims: dict[str, object] = {
        "iss": NOWHERE,
        "sub": "p-1",
        "aud": CLIENT,
        "iat": NOON - 5,
        "exp": NOON + 3600,
        "nonce": "n-1",
        "preferred_username": "p.meyer",
        "name": "Pia Meyer",
        "groups": ["pathologists"],
    }
    return {name: value for name, value in (claims | changed).items() if value is not None}


class _Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.time = NOON

    def __call__(self) -> float:
        return self.time


def _hand_over() -> tuple[HandOver, _Clock]:
    clock = _Clock()
    return HandOver(Provider(NAME, CLIENT, URL, {}), now=clock), clock


# The secrets file


def _named(workspace: Workspace, file: Path, **settings: object) -> Workspace:
    changed = workspace.settings.model_copy(update={"oidc_secrets": file, **settings})
    return replace(workspace, settings=changed)


def test_a_provider_is_read_from_the_file(workspace: Workspace, tmp_path: Path) -> None:
    file = secrets_file(tmp_path, NOWHERE, more='client_kwargs = { prompt = "login" }\n')
    provider = load_provider(_named(workspace, file, oidc_name=NAME), URL)
    assert provider is not None
    assert (provider.name, provider.client_id, provider.origin) == (NAME, CLIENT, URL)
    auth = provider.secrets["auth"]
    assert auth["redirect_uri"] == f"{URL}/oauth2callback"
    assert auth["client_kwargs"] == {"prompt": "login"}
    assert CLIENT_SECRET not in repr(provider)


def test_without_a_file_there_is_no_provider(workspace: Workspace) -> None:
    assert load_provider(workspace, URL) is None


def test_the_public_address_is_where_the_provider_leads_back_to(workspace: Workspace, tmp_path: Path) -> None:
    public = "https://histocurator.example.org"
    provider = load_provider(_named(workspace, secrets_file(tmp_path, NOWHERE), public_url=public), URL)
    assert provider is not None
    assert provider.origin == public


def test_each_start_signs_identities_with_a_secret_of_its_own(workspace: Workspace, tmp_path: Path) -> None:
    file = secrets_file(tmp_path, NOWHERE, more='cookie_secret = "written in a file and known to many"\n')
    found = [load_provider(_named(workspace, file), URL) for _ in range(2)]
    first, second = (provider.secrets["auth"]["cookie_secret"] for provider in found if provider is not None)
    assert first != second
    assert len(first) >= 32


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[auth]", "[other]", r"no section \[auth\]"),
        ("[auth]", "auth = 3\n[x]", r"no section \[auth\]"),
        ("[auth]", "[auth", "not valid TOML"),
        (f'client_id = "{CLIENT}"', "", "client_id is missing"),
        (f'client_id = "{CLIENT}"', "client_id = 7", "client_id: Input should be a valid string"),
        (f'client_secret = "{CLIENT_SECRET}"', "", "client_secret is missing"),
        (f'client_secret = "{CLIENT_SECRET}"', 'client_secret = ""', "client_secret: "),
        ("server_metadata_url", "metadata", "metadata is not used here"),
        ("https://provider", "http://provider", r"server_metadata_url in .* must be an address that begins with https"),
        (
            "https://provider",
            "file:///provider",
            r"server_metadata_url in .* must be an address that begins with https",
        ),
        (
            "https://provider",
            "https://[provider",
            r"server_metadata_url in .* must be an address that begins with https",
        ),
        ("[auth]", '[auth]\nredirect_uri = "http://a.example/oauth2callback"', r"redirect_uri in .* begins with https"),
        ("[auth]", '[auth]\nredirect_uri = "https://a.example/x"', "redirect_uri in .* and then /oauth2callback"),
        ("[auth]", '[auth]\nredirect_uri = "https://a.example/x/oauth2callback"', "and then /oauth2callback"),
        ("[auth]", '[auth]\nclient_kwargs = { scope = "email" }', "scope in client_kwargs .* must contain openid"),
        ("[auth]", "[auth]\nclient_kwargs = { verify = false }", "let anybody pose as the provider"),
        ("[auth]", "[auth]\nclient_kwargs = { timeout = [1] }", "client_kwargs must be a table"),
        ("[auth]", '[auth]\nexpose_tokens = "id"', "expose_tokens is not used here"),
        ("[auth]", '[auth.a]\nclient_id = "x"\n[auth]', "a is not used here .* one provider only"),
    ],
)
def test_a_wrong_file_is_refused_by_file_and_key(
    workspace: Workspace, tmp_path: Path, old: str, new: str, said: str
) -> None:
    file = secrets_file(tmp_path, NOWHERE)
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(InputError, match=said) as refused:
        load_provider(_named(workspace, file), URL)
    assert str(file) in str(refused.value)
    assert CLIENT_SECRET not in str(refused.value)


def test_a_missing_file_and_a_relative_one_are_refused(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.toml cannot be read \(No such file"):
        load_provider(_named(workspace, tmp_path / "nothing.toml"), URL)
    with pytest.raises(InputError, match="whole path"):
        load_provider(_named(workspace, Path("oidc.toml")), URL)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_file_that_others_can_read_is_refused(workspace: Workspace, tmp_path: Path, mode: int) -> None:
    file = secrets_file(tmp_path, NOWHERE)
    file.chmod(mode)
    with pytest.raises(InputError, match="chmod 600"):
        load_provider(_named(workspace, file), URL)


def test_a_file_in_the_workspace_is_refused_even_behind_a_link(workspace: Workspace, tmp_path: Path) -> None:
    inside = secrets_file(workspace.root, NOWHERE)
    link = tmp_path / "link.toml"
    link.symlink_to(inside)
    for file in (inside, link, workspace.root / "runs" / ".." / inside.name):
        with pytest.raises(InputError, match="lies in the workspace"):
            load_provider(_named(workspace, file), URL)


def test_an_address_that_is_not_the_public_one_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    file = secrets_file(tmp_path, NOWHERE, more='redirect_uri = "https://a.example/oauth2callback"\n')
    with pytest.raises(InputError, match=r"leads to https://a\.example, but public_url is https://b\.example"):
        load_provider(_named(workspace, file, public_url="https://b.example"), URL)


def test_an_address_beyond_this_computer_must_be_the_public_one(workspace: Workspace, tmp_path: Path) -> None:
    file = secrets_file(tmp_path, NOWHERE, more='redirect_uri = "https://a.example/oauth2callback"\n')
    with pytest.raises(InputError, match=r"leads to https://a\.example; set public_url"):
        load_provider(_named(workspace, file), URL)


def test_a_network_address_needs_https(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="public_url must be an address that begins with https"):
        load_provider(_named(workspace, secrets_file(tmp_path, NOWHERE)), "http://server.lab:8501")


# The hand-over


def test_a_ticket_brings_the_claims_without_what_streamlit_adds() -> None:
    way, _ = _hand_over()
    ticket = way.offer(_claims() | {"is_logged_in": True, "tokens": {"id": "secret"}, "provider": "default"}, COOKIES)
    assert way.take(ticket, COOKIES) == _claims()


def test_a_ticket_works_once() -> None:
    way, _ = _hand_over()
    ticket = way.offer(_claims(), COOKIES)
    way.take(ticket, COOKIES)
    with pytest.raises(HandOverError, match="completed before"):
        way.take(ticket, COOKIES)


def test_one_of_many_at_once_gets_in() -> None:
    way, _ = _hand_over()
    tickets = [way.offer(_claims(), COOKIES) for _ in range(8)]

    def enters(ticket: str) -> bool:
        try:
            way.take(ticket, COOKIES)
        except HandOverError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(enters, tickets * 4)) == 1


def test_an_identity_opens_one_session_only() -> None:
    way, clock = _hand_over()
    way.take(way.offer(_claims(), COOKIES), COOKIES)
    clock.time += 30
    more_cookies = COOKIES | {"_streamlit_user_9": "to look like another one"}
    again = way.offer(_claims(), more_cookies)
    with pytest.raises(HandOverError, match="completed before"):
        way.take(again, more_cookies)
    assert way.take(way.offer(_claims(nonce="n-2"), COOKIES), COOKIES)["sub"] == "p-1"


@pytest.mark.parametrize(
    "cookies", [{}, {"_streamlit_user": "another identity"}, COOKIES | {"_streamlit_user_1": "more"}]
)
def test_a_ticket_in_another_browser_is_refused_and_void(cookies: dict[str, str]) -> None:
    way, _ = _hand_over()
    ticket = way.offer(_claims(), COOKIES)
    with pytest.raises(HandOverError, match="another browser"):
        way.take(ticket, cookies)
    with pytest.raises(HandOverError):
        way.take(ticket, COOKIES)


def test_other_cookies_may_change_on_the_way() -> None:
    way, _ = _hand_over()
    ticket = way.offer(_claims(), COOKIES)
    assert way.take(ticket, {"_streamlit_user": "signed identity", "_streamlit_user_tokens": "t", "new": "y"})


def test_a_ticket_expires() -> None:
    way, clock = _hand_over()
    ticket = way.offer(_claims(), COOKIES)
    clock.time += TICKET_S + 1
    with pytest.raises(HandOverError, match="too long"):
        way.take(ticket, COOKIES)


@pytest.mark.parametrize("ticket", ["", "x", "é\ud800", "0" * 10_000])
def test_an_invented_ticket_is_refused(ticket: str) -> None:
    way, _ = _hand_over()
    way.offer(_claims(), COOKIES)
    with pytest.raises(HandOverError):
        way.take(ticket, COOKIES)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"aud": "another-app"}, "another app"),
        ({"aud": ["another-app"], "azp": CLIENT}, "another app"),
        ({"aud": None}, "another app"),
        ({"aud": {CLIENT: 1}}, "another app"),
        ({"iat": NOON - FRESH_S - 1}, "too old"),
        ({"iat": NOON - 30 * 24 * 3600}, "too old"),
        ({"iat": NOON + CLOCK_S + 1}, "too old"),
        ({"exp": NOON - CLOCK_S - 1}, "too old"),
        ({"iat": None}, "did not say when"),
        ({"exp": "tomorrow"}, "did not say when"),
    ],
)
def test_an_identity_for_another_app_or_time_is_refused(changed: dict[str, object], said: str) -> None:
    way, _ = _hand_over()
    with pytest.raises(HandOverError, match=said):
        way.take(way.offer(_claims(**changed), COOKIES), COOKIES)


def test_an_identity_for_several_apps_with_ours_is_taken() -> None:
    way, _ = _hand_over()
    assert way.take(way.offer(_claims(aud=["another-app", CLIENT]), COOKIES), COOKIES)


def test_no_number_of_tickets_fills_the_memory() -> None:
    way, _ = _hand_over()
    first, *_, last = [way.offer(_claims(nonce=str(number)), COOKIES) for number in range(MAX_TICKETS + 1)]
    with pytest.raises(HandOverError):
        way.take(first, COOKIES)
    assert way.take(last, COOKIES)


# The routes


@dataclass(frozen=True)
class _Served:
    """The app's ways in, with a stand-in for Streamlit's own routes behind them."""

    workspace: Workspace
    access: Access
    way: HandOver | None

    def browser(self, base_url: str = URL) -> TestClient:
        """Return a browser that does not follow where it is sent."""
        routes = provider_routes(self.workspace, self.access, self.way, pages=["", "items"]) if self.way else []
        streamlits = [
            Route("/auth/login", lambda request: RedirectResponse(request.query_params.get("to", "/"), 302)),
            Route("/oauth2callback", _streamlits_callback),
            Route("/{rest:path}", lambda _request: PlainTextResponse("a page")),
        ]
        middleware = [
            Middleware(Guard, access=self.access, provider=self.way is not None),
            Middleware(PageShell, pages=["", "items"]),
            *([Middleware(ProviderAnswers, hand_over=self.way)] if self.way else []),
        ]
        app = Starlette(
            routes=[*routes, *streamlits, WebSocketRoute(STREAM, _streamlits_stream)], middleware=middleware
        )
        return TestClient(app, base_url=base_url, follow_redirects=False)

    def ticket(self, **changed: object) -> str:
        """Return a ticket of the browser whose identity cookie is `signed`."""
        assert self.way is not None
        return self.way.offer(_claims(**changed), {"_streamlit_user": "signed"})

    def complete(self, ticket: str, *, cookies: str = "_streamlit_user=signed") -> Response:
        """Bring a ticket to the route."""
        return self.browser().get(f"/sign-in/complete?ticket={ticket}", headers={"Cookie": cookies})


def _streamlits_callback(request: Request) -> StarletteResponse:
    answer = RedirectResponse("/", 302)
    if "good" in request.query_params:
        answer.set_cookie("_streamlit_user", "signed")
    else:
        answer.delete_cookie("_streamlit_user")
    return answer


async def _streamlits_stream(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.close()


@pytest.fixture
def served(workspace: Workspace, tmp_path: Path) -> _Served:
    """A workspace whose people sign in at a provider, which is not there."""
    opened = trusting(workspace, tmp_path, NOWHERE)
    provider = load_provider(opened, URL)
    assert provider is not None
    return _Served(opened, Access(opened, secret_key(opened)), HandOver(provider, now=_Clock()))


def test_the_way_begins_with_the_page_that_was_wanted(served: _Served) -> None:
    answer = served.browser().get("/sign-in/provider?next=/items", headers={"Cookie": "_streamlit_user=old"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/?sign-in=provider")
    cookies = answer.headers.get_list("set-cookie")
    (way,) = (one for one in cookies if one.startswith(way_cookie(served.access)))
    assert "=/items;" in way
    assert "HttpOnly" in way
    assert "SameSite=Lax" in way
    assert any(one.startswith("_streamlit_user=;") and "Max-Age=0" in one for one in cookies)


@pytest.mark.parametrize(
    "target", ["//evil.example", "/\\evil.example", "https://evil.example", "/items/../../x", "/sign-out", "/%2F/x"]
)
def test_the_way_leads_to_our_own_pages_only(served: _Served, target: str) -> None:
    answer = served.browser().get("/sign-in/provider", params={"next": target})
    name = way_cookie(served.access)
    assert any(one.startswith(f"{name}=/;") for one in answer.headers.get_list("set-cookie"))
    done = served.complete(served.ticket(), cookies=f"_streamlit_user=signed; {name}={target}")
    assert (done.status_code, done.headers["location"]) == (303, "/")


def test_the_way_goes_over_the_address_that_the_provider_knows(served: _Served) -> None:
    browser = served.browser("http://localhost:8501")
    answer = browser.get("/sign-in/provider?next=/items")
    assert answer.headers["location"] == f"{URL}/sign-in/provider?moved=1&next=/items"
    assert browser.get("/sign-in/provider?moved=1").headers["location"] == "/?sign-in=provider"


def test_a_ticket_opens_our_session_and_takes_streamlits_cookies(served: _Served) -> None:
    way = way_cookie(served.access)
    sent = f"_streamlit_user=signed; _streamlit_user_tokens=t; _streamlit_user_tokens_1=u; {way}=/items"
    answer = served.complete(served.ticket(), cookies=sent)
    assert (answer.status_code, answer.headers["location"]) == (303, "/items")
    cookies = answer.headers.get_list("set-cookie")
    gone = sorted(one.partition("=")[0] for one in cookies if "Max-Age=0" in one)
    assert gone == sorted(["_streamlit_user", "_streamlit_user_tokens", "_streamlit_user_tokens_1", way])
    (own,) = (one for one in cookies if one.startswith(f"{served.access.cookie}="))
    known = served.access.who_sends(cookies_of(own.partition(";")[0]))
    assert known is not None
    assert (known.actor.name, sorted(known.actor.roles)) == ("p.meyer", ["author"])


def test_another_sign_in_ends_the_session_that_the_browser_had(served: _Served) -> None:
    opened = sign_in(served.workspace, "boss", PASSWORD, address="", browser="")
    before = served.access.session_cookie(opened).partition(";")[0]
    assert served.complete(served.ticket(), cookies=f"_streamlit_user=signed; {before}").status_code == 303
    assert served.access.who_sends(cookies_of(before)) is None


@pytest.mark.parametrize("cookies", ["_streamlit_user=another", "x=y"])
def test_a_ticket_of_another_browser_opens_nothing(served: _Served, cookies: str) -> None:
    answer = served.complete(served.ticket(), cookies=cookies)
    assert answer.status_code == 403
    assert "another browser" in answer.text
    assert _by_single_sign_on(served) == []


def test_who_has_no_role_or_a_closed_account_is_told_so(served: _Served) -> None:
    answer = served.complete(served.ticket(groups=["gardeners"]))
    assert answer.status_code == 403
    assert "no role in this workspace" in answer.text
    assert any(one.startswith("_streamlit_user=;") for one in answer.headers.get_list("set-cookie"))
    assert _by_single_sign_on(served) == []
    served.complete(served.ticket(nonce="n-2"))
    close_account(served.workspace, "p.meyer", reason="left", who="test")
    answer = served.complete(served.ticket(nonce="n-3"))
    assert answer.status_code == 403
    assert "is closed" in answer.text


def test_hostile_claims_are_no_markup_and_no_person(served: _Served) -> None:
    assert served.complete(served.ticket(sub="x\x00<script>")).status_code == 403
    hostile = "../<b>'; DROP TABLE account;--"
    assert served.complete(served.ticket(nonce="n-2", preferred_username=hostile)).status_code == 303
    assert _by_single_sign_on(served) == ["b-drop-table-account"]


def _by_single_sign_on(served: _Served) -> list[str]:
    return [person.name for person in list_people(served.workspace) if person.signs_in_by == "single sign-on"]


def test_without_a_session_only_the_way_itself_is_open(served: _Served) -> None:
    browser = served.browser()
    assert browser.get("/").headers["location"] == "/sign-in"
    assert browser.get("/?sign-in=other").headers["location"] == "/sign-in"
    assert browser.get("/items?sign-in=provider").headers["location"] == "/sign-in?next=/items"
    assert browser.get("/?sign-in=provider").status_code == 200
    forged = {"Cookie": "_streamlit_user=forged"}
    assert browser.get("/", headers=forged).status_code == 200
    for address in ("/api/rois/x/image", "/_stcore/metrics", "/auth/logout", "/component/x", "/media/x"):
        assert browser.get(address, headers=forged).status_code in (401, 403), address
    assert browser.get("/items", headers=forged).headers["location"] == "/sign-in?next=/items"


def test_a_visitors_connection_needs_to_be_on_the_way_and_goes_on_with_no_tab(served: _Served) -> None:
    browser = served.browser()
    served.access.remember_tab("tab-of-somebody", "acc-1")
    way = way_cookie(served.access)

    def connects(cookie: str, tab: str = "") -> bool:
        protocols = ["streamlit", "xsrf", *([tab] if tab else [])]
        headers = {"Cookie": cookie, "Origin": URL, "Host": "127.0.0.1:8501"}
        try:
            with browser.websocket_connect(STREAM, subprotocols=protocols, headers=headers):
                return True
        except WebSocketDisconnect:
            return False

    assert connects("_streamlit_user=x")
    assert connects(f"{way}=/")
    assert connects(f"{way}=/", "a-new-tab")
    assert not connects("x=y")
    assert not connects("_streamlit_user=x", "tab-of-somebody")


def test_streamlits_bare_answers_become_words(served: _Served) -> None:
    browser = served.browser()
    for address, status in (("/auth/login", 502), ("/oauth2callback", 403)):
        answer = browser.get(address)
        assert answer.status_code == status
        assert NAME in unescape(answer.text)
        assert 'href="/sign-in"' in answer.text
    assert browser.get("/auth/login?to=https://provider.invalid/authorize").status_code == 302
    assert browser.get("/oauth2callback?good=1").headers["location"] == "/"


def test_without_a_provider_its_way_is_closed(served: _Served) -> None:
    browser = _Served(served.workspace, served.access, None).browser()
    assert browser.get("/?sign-in=provider").headers["location"] == "/sign-in"
    assert browser.get("/", headers={"Cookie": "_streamlit_user=x"}).headers["location"] == "/sign-in"
    assert browser.get("/auth/login").status_code == 401
    assert browser.get("/oauth2callback?good=1").status_code == 401


def test_who_is_known_already_goes_where_they_wanted(workspace: Workspace, served: _Served) -> None:
    opened = sign_in(served.workspace, "boss", PASSWORD, address="", browser="")
    cookie = served.access.session_cookie(opened).partition(";")[0]
    answer = served.browser().get("/sign-in/provider?next=/items", headers={"Cookie": cookie})
    assert answer.headers["location"] == "/items"


# What a Streamlit upgrade must not touch


def test_sessions_know_nothing_of_streamlit() -> None:
    """A session is ours alone, so that another Streamlit signs nobody out."""
    script = (
        "import sys\nimport curator_app.identity, pipeline.people\n"
        "found = [name for name in sys.modules if name.partition('.')[0] == 'streamlit']\nassert not found, found"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_restarted_server_knows_the_cookies_that_it_gave(served: _Served) -> None:
    opened = sign_in(served.workspace, "boss", PASSWORD, address="", browser="")
    cookie = served.access.session_cookie(opened).partition(";")[0]
    again = open_workspace(served.workspace.root)
    restarted = _Served(again, Access(again, secret_key(again)), None).browser()
    assert restarted.get("/items", headers={"Cookie": cookie}).status_code == 200
    assert restarted.get("/items", headers={"Cookie": f"{cookie}x"}).status_code == 303


def test_the_script_asks_the_workspace_nothing_for_a_visitor(served: _Served, monkeypatch: pytest.MonkeyPatch) -> None:
    use_workspace(served.workspace, served.access)
    script = Path(session.__file__).parent / "script" / "app.py"
    # Once before: a module that is imported while the two are replaced would keep the replacement for good.
    AppTest.from_file(str(script), default_timeout=30).run()
    for name in ("served_workspace", "workspace"):
        monkeypatch.setattr(session, name, _asked)
    page = AppTest.from_file(str(script), default_timeout=30).run()
    assert not page.exception
    assert len(page.sidebar) == 0
    (shown,) = page.get("html")
    assert "You are not signed in." in shown.proto.body


def _asked(*_args: object) -> None:
    raise AssertionError("the workspace was asked")
