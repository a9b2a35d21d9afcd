"""A connection that is gone in Chromium (a minute, for good, a closed tab): the text is there, and nobody else's."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from curator_app.drafts import DraftStore
from pipeline.audit import verify_trail
from pipeline.jobs import job_status, list_jobs
from pipeline.review import list_items
from pipeline.seeds import list_seeds
from pipeline.workspace import Workspace
from tests.curator_app.conftest import CHROMIUM_ARGUMENTS, chromium_path
from tests.curator_app.filled import fill_with_items
from tests.curator_app.looks import AT_REST
from tests.curator_app.test_account_in_browser import expect_page, fill_sign_in
from tests.curator_app.test_pages_in_browser import SIZES, WAIT_MS, go
from tests.curator_app.visitors import actor, add_person
from tests.databases import new_workspace
from tests.load.app import App, running
from tests.pipeline.test_jobs import ended, wait_for

pytestmark = pytest.mark.browser

SCREENSHOTS = os.environ.get("HISTOCURATOR_SCREENSHOTS")
SENTENCE = "Which cells line the sinusoid that is marked here, and what do they carry?"
MINUTE_S = 60
AWAY_S = 8
"""By then Streamlit has said that its server does not respond."""

ITEMS_PER_SEED = 3
RECONNECTED_MS = 120_000
LEFT = "Object.keys(localStorage).filter((key) => key.startsWith('histocurator unsent'))"


@pytest.fixture(scope="module")
def app(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A server of a workspace with ROIs to write about, where nobody signs in."""
    folder = tmp_path_factory.mktemp("offline")
    with running(fill_with_items(new_workspace(folder / "workspace"), folder), folder) as app:
        yield app


