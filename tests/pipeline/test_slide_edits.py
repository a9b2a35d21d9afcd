"""Changing what is said of a slide, withdrawing and restoring it: audited, refused where seeds would suffer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlmodel import select

from db.tables import AuditEvent, Roi, Slide
from pipeline.bins import bin_candidates
from pipeline.errors import ChangedError, InputError, NotFoundError
from pipeline.ingest import list_organs, list_slides
from pipeline.jobs import job_status, list_jobs, submit
from pipeline.permissions import Actor, NotAllowedError, Role
from pipeline.rois import list_rois
from pipeline.sampling import sample_candidates
from pipeline.seeds import drop_seed, list_seeds
from pipeline.slide_edits import edit_slide, restore_slide, use_of_slide, withdraw_slide, withdrawn_slides
from pipeline.workspace import Workspace


def _first(workspace: Workspace) -> Slide:
    return list_slides(workspace)[0]


def _events(workspace: Workspace, object_id: str) -> list[AuditEvent]:
    query = select(AuditEvent).where(AuditEvent.object_id == object_id).order_by(AuditEvent.sequence)  # type: ignore[arg-type]
    with workspace.reading() as session:
        return list(session.exec(query))


def _drop_all(workspace: Workspace) -> None:
    for entry in list_seeds(workspace):
        drop_seed(workspace, entry.seed.id, reason="not needed", who="test")


def test_an_edit_keeps_old_and_new_in_the_trail(with_slides: Workspace) -> None:
    slide = _first(with_slides)
    edited = edit_slide(with_slides, slide.id, {"study": "TG-1", "sex": "Female", "strain": ""}, who="ann")
    assert (edited.study, edited.sex, edited.strain) == ("TG-1", "female", None)
    assert edited.row_version == slide.row_version + 1
    event = _events(with_slides, slide.id)[-1]
    assert (event.who, event.action) == ("ann", "edit")
    assert (event.old, event.new) == ({"study": None, "sex": None}, {"study": "TG-1", "sex": "female"})
    again = edit_slide(with_slides, slide.id, {"study": " TG-1 "}, who="ann")
    assert (again.row_version, len(_events(with_slides, slide.id))) == (edited.row_version, 2), "nothing differs"


def test_of_two_edits_the_second_is_told_what_the_first_did(with_slides: Workspace) -> None:
    slide = _first(with_slides)
    edit_slide(with_slides, slide.id, {"dose_group": "high"}, who="ann", expected_version=slide.row_version)
    with pytest.raises(ChangedError, match="ann changed its dose group at"):
        edit_slide(with_slides, slide.id, {"study": "x"}, who="ben", expected_version=slide.row_version)
    assert _first(with_slides).study is None


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"colour": "red"}, "no such field"),
        ({"licence": ""}, "licence is required"),
        ({"organ": " "}, "organ is required"),
        ({"sacrifice": "maybe"}, "known: scheduled, unscheduled"),
        ({"organ_system": "Digestive"}, "contradicts the organs file"),
    ],
)
def test_what_is_wrong_changes_nothing(with_slides: Workspace, said: dict[str, str], words: str) -> None:
    before = _first(with_slides)
    with pytest.raises(InputError, match=words):
        edit_slide(with_slides, before.id, said, who="test")
    assert _first(with_slides) == before


def test_there_is_no_such_slide(with_slides: Workspace) -> None:
    for act in (
        lambda: edit_slide(with_slides, "sld_none", {"study": "x"}, who="test"),
        lambda: withdraw_slide(with_slides, "sld_none", reason="x", who="test"),
        lambda: restore_slide(with_slides, "sld_none", who="test"),
        lambda: use_of_slide(with_slides, "sld_none"),
    ):
        with pytest.raises(NotFoundError, match="no slide sld_none"):
            act()


def test_another_organ_takes_the_rois_out_of_the_old_bins(with_slides: Workspace) -> None:
    sample_candidates(with_slides, organ="liver", count=12, size=128, who="test")
    bin_candidates(with_slides, organ="liver", bins=2, who="test")
    slide = _first(with_slides)
    edited = edit_slide(with_slides, slide.id, {"organ": "Urinary bladder"}, who="test")
    assert (edited.organ, edited.organ_system, edited.structure) == ("urinary_bladder", "Urinary", "urinary bladder")
    moved = [roi for roi, _ in list_rois(with_slides, organ="urinary_bladder", states=("candidate",))]
    assert moved
    assert {(roi.slide_id, roi.bin, roi.binning_id) for roi in moved} == {(slide.id, None, None)}
    assert _events(with_slides, moved[0].id)[-1].new == {"organ": "urinary_bladder", "bin": None}
    assert list_organs(with_slides) == ["liver", "urinary_bladder"]
    brain = edit_slide(with_slides, slide.id, {"organ": "brain"}, who="test")
    assert (brain.organ_system, brain.structure) == (None, None), "nothing of the former organ stays"


def test_seeds_keep_the_organ_and_the_slide(with_seeds: Workspace) -> None:
    slide = next(slide for slide in list_slides(with_seeds) if use_of_slide(with_seeds, slide.id).seeds)
    seeds = use_of_slide(with_seeds, slide.id).seeds
    for act in (
        lambda: edit_slide(with_seeds, slide.id, {"organ": "kidney"}, who="test"),
        lambda: withdraw_slide(with_seeds, slide.id, reason="wrong study", who="test"),
    ):
        with pytest.raises(InputError, match=rf"{seeds} seeds? .*drop them first"):
            act()
    assert edit_slide(with_seeds, slide.id, {"study": "TG-2"}, who="test").study == "TG-2"
    _drop_all(with_seeds)
    assert withdraw_slide(with_seeds, slide.id, reason="wrong study", who="test").withdrawn_reason == "wrong study"


def test_a_withdrawn_slide_goes_with_its_rois_and_comes_back_with_them(with_rois: Workspace) -> None:
    slide = _first(with_rois)
    use = use_of_slide(with_rois, slide.id)
    states = {roi.id: roi.state for roi, _ in list_rois(with_rois, states=("candidate", "selected"))}
    own = [roi.id for roi, _ in list_rois(with_rois, states=("candidate", "selected")) if roi.slide_id == slide.id]
    assert use.candidates + use.selected == len(own)
    withdraw_slide(with_rois, slide.id, reason="blurred", who="ann", expected_version=slide.row_version)
    assert slide.id not in {one.id for one in list_slides(with_rois)}
    assert not set(own) & {roi.id for roi, _ in list_rois(with_rois, states=("candidate", "selected"))}
    assert [one.id for one in withdrawn_slides(with_rois)] == [slide.id]
    assert _events(with_rois, own[0])[-1].reason == "its slide was withdrawn: blurred"
    with pytest.raises(InputError, match="withdrawn already"):
        withdraw_slide(with_rois, slide.id, reason="again", who="ann")
    restore_slide(with_rois, slide.id, who="ann")
    after = {roi.id: roi.state for roi, _ in list_rois(with_rois, states=("candidate", "selected"))}
    assert after == states
    with pytest.raises(InputError, match="is not withdrawn"):
        restore_slide(with_rois, slide.id, who="ann")


def test_a_reason_is_needed(with_slides: Workspace) -> None:
    with pytest.raises(InputError, match="Say why"):
        withdraw_slide(with_slides, _first(with_slides).id, reason=" ", who="ann")


def test_a_hidden_dose_group_is_neither_shown_nor_changed(with_slides: Workspace) -> None:
    slide = _first(with_slides)
    edit_slide(with_slides, slide.id, {"dose_group": "high"}, who="test")
    hiding = replace(with_slides, settings=with_slides.settings.model_copy(update={"hide_dose_group": True}))
    for role in Role:
        actor = hiding.acting_as(Actor("somebody", frozenset({role})))
        if role is Role.READER:
            continue
        sees = role in (Role.ADMIN, Role.COORDINATOR, Role.AUDITOR)
        assert _first(actor).dose_group == ("high" if sees else None), role
    author = hiding.acting_as(Actor("ann", frozenset({Role.AUTHOR})))
    with pytest.raises(NotAllowedError, match="hidden from your role"):
        edit_slide(author, slide.id, {"dose_group": "low"}, who="ann")
    assert edit_slide(author, slide.id, {"study": "TG-3"}, who="ann").dose_group is None
    withdraw_slide(author, slide.id, reason="blurred", who="ann")
    assert [one.dose_group for one in withdrawn_slides(author)] == [None]
    with with_slides.reading() as session:
        assert session.get_one(Slide, slide.id).dose_group == "high", "what is hidden stays as it is"


def test_a_slide_of_an_older_version_gets_its_place_when_its_organ_is_said_again(with_slides: Workspace) -> None:
    slide = _first(with_slides)
    with with_slides.writing() as session:
        row = session.get_one(Slide, slide.id)
        row.organ_system, row.structure = None, "caudate lobe"
        session.add(row)
    assert edit_slide(with_slides, slide.id, {"study": "TG-1"}, who="ann").organ_system is None
    edited = edit_slide(with_slides, slide.id, {"organ": "Liver"}, who="ann")
    assert (edited.organ_system, edited.structure) == ("Hepatobiliary", "caudate lobe")


def test_a_hidden_dose_group_stands_in_no_job_of_others(workspace: Workspace) -> None:
    hiding = replace(workspace, settings=workspace.settings.model_copy(update={"hide_dose_group": True}))
    ann, ben = (hiding.acting_as(Actor(name, frozenset({Role.AUTHOR}))) for name in ("ann", "ben"))
    job_id = submit(ann, "add_slides", paths=["/nowhere"], metadata={"organ": "liver", "dose_group": "high"})
    seen = {
        actor.actor.name: job_status(actor, job_id).parameters["metadata"].get("dose_group")
        for actor in (ann, ben, hiding)
    }
    assert seen == {"ann": "high", "ben": None, hiding.actor.name: "high"}
    assert "dose_group" not in list_jobs(ben)[0].parameters["metadata"]


def test_rois_that_were_withdrawn_before_stay_so(with_rois: Workspace) -> None:
    slide = _first(with_rois)
    with with_rois.writing() as session:
        roi = session.exec(select(Roi).where(Roi.slide_id == slide.id)).first()
        assert roi is not None
        roi.withdrawn_at, roi.withdrawn_reason = slide.created_at, "double"
        session.add(roi)
    withdraw_slide(with_rois, slide.id, reason="blurred", who="ann")
    restore_slide(with_rois, slide.id, who="ann")
    with with_rois.reading() as session:
        assert session.get_one(Roi, roi.id).withdrawn_reason == "double"
