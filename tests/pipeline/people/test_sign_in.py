"""Sign-in: one message for every failure, the same work for it, and fewer tries the more fail."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlmodel import select

from db.tables import SignInThrottle
from pipeline.errors import InputError
from pipeline.people import (
    SignInRefusedError,
    TooManyAttemptsError,
    _sign_in,
    close_account,
    confirm_password,
    reset_by_link,
    reset_link,
    set_roles,
    sign_in_with_claims,
    signed_in,
    unlock,
)
from pipeline.people._sign_in import MAX_FAILURES_OF_ACCOUNT, MAX_FAILURES_OF_ADDRESS, WINDOW
from pipeline.permissions import NotAllowedError, Role
from pipeline.workspace import Workspace
from tests.pipeline.people.conftest import (
    ADDRESS,
    PASSWORD,
    Clock,
    add,
    at_once,
    audit,
    database_bytes,
    enter,
    in_the_hands_of,
)

WRONG = "not the password"


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The hashes that typed passwords were compared with."""
    seen: list[str | None] = []
    fits = _sign_in.password_fits

    def counting(password: str, password_hash: str | None) -> bool:
        seen.append(password_hash)
        return fits(password, password_hash)

    monkeypatch.setattr(_sign_in, "password_fits", counting)
    return seen


def fail(workspace: Workspace, name: str = "ann", *, times: int = 1, address: str = ADDRESS) -> None:
    for _ in range(times):
        with pytest.raises(SignInRefusedError):
            enter(workspace, name, password=WRONG, address=address)


def test_every_failure_sounds_alike_and_takes_the_same_work(workspace: Workspace, looks: list[str | None]) -> None:
    add(workspace, "ann")
    add(workspace, "gone")
    close_account(workspace, "gone", reason="left", who="admin")
    owner = workspace.owner().name
    cases = [
        ("ann", WRONG),
        ("unknown", PASSWORD),
        ("gone", PASSWORD),
        (owner, PASSWORD),
        ("", PASSWORD),
        ("ann", ""),
        ("' OR 1=1 --", "' OR 1=1 --"),
        ("ann\x00", PASSWORD),
        ("\ud800", "\ud800"),
        ("ann", "x" * 1_000_000),
        ("x" * 1_000_000, PASSWORD),
        ("ＡＮＮ", PASSWORD),
    ]
    said = set()
    for name, password in cases:
        looks.clear()
        with pytest.raises(SignInRefusedError) as error:
            enter(workspace, name, password=password, address=f"192.0.2.{len(said)}")
        assert len(looks) == 1, f"{name[:20]!r}: a password was looked at, once"
        said.add((str(error.value), type(error.value), error.value.__cause__))
    assert said == {("Name or password is wrong", SignInRefusedError, None)}


def test_case_and_spaces_around_a_name_do_not_matter(workspace: Workspace) -> None:
    add(workspace, "ann")
    for typed in ("ann", " Ann ", "ANN\n"):
        known = signed_in(workspace, enter(workspace, typed).secret)
        assert known is not None
        assert known.actor.name == "ann"


def test_an_account_is_closed_to_guessing_even_for_the_right_password(
    workspace: Workspace, looks: list[str | None], clock: Clock
) -> None:
    add(workspace, "ann")
    for number in range(MAX_FAILURES_OF_ACCOUNT):
        fail(workspace, ("ann", "ANN", " ann")[number % 3], address=f"192.0.2.{number}")
    looks.clear()
    with pytest.raises(TooManyAttemptsError, match="Try again in 15 min") as error:
        enter(workspace, "ann", address="198.51.100.1")
    assert 0 < error.value.seconds <= WINDOW.total_seconds()
    assert looks == [], "the right password was not looked at"
    clock.forward(minutes=14)
    with pytest.raises(TooManyAttemptsError, match="in 1 min"):
        enter(workspace, "ann")
    clock.forward(minutes=1)
    enter(workspace, "ann")


def test_unknown_names_are_closed_to_guessing_alike(workspace: Workspace) -> None:
    add(workspace, "ann")
    fail(workspace, "unknown", times=MAX_FAILURES_OF_ACCOUNT)
    with pytest.raises(TooManyAttemptsError):
        enter(workspace, "unknown")
    enter(workspace, "ann")


@pytest.mark.parametrize(
    ("addresses", "other"),
    [
        (["192.0.2.7"], "192.0.2.8"),
        ([f"2001:db8:1:2::{number:x}" for number in range(60)], "2001:db8:1:3::1"),
        (["::ffff:192.0.2.7", "192.0.2.7"], "::ffff:192.0.2.8"),
        (["unknown"], "192.0.2.7"),
    ],
)
def test_an_address_is_closed_to_trying_many_names(workspace: Workspace, addresses: list[str], other: str) -> None:
    add(workspace, "ann")
    for number in range(MAX_FAILURES_OF_ADDRESS):
        fail(workspace, f"name{number}", address=addresses[number % len(addresses)])
    with pytest.raises(TooManyAttemptsError):
        enter(workspace, "ann", address=addresses[-1])
    enter(workspace, "ann", address=other)


