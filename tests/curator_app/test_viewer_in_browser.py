"""The slide viewer in Chromium: what is drawn on the screen is what is stored, at the same pixels of the slide."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from sqlmodel import select

from db.tables import AuditEvent, Roi
from pipeline.drawn_rois import draw_roi
from pipeline.ingest import add_slides, list_slides
from pipeline.roi_exchange import export_geojson
from pipeline.rois import list_rois
from pipeline.sampling import sample_candidates
from tests.curator_app.served import Served, serving
from tests.curator_app.test_pages_in_browser import go, visit, wait_for_picture
from tests.databases import new_workspace
from tests.pipeline.conftest import METADATA

pytestmark = pytest.mark.browser

SCREENSHOTS = os.environ.get("HISTOCURATOR_SCREENSHOTS")

_CORNERS = """(element) => {
  const box = element.getBoundingClientRect();
  return [box.left, box.top, box.width, box.height];
}"""


@pytest.fixture(scope="module")
def served(chromium: Browser, drawn_slides: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A served workspace with two slides of 1,024 px at 0.5 µm/px, and some candidates on them."""
    folder = tmp_path_factory.mktemp("viewer")
    workspace = new_workspace(folder / "workspace")
    add_slides(workspace, drawn_slides, METADATA, who="test")
    sample_candidates(workspace, organ="liver", count=12, size=128, who="test")
    with serving(workspace, folder) as found:
        yield found


def _open(page: Page) -> str:
    """Open the page of slides; returns the id of the slide that is shown."""
    go(page, "Slides")
    wait_for_picture(page)
    return str(page.locator(".viewer").get_attribute("data-open"))


def _stage(page: Page) -> tuple[float, float, float, float]:
    left, top, width, height = page.locator("canvas.frames").evaluate(_CORNERS)
    return left, top, width, height


def _drawn(served: Served) -> list[Roi]:
    return [roi for roi, _ in list_rois(served.workspace) if roi.draw.get("drawn")]


def _word(page: Page) -> Any:
    return page.locator(".line .words")


def test_what_is_drawn_on_the_screen_is_at_the_same_pixels_in_the_database(chromium: Browser, served: Served) -> None:
    """Pan, zoom, draw: the frame's centre is the pixel under the pointer, to the level-0 pixels of one screen pixel."""
    with visit(chromium, served) as page:
        slide = _open(page)
        left, top, width, height = _stage(page)
        page.get_by_role("button", name="20× magnification").click()
        expect(page.locator(".now")).to_have_text("20×")
        # At 20× on a slide of 0.5 µm/px one pixel of the screen is one of the slide; the middle is the slide's middle.
        page.mouse.move(left + width / 2, top + height / 2)
        page.mouse.down()
        page.mouse.move(left + width / 2 + 60, top + height / 2 - 45, steps=8)
        page.wait_for_timeout(300)  # the slide does not glide on
        page.mouse.up()
        page.keyboard.press("n")
        page.get_by_label("Side in pixels").select_option("256")
        at = (left + width / 2 + 31, top + height / 2 + 17)
        page.mouse.click(*at)
        expect(_word(page)).to_contain_text("128 µm wide")
        page.keyboard.press("Enter")
        expect(_word(page)).to_contain_text("Saved at")
        (roi,) = _drawn(served)
        expected = (512 - 60 + 31, 512 + 45 + 17)
        assert (roi.x + roi.size / 2, roi.y + roi.size / 2) == pytest.approx(expected, abs=1)
        assert (roi.slide_id, roi.size, roi.mpp, roi.state) == (slide, 256, 0.5, "selected")
        assert (served.workspace.root / str(roi.image_path)).is_file()
        ring = json.loads(export_geojson(served.workspace, slide))["features"][0]["geometry"]["coordinates"][0]
        assert ring[0] == [roi.x, roi.y]
        assert ring[2] == [roi.x + 256, roi.y + 256]
        with page.expect_download() as download:
            page.get_by_role("button", name="GeoJSON").click()
            page.get_by_role("link", name="Selected ROIs", exact=True).click()
        assert json.loads(download.value.path().read_text())["features"][0]["properties"]["name"] == roi.id
        page.keyboard.press("Escape")
        with served.workspace.reading() as session:
            event = session.exec(select(AuditEvent).where(AuditEvent.object_id == roi.id)).one()
        assert event.action == "draw"
        page.get_by_role("button", name="Withdraw this drawn ROI").click()
        expect(_word(page)).to_contain_text("Taken back at")
        assert _drawn(served) == []


