"""The text field and the conflict view in Chromium: nothing that is typed is lost, whatever happens to the tab."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from curator_app.drafts import DraftStore
from evaluation.items import CATEGORIES
from pipeline.review import REVIEWABLE, list_items
from pipeline.rois import list_rois
from pipeline.seeds import SeedText, list_seeds, save_seed
from tests.curator_app.filled import fill_with_items, rail_is_there
from tests.curator_app.looks import AT_REST, clipped_texts, press, unnamed_controls
from tests.curator_app.served import Served, serving
from tests.curator_app.test_pages_in_browser import SIZES, WAIT_MS, go, visit, wait_for_picture
from tests.databases import new_workspace

pytestmark = pytest.mark.browser

SCREENSHOTS = os.environ.get("HISTOCURATOR_SCREENSHOTS")
SENTENCE = "Which cells line the sinusoid that is marked here, and what do they carry?"
FIFTY = "Which of these nuclei is in mitosis, and how many?"
TIMES = 10


@pytest.fixture(scope="module")
def served(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A served workspace with two ROIs and six items."""
    folder = tmp_path_factory.mktemp("typing")
    workspace = fill_with_items(new_workspace(folder / "workspace"), folder)
    with serving(workspace, folder) as running:
        yield running


def _question(page: Page) -> Locator:
    return page.get_by_label("Question, or a statement")


def _open(page: Page) -> None:
    rail_is_there(page)
    go(page, "Write seeds")
    page.wait_for_function(AT_REST)


@pytest.fixture
def tab(chromium: Browser, served: Served) -> Iterator[Page]:
    """A tab on Write seeds with an empty form."""
    _forget_drafts(served)
    context = chromium.new_context(viewport={"width": SIZES[0][0], "height": SIZES[0][1]})
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(f"{served.url}/write-seeds")
    _question(page).wait_for()
    page.wait_for_function(AT_REST)
    yield page
    context.close()


def _forget_drafts(served: Served) -> None:
    for path in served.workspace.root.glob("drafts/*/*.json"):
        path.unlink(missing_ok=True)


def _looks_right(page: Page, name: str) -> None:
    if SCREENSHOTS:
        width = (page.viewport_size or {"width": 0})["width"]
        page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}-{width}.png"))
    assert clipped_texts(page) == []
    assert unnamed_controls(page) == []


def _typed_at_server(served: Served) -> str:
    store = DraftStore(served.workspace)
    name = store.latest("seed")
    return store.read(name).fields.get("question", "") if name else ""


def _arrives(served: Served, text: str) -> bool:
    """Wait until the server has a text."""
    end = time.monotonic() + WAIT_MS / 1000
    while _typed_at_server(served) != text and time.monotonic() < end:
        time.sleep(0.1)
    return _typed_at_server(served) == text


def test_fifty_fast_keys_and_ctrl_enter_save_the_whole_text(tab: Page, served: Served) -> None:
    """Ten times in a row, without a pause between the last key and the saving."""
    before = {entry.seed.id for entry in list_seeds(served.workspace)}
    texts = [f"{number:02} {FIFTY}" for number in range(TIMES)]
    for number, text in enumerate(texts):
        tab.get_by_text(re.compile(r"^1 ")).first.click()
        tab.get_by_role("textbox", name="Answer").fill("two")
        _question(tab).click()
        tab.keyboard.type(text)
        if number % 2:
            tab.get_by_role("button", name="Save and next").click()
        else:
            tab.keyboard.press("Control+Enter")
        expect(tab.get_by_text(re.compile(rf"Saved \d\d:\d\d:\d\d: {number:02} "))).to_be_visible()
        expect(_question(tab)).to_have_value("")
        tab.wait_for_function(AT_REST)
    saved = [entry.seed.question for entry in list_seeds(served.workspace) if entry.seed.id not in before]
    assert saved == texts


def test_what_is_typed_while_nothing_goes_through_is_sent_when_something_does(tab: Page, served: Served) -> None:
    question = _question(tab)
    question.press_sequentially(SENTENCE[:20])
    expect(tab.get_by_text(re.compile(r"draft saved \d\d:\d\d:\d\d"))).to_be_visible()
    tab.context.set_offline(True)
    question.press_sequentially(SENTENCE[20:])
    expect(tab.get_by_text("not saved yet: no connection, kept in this browser").first).to_be_visible()
    assert _typed_at_server(served) != SENTENCE
    tab.context.set_offline(False)
    expect(tab.get_by_text(re.compile(r"draft saved \d\d:\d\d:\d\d"))).to_be_visible()
    assert _arrives(served, SENTENCE)
    expect(question).to_have_value(SENTENCE)


