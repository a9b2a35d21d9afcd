"""The Slides page without a browser: fields, tables, resolutions, changing, withdrawing and bringing back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from curator_app.pages import _add_slides
from curator_app.session import use_workspace
from db.tables import Slide
from pipeline import worker
from pipeline.ingest import SLIDE_FIELDS, list_slides
from pipeline.jobs import JobStatus, list_jobs
from pipeline.permissions import Actor, Role
from pipeline.slide_edits import edit_slide, use_of_slide, withdraw_slide, withdrawn_slides
from pipeline.workspace import Workspace
from tests.curator_app.conftest import open_page
from tests.curator_app.typing import type_text
from tests.evaluation.slides.drawing import glass, write_tiff
from tests.pipeline.conftest import draw_slide, write_csv

pytestmark = pytest.mark.sqlite("what a page draws and calls; what it reads and writes is asked on both engines")


def _said(page: AppTest) -> str:
    assert not page.exception, page.exception
    elements = [*page.markdown, *page.caption, *page.error, *page.get("html")]
    words = "\n".join(getattr(element, "value", None) or element.proto.body for element in elements)
    return words.replace("\\", "")


def _fill(page: AppTest, **said: str) -> None:
    for label, value in said.items():
        next(field for field in page.text_input if field.label.startswith(label)).set_value(value)


def _press(page: AppTest, label: str) -> AppTest:
    return next(button for button in page.button if button.label == label).click().run()


def _dialog(workspace: Workspace, name: str, slide: Slide) -> AppTest:
    """Draw a dialog of the page by itself, with the slide as it stands now until the dialog is closed."""
    use_workspace(workspace)
    script = f"""
import streamlit as st
from curator_app.pages import _change_slide
from curator_app.session import workspace
from pipeline.ingest import list_slides

if "seen" not in st.session_state:
    st.session_state["seen"] = next(one for one in list_slides(workspace()) if one.id == {slide.id!r})
_change_slide.{name}(st.session_state["seen"])
"""
    return AppTest.from_string(script, default_timeout=30).run()


def _first(workspace: Workspace) -> Slide:
    return list_slides(workspace)[0]


def test_every_field_has_its_place_in_the_form(workspace: Workspace, tmp_path: Path) -> None:
    page = open_page(workspace, "slides")
    shown = {str(field.key).removeprefix("add_slide_") for field in [*page.text_input, *page.selectbox]}
    assert shown == set(SLIDE_FIELDS)
    type_text(page, "Files", str(tmp_path / "a.svs"))
    _fill(page, Organ="kidney", Source="lab", Licence="CC0-1.0", Strain="Wistar", Subject="17")
    page.selectbox(key="add_slide_sex").set_value("female")
    _press(page, "Add")
    (job,) = list_jobs(workspace)
    said = {name: text for name, text in job.parameters["metadata"].items() if text}
    wanted = {"organ": "kidney", "source": "lab", "licence": "CC0-1.0", "strain": "Wistar", "sex": "female"}
    assert said == {**wanted, "subject": "17"}


def test_a_table_is_checked_before_its_job_begins(workspace: Workspace, tmp_path: Path) -> None:
    draw_slide(tmp_path / "a.tiff")
    header = ("path", "organ", "sacrifice")
    rows = [("a.tiff", "liver", ""), ("b.tiff", "", "never")]
    table = write_csv(tmp_path / "slides.csv", header, rows)
    page = open_page(workspace, "slides")
    page.radio(key="slides_from").set_value(_add_slides._TABLE).run()
    type_text(page, "CSV file", str(table))
    _fill(page, Source="lab", Licence="CC0-1.0")
    _press(page, "Add")
    said = _said(page)
    for words in ("line 3: ", "no such file", "organ is required", "sacrifice 'never'"):
        assert words in said
    assert list_jobs(workspace) == []
    write_csv(table, header, rows[:1])
    _press(page, "Add")
    (job,) = list_jobs(workspace)
    assert job.parameters["table"] == str(table)


def _run(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, parameters: dict[str, Any]) -> JobStatus:
    """Do a job's work in this process, and return the job as the page sees it ended."""
    monkeypatch.setattr(worker, "_workspace", workspace)
    result = worker._add_slides(parameters, workspace.actor.name, lambda *_: None)
    now = datetime.now(UTC)
    return JobStatus(
        "job_1", "add_slides", "done", 1, 1, "", None, result, now, workspace.actor.name, parameters=parameters
    )


