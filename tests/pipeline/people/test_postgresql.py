"""The way of people through a workspace on a real PostgreSQL: invited, signed in, attacked, closed, forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.errors import InputError, NotFoundError
from pipeline.people import (
    SignInRefusedError,
    TooManyAttemptsError,
    accept_invitation,
    accounts_exist,
    apply_retention,
    close_account,
    find_account,
    invite,
    list_conflicts,
    list_people,
    open_invitation,
    reset_by_link,
    reset_link,
    set_roles,
    sign_in_with_claims,
    signed_in,
)
from pipeline.people._invitations import NO_LINK
from pipeline.people._sign_in import MAX_FAILURES_OF_ACCOUNT
from pipeline.permissions import NotAllowedError, Role
from pipeline.workspace import Workspace, create_workspace
from tests.pipeline.people.conftest import PASSWORD, Clock, add, at_once, audit, enter, in_the_hands_of, messages

pytestmark = pytest.mark.both_engines


@pytest.fixture
def on_postgresql(
    postgresql_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Workspace]:
    """A workspace whose database is a PostgreSQL."""
    monkeypatch.setenv("HISTOCURATOR_DATABASE_URL", postgresql_url)
    workspace = create_workspace(tmp_path / "workspace")
    assert workspace.engine.dialect.name == "postgresql"
    yield workspace
    workspace.engine.dispose()


def test_people_on_postgresql(on_postgresql: Workspace, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = on_postgresql
    assert not accounts_exist(workspace)
    admin = add(workspace, "root1", "admin")
    assert accounts_exist(workspace)

    _, token = invite(admin, roles=["coordinator"], display_name="Cora Example", who="root1")
    outcomes = at_once(
        8,
        lambda number: accept_invitation(workspace, token, name=f"cora{number}", display_name="", password=PASSWORD),
    )
    assert messages(outcomes) == {NO_LINK}
    (name,) = {row.name for row in list_people(workspace)} & {f"cora{number}" for number in range(8)}
    opened = enter(workspace, name.upper())
    cora = workspace.acting_as(signed_in(workspace, opened.secret).actor)  # type: ignore[union-attr]
    assert cora.actor.display_name == "Cora Example"
    with pytest.raises(NotAllowedError):
        invite(cora, roles=["author"], who=name)
    _, for_reader = invite(cora, roles=["reader"], who=name)

    def guess(thread: int) -> int:
        refused = 0
        for number in range(8):
            try:
                enter(workspace, name, password=f"wrong {thread} {number}", address=f"192.0.2.{thread}")
            except TooManyAttemptsError:
                continue
            except SignInRefusedError:
                refused += 1
        return refused

    outcomes = at_once(8, guess)
    assert sum(one for one in outcomes if isinstance(one, int)) == MAX_FAILURES_OF_ACCOUNT, outcomes
    with pytest.raises(TooManyAttemptsError):
        enter(workspace, name)

    _, reset = reset_link(admin, name, who="root1")
    reset_by_link(workspace, reset, password="another horse battery")
    assert signed_in(workspace, opened.secret) is None
    clock.forward(minutes=15)
    opened = enter(workspace, name, password="another horse battery")
    set_roles(admin, name, roles=["coordinator", "reviewer"], who="root1")
    known = signed_in(workspace, opened.secret)
    assert known is not None
    assert known.actor.roles == {Role.COORDINATOR, Role.REVIEWER}

    monkeypatch.setattr(workspace.settings, "oidc_roles", {"staff": Role.AUTHOR})
    claims = {"iss": "https://id.example.org", "sub": "1", "preferred_username": name, "groups": ["staff"]}
    tabs = at_once(8, lambda _: sign_in_with_claims(workspace, claims, address="192.0.2.1", browser="").id)
    assert len(set(tabs)) == 8, "a session each"
    assert find_account(workspace, f"{name}-2").roles == ["author"]  # type: ignore[union-attr]
    assert list_conflicts(workspace, f"{name}-2") == []

    before = [event.model_dump() for event in audit(workspace)]
    close_account(admin, name, reason="left", who="root1", forget_name=True)
    after = audit(workspace)
    assert [event.model_dump() for event in after[: len(before)]] == before
    added = [(event.action, event.object_type) for event in after[len(before) :]]
    assert added == [
        ("erase the display name", "invitation"),
        ("sign out", "accountsession"),
        ("withdraw", "invitation"),
        ("close", "account"),
    ]
    assert {(event.who, event.role) for event in after[len(before) :]} == {("root1", "admin")}
    assert signed_in(workspace, opened.secret) is None
    with pytest.raises(NotFoundError):
        open_invitation(workspace, for_reader)
    outcomes = at_once(2, lambda _: close_account(admin, f"{name}-2", reason="left", who="root1").id)
    assert sorted(type(one).__name__ for one in outcomes) == ["NotFoundError", "str"]

    for odd in ("a\x00b", "\ud800", "' OR 1=1 --", "x" * 100_000):
        with pytest.raises(SignInRefusedError):
            enter(workspace, odd, password=odd)
        with pytest.raises(NotFoundError):
            open_invitation(workspace, odd)
        assert signed_in(workspace, odd) is None
        assert find_account(workspace, odd) is None
        with pytest.raises(InputError):
            sign_in_with_claims(workspace, claims | {"sub": "\x00", "name": odd}, address="", browser="")

    clock.forward(days=200)
    gone = apply_retention(admin)
    assert gone.pop("failed attempts") >= 2, "of the account and of at least one address"
    assert gone == {"sessions": 10, "invitations": 3, "acts": 0, "drafts": 0}
    account = find_account(workspace, name)
    assert account is not None
    assert account.display_name == account.pseudonym
    assert in_the_hands_of(workspace, name).actor.roles == frozenset()
