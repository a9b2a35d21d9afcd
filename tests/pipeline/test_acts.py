"""A change that is asked for again under one act is made once, whatever became of the first answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlmodel import select

from db import utc_now
from db.tables import Account, Act, AuditEvent, Seed
from pipeline.acts import Made, once
from pipeline.audit import verify_trail
from pipeline.errors import ConflictError, InputError
from pipeline.people import apply_retention
from pipeline.permissions import NotAllowedError
from pipeline.rois import list_rois
from pipeline.seeds import SeedText, list_seeds, save_seed
from pipeline.workspace import Workspace
from tests.curator_app.visitors import actor, add_person

ACT = "0123456789abcdef" * 2
TEXT = SeedText("Which cell is in mitosis?", "the hepatocyte", "identify_pathology")


def _save(
    workspace: Workspace, act: str | None, text: SeedText = TEXT, *, seed: str | None = None, seen: int | None = None
) -> Made:
    roi = list_rois(workspace)[0][0]

    def change(own: Workspace) -> Seed:
        return save_seed(own, text, roi_id=roi.id, who=own.actor.name, seed_id=seed, expected_version=seen)

    return once(workspace, act, change)


def _acts(workspace: Workspace) -> list[Act]:
    with workspace.reading() as session:
        return list(session.exec(select(Act)))


def test_the_second_request_is_told_what_the_first_one_left(with_rois: Workspace) -> None:
    first = _save(with_rois, ACT)
    again = _save(with_rois, ACT)
    assert (first.again, again.again) == (False, True)
    assert (again.object_id, again.row_version) == (first.object_id, first.row_version)
    assert [entry.seed.id for entry in list_seeds(with_rois)] == [first.object_id]


def test_what_was_changed_is_told_in_its_version(with_rois: Workspace) -> None:
    seed = _save(with_rois, None)
    changed = _save(with_rois, ACT, SeedText("Which?", "that", TEXT.category), seed=seed.object_id, seen=1)
    again = _save(with_rois, ACT, SeedText("Which?", "that", TEXT.category), seed=seed.object_id, seen=1)
    assert changed.row_version == again.row_version == 2
    assert again.again, "and no conflict with itself"


def test_without_an_act_it_is_made_each_time(with_rois: Workspace) -> None:
    assert _save(with_rois, None).object_id != _save(with_rois, None).object_id
    assert _acts(with_rois) == []


def test_what_is_refused_may_be_asked_for_again(with_rois: Workspace) -> None:
    with pytest.raises(InputError, match="not complete"):
        _save(with_rois, ACT, SeedText("", "", ""))
    assert _acts(with_rois) == []
    seed = _save(with_rois, None)
    with pytest.raises(ConflictError):
        _save(with_rois, ACT, SeedText("Which?", "that", TEXT.category), seed=seed.object_id, seen=7)
    assert not _save(with_rois, ACT).again


def test_twelve_at_once_make_one(with_rois: Workspace) -> None:
    with ThreadPoolExecutor(12) as threads:
        made = list(threads.map(lambda _: _save(with_rois, ACT), range(12)))
    assert len({one.object_id for one in made}) == 1
    assert [one.again for one in made].count(False) == 1
    with with_rois.reading() as session:
        written = session.exec(select(AuditEvent).where(AuditEvent.object_id == made[0].object_id)).all()
    assert len(written) == 1
    assert verify_trail(with_rois).faults == []


def test_another_persons_act_of_this_name_is_another_one(with_rois: Workspace) -> None:
    add_person(with_rois, "rosa", "author")
    add_person(with_rois, "max", "reader")
    mine = _save(with_rois, ACT)
    rosas = _save(with_rois.acting_as(actor(with_rois, "rosa")), ACT)
    assert rosas.object_id != mine.object_id
    with pytest.raises(NotAllowedError):
        _save(with_rois.acting_as(actor(with_rois, "max")), ACT)


@pytest.mark.parametrize("act", ["", "x" * 32, "A" * 32, ACT[:-1], f"{ACT}0", f"{ACT}\n"])
def test_what_is_no_name_of_an_act_is_refused(with_rois: Workspace, act: str) -> None:
    with pytest.raises(InputError, match="32 hexadecimal"):
        _save(with_rois, act)
    assert list_seeds(with_rois) == []


def test_acts_are_forgotten_after_a_week(with_rois: Workspace) -> None:
    _save(with_rois, ACT)
    with with_rois.writing() as session:
        account = session.exec(select(Account)).first()
        assert account is not None
        old = utc_now() - timedelta(days=8)
        session.add(Act(account_id=account.id, id="f" * 32, at=old, object_id="seed_x", row_version=1))
    assert apply_retention(with_rois)["acts"] == 1
    assert [act.id for act in _acts(with_rois)] == [ACT]