def test_by_keyboard_alone_and_while_the_view_is_rotated(chromium: Browser, served: Served) -> None:
    with visit(chromium, served) as page:
        _open(page)
        page.get_by_role("button", name="20× magnification").click()
        expect(page.locator(".now")).to_have_text("20×")
        page.keyboard.press("}")  # by 90°: what was to the right lies below
        expect(page.get_by_role("button", name="Upright")).to_have_text("90°")
        page.keyboard.press("n")
        page.get_by_label("Side in pixels").select_option("256")
        page.locator(".osd .openseadragon-canvas").first.focus()
        for _ in range(3):
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Shift+ArrowDown")
        page.keyboard.press("Enter")
        expect(_word(page)).to_contain_text("Saved at")
        (roi,) = _drawn(served)
        assert (roi.x, roi.y) == pytest.approx((512 - 128 + 31, 512 - 128), abs=1)
        page.keyboard.press("n")
        page.keyboard.press("Escape")
        page.keyboard.press("f")
        expect(_word(page)).to_contain_text("selected, drawn · 20× · 256 px (128 µm)")
        page.keyboard.press("Home")
        expect(page.get_by_role("button", name="Upright")).to_have_text("0°")
        page.get_by_role("button", name="Withdraw this drawn ROI").click()
        expect(_word(page)).to_contain_text("Taken back at")


def test_a_frame_that_was_drawn_without_a_connection_is_saved_once(chromium: Browser, served: Served) -> None:
    sent: list[str] = []

    def lose(route: Route) -> None:
        """The first answer is lost on the way back, the second request on the way there."""
        sent.append(json.loads(route.request.post_data or "{}")["act"])
        if len(sent) == 1:
            route.fetch()
        if len(sent) <= 2:
            route.abort()
        else:
            route.continue_()

    with visit(chromium, served) as page:
        _open(page)
        page.route("**/api/rois", lose)
        page.keyboard.press("n")
        page.get_by_label("Side in pixels").select_option("256")
        page.get_by_role("button", name="Save this ROI").click()
        expect(_word(page)).to_contain_text("Not saved yet: no connection")
        expect(_word(page)).to_contain_text("Saved at")
        (roi,) = _drawn(served)
        assert len(set(sent)) == 1, "one act, however often it is asked for"
        # The same field again is refused in words, and the frame is there to be moved.
        page.keyboard.press("n")
        page.keyboard.press("Enter")
        expect(_word(page)).to_contain_text(f"▲ Not saved: This field is the selected ROI {roi.id} already")
        page.keyboard.press("Escape")
        page.mouse.click(*_middle(page))
        page.get_by_role("button", name="Withdraw this drawn ROI").click()
        expect(_word(page)).to_contain_text("Taken back at")


def _middle(page: Page) -> tuple[float, float]:
    left, top, width, height = _stage(page)
    return left + width / 2, top + height / 2


def test_layers_rulers_and_what_a_roi_holds(chromium: Browser, served: Served) -> None:
    workspace = served.workspace
    slide = list_slides(workspace)[0].id
    large = draw_roi(workspace, slide, x=0, y=0, magnification=5, size=256, who="test")
    small = draw_roi(workspace, slide, x=200, y=208, magnification=20, size=256, who="test")
    with visit(chromium, served) as page:
        assert _open(page) == slide
        canvas = page.locator("canvas.frames")
        expect(page.locator(".legend")).to_contain_text("Selected 2")
        expect(canvas).to_have_attribute("data-drawn", "2")
        page.locator(".layers summary").click()
        page.get_by_label("Candidates").check()
        here = [roi for roi, on in list_rois(workspace, states=("candidate",)) if on.id == slide]
        expect(canvas).to_have_attribute("data-drawn", str(2 + len(here)))
        page.get_by_label("Candidates").uncheck()
        with page.expect_response("**/tissue") as answer:
            page.keyboard.press("t")
        assert answer.value.headers["content-type"] == "image/png"
        expect(page.locator(".legend")).to_contain_text("Tissue")
        page.keyboard.press("f")
        expect(_word(page)).to_contain_text("selected, drawn · 5× · 256 px (512 µm)")
        expect(_word(page)).to_contain_text("holds 1 ROI of 20×")
        page.keyboard.press("f")
        expect(_word(page)).to_contain_text("within 1 ROI of 5×")
        page.get_by_role("button", name="20× magnification").click()
        expect(canvas).to_have_attribute("data-drawn", "2")
        expect(page.locator(".now")).to_have_text("20×")
        page.keyboard.press("m")
        x, y = _middle(page)
        page.mouse.click(x - 100, y)
        page.mouse.click(x + 100, y + 0)
        expect(_word(page)).to_have_text("100 µm")
        page.mouse.click(x, y - 50)
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        assert {roi.id for roi in _drawn(served)} == {large.id, small.id}, "rulers are stored nowhere"
