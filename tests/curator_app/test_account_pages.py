"""The pages of signing in over HTTP: what they let in, what they refuse, and what they never say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from importlib import resources
from pathlib import Path

import pytest
from httpx import Response
from starlette.testclient import TestClient

from curator_app import theme
from curator_app.identity import Access, cookies_of
from curator_app.rail import addresses
from curator_app.routes import account_routes, nothing_else, script_routes
from curator_app.routes._account_forms import own_page
from db import utc_now
from db.tables import Account, AccountSession, Invitation
from pipeline.people import (
    actor_of,
    add_account,
    find_account,
    invite,
    list_own_sessions,
    open_invitation,
    reset_link,
    sign_in,
    withdraw_invitation,
)
from pipeline.people._sign_in import MAX_FAILURES_OF_ACCOUNT, MAX_FAILURES_OF_ADDRESS
from pipeline.permissions import ROLE_WORDS, Role
from pipeline.workspace import Workspace
from tests.curator_app.visitors import (
    KEY,
    ORIGIN,
    PASSWORD,
    actor,
    add_person,
    browser_of,
    cookie_of,
    form_token,
    guarded,
    opened_session,
)

NEW = "a new sentence to remember"
SCRIPT = '<script>alert("x")</script>'


@pytest.fixture
def access(workspace: Workspace) -> Access:
    return Access(workspace, KEY)


@pytest.fixture
def people(workspace: Workspace) -> Workspace:
    """The workspace with an administrator."""
    add_person(workspace, "ada")
    return workspace


def _browser(access: Access, workspace: Workspace, *, provider_name: str | None = None) -> TestClient:
    routes = account_routes(workspace, access, pages=addresses(), provider_name=provider_name)
    return browser_of(guarded(access, [*routes, *script_routes(), nothing_else("/api")]))


@pytest.fixture
def client(people: Workspace, access: Access) -> TestClient:
    """A browser in which nobody is signed in."""
    return _browser(access, people)


@pytest.fixture
def ada(client: TestClient, people: Workspace, access: Access) -> TestClient:
    """A browser in which the administrator is signed in."""
    name, _, value = cookie_of(access, opened_session(people, "ada")).partition("=")
    client.cookies.set(name, value)
    return client


def _post(client: TestClient, path: str, **fields: str) -> Response:
    """Fill in the form that stands at a path, as a person would."""
    return client.post(path, data={"token": form_token(client.get(path).text), **fields})


def _sign_in(client: TestClient, name: str = "ada", password: str = PASSWORD, next_page: str = "/") -> Response:
    fields = {"name": name, "password": password, "next": next_page}
    return client.post("/sign-in", data={"token": form_token(client.get("/sign-in").text), **fields})


def _signed_in(client: TestClient) -> bool:
    signed_in: bool = client.get("/api/session").json()["signed_in"]
    return signed_in


class TestSignIn:
    def test_leads_to_the_page_that_was_asked_for(self, client: TestClient) -> None:
        html = client.get(client.get("/slides").headers["location"]).text
        assert 'name="next" value="/slides"' in html
        answer = _sign_in(client, " ADA ", next_page="/slides")
        assert answer.status_code == 303
        assert answer.headers["location"] == "/slides"
        assert _signed_in(client)
        assert client.get("/slides").status_code == 200

    def test_the_cookie_is_for_no_script_and_no_other_site(self, client: TestClient, access: Access) -> None:
        (cookie,) = _sign_in(client).headers.get_list("set-cookie")
        assert cookie.startswith(f"{access.cookie}=")
        for attribute in ("Path=/", "HttpOnly", "SameSite=Lax"):
            assert attribute in cookie
        assert "Secure" not in cookie

    def test_behind_https_every_cookie_is_secure(self, people: Workspace, access: Access) -> None:
        people.settings.public_url = "https://histocurator.example.org"
        client = _browser(access, people)
        first = client.get("/sign-in")
        name, _, value = first.headers["set-cookie"].partition(";")[0].partition("=")
        answer = client.post(
            "/sign-in",
            data={"token": form_token(first.text), "name": "ada", "password": PASSWORD},
            headers={"Cookie": f"{name}={value}"},
        )
        assert answer.status_code == 303
        for one in (first, answer):
            assert "Secure" in one.headers["set-cookie"]

    @pytest.mark.parametrize(
        ("name", "password"),
        [("ada", "wrong"), ("nobody", PASSWORD), ("", ""), ("ada", ""), ("ada' OR '1'='1", "x"), ("a\x00b", "\udc80")],
    )
    def test_one_message_for_every_failure(self, client: TestClient, name: str, password: str) -> None:
        answer = _sign_in(client, name, password.encode("utf-8", "surrogateescape").decode("latin-1"))
        assert answer.status_code == 401
        assert "Name or password is wrong." in answer.text
        assert 'role="alert"' in answer.text
        assert "set-cookie" not in answer.headers
        assert not _signed_in(client)

    def test_what_was_typed_is_escaped_and_the_password_not_shown(self, client: TestClient) -> None:
        answer = _sign_in(client, SCRIPT, "a secret word")
        assert SCRIPT not in answer.text
        assert "&lt;script&gt;" in answer.text
        assert "a secret word" not in answer.text

    def test_a_closed_account_is_like_none(self, client: TestClient, people: Workspace) -> None:
        add_person(people, "bob", "author")
        with people.writing() as session:
            account = session.get_one(Account, find_account(people, "bob").id)  # type: ignore[union-attr]
            account.withdrawn_at = utc_now()
            session.add(account)
        assert _sign_in(client, "bob").status_code == 401

    def test_who_is_signed_in_goes_on(self, ada: TestClient) -> None:
        answer = ada.get("/sign-in?next=/items")
        assert (answer.status_code, answer.headers["location"]) == (303, "/items")

    def test_another_sign_in_ends_the_session_before(self, ada: TestClient, people: Workspace, access: Access) -> None:
        before = dict(ada.cookies)
        add_person(people, "bob", "author")
        other = _browser(access, people)
        token = form_token(other.get("/sign-in").text)
        ada.cookies.update(other.cookies)
        assert ada.post("/sign-in", data={"token": token, "name": "bob", "password": PASSWORD}).status_code == 303
        assert ada.get("/api/session").json()["account"] == actor(people, "bob").account_id
        assert access.who_sends(before) is None

    def test_alone_there_is_nothing_to_sign_in_to(self, workspace: Workspace, access: Access) -> None:
        client = _browser(access, workspace)
        for answer in (client.get("/sign-in?next=/items"), client.post("/sign-in"), client.post("/sign-out")):
            assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert client.get("/api/session").json() == {
            "signed_in": True,
            "account": workspace.actor.account_id,
            "needed": False,
        }

    def test_says_why_it_is_asked_again(self, client: TestClient) -> None:
        assert "Your session has ended." in client.get("/sign-in?ended=1").text
        assert "Your session has ended." not in client.get("/sign-in").text

    def test_offers_the_provider_where_there_is_one(self, people: Workspace, access: Access) -> None:
        html = _browser(access, people, provider_name="<Clinic>").get("/sign-in?next=/items").text
        assert '<a class="button" href="/sign-in/provider?next=/items">Sign in with &lt;Clinic&gt;</a>' in html

    def test_who_has_many_tabs_may_use_any(self, client: TestClient) -> None:
        first, second = (form_token(client.get("/sign-in").text) for _ in range(2))
        assert first == second
        assert client.post("/sign-in", data={"token": first, "name": "ada", "password": "wrong"}).status_code == 401
        assert client.post("/sign-in", data={"token": second, "name": "ada", "password": PASSWORD}).status_code == 303


ELSEWHERE = [
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https:evil.example",
    "https://evil.example",
    "javascript:alert(1)",
    "/%2F/evil.example",
    "/slides\n",
    "/slides\r\nSet-Cookie: a=b",
    "/\tslides",
    " /slides",
    "/slides?x=//evil",
    "/slides#x",
    "/slides/../sign-out",
    "/sign-out",
    "/invitation/x",
    "slides",
    "evil.example",
    "",
]
"""What a link to the sign-in may name as the page to go to afterwards, in bad faith."""


def test_nobody_is_led_elsewhere(ada: TestClient) -> None:
    for asked in ELSEWHERE:
        assert own_page(asked, ["", "slides"]) == "/", asked
        assert ada.get("/sign-in", params={"next": asked}).headers["location"] == "/", asked


def test_after_signing_in_nobody_is_led_elsewhere(client: TestClient) -> None:
    assert _sign_in(client, next_page="//evil.example").headers["location"] == "/"
    assert own_page("/password", ["", "password"]) == "/password"


class TestForms:
    def test_without_its_token_no_form_is_used(self, client: TestClient, people: Workspace, access: Access) -> None:
        fields = {"name": "ada", "password": PASSWORD}
        own = form_token(client.get("/sign-in").text)
        other = _browser(access, people)
        foreign = form_token(other.get("/sign-in").text)
        for token in (None, "", foreign, own[:-1], own + "x", "ä", KEY):
            given = fields if token is None else {**fields, "token": token}
            answer = client.post("/sign-in", data=given)
            assert answer.status_code == 403, token
            assert "Open it anew, try again." in answer.text
        assert not _signed_in(client)
        assert client.post("/sign-in", data={**fields, "token": own}).status_code == 303

    def test_without_its_cookie_no_form_is_used(self, client: TestClient) -> None:
        token = form_token(client.get("/sign-in").text)
        client.cookies.clear()
        answer = client.post("/sign-in", data={"name": "ada", "password": PASSWORD, "token": token})
        assert answer.status_code == 403

    def test_a_token_is_for_one_form_and_one_session(self, ada: TestClient, people: Workspace, access: Access) -> None:
        _, link = invite(people, roles=["reader"], who="ada")
        elsewhere = form_token(ada.get(f"/invitation/{link}").text)
        before = form_token(ada.get("/password").text)
        fields = {"password": PASSWORD, "new": NEW, "again": NEW}
        assert ada.post("/password", data={**fields, "token": elsewhere}).status_code == 403
        name, _, value = cookie_of(access, opened_session(people, "ada")).partition("=")
        ada.cookies.set(name, value)
        assert ada.post("/password", data={**fields, "token": before}).status_code == 403

    def test_the_forms_cookie_is_for_no_script_and_this_site_alone(self, client: TestClient, access: Access) -> None:
        cookie = client.get("/sign-in").headers["set-cookie"]
        assert cookie.startswith(f"{access.cookie}_form=")
        for attribute in ("Path=/", "HttpOnly", "SameSite=Strict"):
            assert attribute in cookie
        for no_browser in ("too short", "x" * 65, "with.a.dot.and.more"):
            client.cookies.clear()
            client.cookies.set(f"{access.cookie}_form", no_browser)
            assert "set-cookie" in client.get("/sign-in").headers

    def test_another_sites_form_is_refused(self, client: TestClient) -> None:
        fields = {"token": form_token(client.get("/sign-in").text), "name": "ada", "password": PASSWORD}
        for origin in ("http://evil.example", "null"):
            assert client.post("/sign-in", data=fields, headers={"Origin": origin}).status_code == 403
        del client.headers["Origin"]
        assert client.post("/sign-in", data=fields).status_code == 403

    @pytest.mark.parametrize(
        ("body", "kind", "status"),
        [
            (b"x" * 16_001, "application/x-www-form-urlencoded", 413),
            (b"name=ada", "multipart/form-data; boundary=x", 415),
            (b'{"name": "ada"}', "application/json", 415),
            (b"name=ada", "text/plain", 415),
            ("name=ä".encode(), "application/x-www-form-urlencoded", 400),
            (b"a=1&" * 21, "application/x-www-form-urlencoded", 400),
        ],
    )
    def test_what_is_no_form_is_not_read(self, client: TestClient, body: bytes, kind: str, status: int) -> None:
        client.get("/sign-in")
        answer = client.post("/sign-in", content=body, headers={"Content-Type": kind})
        assert answer.status_code == status
        assert 'role="alert"' in answer.text


class TestTooManyAttempts:
    @pytest.fixture
    def hashes(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The passwords that were looked at."""
        looked_at: list[str] = []
        real = sign_in.__globals__["password_fits"]

        def counting(password: str, password_hash: str | None) -> bool:
            looked_at.append(password)
            fits: bool = real(password, password_hash)
            return fits

        monkeypatch.setitem(sign_in.__globals__, "password_fits", counting)
        return looked_at

    def test_a_thousand_wrong_passwords_from_many_threads(self, client: TestClient, hashes: list[str]) -> None:
        token, cookies = form_token(client.get("/sign-in").text), dict(client.cookies)
        with ThreadPoolExecutor(8) as pool:

            def try_one(number: int) -> int:
                own = TestClient(client.app, base_url=ORIGIN, headers={"Origin": ORIGIN}, cookies=cookies)
                fields = {"token": token, "name": "ada", "password": f"guess {number}"}
                return own.post("/sign-in", data=fields, follow_redirects=False).status_code

            seen = list(pool.map(try_one, range(1_000)))
        assert set(seen) == {401, 429}
        assert seen.count(401) == len(hashes) == MAX_FAILURES_OF_ACCOUNT
        answer = client.post("/sign-in", data={"token": token, "name": "ada", "password": PASSWORD})
        assert answer.status_code == 429, "the right one has to wait as well"
        assert 0 < int(answer.headers["retry-after"]) <= 15 * 60
        assert "Too many failed attempts. Try again in" in answer.text

    def test_many_names_from_one_address(
        self, client: TestClient, hashes: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sign_in.__globals__, "password_fits", lambda *_: False)
        token = form_token(client.get("/sign-in").text)
        statuses = []
        for number in range(MAX_FAILURES_OF_ADDRESS + 5):
            # Nobody's word for another address counts where no proxy is trusted.
            headers = {"X-Forwarded-For": f"10.0.0.{number}"}
            fields = {"token": token, "name": f"name{number}", "password": "x"}
            statuses.append(client.post("/sign-in", data=fields, headers=headers).status_code)
        assert statuses == [401] * MAX_FAILURES_OF_ADDRESS + [429] * 5

    def test_behind_a_trusted_proxy_each_address_counts_for_itself(
        self, client: TestClient, people: Workspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[str] = []
        people.settings.trusted_proxies = ["testclient"]
        monkeypatch.setattr(
            "curator_app.routes._account_pages.sign_in",
            lambda *args, address, **more: (seen.append(address), sign_in(*args, address=address, **more))[1],
        )
        token = form_token(client.get("/sign-in").text)
        headers = [("X-Forwarded-For", "6.6.6.6"), ("X-Forwarded-For", "10.0.0.7")]
        client.post("/sign-in", data={"token": token, "name": "ada", "password": "x"}, headers=headers)
        assert seen == ["10.0.0.7"]

    def test_the_current_password_is_no_way_to_guess(self, ada: TestClient) -> None:
        fields = {"new": NEW, "again": NEW}
        token = form_token(ada.get("/password").text)
        statuses = [
            ada.post("/password", data={"token": token, "password": f"guess {number}", **fields}).status_code
            for number in range(MAX_FAILURES_OF_ACCOUNT + 1)
        ]
        assert statuses == [422] * MAX_FAILURES_OF_ACCOUNT + [429]


class TestSignOut:
    def test_ends_the_session_everywhere(self, ada: TestClient, access: Access) -> None:
        before = dict(ada.cookies)
        ada.cookies.set("_streamlit_user", "x")
        ada.cookies.set("_streamlit_user_1", "x")
        ada.cookies.set("_streamlit_user_tokens", "x")
        ada.cookies.set("other", "stays")
        answer = ada.post("/sign-out")
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
        assert answer.headers["clear-site-data"] == '"cache"'
        gone = {cookie.partition("=")[0] for cookie in answer.headers.get_list("set-cookie") if "Max-Age=0" in cookie}
        assert gone == {access.cookie, "_streamlit_user", "_streamlit_user_1", "_streamlit_user_tokens"}
        assert access.who_sends(before) is None
        assert not _signed_in(ada)

    def test_a_link_signs_nobody_out(self, ada: TestClient) -> None:
        answer = ada.get("/sign-out")
        assert answer.status_code == 200
        assert '<form method="post" action="/sign-out">' in answer.text
        assert _signed_in(ada)
        assert ada.post("/sign-out", headers={"Origin": "http://evil.example"}).status_code == 403
        assert _signed_in(ada)

    def test_after_the_session_it_still_clears_up(self, client: TestClient, access: Access) -> None:
        for answer in (client.get("/sign-out"), client.post("/sign-out")):
            assert answer.headers["location"] == "/sign-in"
            assert answer.headers["set-cookie"].startswith(f"{access.cookie}=;")


class TestInvitation:
    @pytest.fixture
    def link(self, people: Workspace) -> str:
        _, token = invite(people, roles=["author", "reviewer"], display_name="Bo & Co", who="ada")
        return f"/invitation/{token}"

    FIELDS: Mapping[str, str] = {"name": "bob", "display_name": "Bob", "new": NEW, "again": NEW}

    def test_says_what_it_offers(self, client: TestClient, link: str) -> None:
        html = client.get(link).text
        for role in (Role.AUTHOR, Role.REVIEWER):
            assert f"<strong>{role}</strong>: {ROLE_WORDS[role]}" in html
        assert "The link works once, until" in html
        assert 'value="Bo &amp; Co"' in html

    def test_makes_the_account_and_signs_in(self, client: TestClient, people: Workspace, link: str) -> None:
        answer = _post(client, link, **self.FIELDS)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        made = find_account(people, "bob")
        assert made is not None
        assert (made.roles, made.display_name) == (["author", "reviewer"], "Bob")
        assert client.get("/api/session").json()["account"] == made.id

    def test_works_once(self, client: TestClient, people: Workspace, access: Access, link: str) -> None:
        other = _browser(access, people)
        token = form_token(other.get(link).text)
        assert _post(client, link, **self.FIELDS).status_code == 303
        for answer in (other.get(link), other.post(link, data={"token": token, **self.FIELDS, "name": "eve"})):
            assert answer.status_code == 404
            assert "This link was used already, has expired or was withdrawn." in answer.text
        assert find_account(people, "eve") is None

    def test_one_message_for_every_link_that_does_not_work(
        self, client: TestClient, people: Workspace, link: str
    ) -> None:
        withdrawn, token = invite(people, roles=["reader"], who="ada")
        withdraw_invitation(people, withdrawn.id, who="ada")
        with people.writing() as session:
            for row in session.exec(Invitation.__table__.select()).all():  # type: ignore[attr-defined]
                one = session.get_one(Invitation, row.id)
                one.expires_at = utc_now() - timedelta(seconds=1)
                session.add(one)
        bodies = set()
        for path in (link, f"/invitation/{token}", "/invitation/unknown", f"/invitation/{SCRIPT[:7]}"):
            answer = client.get(path)
            assert answer.status_code == 404
            bodies.add(answer.text)
        assert len(bodies) == 1

    def test_all_faults_are_said_and_the_link_still_works(
        self, client: TestClient, people: Workspace, link: str
    ) -> None:
        answer = _post(client, link, name=SCRIPT, display_name="x" * 81, new="short", again="other")
        assert answer.status_code == 422
        for said in ("is not allowed", "at most 80", "at least 12", "differ"):
            assert said in answer.text
        assert answer.text.count('aria-invalid="true"') == 4
        assert SCRIPT not in answer.text
        assert 'value="short"' not in answer.text
        taken = _post(client, link, **{**self.FIELDS, "name": "ada"})
        assert taken.status_code == 422
        assert "is taken" in taken.text
        assert 'value="Bob"' in taken.text, "what was typed stays"
        assert NEW not in taken.text
        assert _post(client, link, **self.FIELDS).status_code == 303

    def test_hostile_names_are_shown_as_text(self, client: TestClient, people: Workspace) -> None:
        _, token = invite(people, roles=["reader"], display_name=SCRIPT, who="ada")
        html = client.get(f"/invitation/{token}").text
        assert SCRIPT not in html
        answer = _post(client, f"/invitation/{token}", **{**self.FIELDS, "display_name": "'; DROP TABLE account; --"})
        assert answer.status_code == 303
        assert find_account(people, "bob").display_name == "'; DROP TABLE account; --"  # type: ignore[union-attr]

    def test_who_is_signed_in_is_told_and_changed(self, ada: TestClient, people: Workspace, link: str) -> None:
        before = list_own_sessions(people.acting_as(actor(people, "ada")))
        assert "This browser is signed in as ada" in ada.get(link).text
        _post(ada, link, **self.FIELDS)
        assert ada.get("/api/session").json()["account"] == actor(people, "bob").account_id
        assert before
        assert not list_own_sessions(people.acting_as(actor(people, "ada")))

    def test_sets_a_new_password(self, client: TestClient, people: Workspace, access: Access) -> None:
        bob = add_person(people, "bob", "author")
        elsewhere = cookies_of(cookie_of(access, opened_session(people, "bob")))
        for _ in range(MAX_FAILURES_OF_ACCOUNT):
            _sign_in(client, "bob", "forgotten")
        assert _sign_in(client, "bob", "forgotten").status_code == 429
        _, token = reset_link(people, "bob", who="ada")
        link = f"/invitation/{token}"
        html = client.get(link).text
        assert "Set a new password" in html
        assert 'name="name"' in html
        assert 'value="bob"' in html
        assert _post(client, link, new="short", again="short").status_code == 422
        answer = _post(client, link, name="ada", new=NEW, again=NEW)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert client.get("/api/session").json()["account"] == bob.id, "whatever the form says it was for"
        assert access.who_sends(elsewhere) is None
        assert client.get(link).status_code == 404

    def test_looking_does_not_use_it(self, client: TestClient, people: Workspace, link: str) -> None:
        for _ in range(3):
            client.head(link)
            client.get(link)
        assert open_invitation(people, link.removeprefix("/invitation/")).name is None

    def test_its_address_goes_into_no_referrer(self, client: TestClient, link: str) -> None:
        # Not 'no-referrer': the browser would say 'Origin: null' with the form, which the guard refuses.
        assert client.get(link).headers["referrer-policy"] == "strict-origin"


class TestPassword:
    FIELDS: Mapping[str, str] = {"password": PASSWORD, "new": NEW, "again": NEW}

    def test_is_changed_and_other_sessions_end(self, ada: TestClient, people: Workspace, access: Access) -> None:
        elsewhere = cookies_of(cookie_of(access, opened_session(people, "ada")))
        answer = _post(ada, "/password", **self.FIELDS)
        assert (answer.status_code, answer.headers["location"]) == (303, "/password?changed=1")
        assert "The password is changed." in ada.get("/password?changed=1").text
        assert access.who_sends(elsewhere) is None
        assert _signed_in(ada)
        ada.post("/sign-out")
        assert _sign_in(ada).status_code == 401
        assert _sign_in(ada, password=NEW).status_code == 303

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"password": "wrong"}, "The current password does not fit"),
            ({"new": "short", "again": "short"}, "at least 12"),
            ({"again": "another sentence"}, "The two new passwords differ."),
            ({"new": "ada ada ada ada", "again": "ada ada ada ada"}, "password"),
        ],
    )
    def test_a_fault_changes_nothing(self, ada: TestClient, change: dict[str, str], said: str) -> None:
        answer = _post(ada, "/password", **{**self.FIELDS, **change})
        assert answer.status_code == 422
        assert said in answer.text
        for typed in {*self.FIELDS.values(), *change.values()}:
            assert f'value="{typed}"' not in answer.text
        ada.post("/sign-out")
        assert _sign_in(ada).status_code == 303

    def test_needs_a_session(self, client: TestClient) -> None:
        assert client.get("/password").headers["location"] == "/sign-in?next=/password"
        assert client.post("/password", data=self.FIELDS).status_code == 401

    def test_who_has_none_is_told(self, workspace: Workspace, access: Access) -> None:
        alone = _browser(access, workspace)
        alone.get("/")
        assert "does not sign in with a password" in alone.get("/password").text

    def test_a_password_may_be_any_text(self, ada: TestClient) -> None:
        odd = ' "Ünïcode" & <b>100 %+</b> \u202e \u0000 '
        assert _post(ada, "/password", **{**self.FIELDS, "new": odd, "again": odd}).status_code == 303
        ada.post("/sign-out")
        assert _sign_in(ada, password=odd).status_code == 303


