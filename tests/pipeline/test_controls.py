"""Concurrent controls: same organ, study and magnification, always in the same order, and said why there is none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.controls import NoControlError, control_roi
from pipeline.errors import NotFoundError
from pipeline.ingest import SlideMetadata, add_slides, list_slides
from pipeline.permissions import Actor, Role
from pipeline.rois import list_rois
from pipeline.sampling import sample_candidates
from pipeline.slide_edits import edit_slide
from pipeline.workspace import Workspace
from tests.pipeline.conftest import METADATA, draw_slide


@pytest.fixture
def study(workspace: Workspace, tmp_path: Path) -> Workspace:
    """A treated liver, two controls of its study and one of another study, each with candidates at 20×."""
    for number, (name, said) in enumerate(
        {
            "treated": {"study": "TG-1", "dose_group": "High", "sex": "female"},
            "a-control": {"study": "TG-1", "dose_group": " Vehicle  Control", "sex": "male"},
            "b-control": {"study": "TG-1", "dose_group": "0", "sex": "female"},
            "other-study": {"study": "TG-2", "dose_group": "control", "sex": "female"},
        }.items()
    ):
        path = draw_slide(tmp_path / f"{name}.tiff", seed=number)
        assert not add_slides(workspace, [path], _metadata(**said), who="test").problems
    sample_candidates(workspace, organ="liver", count=12, size=128, who="test")
    return workspace


def _metadata(**said: str) -> SlideMetadata:
    return replace(METADATA, **said)


def _treated(workspace: Workspace) -> str:
    return next(roi.id for roi, slide in list_rois(workspace, states=("candidate",)) if slide.name == "treated.tiff")


def test_controls_come_in_one_order_and_begin_again(study: Workspace) -> None:
    roi_id = _treated(study)
    first = control_roi(study, roi_id)
    every = [control_roi(study, roi_id, number=number) for number in range(1, first.count + 1)]
    names = [control.slide.name for control in every]
    assert set(names) == {"a-control.tiff", "b-control.tiff"}
    assert names == sorted(names, reverse=True), "those of the same sex come first"
    assert len({control.roi.id for control in every}) == first.count == len(every)
    assert control_roi(study, roi_id, number=first.count + 1).roi.id == first.roi.id
    assert {control.roi.magnification for control in every} == {"20x"}


def test_a_hidden_dose_group_is_used_and_not_shown(study: Workspace) -> None:
    roi_id = _treated(study)
    hiding = replace(study, settings=study.settings.model_copy(update={"hide_dose_group": True}))
    author = hiding.acting_as(Actor("ann", frozenset({Role.AUTHOR})))
    shown = control_roi(author, roi_id)
    assert shown.roi.id == control_roi(study, roi_id).roi.id
    assert (shown.slide.dose_group, control_roi(study, roi_id).slide.dose_group) == (None, "0")


def test_the_project_says_which_groups_are_controls(study: Workspace) -> None:
    own = replace(study, settings=study.settings.model_copy(update={"control_dose_groups": ["high"]}))
    roi_id = next(roi.id for roi, slide in list_rois(study, states=("candidate",)) if slide.name == "a-control.tiff")
    assert control_roi(own, roi_id).slide.name == "treated.tiff"


def test_why_there_is_none_is_said(study: Workspace) -> None:
    roi_id = _treated(study)
    slides = {slide.name: slide.id for slide in list_slides(study)}
    with pytest.raises(NotFoundError):
        control_roi(study, "roi_none")
    sample_candidates(study, organ="liver", count=4, size=64, magnifications=[(10.0, 1.0)], who="test")
    coarse = {slide.name: roi.id for roi, slide in list_rois(study, states=("candidate",)) if roi.mpp == 1.0}
    if "treated.tiff" in coarse and not {"a-control.tiff", "b-control.tiff"} & set(coarse):
        with pytest.raises(NoControlError, match="no ROI of liver at 10x"):
            control_roi(study, coarse["treated.tiff"])
    for name in ("a-control.tiff", "b-control.tiff"):
        edit_slide(study, slides[name], {"dose_group": "low"}, who="test")
    with pytest.raises(NoControlError, match="study TG-1 counts as a control"):
        control_roi(study, roi_id)
    edit_slide(study, slides["treated.tiff"], {"study": ""}, who="test")
    with pytest.raises(NoControlError, match="No study is stated"):
        control_roi(study, roi_id)
