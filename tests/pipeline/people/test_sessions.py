"""Sessions: idle and absolute expiry, revoked at once, roles of this moment, one's own only."""

from __future__ import annotations

from datetime import timedelta

import pytest

from db.tables import AccountSession
from pipeline.errors import NotFoundError
from pipeline.people import (
    OpenedSession,
    close_account,
    end_own_session,
    end_session,
    end_sessions_of,
    list_own_sessions,
    list_people,
    set_roles,
    sign_in,
    signed_in,
)
from pipeline.permissions import NotAllowedError, Role
from pipeline.workspace import Workspace
from tests.pipeline.people.conftest import PASSWORD, Clock, add, at_once, audit, database_bytes, enter, in_the_hands_of


def row(workspace: Workspace, opened: OpenedSession) -> AccountSession:
    with workspace.reading() as session:
        return session.get_one(AccountSession, opened.id)


def test_a_session_that_is_used_lasts_until_its_end(workspace: Workspace, clock: Clock) -> None:
    add(workspace, "ann")
    opened = enter(workspace, "ann")
    for _ in range(11):
        clock.forward(hours=1)
        assert signed_in(workspace, opened.secret) is not None
    clock.forward(minutes=59)
    assert signed_in(workspace, opened.secret) is not None
    clock.forward(minutes=1)
    assert signed_in(workspace, opened.secret) is None
    assert row(workspace, opened).ended_because == "expired"


def test_a_session_that_is_not_used_ends(workspace: Workspace, clock: Clock) -> None:
    add(workspace, "ann")
    opened = enter(workspace, "ann")
    clock.forward(minutes=119)
    assert signed_in(workspace, opened.secret) is not None
    clock.forward(minutes=120)
    assert signed_in(workspace, opened.secret) is None
    assert row(workspace, opened).ended_because == "not used for too long"
    clock.forward(minutes=-120)
    assert signed_in(workspace, opened.secret) is None, "what has ended stays so, whatever the clock says"


def test_a_page_that_refreshes_itself_is_no_use(workspace: Workspace, clock: Clock) -> None:
    add(workspace, "ann")
    opened = enter(workspace, "ann")
    for _ in range(119):
        clock.forward(minutes=1)
        assert signed_in(workspace, opened.secret, counts=False) is not None
    clock.forward(minutes=1)
    assert signed_in(workspace, opened.secret, counts=False) is None


@pytest.mark.parametrize("minutes", [1, 2, 5])
def test_short_idle_times_do_not_end_a_session_in_use(
    workspace: Workspace, clock: Clock, monkeypatch: pytest.MonkeyPatch, minutes: int
) -> None:
    monkeypatch.setattr(workspace.settings, "session_idle_minutes", minutes)
    add(workspace, "ann")
    opened = enter(workspace, "ann")
    for _ in range(40 * minutes):
        clock.forward(seconds=7)
        assert signed_in(workspace, opened.secret) is not None
    clock.forward(minutes=minutes)
    assert signed_in(workspace, opened.secret) is None


def test_use_is_written_once_a_minute(workspace: Workspace, clock: Clock) -> None:
    add(workspace, "ann")
    opened = enter(workspace, "ann")
    first = row(workspace, opened).last_seen_at
    clock.forward(seconds=59)
    signed_in(workspace, opened.secret)
    assert row(workspace, opened).last_seen_at == first, "a write for every tile would be too many"
    clock.forward(seconds=1)
    signed_in(workspace, opened.secret)
    assert row(workspace, opened).last_seen_at - first >= timedelta(seconds=60)


