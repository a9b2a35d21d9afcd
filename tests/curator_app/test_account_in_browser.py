"""Signing in and out in Chromium, links that make an account, and what becomes of a text when the session ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from curator_app.drafts import DraftStore
from pipeline.bins import bin_candidates
from pipeline.ingest import add_slides
from pipeline.people import end_sessions_of, find_account, invite, list_own_sessions, reset_link
from pipeline.rois import list_rois, select_across_bins
from pipeline.sampling import sample_candidates
from pipeline.workspace import Workspace
from tests.curator_app.looks import AT_REST, clipped_texts, unnamed_controls
from tests.curator_app.served import Served, serving
from tests.curator_app.visitors import PASSWORD, actor, add_person, form_token
from tests.databases import new_workspace
from tests.pipeline.conftest import METADATA

pytestmark = pytest.mark.browser

WAIT_MS = 20_000
SIZES = [(1440, 900), (1024, 768)]
NEW = "a new sentence to remember"
SCREENSHOTS = os.environ.get("HISTOCURATOR_SCREENSHOTS")
"""A folder that pictures of the pages are written to, for somebody to look at."""

_REFUSALS = ("status of 401", "status of 403", "status of 404", "status of 422", "WebSocket", "net::ERR_FAILED")
"""What Chromium writes into its console where a request is refused or fails, as it should be."""


@pytest.fixture(scope="module")
def served(chromium: Browser, drawn_slides: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A served workspace with a ROI to write about, and three people."""
    folder = tmp_path_factory.mktemp("people")
    workspace = new_workspace(folder / "workspace")
    add_slides(workspace, drawn_slides[:1], METADATA, who="test")
    sample_candidates(workspace, organ="liver", count=6, size=256, max_overlap=0.5, who="test")
    bin_candidates(workspace, organ="liver", bins=2, who="test")
    select_across_bins(workspace, organ="liver", per_bin=1, who="test")
    add_person(workspace, "ada")
    add_person(workspace, "bob", "author")
    add_person(workspace, "rita", "reader")
    with serving(workspace, folder) as served:
        yield served


@contextmanager
def window(
    browser: Browser, served: Served, size: tuple[int, int] = SIZES[0], *, theme: str = "light"
) -> Iterator[BrowserContext]:
    """A browser of its own; no error may stand in its console but refusals, and nothing may be asked elsewhere."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=theme,  # type: ignore[arg-type]
    )
    context.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    faults: list[str] = []
    context.on(
        "console",
        lambda message: (
            faults.append(message.text)
            if message.type == "error" and not any(words in message.text for words in _REFUSALS)
            else None
        ),
    )
    context.on("weberror", lambda error: faults.append(str(error.error)))
    context.on(
        "request",
        lambda request: (
            None if request.url.startswith((served.url, "blob:", "data:")) else faults.append(f"asked: {request.url}")
        ),
    )
    try:
        yield context
    finally:
        context.close()
    assert faults == [], served.log.read_text()[-2000:]


def fill_sign_in(page: Page, name: str, password: str = PASSWORD) -> None:
    """Fill in the sign-in page and send it."""
    page.get_by_label("Sign-in name").fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.keyboard.press("Enter")


def expect_page(page: Page, name: str) -> None:
    """Wait until a page of the app has been drawn."""
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
    page.wait_for_function(AT_REST)


def own_drafts(workspace: Workspace, name: str) -> dict[str, str]:
    """Return what the server keeps of a person's text about the ROI that they wrote about last."""
    store = DraftStore(workspace.acting_as(actor(workspace, name)))
    name_of_draft = store.latest("seed")
    return dict(store.read(name_of_draft).fields) if name_of_draft is not None else {}


def test_a_deep_link_leads_through_the_sign_in(chromium: Browser, served: Served) -> None:
    with window(chromium, served) as context:
        page = context.new_page()
        page.goto(f"{served.url}/write-seeds")
        expect(page).to_have_url(f"{served.url}/sign-in?next=/write-seeds")
        expect(page.get_by_label("Sign-in name")).to_be_focused()
        fill_sign_in(page, "ada", "a wrong password")
        expect(page.get_by_role("alert")).to_have_text("Name or password is wrong.")
        expect(page.get_by_label("Sign-in name")).to_have_value("ada")
        expect(page.get_by_label("Password", exact=True)).to_be_focused()
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_label("Show what I type").check()
        expect(page.get_by_label("Password", exact=True)).to_have_attribute("type", "text")
        page.get_by_role("button", name="Sign in").click()
        expect_page(page, "Write seeds")
        expect(page).to_have_url(f"{served.url}/write-seeds")


