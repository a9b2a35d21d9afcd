"""The Slides page and a concurrent control in a real browser: a slide is changed by key, and its control opens."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pipeline.ingest import add_slides, list_slides
from pipeline.rois import list_rois, select_roi
from pipeline.sampling import sample_candidates
from pipeline.workspace import Workspace
from tests.curator_app.looks import AT_REST
from tests.curator_app.served import serving
from tests.curator_app.test_pages_in_browser import go, visit, wait_for_picture
from tests.pipeline.conftest import METADATA

pytestmark = pytest.mark.browser

SCREENSHOTS = os.environ.get("HISTOCURATOR_SCREENSHOTS")


def _picture(page: Page, name: str) -> None:
    if SCREENSHOTS:
        page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}.png"))


@pytest.fixture
def treated_and_control(workspace: Workspace, drawn_slides: list[Path]) -> Workspace:
    """Two slides of one study, of which the first has a selected ROI; nobody has said yet what the second is."""
    for path, said in zip(drawn_slides, ({"dose_group": "high"}, {}), strict=True):
        metadata = replace(METADATA, study="TG-1", **said)
        assert not add_slides(workspace, [path], metadata, who="test").problems
    sample_candidates(workspace, organ="liver", count=8, size=128, who="test")
    first = next(roi for roi, slide in list_rois(workspace, states=("candidate",)) if slide.dose_group == "high")
    select_roi(workspace, first.id, who="test")
    return workspace


def test_a_slide_is_changed_by_key_and_its_control_opens(
    chromium: Browser, treated_and_control: Workspace, tmp_path: Path
) -> None:
    with serving(treated_and_control, tmp_path) as served, visit(chromium, served) as page:
        go(page, "Slides")
        wait_for_picture(page)
        page.get_by_role("radio", name="slide-1.tiff").click()
        _picture(page, "slides")
        # The button is of the slide that is chosen, as soon as it is.
        page.wait_for_function(AT_REST)
        page.keyboard.press("e")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("slide-1.tiff")
        _picture(page, "edit-slide")
        dialog.get_by_label("Dose group").fill("Vehicle")
        dialog.get_by_role("button", name="Save").click()
        expect(page.get_by_text("dose group Vehicle")).to_be_visible()
        assert [slide.dose_group for slide in list_slides(treated_and_control)] == ["high", "Vehicle"]
        page.get_by_role("button", name="Add slides").click()
        expect(page.get_by_label("Licence (required)")).to_be_visible()
        _picture(page, "add-slides")
        page.keyboard.press("Escape")
        go(page, "Write seeds")
        wait_for_picture(page)
        page.keyboard.press("c")
        expect(page.get_by_text("Concurrent control 1 of")).to_be_visible()
        expect(page.locator(".viewer[data-open]")).to_have_count(2)
        page.wait_for_load_state("networkidle")
        _picture(page, "control")
        page.get_by_role("button", name="Close control").click()
        wait_for_picture(page)
