"""The People page without a browser: the first administrator, invitations, and what is done with an account."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import pytest
from google.protobuf.text_format import MessageToString
from sqlmodel import select
from streamlit.testing.v1 import AppTest

from curator_app.session import use_workspace
from db.tables import Account, AuditEvent
from pipeline.errors import NotFoundError
from pipeline.people import (
    accounts_exist,
    actor_of,
    add_account,
    close_account,
    find_account,
    invite,
    list_invitations,
    list_people,
    open_invitation,
    sign_in,
    signed_in,
    withdraw_invitation,
)
from pipeline.permissions import GRANTS, Permission, Role
from pipeline.workspace import Workspace
from tests.curator_app.conftest import open_page
from tests.curator_app.typing import type_text
from tests.databases import content_of

pytestmark = pytest.mark.sqlite("what a page draws and calls; what it reads and writes is asked on both engines")

PASSWORD = "correct horse battery staple"
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "**b** [x](javascript:alert(1)) $y$ :red[z]",
    "'; DROP TABLE account; --",
]


@pytest.fixture
def peopled(workspace: Workspace) -> Workspace:
    """A workspace with an administrator, a coordinator and an author."""
    for name, role in (("anna", "admin"), ("carla", "coordinator"), ("otto", "author")):
        add_account(workspace, name, roles=[role], password=PASSWORD, display_name=f"Dr. {name.title()}", who="test")
    return workspace


def _as(workspace: Workspace, name: str) -> Workspace:
    account = find_account(workspace, name)
    assert account is not None
    return workspace.acting_as(actor_of(account))


def _said(page: AppTest) -> str:
    assert not page.exception, page.exception
    return "\n".join(MessageToString(element.proto, as_utf8=True) for element in page.main if element.proto is not None)


def _remembered(page: AppTest) -> str:
    """All that the visit's state holds, the fields of its forms included."""
    return str(page.session_state._state.filtered_state)


def _dialog(workspace: Workspace, name: str, module: str, call: str, *, of: str = "") -> AppTest:
    """Run what stands in a dialog, which AppTest does not keep open, as a page of its own."""
    use_workspace(_as(workspace, name))
    script = (
        f"from curator_app.pages.{module} import {call}\n"
        "from curator_app.session import workspace\n"
        "from pipeline.people import list_people\n"
        f"{call}(*(row for row in list_people(workspace()) if row.name == {of!r}))\n"
    )
    page = AppTest.from_string(script, default_timeout=30).run()
    assert not page.exception, page.exception
    return page


def _link(page: AppTest) -> str:
    """The token of the link that a page shows."""
    found = re.fullmatch(r"(https?://[^/]+)?/invitation/([A-Za-z0-9_-]{40,})", page.code[0].value)
    assert found is not None
    return found[2]


def _first_account(page: AppTest, name: str, password: str, again: str, shown: str = "") -> AppTest:
    tries = page.session_state["first_tries"]
    page.text_input(key="first_name").set_value(name)
    page.text_input(key="first_display_name").set_value(shown)
    page.text_input(key=f"first_password_{tries}").set_value(password)
    page.text_input(key=f"first_again_{tries}").set_value(again)
    return page.button(key="first_make").click().run()


def test_without_accounts_the_page_says_how_one_works_and_how_to_begin(workspace: Workspace) -> None:
    page = open_page(workspace, "people")
    said = _said(page)
    assert f"works as <strong>{workspace.owner().name}</strong>" in said
    assert "histocurator users add NAME --role admin" in said
    assert "everybody signs in" in said
    assert {button.key for button in page.button} == {"first_make"}


def test_the_first_account_is_an_administrator_who_can_sign_in(workspace: Workspace) -> None:
    page = open_page(workspace, "people")
    _first_account(page, "anna", PASSWORD, PASSWORD, "Dr. Anna")
    assert 'href=\\"/sign-in\\"' in _said(page)
    account = find_account(workspace, "anna")
    assert account is not None
    assert (account.roles, account.display_name) == (["admin"], "Dr. Anna")
    assert signed_in(workspace, sign_in(workspace, "anna", PASSWORD, address="", browser="").secret) is not None
    assert not page.button
    assert PASSWORD not in _remembered(page)


@pytest.mark.parametrize(
    ("name", "password", "again", "words"),
    [
        ("anna", PASSWORD, PASSWORD + "x", "not the same"),
        ("anna", "short", "short", "at least 12"),
        ("Anna B", PASSWORD, PASSWORD, "is not allowed"),
        ("", PASSWORD, PASSWORD, "is not allowed"),
        *[(hostile, PASSWORD, PASSWORD, "is not allowed") for hostile in HOSTILE],
    ],
)
def test_a_wrong_first_account_is_refused_and_its_password_forgotten(
    workspace: Workspace, name: str, password: str, again: str, words: str
) -> None:
    page = open_page(workspace, "people")
    _first_account(page, name, password, again)
    assert words in page.error[0].value.replace("\\", "")
    assert not accounts_exist(workspace)
    assert page.text_input(key="first_name").value == name
    assert page.text_input(key="first_password_1").value == ""
    assert password not in _remembered(page)
    _first_account(page, "anna", PASSWORD, PASSWORD)
    assert accounts_exist(workspace)