@pytest.mark.parametrize("of_table", [False, True])
def test_a_missing_resolution_is_asked_for_and_then_used(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_table: bool
) -> None:
    files = [draw_slide(tmp_path / "good.tiff")]
    files += [write_tiff(tmp_path / f"{name}.tiff", glass(256, 256, seed=at), mpp=None) for at, name in enumerate("ab")]
    metadata = {"organ": "liver", "source": "lab", "licence": "CC0-1.0"}
    table = write_csv(tmp_path / "slides.csv", ("path",), [(file.name,) for file in files])
    given: dict[str, Any] = {"table": str(table)} if of_table else {"paths": [str(file) for file in files]}
    job = _run(workspace, monkeypatch, {**given, "metadata": metadata})
    assert [slide.name for slide in list_slides(workspace)] == ["good.tiff"]
    monkeypatch.setattr(_add_slides, "ended_here", lambda _: [job])
    page = open_page(workspace, "slides")
    assert "Needs a resolution" in _said(page)
    assert [field.label.replace("\\", "") for field in page.number_input] == [
        "a.tiff (states nothing)",
        "b.tiff (states nothing)",
    ]
    _press(page, "Add with these resolutions")
    assert "State the resolution of at least one file" in _said(page)
    page.number_input[1].set_value(0.25)
    _press(page, "Add with these resolutions")
    (again,) = list_jobs(workspace)
    assert again.parameters["mpps"] == {str(files[2]): 0.25}
    told = _run(workspace, monkeypatch, dict(again.parameters))
    assert (_first(workspace).name, _first(workspace).mpp) == ("b.tiff", 0.25)
    assert len((told.result or {})["problems"]) == (1 if of_table else 0), "of a table, what was left empty stays out"


def test_an_edit_is_stored_and_a_second_one_sees_it(with_slides: Workspace) -> None:
    slide = _first(with_slides)
    page = _dialog(with_slides, "edit_dialog", slide)
    _press(page, "Save")
    assert "Nothing differs" in _said(page)
    _fill(page, Study="TG-1")
    _press(page, "Save")
    assert not page.exception
    assert _first(with_slides).study == "TG-1"
    page = _dialog(with_slides, "edit_dialog", slide)
    edit_slide(with_slides, slide.id, {"scanner": "AT2", "dose_group": "high"}, who="ann")
    _fill(page, Study="TG-2")
    _press(page, "Save")
    said = _said(page)
    assert "ann changed its " in said
    assert "<li>scanner: AT2</li>" in said
    assert _first(with_slides).study == "TG-1", "nothing was overwritten"


def test_a_hidden_dose_group_is_no_field(with_slides: Workspace) -> None:
    slide = edit_slide(with_slides, _first(with_slides).id, {"dose_group": "secretly high"}, who="test")
    hiding = replace(with_slides, settings=with_slides.settings.model_copy(update={"hide_dose_group": True}))
    for role, sees in ((Role.COORDINATOR, True), (Role.AUTHOR, False)):
        actor = hiding.acting_as(Actor("somebody", frozenset({role})))
        page = open_page(actor, "slides")
        shown = "".join(str(element.proto) for element in page.get("bidi_component"))
        assert ("secretly high" in shown) == sees
        dialog = _dialog(actor, "edit_dialog", slide)
        assert any(field.label == "Dose group" for field in dialog.text_input) == sees


def test_withdrawing_says_what_goes_and_is_taken_back(with_rois: Workspace) -> None:
    slide = _first(with_rois)
    use = use_of_slide(with_rois, slide.id)
    page = _dialog(with_rois, "withdraw_dialog", slide)
    assert f"{use.candidates} candidate" in _said(page)
    page.button(key="withdraw_slide_now").click().run()
    assert "Say why" in _said(page)
    type_text(page, "Why", "out of focus")
    page.button(key="withdraw_slide_now").click().run()
    assert [one.id for one in withdrawn_slides(with_rois)] == [slide.id]
    page = open_page(with_rois, "slides")
    assert "out of focus" in _said(page)
    page.button(key=f"restore_{slide.id}").click().run()
    assert withdrawn_slides(with_rois) == []


def test_a_slide_with_seeds_is_not_withdrawn(with_seeds: Workspace) -> None:
    slide = next(one for one in list_slides(with_seeds) if use_of_slide(with_seeds, one.id).seeds)
    page = _dialog(with_seeds, "withdraw_dialog", slide)
    assert "Drop them first" in _said(page)
    assert not any(button.key == "withdraw_slide_now" for button in page.button)


def test_the_last_slide_that_was_withdrawn_can_come_back(with_slides: Workspace) -> None:
    for slide in list_slides(with_slides):
        withdraw_slide(with_slides, slide.id, reason="test", who="test")
    page = open_page(with_slides, "slides")
    assert "There is no slide yet" in _said(page)
    assert sum(str(button.key).startswith("restore_") for button in page.button) == 2


def test_a_control_stands_beside_the_roi_and_the_key_goes_on(with_rois: Workspace) -> None:
    page = open_page(with_rois, "write_seeds")
    page.button(key="control").click().run()
    assert "No control: No study is stated" in _said(page)
    assert not any(button.key == "control_close" for button in page.button)
    slides = list_slides(with_rois)
    for number, slide in enumerate(slides):
        said = {"study": "TG-1", "dose_group": "control" if number else "high", "subject": str(number)}
        edit_slide(with_rois, slide.id, said, who="test")
    page = open_page(with_rois, "write_seeds")
    page.button(key="control").click().run()
    words = _said(page)
    if "counts as a control" in words:
        edit_slide(with_rois, slides[0].id, {"dose_group": "control"}, who="test")
        page.button(key="control").click().run()
        words = _said(page)
    assert "Concurrent control 1 of " in words
    page.button(key="control").click().run()
    assert "Concurrent control 2 of " in _said(page)
    page.button(key="control_close").click().run()
    assert "Concurrent control" not in _said(page)
