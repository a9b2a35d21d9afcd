"""My account without a browser: who one is, the display name, other sessions, what is kept."""

from __future__ import annotations

import pytest
from google.protobuf.text_format import MessageToString
from streamlit.testing.v1 import AppTest

from curator_app.pages.my_account import browser_words
from curator_app.session import use_workspace
from pipeline.people import actor_of, add_account, find_account, retention_rules, sign_in, signed_in
from pipeline.permissions import Actor
from pipeline.workspace import Workspace
from tests.curator_app.conftest import open_page
from tests.curator_app.test_people_page import HOSTILE, PASSWORD

pytestmark = pytest.mark.sqlite("what a page draws and calls; what it reads and writes is asked on both engines")

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture
def otto(workspace: Workspace) -> Workspace:
    """A workspace as its author Otto uses it; there is an administrator too."""
    add_account(workspace, "anna", roles=["admin"], password=PASSWORD, who="test")
    add_account(workspace, "otto", roles=["author", "reader"], password=PASSWORD, display_name="Otto B.", who="test")
    return workspace.acting_as(_actor(workspace, "otto"))


def _actor(workspace: Workspace, name: str) -> Actor:
    account = find_account(workspace, name)
    assert account is not None
    return actor_of(account)


def _shown(workspace: Workspace, name: str) -> str:
    account = find_account(workspace, name)
    assert account is not None
    return account.display_name


def _said(page: AppTest) -> str:
    assert not page.exception, page.exception
    return "\n".join(MessageToString(element.proto, as_utf8=True) for element in page.main if element.proto is not None)


def test_it_says_who_one_is_and_what_is_kept(otto: Workspace) -> None:
    said = _said(open_page(otto, "my_account"))
    account = find_account(otto, "otto")
    assert account is not None
    assert f"{account.pseudonym} · exports of your answers carry it" in said
    assert "picks ROIs" in said
    assert "answers the items of a study" in said
    assert 'href=\\"/password\\"' in said
    assert all(rule.how_long in said for rule in retention_rules(otto.settings))


@pytest.mark.parametrize("name", ["Dr. Otto Berger", "  Otto   B. ", *HOSTILE])
def test_the_display_name_is_changed_and_shown_as_typed(otto: Workspace, name: str) -> None:
    page = open_page(otto, "my_account")
    page.text_input(key="my_display_name").set_value(name)
    page.button(key="display_name_save").click().run()
    assert _shown(otto, "otto") == " ".join(name.split())
    said = _said(page)
    assert "✓ Saved." in said
    again = _said(open_page(otto, "my_account"))
    # In its own field it stands as it is; nowhere as markup.
    assert not any(name in html.proto.body for html in open_page(otto, "my_account").get("html") if "<" in name)
    assert again


def test_an_empty_name_becomes_the_sign_in_name_and_an_endless_one_is_refused(otto: Workspace) -> None:
    page = open_page(otto, "my_account")
    page.text_input(key="my_display_name").set_value("  ")
    page.button(key="display_name_save").click().run()
    assert _shown(otto, "otto") == "otto"
    page.text_input(key="my_display_name").set_value("x" * 81)
    page.button(key="display_name_save").click().run()
    assert "at most 80" in page.error[0].value
    assert _shown(otto, "otto") == "otto"
    assert page.text_input(key="my_display_name").value == "x" * 81


def test_another_session_is_ended_and_nobody_elses_is_listed(otto: Workspace) -> None:
    here = sign_in(otto, "otto", PASSWORD, address="10.0.0.7", browser=FIREFOX)
    there = sign_in(otto, "otto", PASSWORD, address="10.0.0.8", browser=HOSTILE[0])
    foreign = sign_in(otto, "anna", PASSWORD, address="10.0.0.9", browser=FIREFOX)
    page = open_page(otto, "my_account")
    said = _said(page)
    assert "Firefox on Linux" in said
    assert "10.0.0.8" in said
    assert "10.0.0.9" not in said
    assert "<script" not in said
    page.button(key=f"end_{there.id}").click().run()
    assert signed_in(otto, there.secret) is None
    assert signed_in(otto, here.secret) is not None
    assert signed_in(otto, foreign.secret) is not None
    assert f"end_{there.id}" not in {button.key for button in page.button}


def test_without_accounts_it_points_to_the_page_people(workspace: Workspace) -> None:
    page = open_page(workspace, "my_account")
    said = _said(page)
    assert "Nobody has to sign in yet." in said
    assert page.button(key="empty_people").label == "Go to People"
    assert "/password" not in said
    assert "Where you are signed in" not in said


def test_somebody_without_an_account_sees_only_their_refusal(workspace: Workspace) -> None:
    use_workspace(workspace.acting_as(Actor("nobody", frozenset())))
    script = "from curator_app.rail import entry_of, open_page\nopen_page(entry_of('my_account'))\n"
    page = AppTest.from_string(script, default_timeout=30).run()
    assert "Your account has no role in this workspace" in _said(page)
    assert not page.button


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        (FIREFOX, "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/120 Safari/537 Edg/120", "Edge on Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Version/17 Safari/605", "Safari on macOS"),
        ("", "an unnamed browser"),
        ("curl/8 " + "x" * 500, ("curl/8 " + "x" * 500)[:60]),
    ],
)
def test_browsers_are_named_in_two_words(user_agent: str, words: str) -> None:
    assert browser_words(user_agent) == words
