"""From approved items to a row: build a release, evaluate by the worker, look inside the run, in Chromium."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pipeline.benchmarks import list_runs
from pipeline.releases import list_releases, verify_release
from tests.curator_app.filled import approve_all, fill_with_items, rail_is_there
from tests.curator_app.looks import broken_pictures, clipped_texts, press, unnamed_controls
from tests.curator_app.served import Served, serving
from tests.curator_app.test_pages_in_browser import SIZES, go, visit, wait_for_picture
from tests.databases import new_workspace

pytestmark = pytest.mark.browser

SCREENSHOTS = os.environ.get("HISTOCURATOR_SCREENSHOTS")
JOB_MS = 90_000


@pytest.fixture
def served(chromium: Browser, tmp_path: Path) -> Iterator[Served]:
    """A served workspace with six approved items."""
    workspace = fill_with_items(new_workspace(tmp_path / "workspace"), tmp_path)
    approve_all(workspace)
    with serving(workspace, tmp_path) as running:
        yield running


def _looks_right(page: Page, name: str) -> None:
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
        if SCREENSHOTS:
            page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}-{width}.png"))
        assert clipped_texts(page) == []
        assert unnamed_controls(page) == []
        assert broken_pictures(page) == []


def test_from_approved_items_to_a_row(chromium: Browser, served: Served) -> None:
    with visit(chromium, served) as page:
        rail_is_there(page)
        _build(page, served)
        _refuse_an_unknown_model(page)
        _evaluate(page, served)
        _look_inside(page)


def _build(page: Page, served: Served) -> None:
    go(page, "Releases")
    page.get_by_label("Version").fill("1.0.0")
    page.get_by_label("Version").press("Enter")
    expect(page.get_by_role("button", name="1.0.0 of 6 items")).to_be_visible()
    page.get_by_label("Version").blur()
    press(page, "b")
    expect(page.get_by_text("6 items on 2 images · ○ unsigned")).to_be_visible()
    page.get_by_role("button", name="Verify files").click()
    expect(page.get_by_text("✓ Every file has the SHA-256 that the manifest names.")).to_be_visible()
    (release,) = list_releases(served.workspace)
    assert release.version == "1.0.0"
    assert verify_release(Path(release.path)) == []
    _looks_right(page, "Releases")


def _refuse_an_unknown_model(page: Page) -> None:
    go(page, "Benchmark")
    model = page.get_by_role("combobox", name="Model: a baseline, or type any name")
    model.fill("nobody/model")
    model.press("Enter")
    expect(page.get_by_text("nobody/model: calls may cost money.")).to_be_visible()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("there is no provider")
    model.fill("offline/first")
    model.press("Enter")
    expect(page.get_by_text("offline/first is built in and no language model")).to_be_visible()


def _evaluate(page: Page, served: Served) -> None:
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text("Evaluating offline/first on workspace 1.0.0").first).to_be_visible()
    row = page.get_by_role("button", name="offline/first", exact=True)
    expect(row).to_be_visible(timeout=JOB_MS)
    (run,) = list_runs(served.workspace)
    assert run.complete
    mean = run.summary["metrics"]["mcq"]["mean"]
    expect(page.locator("tr[data-choose]")).to_contain_text(f"{mean:.2f}")


def _look_inside(page: Page) -> None:
    page.get_by_role("button", name="offline/first", exact=True).click()
    expect(page.get_by_text("How its answers ended")).to_be_visible()
    expect(page.locator("tr[data-choose]")).to_have_attribute("aria-selected", "true")
    cell = page.locator("table.heat button").first
    cell.press("Enter")
    expect(cell).to_have_attribute("aria-pressed", "true")
    wait_for_picture(page)
    expect(page.get_by_text("What the models replied")).to_be_visible()
    items = page.locator("table button[data-choose^=item_]")
    expect(items).to_have_count(3)
    items.nth(1).click()
    expect(page.locator("tr[data-choose^=item_]").nth(1)).to_have_attribute("aria-selected", "true")
    _looks_right(page, "Benchmark")