def test_who_is_signed_in_is_said_and_not_kept(ada: TestClient, people: Workspace) -> None:
    answer = ada.get("/api/session")
    assert answer.json() == {"signed_in": True, "account": actor(people, "ada").account_id, "needed": True}
    assert answer.headers["cache-control"] == "no-store"
    ada.cookies.clear()
    assert ada.get("/api/session").json() == {"signed_in": False, "account": None, "needed": True}
    assert ada.get("/api/session/x").status_code == 401


def test_every_page_of_signing_in_is_closed_to_other_sites(ada: TestClient, people: Workspace, access: Access) -> None:
    _, token = invite(people, roles=["reader"], who="ada")
    pages = ["/sign-out", "/password", f"/invitation/{token}", "/invitation/none"]
    answers = [*(ada.get(path) for path in pages), _browser(access, people).get("/sign-in")]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'; ")
        for part in ("form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
            assert part in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        addressed = re.findall(r'(?:href|src|action)="([^"]*)"', answer.text)
        assert addressed
        assert all(address.startswith("/") and not address.startswith("//") for address in addressed)
        assert "<style" not in answer.text
        assert "style=" not in answer.text
        assert not re.search(r"<script(?! src=\"/vendor/(?:account|unsent)\.js\" defer>)", answer.text)


@pytest.mark.parametrize(
    "name", ["account.css", "account.js", "connection.js", "session.js", "unsent.js", "font.woff2"]
)
def test_scripts_and_styles_are_sent_once(client: TestClient, name: str) -> None:
    first = client.get(f"/vendor/{name}")
    assert first.status_code == 200
    assert first.headers["content-type"].partition(";")[0] in ("text/css", "text/javascript", "font/woff2")
    again = client.get(f"/vendor/{name}", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    assert not again.content


def test_the_pages_have_the_colours_of_the_theme() -> None:
    css = resources.files("curator_app.routes").joinpath("account.css").read_text(encoding="utf-8")
    light, dark = css.partition("@media (prefers-color-scheme: dark)")[::2]
    for part, palette in ((light, theme._LIGHT), (dark.partition("\n}\n")[0], theme._DARK)):
        used = dict(re.findall(r"--(\w[\w-]*): (#[0-9A-F]{6})", part))
        for own, theirs in {
            "accent": "primaryColor",
            "ground": "backgroundColor",
            "around": "secondaryBackgroundColor",
            "text": "textColor",
            "border": "borderColor",
            "link": "linkColor",
            "grey": "grayTextColor",
        }.items():
            assert used[own] == palette[theirs], own
    sizes = set(re.findall(r"font-size: ([\d.]+\w+)", css))
    assert sizes <= {"1.35rem", "1rem", ".85rem"}


def test_no_password_and_no_link_is_written_down(
    client: TestClient, people: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    caplog.set_level("WARNING", logger=type(client).__mro__[1].__module__.partition(".")[0])  # the test's own client
    _, token = invite(people, roles=["reader"], who="ada")
    _sign_in(client, password="a wrong password of mine")
    _post(client, f"/invitation/{token}", name="bob", display_name="", new=NEW, again=NEW)
    people.engine.dispose()
    written = caplog.text.encode() + b"".join(
        path.read_bytes() for path in Path(people.root).rglob("*") if path.is_file()
    )
    for secret in (token, NEW, PASSWORD, "a wrong password of mine"):
        assert secret.encode() not in written
    with people.reading() as session:
        assert session.exec(AccountSession.__table__.select()).all()  # type: ignore[attr-defined]


def test_somebody_of_single_sign_on_has_no_password(people: Workspace, access: Access) -> None:
    made = add_account(people, "sam", roles=["author"], password=PASSWORD, who="test")
    opened = opened_session(people, "sam")
    with people.writing() as session:
        account = session.get_one(Account, made.id)
        account.password_hash, account.identity_issuer, account.identity_subject = None, "https://idp.example", "1"
        session.add(account)
        assert actor_of(account).name == "sam"
    answer = _browser(access, people).get("/password", headers={"Cookie": cookie_of(access, opened)})
    assert "sam does not sign in with a password" in answer.text
