"""Saving in Chromium while the connection is bad: each click is saved once, and the page says how it stands."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from sqlmodel import col, select

from db import utc_now
from db.tables import Lease, Seed
from pipeline.item_store import load_item
from pipeline.review import REVIEWABLE, item_history, list_items
from pipeline.seeds import list_seeds
from tests.curator_app.filled import fill_with_items, rail_is_there
from tests.curator_app.looks import AT_REST, press
from tests.curator_app.served import Served, serving
from tests.curator_app.test_pages_in_browser import SIZES, WAIT_MS, go, wait_for_picture
from tests.databases import new_workspace

pytestmark = pytest.mark.browser

SCREENSHOTS = os.environ.get("HISTOCURATOR_SCREENSHOTS")
SAVE = "**/api/seeds"
SAID = "Not saved yet: no connection. Trying again…"


@pytest.fixture(scope="module")
def served(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A served workspace with two ROIs and six items."""
    folder = tmp_path_factory.mktemp("saving")
    workspace = fill_with_items(new_workspace(folder / "workspace"), folder)
    with serving(workspace, folder) as running:
        yield running


@pytest.fixture
def tab(chromium: Browser, served: Served) -> Iterator[Page]:
    """A tab on Write seeds with an empty form."""
    for path in served.workspace.root.glob("drafts/*/*.json"):
        path.unlink(missing_ok=True)
    context = chromium.new_context(viewport={"width": SIZES[1][0], "height": SIZES[1][1]})
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    page.goto(f"{served.url}/write-seeds")
    page.get_by_label("Question, or a statement").wait_for()
    page.wait_for_function(AT_REST)
    yield page
    context.close()


def _fill(page: Page, question: str) -> None:
    page.get_by_text(re.compile(r"^1 ")).first.click()
    page.wait_for_function(AT_REST)
    page.get_by_role("textbox", name="Answer").fill("two")
    page.get_by_label("Question, or a statement").fill(question)


def _saved(served: Served, question: str) -> list[Seed]:
    return [entry.seed for entry in list_seeds(served.workspace) if entry.seed.question == question]


def _wait_until(done: Callable[[], object]) -> None:
    end = time.monotonic() + WAIT_MS / 1000
    while not done():
        assert time.monotonic() < end
        time.sleep(0.1)


def _is_told(page: Page, question: str) -> None:
    expect(page.get_by_text(re.compile(rf"Saved \d\d:\d\d:\d\d: {re.escape(question[:20])}"))).to_be_visible()
    expect(page.get_by_label("Question, or a statement")).to_have_value("")


def test_it_is_in_the_database_before_the_page_moves_on(tab: Page, served: Served) -> None:
    question = "Is it stored when the answer comes?"
    _fill(tab, question)
    with tab.expect_response(SAVE) as answered:
        tab.keyboard.press("Control+Enter")
    assert answered.value.status == 200
    assert [seed.id for seed in _saved(served, question)] == [answered.value.json()["seed"]]
    _is_told(tab, question)
    assert len(_saved(served, question)) == 1


def test_without_a_connection_it_waits_and_says_so(tab: Page, served: Served) -> None:
    question = "Is it saved when the connection is back?"
    _fill(tab, question)
    tab.wait_for_timeout(600)
    tab.context.set_offline(True)
    tab.get_by_role("button", name="Save and next").click()
    expect(tab.get_by_text(SAID)).to_be_visible()
    if SCREENSHOTS:
        tab.screenshot(path=str(Path(SCREENSHOTS) / "Not-saved-yet.png"))
    tab.get_by_role("button", name="Save and next").click()
    assert _saved(served, question) == []
    tab.context.set_offline(False)
    _is_told(tab, question)
    expect(tab.get_by_text(SAID)).to_have_count(0)
    assert len(_saved(served, question)) == 1


@pytest.mark.parametrize("lost", ["answer", "server"])
def test_what_was_not_answered_is_asked_for_again_and_made_once(tab: Page, served: Served, lost: str) -> None:
    question = f"What if the {lost} gets lost on the way?"
    acts: list[str] = []

    def lose_the_first(route: Route) -> None:
        acts.append(route.request.post_data_json["act"])
        if len(acts) > 1:
            route.continue_()
        elif lost == "answer":
            assert route.fetch().ok
            route.abort()
        else:
            route.fulfill(status=502, body="")

    tab.route(SAVE, lose_the_first)
    _fill(tab, question)
    tab.get_by_role("button", name="Save and next").click()
    _is_told(tab, question)
    assert len(acts) == 2
    assert len(set(acts)) == 1
    assert len(_saved(served, question)) == 1


