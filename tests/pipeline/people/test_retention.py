"""What is kept of people is deleted after its days and not before; the audit trail stays."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import SQLModel, select

from db import utc_now
from db.tables import AccountSession, Invitation, SignInThrottle
from pipeline.people import (
    SignInRefusedError,
    accept_invitation,
    apply_retention,
    close_account,
    end_session,
    find_account,
    invite,
    list_people,
    reset_link,
    retention_rules,
    signed_in,
    withdraw_invitation,
)
from pipeline.permissions import NotAllowedError, Role
from pipeline.settings import Settings
from pipeline.workspace import DRAFTS, Workspace
from tests.pipeline.people.conftest import PASSWORD, Clock, add, audit, enter, in_the_hands_of

NOTHING = {"sessions": 0, "invitations": 0, "failed attempts": 0, "acts": 0, "drafts": 0}


def rows(workspace: Workspace, table: type[SQLModel]) -> int:
    with workspace.reading() as session:
        return len(session.exec(select(table)).all())


def test_sessions_go_after_their_days_and_not_before(workspace: Workspace, clock: Clock) -> None:
    add(workspace, "ann")
    ended, expired = enter(workspace, "ann"), enter(workspace, "ann")
    clock.forward(hours=1)
    end_session(workspace, ended.id, because="signed out")
    before = [event.model_dump() for event in audit(workspace)]
    clock.forward(days=90, minutes=-1)
    assert apply_retention(workspace) == NOTHING
    clock.forward(minutes=2)
    assert apply_retention(workspace) == NOTHING | {"sessions": 1}
    with workspace.reading() as session:
        assert [one.id for one in session.exec(select(AccountSession))] == [expired.id]
    clock.forward(hours=11)
    assert apply_retention(workspace) == NOTHING | {"sessions": 1}
    assert [event.model_dump() for event in audit(workspace)] == before, "the audit trail stays"
    assert list_people(workspace)[0].last_seen_at is None


def test_sessions_that_go_on_are_kept(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(workspace.settings, "keep_sessions_days", 1)
    monkeypatch.setattr(workspace.settings, "session_hours", 24 * 30)
    add(workspace, "ann")
    opened = enter(workspace, "ann")
    for _ in range(29 * 24):
        clock.forward(hours=1)
        assert signed_in(workspace, opened.secret) is not None
    assert apply_retention(workspace) == NOTHING
    assert signed_in(workspace, opened.secret) is not None


def test_links_go_after_their_days_and_not_before(workspace: Workspace, clock: Clock) -> None:
    _, used = invite(workspace, roles=["reader"], days=1, who="admin")
    accept_invitation(workspace, used, name="ann", display_name="", password=PASSWORD)
    reset_link(workspace, "ann", who="admin")
    withdrawn, _ = invite(workspace, roles=["reader"], days=1, who="admin")
    withdraw_invitation(workspace, withdrawn.id, who="admin")
    invite(workspace, roles=["reader"], days=60, who="admin")
    clock.forward(days=91, minutes=-1)
    assert apply_retention(workspace) == NOTHING
    clock.forward(minutes=2)
    assert apply_retention(workspace) == NOTHING | {"invitations": 3}
    assert rows(workspace, Invitation) == 1
    clock.forward(days=59)
    assert apply_retention(workspace) == NOTHING | {"invitations": 1}
    assert find_account(workspace, "ann") is not None
    assert {"use", "invite"} <= {event.action for event in audit(workspace)}


def test_failed_attempts_go_after_their_window(workspace: Workspace, clock: Clock) -> None:
    add(workspace, "ann")
    with pytest.raises(SignInRefusedError):
        enter(workspace, "ann", password="wrong")
    clock.forward(minutes=14)
    assert apply_retention(workspace) == NOTHING
    clock.forward(minutes=2)
    assert apply_retention(workspace) == NOTHING | {"failed attempts": 2}
    assert rows(workspace, SignInThrottle) == 0


def draft(workspace: Workspace, name: str, *, days_old: float) -> Path:
    path = workspace.root / DRAFTS / "ann" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    then = (utc_now() - timedelta(days=days_old)).timestamp()
    os.utime(path, (then, then))
    return path


def test_drafts_go_after_their_days_and_not_before(workspace: Workspace) -> None:
    old, young = draft(workspace, "old.json", days_old=180.1), draft(workspace, "young.json", days_old=179.9)
    other = workspace.releases / "old.json"
    other.write_text("{}")
    os.utime(other, (0, 0))
    assert apply_retention(workspace) == NOTHING | {"drafts": 1}
    assert not old.exists()
    assert young.exists()
    assert other.exists(), "only drafts"


def test_what_a_killed_writing_left_goes_after_a_day(workspace: Workspace) -> None:
    whole = draft(workspace, "a.json", days_old=2)
    left, new = draft(workspace, "a.4f5e", days_old=1.1), draft(workspace, "b.4f5e", days_old=0.9)
    assert apply_retention(workspace) == NOTHING
    assert (whole.exists(), left.exists(), new.exists()) == (True, False, True)


def test_a_draft_that_goes_by_itself_meanwhile(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    old = [draft(workspace, f"{number}.json", days_old=200) for number in range(3)]
    listed = list((workspace.root / DRAFTS).rglob("*.json"))
    old[1].unlink()
    monkeypatch.setattr(Path, "rglob", lambda *_: iter(listed))
    assert apply_retention(workspace)["drafts"] == 2


def test_a_closed_account_outlives_its_sessions(workspace: Workspace, clock: Clock) -> None:
    add(workspace, "ann", "author")
    enter(workspace, "ann")
    close_account(workspace, "ann", reason="left", who="admin")
    clock.forward(days=400)
    assert apply_retention(workspace) == NOTHING | {"sessions": 1}
    account = find_account(workspace, "ann")
    assert account is not None
    assert account.withdrawn_reason == "left"
    assert apply_retention(workspace) == NOTHING


def test_only_an_administrator_deletes(workspace: Workspace) -> None:
    for role in Role:
        person = add(workspace, f"a-{role}", role)
        if role is Role.ADMIN:
            apply_retention(person)
        else:
            with pytest.raises(NotAllowedError):
                apply_retention(in_the_hands_of(workspace, f"a-{role}"))


def test_the_rules_say_what_the_settings_say() -> None:
    rules = retention_rules(Settings(keep_sessions_days=3, keep_invitations_days=4, keep_drafts_days=5))
    told = {rule.setting: rule.how_long for rule in rules if rule.setting}
    assert told == {
        "keep_sessions_days": "3 days after they end",
        "keep_invitations_days": "4 days after they expire",
        "keep_drafts_days": "5 days after the last key",
    }
    assert set(told) <= set(Settings.model_fields)
    assert all(rule.what and rule.how_long and rule.why for rule in rules)
    assert len({rule.what for rule in rules}) == len(rules)