def test_a_revoked_session_is_refused_at_the_next_request(workspace: Workspace) -> None:
    add(workspace, "ann")
    ann = in_the_hands_of(workspace, "ann")
    one, two, three = (enter(workspace, "ann") for _ in range(3))
    assert {session.id for session in list_own_sessions(ann)} == {one.id, two.id, three.id}
    end_own_session(ann, one.id)
    assert signed_in(workspace, one.secret) is None
    assert signed_in(workspace, two.secret) is not None
    end_session(workspace, two.id, because="signed out")
    assert signed_in(workspace, two.secret) is None
    assert end_sessions_of(workspace, "ann", who="admin") == 1
    assert signed_in(workspace, three.secret) is None
    assert list_own_sessions(ann) == []
    assert next(person.sessions for person in list_people(workspace) if person.name == "ann") == 0
    assert [row(workspace, session).ended_because for session in (one, two, three)] == [
        "ended by its owner",
        "signed out",
        "ended by admin",
    ]
    end_session(workspace, one.id, because="again")
    assert row(workspace, one).ended_because == "ended by its owner"


def test_roles_are_those_of_this_moment(workspace: Workspace) -> None:
    add(workspace, "ann", "author")
    opened = enter(workspace, "ann")
    set_roles(workspace, "ann", roles=["reader"], who="admin")
    known = signed_in(workspace, opened.secret)
    assert known is not None
    assert (known.actor.name, known.actor.roles, known.session_id) == ("ann", {Role.READER}, opened.id)
    close_account(workspace, "ann", reason="left", who="admin")
    assert signed_in(workspace, opened.secret) is None


def test_other_peoples_sessions_are_not_ones_own(workspace: Workspace) -> None:
    add(workspace, "ann")
    add(workspace, "ben", "coordinator")
    opened = enter(workspace, "ann")
    ben = in_the_hands_of(workspace, "ben")
    with pytest.raises(NotFoundError, match="You have no session"):
        end_own_session(ben, opened.id)
    with pytest.raises(NotAllowedError):
        end_sessions_of(ben, "ann", who="ben")
    assert list_own_sessions(ben) == []
    assert signed_in(workspace, opened.secret) is not None
    for missing in ("", "ses_none", "' OR 1=1 --"):
        with pytest.raises(NotFoundError):
            end_own_session(ben, missing)


def test_who_has_no_account_has_no_sessions(workspace: Workspace) -> None:
    add(workspace, "ann")
    enter(workspace, "ann")
    assert list_own_sessions(workspace) == [], "the owner's are none"


@pytest.mark.parametrize("secret", ["", "x", "' OR 1=1 --", "\x00", "\ud800", "é" * 100_000])
def test_a_forged_secret_is_nobody(workspace: Workspace, secret: str) -> None:
    add(workspace, "ann")
    opened = enter(workspace, "ann")
    for forged in (secret, opened.id, opened.secret[:-1], opened.secret + "x", opened.secret.lower() + "!"):
        assert signed_in(workspace, forged) is None
    assert signed_in(workspace, row(workspace, opened).secret_sha256) is None, "who reads the database has no cookie"


def test_secrets_are_kept_nowhere(workspace: Workspace) -> None:
    add(workspace, "ann")
    secrets = [enter(workspace, "ann").secret for _ in range(5)]
    assert len(set(secrets)) == 5
    everything = database_bytes(workspace)
    for secret in secrets:
        assert len(secret) >= 43, "256 bits"
        assert secret.encode() not in everything
    assert not any(secret in str(event.model_dump()) for event in audit(workspace) for secret in secrets)


def test_many_requests_at_once_end_an_expired_session_once(workspace: Workspace, clock: Clock) -> None:
    add(workspace, "ann")
    opened = enter(workspace, "ann")
    clock.forward(hours=3)
    assert at_once(8, lambda _: signed_in(workspace, opened.secret)) == [None] * 8
    events = [event for event in audit(workspace) if event.object_id == opened.id]
    assert [(event.action, event.reason) for event in events] == [
        ("sign in (password)", None),
        ("sign out", "not used for too long"),
    ]


def test_a_browsers_name_is_cut(workspace: Workspace) -> None:
    ann = add(workspace, "ann")
    sign_in(workspace, "ann", PASSWORD, address="192.0.2.1", browser="<script>" * 1000)
    assert len(list_own_sessions(ann)[0].browser) == 200
