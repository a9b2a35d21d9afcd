"""The app in Chromium: the walk from a slide to a seed, and how each page looks at two window sizes."""

from __future__ import annotations

import io
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect

from pipeline.bins import bin_candidates
from pipeline.ingest import add_slides, list_slides
from pipeline.rois import get_roi, list_rois, reject_roi, select_across_bins
from pipeline.sampling import sample_candidates
from pipeline.seeds import SeedText, list_seeds, save_seed
from pipeline.workspace import Workspace
from tests.curator_app.looks import AT_REST, broken_pictures, clipped_texts, press, unnamed_controls
from tests.curator_app.served import Served, serving
from tests.databases import new_workspace
from tests.pipeline.conftest import METADATA

pytestmark = pytest.mark.browser

WAIT_MS = 20_000
SIZES = [(1440, 900), (1024, 768)]
PAGES = ["Home", "Slides", "Sample ROIs", "Write seeds"]
SCREENSHOTS = os.environ.get("HISTOCURATOR_SCREENSHOTS")
"""A folder that pictures of all pages are written to, for somebody to look at."""


@pytest.fixture(scope="module")
def filled(chromium: Browser, drawn_slides: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A served workspace with slides, bins, selected ROIs and one seed."""
    folder = tmp_path_factory.mktemp("filled")
    workspace = new_workspace(folder / "workspace")
    add_slides(workspace, drawn_slides, METADATA, who="test")
    sample_candidates(workspace, organ="liver", count=20, size=256, max_overlap=0.5, who="test")
    bin_candidates(workspace, organ="liver", bins=4, who="test")
    select_across_bins(workspace, organ="liver", per_bin=1, who="test")
    save_seed(
        workspace,
        SeedText("Which zone of the liver lobule is shown?", "centrilobular", "identify_anatomy"),
        roi_id=list_rois(workspace)[0][0].id,
        who="test",
    )
    with serving(workspace, folder) as served:
        yield served


@pytest.fixture(scope="module")
def empty(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A served workspace with nothing in it."""
    folder = tmp_path_factory.mktemp("empty")
    with serving(new_workspace(folder / "workspace"), folder) as served:
        yield served


@contextmanager
def visit(
    browser: Browser, served: Served, size: tuple[int, int] = SIZES[0], *, theme: str = "light"
) -> Iterator[Page]:
    """Open the app; at the end, no error may stand in the console and nothing may have been asked elsewhere."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=theme,  # type: ignore[arg-type]
    )
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if _is_fault(message) else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((served.url, "blob:", "data:"))
            else faults.append(f"asked elsewhere: {request.url}")
        ),
    )
    page.goto(served.url)
    try:
        yield page
    finally:
        context.close()
    assert faults == [], served.log.read_text()[-2000:]


def _is_fault(message: ConsoleMessage) -> bool:
    """A browser notes every refused request as an error; that a save is refused is no fault, and the page says it."""
    address = str(message.location.get("url", ""))
    return message.type == "error" and not address.endswith(("/api/seeds", "/api/rois", "/decisions"))


def go(page: Page, name: str) -> None:
    """Open a page by the rail and wait until it has been drawn."""
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
    page.wait_for_function(AT_REST)


def wait_for_picture(page: Page) -> None:
    """Wait until the viewer of the page has opened its image."""
    expect(page.locator(".viewer")).to_have_count(1)
    expect(page.locator(".viewer[data-open]")).to_be_visible()


def _shows_colour(page: Page) -> bool:
    """Whether the viewer's stage shows more than a white ground."""
    pixels = np.asarray(Image.open(io.BytesIO(page.locator(".osd").first.screenshot())).convert("RGB"))
    return bool(pixels.std(axis=(0, 1)).max() > 5)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_pages_look_right(chromium: Browser, filled: Served, size: tuple[int, int]) -> None:
    with visit(chromium, filled, size) as page:
        for name in PAGES:
            go(page, name)
            if name != "Home":
                wait_for_picture(page)
                page.wait_for_load_state("networkidle")
                assert _shows_colour(page), name
            if SCREENSHOTS:
                page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}-{size[0]}.png"))
            assert clipped_texts(page) == [], name
            assert unnamed_controls(page) == [], name
            assert broken_pictures(page) == [], name


@pytest.mark.parametrize("name", ["Slides", "Sample ROIs", "Write seeds"])
def test_the_picture_reaches_the_bottom_of_the_window(chromium: Browser, filled: Served, name: str) -> None:
    with visit(chromium, filled, SIZES[1]) as page:
        go(page, name)
        wait_for_picture(page)
        box = page.locator(".viewer").bounding_box()
        assert box is not None
        assert SIZES[1][1] - 24 <= box["y"] + box["height"] <= SIZES[1][1]
        assert box["height"] > SIZES[1][1] * 0.7