def test_the_owners_name_is_taken(workspace: Workspace) -> None:
    page = open_page(workspace, "people")
    _first_account(page, workspace.owner().name, PASSWORD, PASSWORD)
    assert "is taken" in page.error[0].value.replace("\\", "")


def test_accounts_are_listed_with_roles_pseudonym_and_what_signs_them_in(peopled: Workspace) -> None:
    close_account(peopled, "otto", reason="left for *good*", who="anna")
    said = _said(open_page(_as(peopled, "anna"), "people"))
    for person in list_people(peopled):
        assert person.pseudonym in said
        assert person.display_name in said
    assert "coordinator" in said
    assert "Closed accounts · 1" in said
    assert "left for *good*" in said


def test_an_invitation_is_shown_once_and_works_once(peopled: Workspace) -> None:
    page = _dialog(peopled, "anna", "_invite", "invite_dialog")
    page.checkbox(key="invite_author").check()
    page.checkbox(key="invite_reviewer").check()
    page.text_input(key="invite_name").set_value("Dr. New")
    page.number_input(key="invite_days").set_value(3)
    page.button(key="invite_make").click().run()
    token = _link(page)
    assert "Shown only now." in _said(page)
    assert not page.button
    offer = open_invitation(peopled, token)
    assert (set(offer.roles), offer.display_name) == ({Role.AUTHOR, Role.REVIEWER}, "Dr. New")
    assert token not in _remembered(page)
    page.run()
    assert not page.code
    assert token not in str(content_of(peopled.engine))


def test_a_button_pressed_twice_leaves_one_link(peopled: Workspace) -> None:
    page = _dialog(peopled, "anna", "_invite", "invite_dialog")
    page.checkbox(key="invite_author").check()
    page.button(key="invite_make").click().run()
    first = _link(page)
    page.run()
    page.button(key="invite_make").click().run()
    assert open_invitation(peopled, _link(page)).roles == (Role.AUTHOR,)
    with pytest.raises(NotFoundError):
        open_invitation(peopled, first)
    assert [link.state for link in list_invitations(peopled)].count("open") == 1


def test_a_link_begins_with_the_address_that_people_open(peopled: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peopled.settings, "public_url", "https://histo.example.org")
    page = _dialog(peopled, "anna", "_invite", "invite_dialog")
    page.checkbox(key="invite_reader").check()
    page.button(key="invite_make").click().run()
    assert page.code[0].value.startswith("https://histo.example.org/invitation/")


def test_an_invitation_to_nothing_is_refused(peopled: Workspace) -> None:
    page = _dialog(peopled, "anna", "_invite", "invite_dialog")
    page.button(key="invite_make").click().run()
    assert "at least one role" in page.error[0].value.replace("\\", "")
    assert list_invitations(peopled) == []


def test_a_coordinator_sees_accounts_and_invites_readers_alone(peopled: Workspace) -> None:
    link, _ = invite(peopled, roles=["author"], who="anna")
    page = open_page(_as(peopled, "carla"), "people")
    assert "Dr. Otto" in _said(page)
    assert {button.key for button in page.button} == {"invite"}
    assert not page.get("bidi_component")[1:]
    form = _dialog(peopled, "carla", "_invite", "invite_dialog")
    assert not form.checkbox
    form.button(key="invite_make").click().run()
    assert open_invitation(peopled, _link(form)).roles == (Role.READER,)
    again = open_page(_as(peopled, "carla"), "people")
    own = next(row for row in list_invitations(peopled) if row.id != link.id)
    assert {button.key for button in again.button} == {"invite", f"withdraw_now_{own.id}"}


def test_a_link_is_withdrawn_and_moves_to_those_that_ended(peopled: Workspace) -> None:
    link, token = invite(peopled, roles=["reader"], display_name="Dr. New", who="anna")
    gone, _ = invite(peopled, roles=["reader"], who="anna")
    withdraw_invitation(peopled, gone.id, who="anna")
    page = open_page(_as(peopled, "anna"), "people")
    said = _said(page)
    assert "not used yet · 1" in said
    assert "○ open" in said
    assert "– withdrawn" in said
    page.button(key=f"withdraw_now_{link.id}").click().run()
    assert "not used yet · 0" in _said(page)
    assert {row.state for row in list_invitations(peopled)} == {"withdrawn"}
    assert token not in _said(page)


def test_a_chosen_account_offers_its_acts_and_the_owners_cannot_be_closed(peopled: Workspace) -> None:
    page = open_page(_as(peopled, "anna"), "people")
    page.session_state["people_chosen"] = "otto"
    page.run()
    acts = {"change_roles", "reset_link", "end_sessions", "unlock", "close_account"}
    assert acts <= {button.key for button in page.button}
    assert page.button(key="end_sessions").disabled
    page.session_state["people_chosen"] = peopled.owner().name
    page.run()
    assert "close_account" not in {button.key for button in page.button}
    assert "cannot be closed" in _said(page)