def test_the_page_that_was_left_meanwhile_knows_of_it_afterwards(tab: Page, served: Served) -> None:
    question = "Is it offered again although it is saved?"
    held: list[Route] = []
    tab.route(SAVE, lambda route: held.append(route))
    _fill(tab, question)
    tab.get_by_role("button", name="Save and next").click()
    _wait_until(lambda: tab.evaluate("1") and held)
    rail_is_there(tab)
    go(tab, "Slides")
    held[0].continue_()
    _wait_until(lambda: tab.evaluate("1") and _saved(served, question))
    tab.wait_for_timeout(300)
    go(tab, "Write seeds")
    expect(tab.get_by_label("Question, or a statement")).to_have_value("")
    expect(tab.get_by_text("Your unsaved text")).to_have_count(0)
    assert len(_saved(served, question)) == 1


def test_what_is_typed_while_it_is_saved_is_saved_too(tab: Page, served: Served) -> None:
    question = "Is more typed"
    held: list[Route] = []
    tab.route(SAVE, lambda route: held.append(route))
    _fill(tab, question)
    tab.get_by_role("button", name="Save and next").click()
    _wait_until(lambda: tab.evaluate("1") and held)
    tab.get_by_label("Question, or a statement").fill(f"{question} meanwhile?")
    held[0].continue_()
    _is_told(tab, f"{question} meanwhile?")
    assert _saved(served, question) == []
    assert len(_saved(served, f"{question} meanwhile?")) == 1


def test_a_closed_tab_gives_its_work_back(tab: Page, served: Served) -> None:
    wait_for_picture(tab)
    shown = str(tab.locator(".viewer").get_attribute("data-open")).split("/")[-2]

    def held() -> bool:
        of_shown = select(Lease).where(Lease.object_id == shown, col(Lease.until) > utc_now())
        with served.workspace.reading() as session:
            return session.exec(of_shown).first() is not None

    _wait_until(held)
    tab.close(run_before_unload=False)
    _wait_until(lambda: not held())


def test_what_is_refused_is_said_in_the_form(tab: Page, served: Served) -> None:
    before = len(list_seeds(served.workspace))
    tab.get_by_label("Question, or a statement").fill("Which?")
    tab.get_by_role("button", name="Save and next").click()
    expect(tab.get_by_text("The seed question is not complete: look at category, answer.")).to_be_visible()
    expect(tab.get_by_text("Choose a category.")).to_be_visible()
    expect(tab.get_by_text("The answer is empty.")).to_be_visible()
    tab.set_viewport_size({"width": 1024, "height": 500})
    expect(tab.get_by_role("button", name="Save and next")).to_be_in_viewport()
    expect(tab.get_by_label("Question, or a statement")).to_have_value("Which?")
    assert len(list_seeds(served.workspace)) == before


def test_decisions_wait_for_the_connection_too(tab: Page, served: Served) -> None:
    go(tab, "Items")
    wait_for_picture(tab)
    first, second = (entry.item.id for entry in list_items(served.workspace, states=REVIEWABLE)[:2])
    tab.context.set_offline(True)
    press(tab, "a")
    expect(tab.get_by_text(SAID)).to_be_visible()
    tab.context.set_offline(False)
    expect(tab.get_by_text("✓ Approved.")).to_be_visible()
    _wait_until(lambda: load_item(served.workspace, first)[0].state == "approved")
    assert load_item(served.workspace, second)[0].state in REVIEWABLE
    tab.wait_for_function(AT_REST)
    press(tab, "u")
    expect(tab.get_by_text("Taken back:")).to_be_visible()
    tab.wait_for_function(AT_REST)
    press(tab, "r")
    tab.get_by_label("What is wrong").fill("The key is wrong.")
    tab.keyboard.press("Control+Enter")
    expect(tab.get_by_text("✕ Rejected.")).to_be_visible()
    decisions = item_history(served.workspace, first).decisions
    assert [(one.decision, one.note) for one in decisions] == [
        ("approve", ""),
        ("undo", ""),
        ("reject", "The key is wrong."),
    ]