def test_an_empty_workspace_looks_right(chromium: Browser, empty: Served) -> None:
    with visit(chromium, empty, SIZES[1], theme="dark") as page:
        for name in PAGES:
            go(page, name)
            assert clipped_texts(page) == [], name
            assert unnamed_controls(page) == [], name


def test_the_question_mark_lists_the_keys(chromium: Browser, filled: Served) -> None:
    with visit(chromium, filled) as page:
        go(page, "Write seeds")
        wait_for_picture(page)
        press(page, "?")
        keys = page.get_by_role("dialog", name="Keys of this page")
        expect(keys).to_contain_text("Save and go to the next ROI")
        page.keyboard.press("Escape")
        expect(keys).to_be_hidden()


def test_the_viewer_zooms_and_knows_its_scale(chromium: Browser, filled: Served) -> None:
    with visit(chromium, filled) as page:
        go(page, "Slides")
        wait_for_picture(page)
        page.get_by_role("button", name="20× magnification").click()
        expect(page.locator(".now")).to_have_text("20×")
        expect(page.locator(".scale")).to_contain_text("µm")
        # 20× is 0.5 µm per pixel: the bar's length in pixels is twice its micrometres.
        microns = float(page.locator(".scale span").inner_text().split()[0])
        bar = page.locator(".scale div").bounding_box()
        assert bar is not None
        assert bar["width"] == pytest.approx(2 * microns, abs=5)
        second = page.get_by_role("radio").nth(1)
        second.click()
        expect(page.locator(f".viewer[data-open='{second.get_attribute('data-id')}']")).to_be_visible()


def test_picking_by_keys_is_quick_and_complete(chromium: Browser, filled: Served) -> None:
    """Keys pressed faster than the server answers: every pick is made, once, and can be taken back."""
    workspace = filled.workspace
    with visit(chromium, filled) as page:
        go(page, "Sample ROIs")
        wait_for_picture(page)
        before = len(list_rois(workspace))
        tiles = page.locator(".tile")
        fresh = [n + 1 for n in range(min(9, tiles.count())) if tiles.nth(n).get_attribute("data-state") == "candidate"]
        picked = fresh[:3]
        for number in picked:
            page.keyboard.press(str(number))
        expect(page.get_by_text(f"{before + len(picked)} / 8", exact=True)).to_be_visible()
        assert len(list_rois(workspace)) == before + len(picked)
        for _ in picked:
            page.keyboard.press("u")
        expect(page.get_by_text(f"{before} / 8", exact=True)).to_be_visible()
        assert len(list_rois(workspace)) == before
        for _ in range(5):  # on the last picture of the bin, a rejection has no next one to move to
            page.keyboard.press("x")
            page.keyboard.press("x")
            page.keyboard.press("u")
        page.wait_for_function(AT_REST)
        assert len(list_rois(workspace)) == before
        page.keyboard.press("ArrowRight")
        expect(page.locator(".picker h2")).to_contain_text("Bin 2")
        page.keyboard.press("s")
        expect(page.locator(".picker h2")).to_contain_text("More like")
        page.keyboard.press("d")
        expect(page.locator(".picker h2")).to_contain_text("Unlike all chosen")
        page.keyboard.press("Escape")
        expect(page.locator(".picker h2")).to_contain_text("Bin 2")


def _free(page: Page) -> int:
    """The number of a candidate in the open bin that is neither picked nor rejected."""
    return 1 + next(n for n, tile in enumerate(page.locator(".tile").all()) if _is(tile, "candidate"))


def _is(tile: Locator, state: str) -> bool:
    return tile.get_attribute("data-state") == state


def test_a_pick_is_shown_as_saved_when_it_is(chromium: Browser, filled: Served) -> None:
    """While the server stands still nothing is shown as picked, and nothing is lost."""
    workspace = filled.workspace
    with visit(chromium, filled, SIZES[1]) as page:
        go(page, "Sample ROIs")
        wait_for_picture(page)
        number = _free(page)
        tile, standing = page.locator(".tile").nth(number - 1), page.locator(".picker .standing")
        before = len(list_rois(workspace))
        filled.process.send_signal(signal.SIGSTOP)
        try:
            page.keyboard.press(str(number))
            expect(tile.locator(".sign.state")).to_have_text("◌ pick")
            expect(standing).to_contain_text("◌ 1 not saved yet")
            assert _is(tile, "candidate")
            if SCREENSHOTS:
                page.screenshot(path=str(Path(SCREENSHOTS) / "Pick-not-saved-yet.png"))
            assert len(list_rois(workspace)) == before
        finally:
            filled.process.send_signal(signal.SIGCONT)
        expect(tile).to_have_attribute("data-state", "selected")
        expect(tile.locator(".sign.state")).to_have_text("✓")
        expect(standing).to_have_text(f"u takes back: pick of number {number} → candidate")
        assert len(list_rois(workspace)) == before + 1
        page.keyboard.press("x")
        page.keyboard.press("x")
        expect(tile).to_have_attribute("data-state", "rejected")
        expect(standing).to_have_text(f"u takes back: rejection of number {number} → selected")
        page.reload()
        wait_for_picture(page)
        press(page, "u")
        expect(tile).to_have_attribute("data-state", "selected")
        press(page, "u")
        expect(tile).to_have_attribute("data-state", "candidate")
        assert len(list_rois(workspace)) == before


