"""Accounts: names, roles, the last administrator, closing without breaking what a person did."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.exc import IntegrityError
from sqlmodel import select

from db.tables import Account, Invitation
from pipeline.errors import ChangedError, InputError, NotFoundError
from pipeline.people import (
    SignInRefusedError,
    _own_account,
    accept_invitation,
    accounts_exist,
    add_account,
    change_own_display_name,
    change_own_password,
    close_account,
    command_line_actor,
    find_account,
    invite,
    list_invitations,
    list_people,
    open_invitation,
    reset_by_link,
    reset_link,
    set_roles,
    signed_in,
)
from pipeline.people._accounts import checked_name
from pipeline.permissions import Actor, NotAllowedError, Permission, Role
from pipeline.workspace import Workspace, open_workspace
from tests.databases import content_of, new_workspace
from tests.pipeline.people.conftest import PASSWORD, add, at_once, audit, database_bytes, enter, in_the_hands_of


def closed(workspace: Workspace, name: str, *, forget_name: bool = False) -> Account:
    return close_account(workspace, name, reason="left the institute", who="admin", forget_name=forget_name)


@pytest.mark.parametrize(
    "name", ["a", "Ann", "ann ", "-ann", "a" * 41, "ann<script>", "änn", "../a", "a\n", "a\x00b", ""]
)
def test_names_that_are_none(workspace: Workspace, name: str) -> None:
    with pytest.raises(InputError, match="not allowed: 2 to 40 of a-z"):
        add(workspace, name)
    assert len(list_people(workspace)) == 1


@given(st.text(st.characters(exclude_categories=[]), max_size=45))
def test_only_plain_names_pass(name: str) -> None:
    try:
        passed = checked_name(name)
    except InputError:
        return
    assert passed == name
    assert name.isascii()
    assert name == name.lower()
    assert not set(name) & set(" /\\'\"<>&;%\n\x00")


def test_display_names_are_shown_as_they_were_meant(workspace: Workspace) -> None:
    add(workspace, "ann", display_name="  Zoe\u0308   Müller\n")
    add(workspace, "ben")
    add(workspace, "script", display_name="<script>alert(1)</script>'; DROP TABLE account; --")
    shown = {row.name: row.display_name for row in list_people(workspace)}
    assert shown["ann"] == "Zoë Müller", "composed, with single spaces"
    assert shown["ben"] == "ben", "the sign-in name where none is given"
    assert shown["script"] == "<script>alert(1)</script>'; DROP TABLE account; --", "kept as typed, escaped when shown"
    for bad in ("x" * 81, "Dr \u202eeoR", "\u200b\u200b", "a\x00b", "half \ud800"):
        with pytest.raises(InputError, match="display name"):
            change_own_display_name(in_the_hands_of(workspace, "ann"), bad)
    assert change_own_display_name(in_the_hands_of(workspace, "ann"), "Zoë").display_name == "Zoë"
    assert "Zoë" not in str([(row.old, row.new, row.reason) for row in audit(workspace)])


def test_roles_keep_the_order_of_the_table_and_unknown_ones_are_refused(workspace: Workspace) -> None:
    add(workspace, "root1", "admin")
    add(workspace, "ann", "auditor", "author", "admin", "author")
    assert find_account(workspace, "ann").roles == ["admin", "author", "auditor"]  # type: ignore[union-attr]
    assert set_roles(workspace, "ann", roles={"reviewer", "author"}, who="admin").roles == ["author", "reviewer"]
    for wrong, says in ((["root"], "root is no role"), ([], "at least one role"), (["Admin"], "Admin is no role")):
        with pytest.raises(InputError, match=says):
            set_roles(workspace, "ann", roles=wrong, who="admin")
    events = [event for event in audit(workspace) if event.action == "set roles"]
    assert [(event.old, event.new) for event in events] == [
        ({"roles": ["admin", "author", "auditor"]}, {"roles": ["author", "reviewer"]})
    ]


def test_a_taken_name_stays_with_who_has_it(workspace: Workspace) -> None:
    add(workspace, "ann")
    with pytest.raises(InputError, match="taken"):
        add(workspace, "ann")
    closed(workspace, "ann")
    with pytest.raises(InputError, match="taken"):
        add(workspace, "ann")


def test_of_two_who_want_one_name_exactly_one_gets_it(workspace: Workspace) -> None:
    for turn in range(5):
        outcomes = at_once(2, lambda _, turn=turn: add(workspace, f"ann{turn}"))  # type: ignore[misc]
        assert sorted(type(one).__name__ for one in outcomes) == ["InputError", "Workspace"]
    with workspace.reading() as session:
        names = [account.name for account in session.exec(select(Account))]
    assert len(names) == len(set(names)) == 6


def test_the_name_of_an_owner_with_capitals_is_taken_and_signs_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.workspace.operating_system_user", lambda: "Ann")
    workspace = new_workspace(tmp_path / "w")
    with pytest.raises(InputError, match="taken"):
        add(workspace, "ann")
    change = reset_link(workspace, "Ann", who="Ann")[1]
    reset_by_link(workspace, change, password=PASSWORD)
    for typed in ("Ann", "ann", " ANN "):
        assert signed_in(workspace, enter(workspace, typed).secret) is not None
    workspace.engine.dispose()


def test_the_last_administrator_who_can_sign_in_stays(workspace: Workspace) -> None:
    add(workspace, "root1", "admin")
    for change in (
        lambda: set_roles(workspace, "root1", roles=["author"], who="admin"),
        lambda: closed(workspace, "root1"),
    ):
        with pytest.raises(InputError, match="last administrator"):
            change()
    add(workspace, "root2", "admin", "author")
    set_roles(workspace, "root1", roles=["author"], who="admin")
    with pytest.raises(InputError, match="last administrator"):
        closed(workspace, "root2")
    closed(workspace, "root1")


def test_two_administrators_cannot_close_each_other_at_once(workspace: Workspace) -> None:
    for turn in range(5):
        names = [f"root{turn}a", f"root{turn}b"]
        for name in names:
            add(workspace, name, "admin")
        if turn:
            left = [row.name for row in list_people(workspace) if row.closed_at is None]
            for name in set(left) - {*names, workspace.owner().name}:
                closed(workspace, name)
        outcomes = at_once(2, lambda number, names=names: closed(workspace, names[number]))  # type: ignore[misc]
        assert sorted(type(one).__name__ for one in outcomes) == ["Account", "InputError"]


def test_the_owner_stays_administrator_and_cannot_be_closed(workspace: Workspace) -> None:
    owner = workspace.owner().name
    add(workspace, "root1", "admin")
    with pytest.raises(InputError, match="stays admin"):
        set_roles(workspace, owner, roles=["reader"], who="root1")
    with pytest.raises(InputError, match="cannot be closed"):
        closed(workspace, owner)
    assert set_roles(workspace, owner, roles=["admin", "author"], who="root1").roles == ["admin", "author"]
    assert command_line_actor(workspace).roles == {Role.ADMIN, Role.AUTHOR}


def test_on_the_command_line_others_act_as_their_own_account(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(workspace, "ann", "author")
    add(workspace, "ben", "author")
    closed(workspace, "ben")
    monkeypatch.setattr("pipeline.workspace.os.geteuid", lambda: workspace.root.stat().st_uid + 1)
    for user, roles in (("ann", {Role.AUTHOR}), ("ben", set()), ("eve", set())):
        monkeypatch.setattr("pipeline.people._accounts.operating_system_user", lambda user=user: user)
        assert command_line_actor(workspace).roles == roles
        assert command_line_actor(workspace).name == user


def test_accounts_exist_from_the_first_one_that_signs_in_and_for_ever(workspace: Workspace) -> None:
    assert not accounts_exist(workspace), "the owner's has no password"
    invite(workspace, roles=["reader"], who="admin")
    assert not accounts_exist(workspace)
    add(workspace, "ann")
    assert accounts_exist(workspace)
    closed(workspace, "ann")
    assert accounts_exist(workspace), "else closing the last account would open the door to everybody"


def test_a_closed_account_can_do_nothing_more(workspace: Workspace) -> None:
    add(workspace, "root1", "admin")
    ann = add(workspace, "ann", "admin", display_name="Ann Example")
    sessions = [enter(workspace, "ann") for _ in range(3)]
    _, reset = reset_link(workspace, "ann", who="root1")
    _, invitation = invite(ann, roles=["admin"], who="ann")
    _, others = invite(workspace, roles=["reader"], who="root1")
    hashed = find_account(workspace, "ann").password_hash  # type: ignore[union-attr]
    assert hashed is not None
    closed(workspace, "ann")
    assert [signed_in(workspace, one.secret) for one in sessions] == [None, None, None]
    for token in (reset, invitation):
        with pytest.raises(NotFoundError):
            open_invitation(workspace, token)
    assert open_invitation(workspace, others).roles == (Role.READER,), "other people's links still work"
    with pytest.raises(SignInRefusedError):
        enter(workspace, "ann")
    account = find_account(workspace, "ann")
    assert account is not None
    assert account.password_hash is None
    assert account.display_name == "Ann Example"
    assert in_the_hands_of(workspace, "ann").actor.roles == frozenset()
    row = next(row for row in list_people(workspace) if row.name == "ann")
    assert (row.sessions, row.signs_in_by, row.closed_because) == (0, "nothing", "left the institute")
    for again in (
        lambda: closed(workspace, "ann"),
        lambda: set_roles(workspace, "ann", roles=["admin"], who="root1"),
        lambda: reset_link(workspace, "ann", who="root1"),
    ):
        with pytest.raises(NotFoundError, match="closed"):
            again()


@pytest.mark.parametrize("reason", ["", "  \n", "a\x00b"])
def test_closing_needs_a_reason_that_can_be_read(workspace: Workspace, reason: str) -> None:
    add(workspace, "ann")
    with pytest.raises(InputError, match=r"reason|Say why"):
        close_account(workspace, "ann", reason=reason, who="admin")
    assert find_account(workspace, "ann").withdrawn_at is None  # type: ignore[union-attr]


def test_closing_leaves_the_audit_trail_as_it_is(workspace: Workspace) -> None:
    ann = add(workspace, "ann", "author", display_name="Ann Example")
    enter(workspace, "ann")
    change_own_display_name(ann, "Ann E.")
    before = [event.model_dump() for event in audit(workspace)]
    closed(workspace, "ann", forget_name=True)
    after = [event.model_dump() for event in audit(workspace)]
    assert after[: len(before)] == before
    assert [(event["who"], event["action"], event["reason"]) for event in after[len(before) :]] == [
        ("admin", "sign out", "the account was closed"),
        ("admin", "close", "left the institute"),
    ]
    assert {"ann"} <= {event["who"] for event in after}


def test_a_forgotten_name_is_nowhere_in_the_database(workspace: Workspace) -> None:
    _, token = invite(workspace, roles=["reader"], display_name="Rumpelstilzchen Example", who="admin")
    accept_invitation(workspace, token, name="r1", display_name="", password=PASSWORD)
    pseudonym = find_account(workspace, "r1").pseudonym  # type: ignore[union-attr]
    closed(workspace, "r1", forget_name=True)
    account = find_account(workspace, "r1")
    assert account is not None
    assert account.display_name == account.pseudonym == pseudonym
    rows = str(content_of(workspace.engine))
    assert "Rumpelstilzchen" not in rows
    assert "r1" in rows


def test_pseudonyms_say_nothing_and_differ(workspace: Workspace) -> None:
    for number in range(40):
        add(workspace, f"reader{number}", "reader")
    pseudonyms = [row.pseudonym for row in list_people(workspace)]
    assert len(set(pseudonyms)) == 41
    assert all(re.fullmatch(r"P-[2-9A-Z]{4}-[2-9A-Z]{4}", one) for one in pseudonyms)


def test_who_loses_a_role_keeps_no_invitation_to_it(workspace: Workspace) -> None:
    add(workspace, "root1", "admin")
    ann = add(workspace, "ann", "admin")
    _, to_admin = invite(ann, roles=["admin"], who="ann")
    _, to_reader = invite(ann, roles=["reader"], who="ann")
    _, reset = reset_link(ann, "root1", who="ann")
    set_roles(workspace, "ann", roles=["coordinator"], who="root1")
    for token in (to_admin, reset):
        with pytest.raises(NotFoundError):
            open_invitation(workspace, token)
    assert open_invitation(workspace, to_reader).roles == (Role.READER,), "a coordinator may invite readers"
    set_roles(workspace, "ann", roles=["author"], who="root1")
    with pytest.raises(NotFoundError):
        open_invitation(workspace, to_reader)
    assert {row.state for row in list_invitations(workspace)} == {"withdrawn"}
    with workspace.reading() as session:
        reasons = {row.withdrawn_reason for row in session.exec(select(Invitation))}
    assert reasons == {"ann may not invite like this any more"}


def test_who_has_just_lost_a_role_leaves_no_way_back(workspace: Workspace) -> None:
    add(workspace, "root1", "admin")
    ann = add(workspace, "ann", "admin")
    ben = add(workspace, "ben", "coordinator")
    set_roles(workspace, "ann", roles=["reader"], who="root1")
    close_account(workspace, "ben", reason="left", who="root1")
    for way_back in (
        lambda: add(ann, "back", "admin"),
        lambda: set_roles(ann, "ann", roles=["admin"], who="ann"),
        lambda: invite(ann, roles=["admin"], who="ann"),
        lambda: reset_link(ann, "root1", who="ann"),
        lambda: invite(ben, roles=["reader"], who="ben"),
    ):
        with pytest.raises(NotAllowedError):
            way_back()
    assert list_invitations(workspace) == []
    assert find_account(workspace, "back") is None


def test_a_new_password_ends_the_other_sessions_and_reset_links(workspace: Workspace) -> None:
    ann = add(workspace, "ann")
    here, there = enter(workspace, "ann"), enter(workspace, "ann")
    _, reset = reset_link(workspace, "ann", who="admin")
    with pytest.raises(InputError, match="does not fit"):
        change_own_password(ann, current="not the password", new="another horse battery")
    with pytest.raises(InputError, match="at least 12"):
        change_own_password(ann, current=PASSWORD, new="short")
    assert signed_in(workspace, there.secret) is not None
    change_own_password(ann, current=PASSWORD, new="another horse battery", keep_session=here.id)
    assert signed_in(workspace, here.secret) is not None
    assert signed_in(workspace, there.secret) is None
    with pytest.raises(NotFoundError):
        open_invitation(workspace, reset)
    with pytest.raises(SignInRefusedError):
        enter(workspace, "ann")
    enter(workspace, "ann", password="another horse battery")


def test_a_password_that_was_just_replaced_replaces_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = add(workspace, "ann")
    _, reset = reset_link(workspace, "ann", who="admin")
    hash_password = _own_account.hash_password

    def slow(normal: str) -> str:
        reset_by_link(workspace, reset, password="the administrator's")
        return hash_password(normal)

    monkeypatch.setattr(_own_account, "hash_password", slow)
    with pytest.raises(InputError, match="in the meantime"):
        change_own_password(ann, current=PASSWORD, new="the thief's password")
    enter(workspace, "ann", password="the administrator's")


def test_no_password_lies_in_the_folder_or_in_an_answer(workspace: Workspace) -> None:
    secret = "Wachholder-Straße 17b"
    account = add_account(workspace, "ann", roles=["author"], password=secret, who="admin")
    enter(workspace, "ann", password=secret)
    assert secret.encode() not in database_bytes(workspace)
    assert account.password_hash is not None
    assert account.password_hash not in str(list_people(workspace))
    with pytest.raises(IntegrityError) as error, workspace.writing() as session:
        session.add(Account(**account.model_dump() | {"id": "acc_2"}))
    assert account.password_hash not in str(error.value), "errors go to the log"


def test_people_without_an_account_own_none(workspace: Workspace) -> None:
    nobody = workspace.acting_as(Actor("nobody", frozenset({Role.ADMIN})))
    with pytest.raises(NotFoundError, match="no account"):
        change_own_display_name(nobody, "Nobody")
    with pytest.raises(InputError, match="does not fit"):
        change_own_password(nobody, current=PASSWORD, new=PASSWORD)
    with pytest.raises(NotAllowedError, match=str(Permission.OWN_ACCOUNT).replace("(", r"\(")):
        change_own_display_name(workspace.acting_as(Actor("nobody", frozenset())), "Nobody")


def test_a_workspace_is_its_owners_again_when_it_is_opened(workspace: Workspace) -> None:
    add(workspace, "ann", "reader")
    again = open_workspace(workspace.root)
    assert again.actor.name == workspace.owner().name
    assert again.actor.account_id == workspace.owner().id
    again.engine.dispose()


def test_what_another_administrator_did_meanwhile_stands(workspace: Workspace) -> None:
    for name, role in (("ann", "reader"), ("root1", "admin"), ("root2", "admin")):
        add(workspace, name, role)
    seen = next(person.row_version for person in list_people(workspace) if person.name == "ann")
    set_roles(workspace, "ann", roles=["author", "reviewer"], who="root1", expected_version=seen)
    said = r"The account ann was changed .* gave it the roles author, reviewer at \d\d:\d\d:\d\d\."
    with pytest.raises(ChangedError, match=said):
        set_roles(workspace, "ann", roles=["reader"], who="root2", expected_version=seen)
    with pytest.raises(ChangedError, match=said):
        close_account(workspace, "ann", reason="left", who="root2", expected_version=seen)
    account = find_account(workspace, "ann")
    assert account is not None
    assert (account.roles, account.withdrawn_at) == (["author", "reviewer"], None)


def test_ones_own_name_is_changed_as_it_was_seen(workspace: Workspace) -> None:
    add(workspace, "ann", "reader")
    ann = in_the_hands_of(workspace, "ann")
    account = find_account(workspace, "ann")
    assert account is not None
    change_own_display_name(ann, "Ann A.", expected_version=account.row_version)
    with pytest.raises(ChangedError, match="you, elsewhere, changed its display name at"):
        change_own_display_name(ann, "Ann B.", expected_version=account.row_version)