def test_a_tab_that_is_closed_in_mid_sentence_loses_nothing(tab: Page, chromium: Browser, served: Served) -> None:
    _question(tab).press_sequentially(SENTENCE)
    tab.close(run_before_unload=True)
    with visit(chromium, served) as again:
        _open(again)
        expect(_question(again)).to_have_value(SENTENCE)
        expect(again.get_by_text(re.compile(r"Your unsaved text of \d\d:\d\d is in the form"))).to_be_visible()


def test_a_reload_in_mid_sentence_loses_nothing(tab: Page) -> None:
    _question(tab).press_sequentially(SENTENCE)
    tab.reload()
    expect(_question(tab)).to_have_value(SENTENCE)


def test_focus_caret_and_undo_survive_the_page_being_drawn_anew(tab: Page) -> None:
    question = _question(tab)
    question.press_sequentially("a kidney here")
    for _ in "here":
        tab.keyboard.press("ArrowLeft")
    # Another part of the page runs the script again while the focus stays.
    tab.evaluate("document.querySelector('.st-key-category_choice input').click()")
    tab.keyboard.type("cortex ")
    tab.wait_for_function(AT_REST)
    tab.keyboard.type("is ")
    expect(question).to_have_value("a kidney cortex is here")
    expect(question).to_be_focused()
    tab.wait_for_function(AT_REST)
    for _ in range(30):
        tab.keyboard.press("Control+z")
    expect(question).to_have_value("")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_each_state_of_a_text_looks_right(tab: Page, served: Served, size: tuple[int, int], theme: str) -> None:
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    tab.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    question = _question(tab)
    question.fill(SENTENCE * 2)
    expect(tab.get_by_text(re.compile(r"draft saved \d\d:\d\d:\d\d"))).to_be_visible()
    _looks_right(tab, f"Draft-saved-{theme}")
    tab.route("**/api/drafts/*", lambda route: route.abort())
    question.press("x")
    expect(tab.get_by_text("not saved yet").first).to_be_visible()
    _looks_right(tab, f"Draft-not-saved-{theme}")
    tab.unroute("**/api/drafts/*")
    tab.reload()
    expect(tab.get_by_text("Your unsaved text of")).to_be_visible()
    tab.wait_for_function(AT_REST)
    _looks_right(tab, f"Draft-back-{theme}")


def test_keys_of_the_page_do_nothing_while_somebody_types(tab: Page, served: Served) -> None:
    where = tab.locator(".hc-facts strong").first.inner_text()
    _question(tab).press_sequentially("kbdnu1rc?")
    tab.wait_for_function(AT_REST)
    expect(_question(tab)).to_have_value("kbdnu1rc?")
    expect(tab.locator(".hc-facts strong").first).to_have_text(where)
    expect(tab.get_by_role("dialog")).to_have_count(0)


def test_letters_that_are_being_composed_are_left_alone(tab: Page, served: Served) -> None:
    question = _question(tab)
    question.press_sequentially("Ist es ")
    session = tab.context.new_cdp_session(tab)
    session.send("Input.imeSetComposition", {"text": "に", "selectionStart": 1, "selectionEnd": 1})
    tab.evaluate("document.querySelector('.st-key-category_choice input').click()")
    tab.wait_for_function(AT_REST)
    session.send("Input.imeSetComposition", {"text": "にほ", "selectionStart": 2, "selectionEnd": 2})
    session.send("Input.insertText", {"text": "日本"})
    expect(question).to_have_value("Ist es 日本")
    question.blur()
    tab.wait_for_function(AT_REST)
    assert _arrives(served, "Ist es 日本")


def test_a_text_that_is_too_long_is_counted_and_not_cut(tab: Page, served: Served) -> None:
    longest = served.workspace.settings.max_text_length
    question = _question(tab)
    question.fill("x" * (longest + 12))
    expect(tab.get_by_text(f"{longest + 12:,} of {longest:,} characters: 12 too many")).to_be_visible()
    expect(question).to_have_value("x" * (longest + 12))