def test_a_pick_that_is_refused_is_put_back_with_a_word(chromium: Browser, filled: Served) -> None:
    workspace = filled.workspace
    with visit(chromium, filled, SIZES[1]) as page:
        go(page, "Sample ROIs")
        wait_for_picture(page)
        number = _free(page)
        tile = page.locator(".tile").nth(number - 1)
        roi = str(tile.locator("img").get_attribute("src")).split("/")[-2]
        reject_roi(workspace, roi, who="bob")
        page.keyboard.press(str(number))
        page.keyboard.press("u")
        expect(tile.locator(".sign.state")).to_have_text("▲ not done")
        expect(tile).to_have_attribute("data-state", "rejected")
        expect(page.get_by_role("alert")).to_contain_text("bob made it rejected at")
        expect(tile).to_have_attribute("aria-current", "true")
        if SCREENSHOTS:
            page.screenshot(path=str(Path(SCREENSHOTS) / "Pick-refused.png"))
        assert get_roi(workspace, roi)[0].state == "rejected"
        page.keyboard.press(str(number))
        expect(tile).to_have_attribute("data-state", "selected")
        expect(page.get_by_role("alert")).to_have_count(0)
        press(page, "u")
        expect(tile).to_have_attribute("data-state", "rejected")


def test_the_neighbourhood_shows_the_slide_and_the_text_stays(chromium: Browser, filled: Served) -> None:
    with visit(chromium, filled) as page:
        go(page, "Write seeds")
        wait_for_picture(page)
        page.get_by_label("Question, or a statement").fill("A text that must stay")
        page.get_by_label("Question, or a statement").blur()
        press(page, "n")
        expect(page.get_by_role("button", name="Show the ROI")).to_be_visible()
        wait_for_picture(page)
        go(page, "Home")
        go(page, "Write seeds")
        expect(page.get_by_label("Question, or a statement")).to_have_value("A text that must stay")


def test_a_text_survives_a_reload_before_its_field_lost_the_focus(chromium: Browser, filled: Served) -> None:
    with visit(chromium, filled) as page:
        go(page, "Write seeds")
        wait_for_picture(page)
        facts = page.locator(".hc-facts strong").first
        question = page.get_by_label("Question, or a statement")
        question.fill("")
        question.blur()
        page.wait_for_function(AT_REST)
        with page.expect_response(lambda answer: "/api/drafts/" in answer.url):
            question.press_sequentially("Typed, and the tab is reloaded")
        where = facts.inner_text()
        page.reload()
        expect(question).to_have_value("Typed, and the tab is reloaded")
        expect(facts).to_have_text(where)
        question.fill("")
        with page.expect_response(lambda answer: "/api/drafts/" in answer.url):
            question.blur()


def test_a_page_that_is_opened_by_its_address_has_no_error_in_the_console(chromium: Browser, filled: Served) -> None:
    with visit(chromium, filled) as page:
        for name in PAGES[1:]:
            page.goto(f"{filled.url}/{name.lower().replace(' ', '-')}")
            expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
            page.wait_for_function(AT_REST)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_roi_fills_its_frame(chromium: Browser, filled: Served, theme: str) -> None:
    """No empty bands: the frame has the picture's own shape and is as large as the place for it."""
    for size in SIZES:
        with visit(chromium, filled, size, theme=theme) as page:
            go(page, "Write seeds")
            wait_for_picture(page)
            stage, room = (page.locator(f".viewer {part}").bounding_box() for part in (".stage", ".room"))
            assert stage is not None
            assert room is not None
            assert stage["width"] == pytest.approx(stage["height"], abs=2)
            assert stage["width"] >= min(room["width"], room["height"]) - 2
            assert stage["height"] > size[1] * 0.65


