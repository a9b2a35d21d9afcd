"""Links that work once: invitations and resets, used, expired, withdrawn, mixed up, and used by many at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlmodel import select

from db.tables import Account
from pipeline.errors import InputError, NotFoundError
from pipeline.people import (
    _invitations,
    accept_invitation,
    find_account,
    invite,
    list_invitations,
    list_people,
    open_invitation,
    reset_by_link,
    reset_link,
    sign_in_with_claims,
    signed_in,
    withdraw_invitation,
)
from pipeline.people._invitations import NO_LINK
from pipeline.permissions import NotAllowedError, Role
from pipeline.workspace import Workspace
from tests.pipeline.people.conftest import (
    PASSWORD,
    Clock,
    add,
    at_once,
    audit,
    database_bytes,
    enter,
    messages,
)


def accept(workspace: Workspace, token: str, name: str = "new", *, password: str = PASSWORD) -> Account:
    return accept_invitation(workspace, token, name=name, display_name="", password=password)


def does_nothing(workspace: Workspace, token: str) -> None:
    """See that a link opens nothing, makes nobody and sets no password, always with the same words."""
    before = [(row.name, row.roles, row.signs_in_by) for row in list_people(workspace)]
    for use in (
        lambda: open_invitation(workspace, token),
        lambda: accept(workspace, token),
        lambda: reset_by_link(workspace, token, password=PASSWORD),
    ):
        with pytest.raises(NotFoundError) as error:
            use()
        assert str(error.value) == NO_LINK
    assert [(row.name, row.roles, row.signs_in_by) for row in list_people(workspace)] == before


def test_an_invitation_makes_the_account_it_offers_and_no_other(workspace: Workspace) -> None:
    made, token = invite(workspace, roles=["reviewer", "author"], display_name=" Dr  Roe ", who="admin")
    offer = open_invitation(workspace, token)
    assert (offer.roles, offer.display_name, offer.name) == ((Role.AUTHOR, Role.REVIEWER), "Dr Roe", None)
    account = accept(workspace, token, "roe")
    assert (account.roles, account.display_name) == (["author", "reviewer"], "Dr Roe")
    assert signed_in(workspace, enter(workspace, "roe").secret).actor.roles == set(offer.roles)  # type: ignore[union-attr]
    row = list_invitations(workspace)[0]
    assert (row.id, row.state, row.used_by) == (made.id, "used", "roe")
    does_nothing(workspace, token)


def test_a_mistake_leaves_the_link_working(workspace: Workspace) -> None:
    add(workspace, "ann")
    _, token = invite(workspace, roles=["reader"], who="admin")
    for name, password, says in (
        ("Not A Name", PASSWORD, "not allowed"),
        ("ann", PASSWORD, "taken"),
        ("ben", "short", "at least 12"),
        ("benjamin", "benjamin12345", "sign-in name"),
    ):
        with pytest.raises(InputError, match=says) as error:
            accept(workspace, token, name, password=password)
        assert password not in str(error.value)
    assert accept(workspace, token, "ben").name == "ben"


def test_eight_who_use_one_invitation_at_once_make_one_account(workspace: Workspace) -> None:
    for turn in range(3):
        _, token = invite(workspace, roles=["admin"], who="admin")
        outcomes = at_once(8, lambda number, token=token, turn=turn: accept(workspace, token, f"n{turn}{number}"))  # type: ignore[misc]
        assert sum(isinstance(one, Account) for one in outcomes) == 1
        assert messages(outcomes) == {NO_LINK}
    assert len(list_people(workspace)) == 1 + 3


def test_eight_who_use_one_reset_link_at_once_set_one_password(workspace: Workspace) -> None:
    add(workspace, "ann")
    _, token = reset_link(workspace, "ann", who="admin")
    passwords = [f"battery staple {number}" for number in range(8)]
    outcomes = at_once(8, lambda number: reset_by_link(workspace, token, password=passwords[number]))
    assert sum(isinstance(one, Account) for one in outcomes) == 1
    assert messages(outcomes) == {NO_LINK}
    won = next(number for number, one in enumerate(outcomes) if isinstance(one, Account))
    enter(workspace, "ann", password=passwords[won])


def test_a_link_expires(workspace: Workspace, clock: Clock) -> None:
    add(workspace, "ann")
    _, week = invite(workspace, roles=["reader"], who="admin")
    _, day = invite(workspace, roles=["reader"], days=1, who="admin")
    _, reset = reset_link(workspace, "ann", who="admin")
    clock.forward(hours=23, minutes=59)
    for token in (week, day, reset):
        open_invitation(workspace, token)
    clock.forward(minutes=1)
    for token in (day, reset):
        does_nothing(workspace, token)
    clock.forward(days=5, hours=23)
    open_invitation(workspace, week)
    clock.forward(hours=1)
    does_nothing(workspace, week)
    assert [row.state for row in list_invitations(workspace)] == ["expired"] * 3


@pytest.mark.parametrize("days", [0, -1, 61, 10**9])
def test_how_long_a_link_may_work(workspace: Workspace, days: int) -> None:
    with pytest.raises(InputError, match="1 to 60 days"):
        invite(workspace, roles=["reader"], days=days, who="admin")
    assert list_invitations(workspace) == []


def test_a_withdrawn_link_does_nothing(workspace: Workspace) -> None:
    add(workspace, "ann")
    for made, token in (invite(workspace, roles=["reader"], who="admin"), reset_link(workspace, "ann", who="admin")):
        withdraw_invitation(workspace, made.id, who="admin")
        does_nothing(workspace, token)
        with pytest.raises(InputError, match="withdrawn already"):
            withdraw_invitation(workspace, made.id, who="admin")
    made, token = invite(workspace, roles=["reader"], who="admin")
    accept(workspace, token)
    with pytest.raises(InputError, match="used already"):
        withdraw_invitation(workspace, made.id, who="admin")
    with pytest.raises(NotFoundError, match="no invitation"):
        withdraw_invitation(workspace, "inv_none", who="admin")


def test_invitations_and_reset_links_are_not_mixed_up(workspace: Workspace) -> None:
    add(workspace, "ann", "admin")
    _, invitation = invite(workspace, roles=["reader"], who="admin")
    _, reset = reset_link(workspace, "ann", who="admin")
    with pytest.raises(NotFoundError):
        reset_by_link(workspace, invitation, password="another horse battery")
    with pytest.raises(NotFoundError):
        accept(workspace, reset, "eve")
    assert find_account(workspace, "eve") is None
    assert open_invitation(workspace, reset).name == "ann"
    assert open_invitation(workspace, invitation).name is None


def test_a_reset_link_sets_the_password_and_ends_sessions_and_other_links(workspace: Workspace) -> None:
    add(workspace, "ann")
    session = enter(workspace, "ann")
    links = [reset_link(workspace, "ann", who="admin")[1] for _ in range(3)]
    reset_by_link(workspace, links[1], password="another horse battery")
    assert signed_in(workspace, session.secret) is None
    enter(workspace, "ann", password="another horse battery")
    for token in links:
        does_nothing(workspace, token)
    assert [row.state for row in list_invitations(workspace)] == ["withdrawn", "used", "withdrawn"]


def test_who_signs_in_by_single_sign_on_has_no_password_to_reset(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace.settings, "oidc_roles", {"staff": Role.AUTHOR})
    claims = {"iss": "https://id.example.org", "sub": "1", "preferred_username": "ann", "groups": ["staff"]}
    sign_in_with_claims(workspace, claims, address="192.0.2.1", browser="")
    with pytest.raises(InputError, match="single sign-on"):
        reset_link(workspace, "ann", who="admin")


@pytest.mark.parametrize("token", ["", "x", "' OR 1=1 --", "\x00", "\ud800", "A" * 1_000_000])
def test_what_is_no_token(workspace: Workspace, token: str) -> None:
    invite(workspace, roles=["admin"], who="admin")
    does_nothing(workspace, token)


def test_without_a_link_nobody_makes_the_server_hash(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(normal: str) -> str:
        raise AssertionError("hashed for somebody without a link")

    monkeypatch.setattr(_invitations, "hash_password", refuse)
    does_nothing(workspace, "not a token")


def test_a_coordinator_invites_readers_only(workspace: Workspace) -> None:
    coordinator = add(workspace, "cora", "coordinator")
    _, token = invite(coordinator, roles=["reader"], who="cora")
    assert accept(workspace, token, "reader1").roles == ["reader"]
    for offered in (["admin"], ["reader", "author"], ["auditor"], ["coordinator"]):
        with pytest.raises(NotAllowedError):
            invite(coordinator, roles=offered, who="cora")
    made, _ = invite(workspace, roles=["author"], who="admin")
    reset, _ = reset_link(workspace, "reader1", who="admin")
    for identifier in (made.id, reset.id):
        with pytest.raises(NotAllowedError):
            withdraw_invitation(coordinator, identifier, who="cora")
    with pytest.raises(NotAllowedError):
        reset_link(coordinator, "reader1", who="cora")


def test_tokens_are_kept_nowhere(workspace: Workspace) -> None:
    add(workspace, "ann")
    tokens = [
        invite(workspace, roles=["reader"], who="admin")[1],
        reset_link(workspace, "ann", who="admin")[1],
        invite(workspace, roles=["admin"], who="admin")[1],
    ]
    accept(workspace, tokens[0])
    everything = database_bytes(workspace)
    for token in tokens:
        assert len(token) >= 43, "256 bits"
        assert token.encode() not in everything
        assert token not in str(list_invitations(workspace))
        assert token not in str([event.model_dump() for event in audit(workspace)])


@pytest.mark.parametrize(
    "use",
    [
        lambda workspace: invite(workspace, roles=["boss"], who="admin"),
        lambda workspace: invite(workspace, roles=[], who="admin"),
        lambda workspace: invite(workspace, roles=["reader"], display_name="x" * 81, who="admin"),
        lambda workspace: reset_link(workspace, "nobody", who="admin"),
    ],
)
def test_what_cannot_be_offered(workspace: Workspace, use: Callable[[Workspace], object]) -> None:
    with pytest.raises(InputError):
        use(workspace)
    assert list_invitations(workspace) == []


def test_an_invitation_to_somebody_who_takes_a_name_in_between(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, token = invite(workspace, roles=["reader"], who="admin")
    hash_password = _invitations.hash_password

    def slow(normal: str) -> str:
        if find_account(workspace, "ann") is None:
            add(workspace, "ann", "admin")
        return hash_password(normal)

    monkeypatch.setattr(_invitations, "hash_password", slow)
    with pytest.raises(InputError, match="taken"):
        accept(workspace, token, "ann")
    with workspace.reading() as session:
        assert session.exec(select(Account.roles).where(Account.name == "ann")).one() == ["admin"]
    assert accept(workspace, token, "ben").roles == ["reader"]
