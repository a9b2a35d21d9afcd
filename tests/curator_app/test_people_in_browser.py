"""People, My account and the signing dialog in Chromium: how they look, the first account, signing out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from curator_app.identity import Access, secret_key
from pipeline.people import accounts_exist, add_account, close_account, invite, sign_in, withdraw_invitation
from pipeline.releases import build_release, list_releases
from tests.curator_app.filled import approve_all, fill_with_items
from tests.curator_app.looks import AT_REST, clipped_texts, press, unnamed_controls
from tests.curator_app.served import Served, serving
from tests.databases import new_workspace

pytestmark = pytest.mark.browser

WAIT_MS = 20_000
SIZES = [(1440, 900), (1024, 768)]
PASSWORD = "correct horse battery staple"
LONG = "Prof. Wolfeschlegelsteinhausenbergerdorff, Institute of Veterinary Pathology"
SCREENSHOTS = os.environ.get("HISTOCURATOR_SCREENSHOTS")
"""A folder that pictures are written to, for somebody to look at."""


@pytest.fixture(scope="module")
def peopled(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A served workspace with a release, accounts, a closed one, and links."""
    folder = tmp_path_factory.mktemp("peopled")
    workspace = new_workspace(folder / "workspace")
    approve_all(fill_with_items(workspace, folder))
    build_release(workspace, name="nephro", version="1.0.0", annotation_licence="CC0-1.0", who="test")
    for name, role, shown in (
        ("anna", "admin", "Dr. Anna"),
        ("rita", "reader", LONG),
        ("gone", "author", "<b>Gone</b>"),
    ):
        add_account(workspace, name, roles=[role], password=PASSWORD, display_name=shown, who="test")
    close_account(workspace, "gone", reason="left", who="anna")
    link, _ = invite(workspace, roles=["reader"], display_name=LONG, who="anna")
    withdraw_invitation(workspace, link.id, who="anna")
    invite(workspace, roles=["author", "reviewer"], display_name=LONG, who="anna")
    with serving(workspace, folder) as served:
        yield served


@contextmanager
def visit(
    browser: Browser,
    served: Served,
    path: str,
    *,
    who: str | None,
    size: tuple[int, int] = SIZES[0],
    dark: bool = False,
) -> Iterator[Page]:
    """Open an address of the app, signed in as somebody, and wait until it has been drawn."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light"
    )
    if who is not None:
        access = Access(served.workspace, secret_key(served.workspace))
        opened = sign_in(served.workspace, who, PASSWORD, address="127.0.0.1", browser="test")
        name, _, value = access.session_cookie(opened).partition(";")[0].partition("=")
        context.add_cookies([{"name": name, "value": value, "url": served.url}])
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    page.goto(served.url + path)
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    page.wait_for_function(AT_REST)
    try:
        yield page
    finally:
        context.close()


def _looks_right(page: Page, name: str) -> None:
    if SCREENSHOTS:
        page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}.png"))
    assert clipped_texts(page) == []
    assert unnamed_controls(page) == []


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    ("path", "who"), [("/people", "anna"), ("/my-account", "rita"), ("/people", "rita"), ("/", "rita")]
)
def test_pages_look_right(chromium: Browser, peopled: Served, path: str, who: str, size: tuple[int, int]) -> None:
    with visit(chromium, peopled, path, who=who, size=size, dark=size == SIZES[1]) as page:
        _looks_right(page, f"{path.strip('/') or 'home'}-{who}-{size[0]}")


def test_an_address_that_the_rail_does_not_name_is_refused_in_words(chromium: Browser, peopled: Served) -> None:
    with visit(chromium, peopled, "/releases", who="rita") as page:
        expect(page.get_by_text("This page is not for you.")).to_be_visible()
        rail = page.get_by_test_id("stSidebarNav")
        expect(rail.get_by_role("link")).to_have_count(2)
        assert "nephro" not in page.content()


def test_an_invitation_by_key_is_shown_once(chromium: Browser, peopled: Served) -> None:
    with visit(chromium, peopled, "/people", who="anna") as page:
        expect(page.get_by_role("button", name="Invite somebody")).to_be_visible()
        press(page, "i")
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("reviewer decides on items", exact=True).click()
        dialog.get_by_role("button", name="Make the link").click()
        expect(dialog.get_by_text(f"{peopled.url}/invitation/")).to_be_visible()
        expect(dialog.get_by_role("button", name="Make the link")).to_have_count(0)
        _looks_right(page, "invited")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(page.get_by_text("/invitation/")).to_have_count(0)


def test_a_release_is_signed_after_the_password_was_wrong_once(chromium: Browser, peopled: Served) -> None:
    with visit(chromium, peopled, "/releases", who="anna", size=SIZES[1]) as page:
        page.get_by_role("button", name="Sign", exact=True).click()
        password = page.get_by_label("Your password")
        password.fill("not her password at all")
        page.get_by_role("button", name="Sign this release").click()
        expect(page.get_by_text("The password is wrong")).to_be_visible()
        expect(password).to_have_value("")
        password.fill(PASSWORD)
        page.get_by_role("button", name="Sign this release").click()
        expect(page.get_by_text("approved for use")).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("button", name="Sign", exact=True)).to_have_count(0)
    assert list_releases(peopled.workspace)[0].signed


def test_signing_out_ends_the_session_and_leads_to_the_way_in(chromium: Browser, peopled: Served) -> None:
    with visit(chromium, peopled, "/", who="rita") as page:
        page.locator(".st-key-rail_foot").get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/sign-in*")
        page.goto(f"{peopled.url}/my-account")
        page.wait_for_url(lambda url: url.endswith("/sign-in?next=/my-account"))


def test_the_first_administrator_is_made_without_a_terminal(chromium: Browser, tmp_path: Path) -> None:
    workspace = new_workspace(tmp_path / "workspace")
    with serving(workspace, tmp_path) as served, visit(chromium, served, "/people", who=None) as page:
        page.get_by_role("textbox", name="Sign-in name").fill("anna")
        page.get_by_label("Password (required").fill(PASSWORD)
        page.get_by_label("Password again").fill(PASSWORD)
        _looks_right(page, "first")
        page.get_by_role("button", name="Make this administrator").click()
        expect(page.get_by_text("The account anna is made.")).to_be_visible()
        expect(page.get_by_role("button", name="Make this administrator")).to_have_count(0)
        assert accounts_exist(workspace)
        page.get_by_role("link", name="Sign in").click()
        page.wait_for_url("**/sign-in*")