def test_roles_are_changed_in_a_dialog(peopled: Workspace) -> None:
    page = _dialog(peopled, "anna", "_one_person", "roles_dialog", of="otto")
    assert page.checkbox(key="roles_otto_author").value
    page.checkbox(key="roles_otto_author").uncheck()
    page.checkbox(key="roles_otto_reviewer").check()
    page.button(key="roles_save").click().run()
    account = find_account(peopled, "otto")
    assert account is not None
    assert account.roles == ["reviewer"]


def test_the_last_administrator_stays(peopled: Workspace) -> None:
    page = _dialog(peopled, "anna", "_one_person", "roles_dialog", of="anna")
    page.checkbox(key="roles_anna_admin").uncheck()
    page.checkbox(key="roles_anna_reader").check()
    page.button(key="roles_save").click().run()
    assert "last administrator" in page.error[0].value
    closing = _dialog(peopled, "anna", "_one_person", "close_dialog", of="anna")
    type_text(closing, "Why", "tired")
    closing.button(key="close_now").click().run()
    assert "last administrator" in closing.error[0].value


def test_a_reset_link_is_shown_once(peopled: Workspace) -> None:
    page = _dialog(peopled, "anna", "_one_person", "reset_dialog", of="otto")
    assert list_invitations(peopled) == []
    page.button(key="reset_make").click().run()
    assert open_invitation(peopled, _link(page)).name == "otto"


def test_sessions_end_after_the_dialog_said_how_many(peopled: Workspace) -> None:
    opened = [sign_in(peopled, "otto", PASSWORD, address="", browser="") for _ in range(2)]
    page = _dialog(peopled, "anna", "_one_person", "end_sessions_dialog", of="otto")
    assert page.button(key="end_sessions_now").label == "End 2 sessions"
    assert all(signed_in(peopled, one.secret) for one in opened)
    page.button(key="end_sessions_now").click().run()
    assert not any(signed_in(peopled, one.secret) for one in opened)


def test_closing_says_what_it_does_asks_why_and_forgets_the_name(peopled: Workspace) -> None:
    page = _dialog(peopled, "anna", "_one_person", "close_dialog", of="otto")
    said = _said(page).replace("\\", "")
    assert "There is no undo." in said
    assert "Dr. Otto" in said
    page.button(key="close_now").click().run()
    assert "Say why" in page.error[0].value
    type_text(page, "Why", HOSTILE[0])
    page.checkbox(key="close_forget").check()
    page.button(key="close_now").click().run()
    account = find_account(peopled, "otto")
    assert account is not None
    assert account.withdrawn_reason == HOSTILE[0]
    assert account.display_name == account.pseudonym
    after = _said(open_page(_as(peopled, "anna"), "people"))
    assert HOSTILE[0] not in after
    assert "&lt;script&gt;" in after


def test_unlocking_is_done_at_once_and_said(peopled: Workspace) -> None:
    page = open_page(_as(peopled, "anna"), "people")
    page.session_state["people_chosen"] = "otto"
    page.run()
    page.button(key="unlock").click().run()
    assert "otto may try to sign in again" in _said(page)
    with peopled.reading() as session:
        events = session.exec(select(AuditEvent).where(AuditEvent.action == "unlock")).all()
    assert [event.who for event in events] == ["anna"]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_are_shown_as_they_were_typed(peopled: Workspace, hostile: str) -> None:
    long = (hostile + " and a name without an end")[:80]
    add_account(peopled, "mallory", roles=["reader"], password=PASSWORD, display_name=long, who="anna")
    form = _dialog(peopled, "anna", "_invite", "invite_dialog")
    form.checkbox(key="invite_reader").check()
    form.text_input(key="invite_name").set_value(hostile)
    form.button(key="invite_make").click().run()
    assert not form.error
    pages = [open_page(_as(peopled, "anna"), "people"), open_page(_as(peopled, "carla"), "people")]
    pages[0].session_state["people_chosen"] = "mallory"
    pages[0].run()
    pages.append(_dialog(peopled, "anna", "_one_person", "close_dialog", of="mallory"))
    for page in pages:
        # Markdown shows what stands behind a backslash as it is.
        said = _said(page).replace("\\\\<", "")
        assert "<script" not in said
        assert "<img" not in said
        for markdown in page.markdown:
            assert "**b**" not in markdown.value
            assert "](javascript" not in markdown.value
    with peopled.reading() as session:
        assert len(session.exec(select(Account)).all()) == 5


def test_the_table_of_permissions_is_that_of_the_code(peopled: Workspace) -> None:
    said = _said(open_page(_as(peopled, "anna"), "people"))
    assert all(escape(permission) in said for permission in Permission)
    assert said.count("✓ yes") == sum(len(roles) for roles in GRANTS.values())


def test_the_page_offers_nothing_that_a_single_key_destroys() -> None:
    text = (Path(__file__).parents[2] / "curator_app" / "pages" / "people.py").read_text()
    assert re.findall(r'Key\("(.)", "[^"]+", button="(\w+)"\)', text) == [("i", "invite")]