def test_a_thousand_wrong_passwords_from_sixteen_threads(workspace: Workspace, looks: list[str | None]) -> None:
    add(workspace, "ann")
    looks.clear()

    def guess(thread: int) -> Counter[str]:
        outcomes: Counter[str] = Counter()
        for number in range(63):
            try:
                enter(workspace, "ann", password=f"{WRONG} {thread} {number}", address=f"192.0.2.{thread}")
            except InputError as error:
                outcomes[type(error).__name__] += 1
        return outcomes

    outcomes: Counter[str] = Counter()
    for one in at_once(16, guess):
        assert isinstance(one, Counter), one
        outcomes += one
    assert outcomes.total() == 16 * 63 >= 1_000
    assert outcomes["SignInRefusedError"] == len(looks) == MAX_FAILURES_OF_ACCOUNT
    with pytest.raises(TooManyAttemptsError):
        enter(workspace, "ann")


def test_a_success_forgives_the_account_and_of_the_address_only_itself(workspace: Workspace) -> None:
    add(workspace, "ann")
    for _ in range(4):
        fail(workspace, times=MAX_FAILURES_OF_ACCOUNT - 1, address="192.0.2.7")
        enter(workspace, "ann", address="192.0.2.7")
    fails = 4 * (MAX_FAILURES_OF_ACCOUNT - 1)
    for number in range(MAX_FAILURES_OF_ADDRESS - fails):
        fail(workspace, f"name{number}", address="192.0.2.7")
    with pytest.raises(TooManyAttemptsError):
        enter(workspace, "ann", address="192.0.2.7")


def test_failures_after_a_success_count_for_a_whole_window(workspace: Workspace, clock: Clock) -> None:
    add(workspace, "ann")
    enter(workspace, "ann")
    clock.forward(minutes=14)
    fail(workspace, times=MAX_FAILURES_OF_ACCOUNT)
    clock.forward(minutes=2)
    with pytest.raises(TooManyAttemptsError):
        enter(workspace, "ann")


def test_an_administrator_unlocks(workspace: Workspace) -> None:
    add(workspace, "ann")
    fail(workspace, times=MAX_FAILURES_OF_ACCOUNT)
    with pytest.raises(NotAllowedError):
        unlock(in_the_hands_of(workspace, "ann"), "ann", who="ann")
    unlock(workspace, "ann", who="admin")
    enter(workspace, "ann")
    assert [event.who for event in audit(workspace) if event.action == "unlock"] == ["admin"]


def test_failures_keep_no_name_address_or_password(workspace: Workspace) -> None:
    add(workspace, "ann")
    fail(workspace, "my-password-by-mistake", address="203.0.113.77")
    everything = database_bytes(workspace)
    for kept in (b"my-password-by-mistake", b"203.0.113.77", WRONG.encode()):
        assert kept not in everything
    with workspace.reading() as session:
        assert {len(row.key) for row in session.exec(select(SignInThrottle))} == {64}


@pytest.mark.parametrize("change", ["closed", "another password"])
def test_an_account_that_changes_while_its_password_is_looked_at(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    add(workspace, "ann")
    _, link = reset_link(workspace, "ann", who="admin")
    fits = _sign_in.password_fits

    def slow(password: str, password_hash: str | None) -> bool:
        fitted = fits(password, password_hash)
        if change == "closed":
            close_account(workspace, "ann", reason="left", who="admin")
        else:
            reset_by_link(workspace, link, password="another horse battery")
        return fitted

    monkeypatch.setattr(_sign_in, "password_fits", slow)
    with pytest.raises(SignInRefusedError):
        enter(workspace, "ann")


def test_a_password_is_asked_again_before_a_signature(workspace: Workspace, looks: list[str | None]) -> None:
    ann = add(workspace, "ann")
    add(workspace, "ben")
    assert confirm_password(workspace, ann.actor, PASSWORD, address=ADDRESS).name == "ann"
    for _ in range(MAX_FAILURES_OF_ACCOUNT):
        with pytest.raises(SignInRefusedError):
            confirm_password(workspace, ann.actor, WRONG, address=ADDRESS)
    looks.clear()
    with pytest.raises(TooManyAttemptsError):
        confirm_password(workspace, ann.actor, PASSWORD, address=ADDRESS)
    with pytest.raises(TooManyAttemptsError):
        enter(workspace, "ann")
    assert looks == [], "one count for both ways to try a password"
    ben = in_the_hands_of(workspace, "ben")
    assert confirm_password(workspace, ben.actor, PASSWORD, address=ADDRESS).name == "ben"


def test_who_has_no_password_confirms_nothing(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = add(workspace, "ann")
    close_account(workspace, "ann", reason="left", who="admin")
    monkeypatch.setattr(workspace.settings, "oidc_roles", {"staff": Role.AUTHOR})
    claims = {"iss": "https://id.example.org", "sub": "1", "preferred_username": "sue", "groups": ["staff"]}
    sign_in_with_claims(workspace, claims, address=ADDRESS, browser="")
    for actor in (ann.actor, workspace.actor, in_the_hands_of(workspace, "sue").actor):
        for password in (PASSWORD, "", "no account has this password"):
            with pytest.raises(InputError, match="no password here"):
                confirm_password(workspace, actor, password, address=ADDRESS)


def test_a_sign_in_stands_in_the_audit_trail_without_address(workspace: Workspace) -> None:
    add(workspace, "ann")
    opened = enter(workspace, "ann")
    set_roles(workspace, "ann", roles=["reader"], who="admin")
    event = next(event for event in audit(workspace) if event.object_id == opened.id)
    assert (event.who, event.action, event.object_type) == ("ann", "sign in (password)", "accountsession")
    assert ADDRESS not in str(event.model_dump())