@pytest.fixture(scope="module")
def peopled(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A server of such a workspace with two people who sign in."""
    folder = tmp_path_factory.mktemp("people")
    workspace = fill_with_items(new_workspace(folder / "workspace"), folder)
    add_person(workspace, "ada")
    add_person(workspace, "bob", "author")
    with running(workspace, folder) as app:
        yield app


@pytest.fixture(autouse=True)
def _no_drafts(app: App, peopled: App) -> None:
    for one in (app, peopled):
        for path in one.workspace.root.glob("drafts/*/*_*.json"):
            path.unlink(missing_ok=True)


@contextmanager
def window(browser: Browser) -> Iterator[BrowserContext]:
    """A browser of its own."""
    context = browser.new_context(viewport={"width": SIZES[1][0], "height": SIZES[1][1]})
    context.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    try:
        yield context
    finally:
        context.close()


def _write_seeds(context: BrowserContext, app: App, name: str | None = None) -> Page:
    page = context.new_page()
    page.goto(f"{app.url}/write-seeds")
    if name is not None and "/sign-in" in page.url:
        fill_sign_in(page, name)
    expect_page(page, "Write seeds")
    _question(page).wait_for()
    page.wait_for_function(AT_REST)
    return page


def _question(page: Page) -> Locator:
    return page.get_by_label("Question, or a statement")


def _typed(workspace: Workspace) -> str:
    store = DraftStore(workspace)
    name = store.latest("seed")
    return store.read(name).fields.get("question", "") if name else ""


def _wait_until(page: Page, done: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_MS / 1000
    while not done():
        assert time.monotonic() < end
        page.wait_for_timeout(100)


def test_a_minute_without_the_server_and_then_on_in_the_open_tab(chromium: Browser, app: App) -> None:
    """The server is gone and comes back as a new process, so that the page has to connect anew."""
    half = len(SENTENCE) // 2
    with window(chromium) as context:
        page = _write_seeds(context, app)
        page.get_by_text(re.compile(r"^1 ")).first.click()
        page.get_by_role("textbox", name="Answer").fill("endothelium")
        _question(page).press_sequentially(SENTENCE[:half])
        expect(page.get_by_text(re.compile(r"draft saved \d\d:\d\d:\d\d"))).to_be_visible()
        app.stop()
        try:
            _question(page).press_sequentially(SENTENCE[half:])
            expect(page.get_by_text("not saved yet: no connection, kept in this browser").first).to_be_visible()
            # What is typed is left as a click would leave it, while there is nobody to hand it over to.
            _question(page).blur()
            page.wait_for_timeout(MINUTE_S * 1000)
            expect(_question(page)).to_have_value(SENTENCE)
            assert _typed(app.workspace) == SENTENCE[:half]
        finally:
            app.start()
        # By the field, or by the page, where the new server drew it after the text had arrived.
        kept = page.get_by_text(re.compile(r"draft saved \d\d:\d\d:\d\d|Your unsaved text of \d\d:\d\d"))
        expect(kept.first).to_be_visible(timeout=RECONNECTED_MS)
        page.wait_for_function(AT_REST, timeout=RECONNECTED_MS)
        expect(_question(page)).to_have_value(SENTENCE)
        _wait_until(page, lambda: _typed(app.workspace) == SENTENCE)
        page.get_by_role("button", name="Save and next").click()
        expect(page.get_by_text(re.compile(rf"Saved.*: {SENTENCE[:20]}"))).to_be_visible()
        expect(_question(page)).to_have_value("")
        assert page.evaluate(LEFT) == []
    saved = [entry.seed for entry in list_seeds(app.workspace) if entry.seed.question == SENTENCE]
    assert [(seed.answer, seed.category) for seed in saved] == [("endothelium", saved[0].category)]
    assert _typed(app.workspace) == ""
    assert verify_trail(app.workspace).faults == []


def test_who_types_while_the_connection_goes_types_on(chromium: Browser, app: App) -> None:
    """Streamlit opens a dialog then, which would take the keyboard."""
    with window(chromium) as context:
        page = _write_seeds(context, app)
        _question(page).click()
        app.stop()
        try:
            typed = ""
            end = time.monotonic() + AWAY_S
            while time.monotonic() < end:
                page.keyboard.type("cell ")
                typed += "cell "
                page.wait_for_timeout(150)
            expect(_question(page)).to_have_value(typed)
            expect(page.get_by_text("The server cannot be reached.")).to_be_visible()
            assert page.get_by_role("dialog").count() == 0
            if SCREENSHOTS:
                page.screenshot(path=str(Path(SCREENSHOTS) / "No-connection.png"))
        finally:
            app.start()
        expect(page.get_by_text("The server cannot be reached.")).to_be_hidden(timeout=RECONNECTED_MS)
        _wait_until(page, lambda: _typed(app.workspace) == typed)


@pytest.mark.parametrize("by", ["key", "mouse"])
def test_what_is_saved_without_a_connection_is_saved_when_there_is_one(chromium: Browser, app: App, by: str) -> None:
    question = f"Which cells does the {by} save?"
    with window(chromium) as context:
        page = _write_seeds(context, app)
        page.get_by_text(re.compile(r"^1 ")).first.click()
        page.wait_for_function(AT_REST)
        page.get_by_role("textbox", name="Answer").fill("endothelium")
        _question(page).fill(question)
        app.stop()
        try:
            page.wait_for_timeout(AWAY_S * 1000)
            if by == "key":
                page.keyboard.press("Control+Enter")
            else:
                page.get_by_role("button", name="Save and next").click()
            expect(page.get_by_text("Not saved yet: no connection. Trying again…")).to_be_visible()
            page.wait_for_timeout(2000)
        finally:
            app.start()
        # The page of the new server finds the draft saved, or hears of the save itself: whichever comes first.
        expect(_question(page)).to_have_value("", timeout=RECONNECTED_MS)
        expect(page.get_by_text(question).first).to_be_visible()
    assert len([entry for entry in list_seeds(app.workspace) if entry.seed.question == question]) == 1
    assert verify_trail(app.workspace).faults == []


def test_a_tab_that_is_closed_while_there_is_no_connection(chromium: Browser, app: App) -> None:
    with window(chromium) as context:
        page = _write_seeds(context, app)
        context.set_offline(True)
        _question(page).press_sequentially(SENTENCE)
        expect(page.get_by_text("kept in this browser").first).to_be_visible()
        page.close()
        context.set_offline(False)
        assert _typed(app.workspace) == ""
        again = context.new_page()
        again.goto(app.url)
        rail = again.get_by_test_id("stSidebarNav").get_by_role("link", name="Write seeds", exact=True)
        rail.wait_for()
        assert _typed(app.workspace) == SENTENCE, "any page of the account sends it"
        assert again.evaluate(LEFT) == []
        go(again, "Write seeds")
        expect(_question(again)).to_have_value(SENTENCE)
        expect(again.get_by_text(re.compile(r"Your unsaved text of \d\d:\d\d is in the form"))).to_be_visible()


def test_a_browser_that_is_closed_while_there_is_no_connection(chromium: Browser, peopled: App, tmp_path: Path) -> None:
    """The same profile, opened anew: the session is gone with the browser, the text is not."""
    author = peopled.workspace.acting_as(actor(peopled.workspace, "bob"))

    def opened() -> BrowserContext:
        context = chromium.browser_type.launch_persistent_context(
            tmp_path / "profile", executable_path=chromium_path(), args=CHROMIUM_ARGUMENTS
        )
        context.set_default_timeout(WAIT_MS)
        expect.set_options(timeout=WAIT_MS)
        return context

    context = opened()
    page = _write_seeds(context, peopled, "bob")
    context.set_offline(True)
    _question(page).press_sequentially(SENTENCE)
    expect(page.get_by_text("kept in this browser").first).to_be_visible()
    context.close()
    assert _typed(author) == ""
    context = opened()
    context.clear_cookies()
    page = _write_seeds(context, peopled, "bob")
    expect(_question(page)).to_have_value(SENTENCE)
    assert page.evaluate(LEFT) == []
    context.close()
    assert _typed(author) == SENTENCE


def test_another_browser_offers_the_draft(chromium: Browser, peopled: App) -> None:
    with window(chromium) as first, window(chromium) as second:
        page = _write_seeds(first, peopled, "bob")
        _question(page).press_sequentially(SENTENCE)
        expect(page.get_by_text(re.compile(r"draft saved \d\d:\d\d:\d\d"))).to_be_visible()
        other = _write_seeds(second, peopled, "bob")
        expect(_question(other)).to_have_value(SENTENCE)
        expect(other.get_by_text(re.compile(r"Your unsaved text of \d\d:\d\d is in the form"))).to_be_visible()


def test_two_tabs_of_one_person_lose_neither_text(chromium: Browser, app: App) -> None:
    with window(chromium) as context:
        first, second = _write_seeds(context, app), _write_seeds(context, app)
        context.new_page()  # without any tab the browser ends
        context.set_offline(True)
        _question(first).press_sequentially("Which cell is it?")
        expect(first.get_by_text("kept in this browser").first).to_be_visible()
        _question(second).press_sequentially("How many mitoses are there?")
        expect(second.get_by_text("kept in this browser").first).to_be_visible()
        assert len(second.evaluate(LEFT)) == 2
        for page in (first, second):
            page.close()
        context.set_offline(False)
        again = _write_seeds(context, app)
        expect(_question(again)).to_have_value("How many mitoses are there?")
        offered = again.get_by_role("note")
        expect(offered).to_contain_text("Which cell is it?")
        again.get_by_role("button", name="Put it in").click()
        expect(_question(again)).to_have_value("Which cell is it?")
        expect(offered).to_contain_text("How many mitoses are there?")
        again.get_by_role("button", name="Forget it").click()
        expect(offered).to_have_count(0)
        expect(_question(again)).to_have_value("Which cell is it?")


def test_what_one_account_left_is_sent_for_no_other(chromium: Browser, peopled: App) -> None:
    author = peopled.workspace.acting_as(actor(peopled.workspace, "bob"))
    admin = peopled.workspace.acting_as(actor(peopled.workspace, "ada"))
    with window(chromium) as context:
        page = _write_seeds(context, peopled, "bob")
        context.set_offline(True)
        _question(page).press_sequentially(SENTENCE)
        expect(page.get_by_text("kept in this browser").first).to_be_visible()
        page.close()
        context.set_offline(False)
        context.clear_cookies()
        page = _write_seeds(context, peopled, "ada")
        expect(_question(page)).to_have_value("")
        page.get_by_role("button", name="Sign out").first.click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert len(page.evaluate(LEFT)) == 1, "signing out takes away one's own only"
        assert (_typed(author), _typed(admin)) == ("", "")
        page = _write_seeds(context, peopled, "bob")
        expect(_question(page)).to_have_value(SENTENCE)
        assert page.evaluate(LEFT) == []
    assert (_typed(author), _typed(admin)) == (SENTENCE, "")


def test_signing_out_sends_what_is_left(chromium: Browser, peopled: App) -> None:
    author = peopled.workspace.acting_as(actor(peopled.workspace, "bob"))
    with window(chromium) as context:
        page = _write_seeds(context, peopled, "bob")
        page.route("**/api/drafts/*", lambda route: route.abort())
        _question(page).fill(SENTENCE)
        expect(page.get_by_text("kept in this browser").first).to_be_visible()
        page.unroute("**/api/drafts/*")
        page.get_by_role("button", name="Sign out").first.click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert page.evaluate(LEFT) == []
    assert _typed(author) == SENTENCE


def test_signing_out_takes_away_no_text_unasked(chromium: Browser, peopled: App) -> None:
    with window(chromium) as context:
        page = _write_seeds(context, peopled, "bob")
        context.route("**/api/drafts/*", lambda route: route.fulfill(status=507, json={"why": "the disk is full"}))
        _question(page).fill(SENTENCE)
        expect(page.get_by_text("not saved yet: the disk is full, kept in this browser").first).to_be_visible()
        page.get_by_role("button", name="Sign out").first.click()
        expect(page.get_by_role("heading", name="Sign out")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("alert")).to_contain_text("One text that you typed is not saved")
        assert len(page.evaluate(LEFT)) == 1
        page.get_by_role("button", name="Sign out and lose it").click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert page.evaluate(LEFT) == []


def test_the_page_may_be_closed_while_a_job_runs(chromium: Browser, app: App) -> None:
    before = len(list_items(app.workspace))
    with window(chromium) as context:
        page = context.new_page()
        page.goto(f"{app.url}/items")
        expect_page(page, "Items")
        page.get_by_role("radio", name="Write items").or_(page.get_by_role("button", name="Write items")).first.click()
        page.get_by_role("button", name=re.compile(r"Write items for")).click()
        _wait_until(page, lambda: any(job.kind == "generate" for job in list_jobs(app.workspace)))
    (job,) = [job for job in list_jobs(app.workspace) if job.kind == "generate"]
    status = wait_for(app.workspace, job.id, ended)
    assert status.state == "done", status.error
    assert status.result is not None
    assert status.result["ready"] > 0
    assert len(list_items(app.workspace)) == before + ITEMS_PER_SEED * status.result["ready"]
    with window(chromium) as context:
        page = context.new_page()
        page.goto(f"{app.url}/jobs")
        expect_page(page, "Jobs")
        expect(page.get_by_role("heading", name="✓ done")).to_be_visible()
    assert job_status(app.workspace, job.id).state == "done"
