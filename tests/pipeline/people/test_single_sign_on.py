"""Single sign-on: what a provider says of a person, honest or hostile, becomes an account and its roles."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from db.tables import Account
from pipeline.errors import InputError
from pipeline.people import (
    close_account,
    find_account,
    invite,
    list_people,
    open_invitation,
    set_roles,
    sign_in_with_claims,
    signed_in,
)
from pipeline.people._single_sign_on import mapped_roles
from pipeline.permissions import NotAllowedError, Role
from pipeline.settings import Settings
from pipeline.workspace import Workspace
from tests.pipeline.people.conftest import add, at_once, audit, in_the_hands_of

CLAIMS: dict[str, Any] = {
    "iss": "https://id.example.org",
    "sub": "248289761001",
    "preferred_username": "Ann.Example",
    "name": "Ann Example",
    "email": "ann@example.org",
    "groups": ["pathologists"],
}


@pytest.fixture(autouse=True)
def _mapping(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    mapping = {"pathologists": Role.AUTHOR, "students": Role.READER, "heads": Role.ADMIN, "7": Role.AUDITOR}
    monkeypatch.setattr(workspace.settings, "oidc_roles", mapping)


def enter(workspace: Workspace, **claims: Any) -> Account:
    """Sign in by claims that differ from CLAIMS; the account of who is signed in then."""
    opened = sign_in_with_claims(workspace, CLAIMS | claims, address="192.0.2.1", browser="Test/1.0")
    known = signed_in(workspace, opened.secret)
    assert known is not None
    account = find_account(workspace, known.actor.name)
    assert account is not None
    return account


def test_a_person_gets_an_account_and_is_known_again_by_issuer_and_subject(workspace: Workspace) -> None:
    first = enter(workspace)
    assert (first.name, first.display_name, first.roles) == ("ann.example", "Ann Example", ["author"])
    assert first.password_hash is None
    again = enter(workspace, preferred_username="other", name="Other", email="other@example.org")
    assert again.id == first.id
    assert again.display_name == "Ann Example", "it may have been changed here"
    assert enter(workspace, sub="2").id != first.id
    assert enter(workspace, iss="https://evil.example.org").id != first.id
    assert len(list_people(workspace)) == 4
    events = [event for event in audit(workspace) if event.action == "add"]
    assert {event.who for event in events} == {"single sign-on"}
    assert "Ann Example" not in str([event.model_dump() for event in audit(workspace)])


def test_the_provider_decides_on_the_roles_at_each_sign_in(workspace: Workspace) -> None:
    assert enter(workspace, groups=["heads", "students", "unknown"]).roles == ["admin", "reader"]
    add(workspace, "root1", "admin")
    set_roles(workspace, "ann.example", roles=["auditor"], who="admin")
    assert enter(workspace, groups="students").roles == ["reader"]
    assert enter(workspace, groups=[7]).roles == ["auditor"]


def test_without_a_mapping_an_administrator_decides(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(workspace)
    monkeypatch.setattr(workspace.settings, "oidc_roles", {})
    set_roles(workspace, "ann.example", roles=["reviewer"], who="admin")
    assert enter(workspace, groups=["heads"]).roles == ["reviewer"]
    with pytest.raises(NotAllowedError, match="no role in this workspace"):
        enter(workspace, sub="2")


@pytest.mark.parametrize("groups", [None, [], "", "Pathologists", ["nobody"], {"pathologists": True}, [["heads"]], 1.5])
def test_who_has_no_mapped_role_gets_no_account(workspace: Workspace, groups: object) -> None:
    with pytest.raises(NotAllowedError, match="Ask its administrator"):
        enter(workspace, groups=groups)
    assert len(list_people(workspace)) == 1


def test_a_role_lost_at_the_provider_is_lost_here_at_once(workspace: Workspace) -> None:
    opened = sign_in_with_claims(workspace, CLAIMS | {"groups": ["heads"]}, address="192.0.2.1", browser="")
    _, token = invite(in_the_hands_of(workspace, "ann.example"), roles=["admin"], who="ann.example")
    with pytest.raises(NotAllowedError, match="no role in this workspace any more"):
        enter(workspace, groups=[])
    assert signed_in(workspace, opened.secret) is None, "the session from before has ended too"
    assert find_account(workspace, "ann.example").roles == []  # type: ignore[union-attr]
    assert in_the_hands_of(workspace, "ann.example").actor.roles == frozenset()
    with pytest.raises(InputError):
        open_invitation(workspace, token)
    with pytest.raises(NotAllowedError):
        enter(workspace, groups=[])
    assert enter(workspace, groups=["students"]).roles == ["reader"]


def test_a_closed_account_stays_closed(workspace: Workspace) -> None:
    enter(workspace)
    close_account(workspace, "ann.example", reason="left", who="admin", forget_name=True)
    for claims in ({}, {"groups": ["heads"]}, {"preferred_username": "new", "name": "New"}):
        with pytest.raises(NotAllowedError, match="is closed"):
            enter(workspace, **claims)
    assert len(list_people(workspace)) == 2


def test_the_same_name_is_not_the_same_person(workspace: Workspace) -> None:
    add(workspace, "ann.example", "admin")
    names = [enter(workspace, sub=str(number)).name for number in range(3)]
    assert names == ["ann.example-2", "ann.example-3", "ann.example-4"]
    long = [enter(workspace, sub=f"long {number}", preferred_username="x" * 300).name for number in range(3)]
    assert long == ["x" * 32, "x" * 32 + "-2", "x" * 32 + "-3"]
    assert find_account(workspace, "ann.example").roles == ["admin"]  # type: ignore[union-attr]


def test_one_person_in_many_tabs_at_once_gets_one_account(workspace: Workspace) -> None:
    outcomes = at_once(8, lambda _: enter(workspace).id)
    assert len(set(outcomes)) == 1, outcomes
    assert len(list_people(workspace)) == 2


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": None},
        {"sub": None},
        {"sub": ""},
        {"sub": 248289761001},
        {"sub": ["248289761001"]},
        {"iss": {"a": "b"}},
        {"sub": "x" * 256},
        {"iss": "https://" + "x" * 1_000_000},
        {"sub": "a\x00b"},
        {"sub": "a\ud800"},
    ],
)
def test_claims_that_name_nobody(workspace: Workspace, claims: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="did not say who you are"):
        enter(workspace, **claims)
    assert len(list_people(workspace)) == 1


@pytest.mark.parametrize(
    ("claims", "name", "display_name"),
    [
        ({"name": "<script>alert(1)</script>"}, "ann.example", "<script>alert(1)</script>"),
        ({"name": "x" * 1_000_000}, "ann.example", "x" * 80),
        ({"name": {"given": "Ann"}}, "ann.example", "ann.example"),
        ({"name": ["Ann"]}, "ann.example", "ann.example"),
        ({"name": "\x00\x1b[31m \u202e"}, "ann.example", "[31m"),
        ({"name": "\u200b\ud800"}, "ann.example", "ann.example"),
        ({"preferred_username": "<script>alert(1)</script>"}, "script-alert-1-script", "Ann Example"),
        ({"preferred_username": "../../etc/passwd"}, "etc-passwd", "Ann Example"),
        ({"preferred_username": "'; DROP TABLE account; --"}, "drop-table-account", "Ann Example"),
        ({"preferred_username": ["root"], "email": 5}, "248289761001", "Ann Example"),
        ({"preferred_username": "安", "email": None}, "person", "Ann Example"),
        ({"preferred_username": "", "email": "b.c@evil@example.org"}, "b.c", "Ann Example"),
    ],
)
def test_hostile_claims_make_a_plain_account(
    workspace: Workspace, claims: dict[str, Any], name: str, display_name: str
) -> None:
    account = enter(workspace, **claims)
    assert (account.name, account.display_name, account.roles) == (name, display_name, ["author"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(claims=st.fixed_dictionaries({}, optional=dict.fromkeys(CLAIMS, JSON)))
def test_no_claims_make_an_error_that_is_not_said_or_a_role_that_is_not_mapped(
    workspace: Workspace, claims: dict[str, Any]
) -> None:
    try:
        account = enter(workspace, **claims)
    except InputError:
        return
    assert account.roles == mapped_roles(workspace.settings, CLAIMS | claims)
    assert account.name.isascii()
    assert 0 < len(account.display_name) <= 80


def test_only_the_named_claim_gives_roles() -> None:
    rules = Settings(oidc_role_claim="roles", oidc_roles={"a": Role.ADMIN, "None": Role.ADMIN, "True": Role.ADMIN})
    assert mapped_roles(rules, {"groups": ["a"]}) == []
    assert mapped_roles(rules, {"roles": None}) == []
    assert mapped_roles(rules, {"roles": {"a": 1}}) == []
    assert mapped_roles(rules, {"roles": "a"}) == ["admin"]
