"""The Items page in Chromium: decisions by key, editing with a new check, generation by the worker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pipeline.review import REVIEWABLE, item_history, list_items
from tests.curator_app.filled import fill_with_items, rail_is_there
from tests.curator_app.looks import broken_pictures, clipped_texts, press, unnamed_controls
from tests.curator_app.served import Served, serving
from tests.curator_app.test_pages_in_browser import SIZES, go, visit, wait_for_picture
from tests.databases import new_workspace

pytestmark = pytest.mark.browser

SCREENSHOTS = os.environ.get("HISTOCURATOR_SCREENSHOTS")
JOB_MS = 60_000


@pytest.fixture
def served(chromium: Browser, tmp_path: Path) -> Iterator[Served]:
    """A served workspace with six items that wait, one seed that waits and one that failed."""
    workspace = fill_with_items(new_workspace(tmp_path / "workspace"), tmp_path)
    with serving(workspace, tmp_path) as running:
        yield running


def _state(served: Served, item_id: str) -> str:
    return next(entry.item.state for entry in list_items(served.workspace) if entry.item.id == item_id)


def _settled(page: Page) -> None:
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)


def _looks_right(page: Page, name: str) -> None:
    _settled(page)
    if SCREENSHOTS:
        width = (page.viewport_size or {"width": 0})["width"]
        page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}-{width}.png"))
    assert clipped_texts(page) == []
    assert unnamed_controls(page) == []
    assert broken_pictures(page) == []


def _places(page: Page) -> list[tuple[int, int, int]]:
    """Left edge, top edge and width of the image, the buttons and the column on the right."""
    found = []
    for selector in (".viewer", ".st-key-approve", ".st-key-review_safety"):
        box = page.locator(selector).first.bounding_box()
        assert box is not None, selector
        found.append((round(box["x"]), round(box["y"]), round(box["width"])))
    return found


def test_a_review_by_keys(chromium: Browser, served: Served) -> None:
    waiting = [entry.item.id for entry in list_items(served.workspace, states=REVIEWABLE)]
    with visit(chromium, served) as page:
        rail_is_there(page)
        go(page, "Items")
        wait_for_picture(page)
        said = page.locator("#hc-said")
        expect(page.get_by_text("1 of 6 · waits for a decision")).to_be_visible()
        places = _places(page)

        press(page, "a")
        expect(said).to_contain_text("✓ Approved")
        assert _state(served, waiting[0]) == "approved"
        expect(page.get_by_text("1 of 5 · waits for a decision")).to_be_visible()

        press(page, "u")
        expect(said).to_contain_text("Taken back")
        assert _state(served, waiting[0]) in REVIEWABLE
        expect(page.get_by_text("1 of 6 · waits for a decision")).to_be_visible()

        press(page, "ArrowRight")
        expect(page.get_by_text("2 of 6 · waits for a decision")).to_be_visible()
        press(page, "r")
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Reject with this note").click()
        expect(dialog.get_by_role("alert")).to_contain_text("A rejection needs a note")
        dialog.get_by_label("What is wrong").fill("Two statements say the same")
        dialog.get_by_label("What is wrong").press("Control+Enter")
        expect(said).to_contain_text("✕ Rejected")
        assert _state(served, waiting[1]) == "rejected"
        assert item_history(served.workspace, waiting[1]).decisions[-1].note == "Two statements say the same"
        _settled(page)
        assert places == _places(page)


def test_two_tabs_on_one_item_lose_nothing(chromium: Browser, served: Served) -> None:
    waiting = [entry.item.id for entry in list_items(served.workspace, states=REVIEWABLE)]
    with visit(chromium, served) as first, visit(chromium, served) as second:
        for page in (first, second):
            rail_is_there(page)
            go(page, "Items")
            wait_for_picture(page)
        press(first, "a")
        expect(first.locator("#hc-said")).to_contain_text("✓ Approved")
        press(second, "r")
        expect(second.get_by_role("alert")).to_contain_text("decided or changed elsewhere")
        expect(second.get_by_role("dialog")).to_have_count(0)
        assert _state(served, waiting[1]) in REVIEWABLE


def test_an_edit_is_checked_again(chromium: Browser, served: Served) -> None:
    entry = list_items(served.workspace, states=REVIEWABLE, item_format="mcq")[0]
    with visit(chromium, served, SIZES[1]) as page:
        rail_is_there(page)
        go(page, "Items")
        wait_for_picture(page)
        press(page, "e")
        stem = page.get_by_label("Stem (a question that ends with ?)")
        stem.fill("A text without its mark")
        stem.press("Control+Enter")
        expect(page.get_by_role("alert")).to_contain_text("Stem: must end with a question mark")
        _looks_right(page, "Edit")
        expect(stem).to_have_value("A text without its mark")
        stem.fill("Which change is best seen here?")
        page.get_by_role("button", name="Save and check without the image").click()
        expect(page.locator("#hc-said")).to_contain_text(f"✎ Saved as v{entry.version.number + 1}")
        expect(page.get_by_text("Which change is best seen here?").first).to_be_visible()
        history = item_history(served.workspace, entry.item.id)
        assert len(history.trials[history.versions[-1].id]) == 3
        back = page.get_by_role("button", name=f"Back to v{entry.version.number}")
        for size in SIZES:
            page.set_viewport_size({"width": size[0], "height": size[1]})
            expect(back).to_be_enabled()
            _looks_right(page, "Edit-saved")
        press(page, "u")
        expect(page.locator("#hc-said")).to_contain_text(f"Edit taken back, as v{entry.version.number + 2}")
        _looks_right(page, "Edit-taken-back")
    now = next(one for one in list_items(served.workspace) if one.item.id == entry.item.id)
    assert (now.content, now.item.state) == (entry.content, entry.item.state)


def test_the_worker_writes_what_waits_and_the_pages_look_right(chromium: Browser, served: Served) -> None:
    with visit(chromium, served) as page:
        rail_is_there(page)
        go(page, "Items")
        for size in SIZES:
            page.set_viewport_size({"width": size[0], "height": size[1]})
            wait_for_picture(page)
            _looks_right(page, "Items")
        page.get_by_role("radio", name="Write items").or_(page.get_by_role("button", name="Write items")).first.click()
        expect(page.get_by_role("button", name="Write items for 2 seeds")).to_be_visible()
        _looks_right(page, "Write-items")
        press(page, "g")
        expect(page.get_by_text("2 seeds ready, 0 failed")).to_be_visible(timeout=JOB_MS)
        expect(page.get_by_text("No seed waits for items.")).to_be_visible()
    assert len(list_items(served.workspace)) == 12