def test_signing_in_needs_no_script(chromium: Browser, served: Served) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{served.url}/password")
    fill_sign_in(page, "ada")
    expect(page.get_by_role("heading", name="Change your password")).to_be_visible()
    expect(page.get_by_label("Show what I type")).to_be_hidden()
    page.goto(f"{served.url}/sign-out")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    context.close()


def test_after_signing_out_nothing_is_left_to_see(chromium: Browser, served: Served) -> None:
    with window(chromium, served) as context:
        page, other = context.new_page(), context.new_page()
        page.goto(served.url)
        fill_sign_in(page, "ada")
        expect_page(page, "Home")
        other.goto(f"{served.url}/slides")
        expect_page(other, "Slides")
        page.goto(f"{served.url}/sign-out")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        kept = {cookie["name"].rpartition("_")[2] for cookie in context.cookies()}
        assert kept <= {"form", "xsrf"}, "no cookie of a session"
        page.go_back()
        page.go_back()
        expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
        other.bring_to_front()
        other.evaluate("window.dispatchEvent(new Event('histocurator:signed-out'))")
        expect(other.get_by_role("alertdialog", name="Your session has ended")).to_be_visible()


def test_what_one_person_saw_is_not_kept_for_the_next(chromium: Browser, served: Served) -> None:
    roi = list_rois(served.workspace)[0][0].id
    with window(chromium, served) as context:
        page = context.new_page()
        page.goto(served.url)
        fill_sign_in(page, "ada")
        expect_page(page, "Home")
        asking = f"fetch('/api/rois/{roi}/image').then((answer) => answer.status)"
        assert page.evaluate(asking) == 200
        end_sessions_of(served.workspace, "ada", who="test")
        # Nobody signed out, which would have emptied the browser's cache.
        page.goto(f"{served.url}/sign-in")
        fill_sign_in(page, "rita")
        expect_page(page, "Home")
        assert page.evaluate(asking) == 403


def test_an_invitation_makes_an_account_and_signs_in(chromium: Browser, served: Served) -> None:
    number = len(served.workspace.root.name) + os.getpid()
    name = f"carla-{number}"
    _, token = invite(served.workspace, roles=["author"], display_name="Carla", who="ada")
    with window(chromium, served) as context:
        page = context.new_page()
        page.goto(f"{served.url}/invitation/{token}")
        page.get_by_label("Sign-in name").fill(name)
        page.get_by_label("New password", exact=True).fill(NEW)
        page.get_by_label("New password again").fill("not the same")
        page.get_by_role("button", name="Make the account").click()
        expect(page.get_by_role("alert")).to_have_text("The two new passwords differ.")
        expect(page.get_by_label("New password again")).to_be_focused()
        expect(page.get_by_label("Sign-in name")).to_have_value(name)
        for label in ("New password", "New password again"):
            expect(page.get_by_label(label, exact=True)).to_have_value("")
            page.get_by_label(label, exact=True).fill(NEW)
        page.get_by_role("button", name="Make the account").click()
        expect_page(page, "Home")
        account = find_account(served.workspace, name)
        assert account is not None
        assert account.display_name == "Carla"
        page.goto(f"{served.url}/invitation/{token}")
        expect(page.get_by_role("heading", name="This link does not work")).to_be_visible()
    logs = [served.log, *served.workspace.root.rglob("*.log")]
    assert len(logs) > 1
    for log in logs:
        assert token not in log.read_text(encoding="utf-8"), log