def test_a_bad_csv_lists_every_bad_line(chromium: Browser, filled: Served, tmp_path: Path) -> None:
    roi = list_rois(filled.workspace)[0][0].id
    file = tmp_path / "bad.csv"
    file.write_text(
        "roi,question,answer,category,author\n"
        "roi_none,What is it?,liver,identify_anatomy,Dr A\n"
        f"{roi},What is it?,,identify_anatomy,Dr A\n"
        f"{roi},What is it?,liver,anatomy,Dr A\n"
    )
    before = len(list_seeds(filled.workspace))
    with visit(chromium, filled) as page:
        go(page, "Write seeds")
        page.get_by_role("button", name="Import CSV").click()
        page.locator("input[type=file]").set_input_files(file)
        page.get_by_role("button", name="Import", exact=True).click()
        problems = page.get_by_role("alert")
        for line in ("line 2", "line 3", "line 4"):
            expect(problems).to_contain_text(line)
        expect(problems).to_contain_text("bad.csv")
    assert len(list_seeds(filled.workspace)) == before


def test_a_key_on_home_opens_what_is_next(chromium: Browser, filled: Served) -> None:
    with visit(chromium, filled) as page:
        go(page, "Home")
        expect(page.locator(".hc-thumbs img").first).to_be_visible()
        press(page, "n")
        expect(page.get_by_role("heading", level=1, name="Write seeds")).to_be_visible()


def test_a_csv_is_imported_once(chromium: Browser, filled: Served, tmp_path: Path) -> None:
    roi = list_rois(filled.workspace)[-1][0].id
    file = tmp_path / "good.csv"
    file.write_text(f"roi,question,answer,category,author\n{roi},Which organ is it?,liver,identify_anatomy,Dr A\n")
    before = len(list_seeds(filled.workspace))
    with visit(chromium, filled) as page:
        go(page, "Write seeds")
        page.get_by_role("button", name="Import CSV").click()
        page.locator("input[type=file]").set_input_files(file)
        page.get_by_role("button", name="Import", exact=True).click()
        expect(page.get_by_text("1 seed imported")).to_be_visible()
        expect(page.get_by_role("button", name="Import", exact=True)).to_have_count(0)
    assert len(list_seeds(filled.workspace)) == before + 1


def test_the_walk_from_a_slide_to_a_seed(chromium: Browser, drawn_slides: list[Path], tmp_path: Path) -> None:
    # A workspace of its own: a second try begins at the beginning.
    workspace = new_workspace(tmp_path / "workspace")
    with serving(workspace, tmp_path) as served, visit(chromium, served) as page:
        _add_slides(page, workspace, drawn_slides[0])
        _sample(page, workspace)
        _write(page, workspace)


def _add_slides(page: Page, workspace: Workspace, slide: Path) -> None:
    page.get_by_role("button", name="Add slides").click()
    page.get_by_label("Files or folders").fill(f"{slide}\n/nowhere/missing.svs")
    page.get_by_label("Organ (required)").fill("liver")
    page.get_by_label("Source (required)").fill("drawn for tests")
    page.get_by_label("Licence (required)").fill("CC0-1.0")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("radio", name=re.compile(slide.name))).to_be_visible()
    expect(page.get_by_text("1 added, 1 refused")).to_be_visible()
    expect(page.get_by_text("no such file or folder")).to_be_visible()
    wait_for_picture(page)
    assert [row.name for row in list_slides(workspace)] == [slide.name]


def _sample(page: Page, workspace: Workspace) -> None:
    go(page, "Sample ROIs")
    page.get_by_role("button", name="Draw candidates").click()
    page.get_by_label("Candidates", exact=True).fill("12")
    page.get_by_label("Side (px)").click()
    page.get_by_role("option", name="256").click()
    page.get_by_role("button", name="Draw", exact=True).click()
    expect(page.get_by_text("wait for their bins")).to_be_visible()
    page.get_by_role("button", name="Make bins").click()
    page.get_by_label("Bins", exact=True).fill("3")
    page.get_by_test_id("stFormSubmitButton").get_by_role("button", name="Make bins").click()
    expect(page.locator(".picker h2")).to_contain_text("Bin 1")
    wait_for_picture(page)
    press(page, "1")
    expect(page.get_by_text("1 / 6")).to_be_visible()
    expect(page.get_by_text("1 / 3")).to_be_visible()
    assert len(list_rois(workspace)) == 1


def _write(page: Page, workspace: Workspace) -> None:
    go(page, "Write seeds")
    wait_for_picture(page)
    press(page, "4")
    expect(page.get_by_text("Recognise a lesion that is there")).to_be_visible()
    page.get_by_label("Question, or a statement").fill("What is the main change?")
    page.get_by_role("textbox", name="Answer").fill("hepatocellular necrosis")
    page.keyboard.press("Control+Enter")
    # Not the word alone: fields say "draft saved".
    expect(page.get_by_text(re.compile(r"Saved \d\d:\d\d:\d\d: What is"))).to_be_visible()
    (entry,) = list_seeds(workspace)
    assert (entry.seed.question, entry.seed.answer, entry.seed.category) == (
        "What is the main change?",
        "hepatocellular necrosis",
        "identify_pathology",
    )
    go(page, "Home")
    expect(page.get_by_text("1 seed waits to become items")).to_be_visible()