def test_an_edit_is_offered_beside_the_stored_text(chromium: Browser, served: Served) -> None:
    _forget_drafts(served)
    entry = list_items(served.workspace, states=REVIEWABLE, item_format="mcq")[0]
    with visit(chromium, served) as page:
        rail_is_there(page)
        go(page, "Items")
        wait_for_picture(page)
        press(page, "e")
        stem = page.get_by_label("Stem (a question that ends with ?)")
        stem.press_sequentially(" and half")
        page.reload()
        expect(page.get_by_text(re.compile(r"Unsaved edit of \d\d:\d\d"))).to_be_visible()
        page.get_by_role("button", name="Use it").click()
        expect(stem).to_have_value(f"{entry.content.stem} and half")
        page.get_by_role("button", name="Cancel").click()
        expect(stem).to_have_count(0)
        page.get_by_role("button", name="Bring it back").click()
        expect(page.get_by_role("button", name="Use it")).to_be_visible()
        page.wait_for_function(AT_REST)
    _forget_drafts(served)


class TestTwoPeople:
    """One seed, changed by two at once."""

    @pytest.fixture
    def conflict(self, tab: Page, served: Served) -> Page:
        """A tab in which a change of the first ROI's seed met another one."""
        roi = list_rois(served.workspace)[0][0]
        text = SeedText("Which change is seen in the hepatocytes?", "necrosis of single cells", CATEGORIES[3])
        seed = save_seed(served.workspace, text, roi_id=roi.id, who="test")
        self.seed_id = seed.id
        tab.reload()
        tab.wait_for_function(AT_REST)
        tab.locator(f".st-key-edit_{seed.id} button").click()
        expect(_question(tab)).to_have_value(text.question)
        theirs = SeedText("Which change is seen in the central hepatocytes?", text.answer, CATEGORIES[3])
        save_seed(served.workspace, theirs, roi_id=roi.id, seed_id=seed.id, who="ana")
        _question(tab).fill("Which change do the hepatocytes show?")
        tab.get_by_role("button", name="Save the change").click()
        expect(tab.get_by_role("dialog")).to_contain_text(re.compile(r"While you wrote, ana saved another text"))
        return tab

    def test_both_texts_look_right(self, conflict: Page) -> None:
        expect(conflict.get_by_role("button", name="Go on editing mine")).to_be_visible()
        for theme in ("light", "dark"):
            conflict.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            for size in SIZES:
                conflict.set_viewport_size({"width": size[0], "height": size[1]})
                conflict.wait_for_function(AT_REST)
                _looks_right(conflict, f"Two-texts-{theme}")
        conflict.set_viewport_size({"width": SIZES[1][0], "height": SIZES[1][1]})
        conflict.get_by_role("button", name="Go on editing mine").click()
        expect(conflict.locator(".hc-beside")).to_be_visible()
        conflict.wait_for_function(AT_REST)
        _looks_right(conflict, "Theirs-beside")

    def _now(self, served: Served) -> str:
        return next(e.seed.question for e in list_seeds(served.workspace) if e.seed.id == self.seed_id)

    def test_mine_is_kept(self, conflict: Page, served: Served) -> None:
        conflict.get_by_role("button", name="Keep mine").click()
        expect(conflict.get_by_role("dialog")).to_have_count(0)
        expect(conflict.get_by_text(re.compile(r"Saved \d\d:\d\d:\d\d: Which change do"))).to_be_visible()
        assert self._now(served) == "Which change do the hepatocytes show?"

    def test_theirs_is_taken(self, conflict: Page, served: Served) -> None:
        conflict.get_by_role("button", name="Take").click()
        expect(conflict.get_by_role("dialog")).to_have_count(0)
        expect(conflict.get_by_text("stands; yours was given up")).to_be_visible()
        assert self._now(served) == "Which change is seen in the central hepatocytes?"

    def test_one_goes_on(self, conflict: Page, served: Served) -> None:
        conflict.keyboard.press("Escape")
        expect(conflict.get_by_role("dialog")).to_have_count(0)
        expect(conflict.locator(".hc-beside")).to_contain_text("central hepatocytes")
        expect(_question(conflict)).to_have_value("Which change do the hepatocytes show?")
        _question(conflict).fill("Which change do the central hepatocytes show?")
        conflict.get_by_role("button", name="Save over ana").click()
        expect(conflict.get_by_text(re.compile(r"Saved \d\d:"))).to_be_visible()
        assert self._now(served) == "Which change do the central hepatocytes show?"