def test_a_reset_link_and_a_change_of_the_password(chromium: Browser, served: Served) -> None:
    name = f"dora-{os.getpid()}"
    if find_account(served.workspace, name) is None:
        add_person(served.workspace, name, "author")
    _, token = reset_link(served.workspace, name, who="ada")
    with window(chromium, served) as context:
        page = context.new_page()
        page.goto(f"{served.url}/invitation/{token}")
        for label in ("New password", "New password again"):
            page.get_by_label(label, exact=True).fill(NEW)
        page.keyboard.press("Enter")
        expect_page(page, "Home")
        page.goto(f"{served.url}/password")
        page.get_by_label("Current password").fill(NEW)
        for label in ("New password", "New password again"):
            page.get_by_label(label, exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Change the password").click()
        expect(page.get_by_role("status")).to_contain_text("The password is changed.")
        page.goto(f"{served.url}/sign-out")
        page.get_by_role("button", name="Sign out").click()
        fill_sign_in(page, name)
        expect_page(page, "Home")


def test_a_text_survives_the_end_of_the_session_while_it_is_typed(chromium: Browser, served: Served) -> None:
    workspace = served.workspace
    sentence = "Which cells line the sinusoid that is marked here, and what do they carry?"
    with window(chromium, served) as context:
        page = context.new_page()
        page.goto(f"{served.url}/write-seeds")
        fill_sign_in(page, "bob")
        expect_page(page, "Write seeds")
        question = page.get_by_label("Question, or a statement")
        question.fill("")
        with page.expect_response(lambda answer: "/api/drafts/" in answer.url and answer.status == 200):
            question.press_sequentially(sentence[:20])
        end_sessions_of(workspace, "bob", who="test")
        question.press_sequentially(sentence[20:], delay=15)
        cover = page.get_by_role("alertdialog", name="Your session has ended")
        expect(cover).to_contain_text("What you typed is kept.")
        expect(cover.get_by_role("link", name="Sign in again")).to_be_focused()
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        expect(cover).to_be_visible()
        assert own_drafts(workspace, "bob")["question"] != sentence, "the server cannot have it yet"
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_contain_text("Your session has ended.")
        fill_sign_in(page, "bob")
        expect_page(page, "Write seeds")
        expect(page.get_by_label("Question, or a statement")).to_have_value(sentence)
        assert own_drafts(workspace, "bob")["question"] == sentence
        assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('histocurator'))") == []


def test_a_text_survives_while_the_server_takes_none(chromium: Browser, served: Served) -> None:
    sentence = f"Typed while nothing went through ({os.getpid()})."
    with window(chromium, served) as context:
        page = context.new_page()
        page.goto(f"{served.url}/write-seeds")
        fill_sign_in(page, "bob")
        expect_page(page, "Write seeds")
        page.route("**/api/drafts/*", lambda route: route.abort())
        with page.expect_event("requestfailed"):
            page.get_by_label("Question, or a statement").fill(sentence)
        page.unroute("**/api/drafts/*")
        page.reload()
        expect_page(page, "Write seeds")
        expect(page.get_by_label("Question, or a statement")).to_have_value(sentence)


def test_the_watch_asks_seldom_and_not_at_all_while_nobody_looks(chromium: Browser, served: Served) -> None:
    with window(chromium, served) as context:
        page = context.new_page()
        page.clock.install()
        page.goto(served.url)
        fill_sign_in(page, "ada")
        expect_page(page, "Home")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/api/session" in request.url else None)
        for _ in range(4):
            page.clock.fast_forward(15_000)
        page.wait_for_timeout(500)
        assert 3 <= len(asked) <= 5
        page.evaluate("Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })")
        asked.clear()
        for _ in range(4):
            page.clock.fast_forward(15_000)
        page.wait_for_timeout(500)
        assert asked == []


def test_nobodys_word_for_an_address_is_believed(served: Served) -> None:
    """Not even on this computer, unless the settings name the proxy: else the throttle of an address is none."""
    with httpx.Client(base_url=served.url, headers={"Origin": served.url, "X-Forwarded-For": "6.6.6.6"}) as client:
        token = form_token(client.get("/sign-in").text)
        answer = client.post("/sign-in", data={"token": token, "name": "ada", "password": PASSWORD})
    assert answer.status_code == 303
    sessions = list_own_sessions(served.workspace.acting_as(actor(served.workspace, "ada")))
    assert {one.address for one in sessions} == {"127.0.0.1"}


