"""Sample ROIs in Chromium: reasons of rejection, quotas, the map, and the numbers of a selection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pipeline.audit import EventFilter, list_events
from pipeline.bin_sheets import list_bins
from pipeline.bins import bin_candidates
from pipeline.ingest import add_slides
from pipeline.rois import get_roi, list_rois, select_across_bins
from pipeline.sampling import sample_candidates
from pipeline.workspace import Workspace
from tests.curator_app.looks import broken_pictures, clipped_texts, press, unnamed_controls
from tests.curator_app.served import Served, serving
from tests.curator_app.test_pages_in_browser import SCREENSHOTS, SIZES, go, visit, wait_for_picture
from tests.databases import new_workspace
from tests.pipeline.conftest import METADATA

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def filled(chromium: Browser, drawn_slides: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A served workspace with 40 candidates in four bins, one of each selected."""
    folder = tmp_path_factory.mktemp("filled")
    workspace = new_workspace(folder / "workspace")
    add_slides(workspace, drawn_slides, METADATA, who="test")
    sample_candidates(workspace, organ="liver", count=40, size=128, max_overlap=0.5, who="test")
    bin_candidates(workspace, organ="liver", bins=4, who="test")
    select_across_bins(workspace, organ="liver", per_bin=1, who="test")
    with serving(workspace, folder) as served:
        yield served


def reason_of(workspace: Workspace, roi_id: str) -> str | None:
    return list_events(workspace, EventFilter(object_id=roi_id))[0].reason


def roi_in_frame(page: Page) -> str:
    address = page.locator(".tile[aria-current=true] img").get_attribute("src")
    return str(address).split("/")[-2]


def test_a_rejection_asks_for_its_reason(chromium: Browser, filled: Served) -> None:
    workspace = filled.workspace
    with visit(chromium, filled) as page:
        go(page, "Sample ROIs")
        wait_for_picture(page)
        asked = page.get_by_role("group", name="Why is it rejected?")
        roi = roi_in_frame(page)
        press(page, "x")
        expect(asked).to_be_visible()
        if SCREENSHOTS:
            page.screenshot(path=str(Path(SCREENSHOTS) / "Reject-reasons.png"))
        page.keyboard.press("Escape")
        expect(asked).to_be_hidden()
        assert get_roi(workspace, roi)[0].state != "rejected"
        page.keyboard.press("x")
        page.keyboard.press("3")
        expect(page.locator(".picker .standing")).to_contain_text("u takes back: rejection of")
        expect(page.locator(".tile[data-state=rejected]")).to_have_count(1)
        assert (get_roi(workspace, roi)[0].state, reason_of(workspace, roi)) == ("rejected", "duplicate")
        other = roi_in_frame(page)
        assert other != roi
        press(page, "x")
        page.keyboard.press("4")
        page.get_by_role("textbox", name="Another reason, in words").fill("taken back")
        page.keyboard.press("Enter")
        expect(page.locator(".tile[data-state=rejected]")).to_have_count(2)
        assert reason_of(workspace, other) == "other: taken back"
        press(page, "u")
        expect(page.locator(".tile[data-state=rejected]")).to_have_count(1)
        press(page, "u")
        expect(page.locator(".tile[data-state=rejected]")).to_have_count(0)


def test_quotas_are_kept_and_a_key_goes_to_the_next_open_bin(chromium: Browser, filled: Served) -> None:
    workspace = filled.workspace
    with visit(chromium, filled, SIZES[1]) as page:
        go(page, "Sample ROIs")
        wait_for_picture(page)
        page.get_by_role("button", name="Target 8").click()
        page.get_by_label("ROIs to pick").fill("6")
        page.get_by_role("button", name="Spread over the bins").click()
        expect(page.get_by_role("button", name="Target 6")).to_be_visible()
        assert [sheet.quota for sheet in list_bins(workspace, organ="liver")] == [2, 2, 1, 1]
        press(page, "ArrowRight")
        expect(page.locator(".picker h2")).to_contain_text("Bin 2")
        press(page, "o")
        expect(page.locator(".picker h2")).to_contain_text("Bin 1")
        last = list_bins(workspace, organ="liver")[3]
        words = f"Bin 4: {last.size} candidates, 1 of 1 picked"
        expect(page.locator(".strip button").nth(3)).to_have_attribute("title", words)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_map_leads_to_a_candidate(chromium: Browser, filled: Served, size: tuple[int, int], theme: str) -> None:
    with visit(chromium, filled, size, theme=theme) as page:
        go(page, "Sample ROIs")
        wait_for_picture(page)
        press(page, "m")
        room = page.get_by_role("application", name="Map of the candidates")
        expect(room).to_be_focused()
        expect(page.locator(".picker")).to_be_hidden()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".map .said")).to_contain_text("bin ")
        page.keyboard.press("ArrowDown")
        shown = str(page.locator(".map .card img").get_attribute("src")).split("/")[-2]
        faults = [*clipped_texts(page), *unnamed_controls(page), *broken_pictures(page)]
        if SCREENSHOTS:
            page.screenshot(path=str(Path(SCREENSHOTS) / f"Map-{size[0]}-{theme}.png"))
        assert faults == []
        page.keyboard.press("Enter")
        expect(page.locator(".picker")).to_be_visible()
        roi, _ = get_roi(filled.workspace, shown)
        expect(page.locator(".picker h2")).to_contain_text(f"Bin {(roi.bin or 0) + 1}")
        assert roi_in_frame(page) == shown
        press(page, "m")
        expect(room).to_be_focused()
        press(page, "m")
        expect(page.locator(".picker")).to_be_visible()
        if SCREENSHOTS:
            page.screenshot(path=str(Path(SCREENSHOTS) / f"Grid-{size[0]}-{theme}.png"))


def test_the_numbers_can_be_copied(chromium: Browser, filled: Served) -> None:
    selected = len(list_rois(filled.workspace))
    with visit(chromium, filled, theme="dark") as page:
        go(page, "Sample ROIs")
        wait_for_picture(page)
        press(page, "i")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("40 candidate regions of liver on 2 slides")
        expect(dialog).to_contain_text(f"{selected} regions of interest")
        expect(dialog.locator(".hc-bins tbody tr")).to_have_count(4)
        if SCREENSHOTS:
            page.screenshot(path=str(Path(SCREENSHOTS) / "Numbers-1440-dark.png"))
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