def test_a_text_is_for_who_typed_it(chromium: Browser, served: Served) -> None:
    workspace = served.workspace
    sentence = f"Only bob may see this ({os.getpid()})."
    with window(chromium, served) as context:
        page = context.new_page()
        page.goto(f"{served.url}/write-seeds")
        fill_sign_in(page, "bob")
        expect_page(page, "Write seeds")
        end_sessions_of(workspace, "bob", who="test")
        question = page.get_by_label("Question, or a statement")
        question.fill(sentence)
        page.get_by_role("link", name="Sign in again").click()
        fill_sign_in(page, "ada")
        expect_page(page, "Write seeds")
        expect(page.get_by_label("Question, or a statement")).not_to_have_value(sentence)
        assert own_drafts(workspace, "ada").get("question") != sentence
        page.goto(f"{served.url}/sign-out")
        page.get_by_role("button", name="Sign out").click()
        page.goto(f"{served.url}/write-seeds")
        fill_sign_in(page, "bob")
        expect_page(page, "Write seeds")
        expect(page.get_by_label("Question, or a statement")).to_have_value(sentence)
        assert own_drafts(workspace, "bob")["question"] == sentence


def test_an_open_page_is_covered_when_somebody_else_signs_in_and_freed_when_its_owner_does(
    chromium: Browser, served: Served
) -> None:
    with window(chromium, served) as context:
        page, other = context.new_page(), context.new_page()
        page.goto(f"{served.url}/write-seeds")
        fill_sign_in(page, "bob")
        expect_page(page, "Write seeds")
        for name, seen in (("ada", "Somebody else is signed in now"), ("bob", None)):
            other.goto(f"{served.url}/sign-out")
            other.get_by_role("button", name="Sign out").click()
            fill_sign_in(other, name)
            expect_page(other, "Home")
            page.bring_to_front()
            page.evaluate("window.dispatchEvent(new Event('histocurator:signed-out'))")
            if seen is not None:
                expect(page.get_by_role("alertdialog", name=seen)).to_be_visible()
        expect(page.get_by_role("alertdialog")).to_have_count(0)
        expect(page.get_by_label("Question, or a statement")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_pages_look_right(chromium: Browser, served: Served, size: tuple[int, int], theme: str) -> None:
    workspace = served.workspace
    _, invitation = invite(workspace, roles=["author", "reviewer"], display_name="Dr Bertha Ölschläger", who="ada")
    _, reset = reset_link(workspace, "bob", who="ada")
    with window(chromium, served, size, theme=theme) as context:
        page = context.new_page()

        def look(name: str) -> None:
            if SCREENSHOTS:
                page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}-{size[0]}-{theme}.png"))
            assert clipped_texts(page) == [], name
            assert unnamed_controls(page) == [], name

        page.goto(served.url)
        look("sign-in")
        page.goto(f"{served.url}/invitation/{invitation}")
        look("invitation")
        page.get_by_label("Sign-in name").fill("No such name!")
        page.get_by_label("New password", exact=True).fill("short")
        page.get_by_label("New password again").fill("shorter")
        page.get_by_role("button", name="Make the account").click()
        expect(page.get_by_role("alert")).to_contain_text("differ")
        look("invitation-with-faults")
        page.goto(f"{served.url}/invitation/{reset}")
        look("reset")
        page.goto(f"{served.url}/invitation/none")
        look("no-link")
        page.goto(f"{served.url}/password")
        fill_sign_in(page, "ada")
        expect(page.get_by_role("heading", name="Change your password")).to_be_visible()
        look("password")
        page.goto(f"{served.url}/slides")
        expect_page(page, "Slides")
        page.wait_for_load_state("networkidle")
        end_sessions_of(workspace, "ada", who="test")
        page.evaluate("window.dispatchEvent(new Event('histocurator:signed-out'))")
        cover = page.get_by_role("alertdialog", name="Your session has ended")
        expect(cover).to_be_visible()
        ground = cover.evaluate("(dialog) => getComputedStyle(dialog, '::backdrop').backgroundColor")
        assert ground.startswith("rgb("), "nothing of the page can be read through it"
        look("session-ended")
