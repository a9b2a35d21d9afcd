"""A full disk in Chromium: each page says so, texts stay in their fields, and all is saved when there is room."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from curator_app.drafts import DraftStore
from pipeline.audit import verify_trail
from pipeline.seeds import list_seeds
from pipeline.workspace import create_workspace
from tests.curator_app.filled import fill_with_items
from tests.curator_app.looks import AT_REST, clipped_texts, press, unnamed_controls
from tests.curator_app.served import Served, serving
from tests.curator_app.test_pages_in_browser import SIZES, WAIT_MS
from tests.small_disk import SmallDisk, mounted

pytestmark = [
    pytest.mark.browser,
    pytest.mark.sqlite("the database lies in the workspace, on the disk that is full"),
]

SCREENSHOTS = os.environ.get("HISTOCURATOR_SCREENSHOTS")
QUESTION = "Which cell is in mitosis, and in which phase of it? " * 20
FULL = "The disk of the server is full"
TRIED_AGAIN_MS = 60_000


@pytest.fixture
def full(chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Served, SmallDisk]]:
    """A served workspace on a small disk with room, and the disk."""
    monkeypatch.delenv("HISTOCURATOR_DATABASE_URL", raising=False)
    with mounted(tmp_path / "small", "32m") as disk:
        workspace = fill_with_items(create_workspace(disk.path / "workspace"), tmp_path)
        with serving(workspace, tmp_path) as served:
            yield served, disk


def test_nothing_is_lost_and_everything_is_said(chromium: Browser, full: tuple[Served, SmallDisk]) -> None:
    served, disk = full
    context = chromium.new_context(viewport={"width": SIZES[1][0], "height": SIZES[1][1]})
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    page.goto(f"{served.url}/write-seeds")
    question = page.get_by_label("Question, or a statement")
    question.fill("Which cell")
    expect(page.get_by_text(re.compile(r"draft saved \d\d:\d\d:\d\d"))).to_be_visible()
    page.wait_for_function(AT_REST)

    disk.fill()
    question.fill(QUESTION)
    said = "not saved yet: the disk of the server is full, kept in this browser"
    expect(page.get_by_text(said).first).to_be_visible()
    # A choice is an act of the page itself.
    page.get_by_text(re.compile(r"^1 ")).first.click()
    box = page.get_by_role("alert").filter(has_text=FULL)
    expect(box).to_contain_text("What you typed stays in its field and in this browser")
    page.wait_for_function(AT_REST)
    expect(question).to_have_value(QUESTION)
    expect(page.get_by_role("radio", name=re.compile("^1 "))).to_be_checked()
    assert clipped_texts(page) == []
    assert unnamed_controls(page) == []
    if SCREENSHOTS:
        page.screenshot(path=str(Path(SCREENSHOTS) / "Disk-full.png"))
    page.get_by_role("textbox", name="Answer").fill("the hepatocyte")
    press(page, "Control+Enter")
    expect(page.get_by_text(re.compile("Not saved yet: the (disk|database) .* Trying again…"))).to_be_visible()
    # Another tab opens all the same, with what is kept.
    other = context.new_page()
    other.goto(f"{served.url}/write-seeds")
    expect(other.get_by_label("Question, or a statement")).to_be_visible()
    other.close()

    disk.free()
    expect(page.get_by_text(re.compile(r"Saved \d\d:\d\d:\d\d: Which cell is"))).to_be_visible(timeout=TRIED_AGAIN_MS)
    expect(question).to_have_value("")
    page.wait_for_function("!Object.keys(localStorage).some((key) => key.startsWith('histocurator unsent'))")
    context.close()
    saved = [entry.seed.answer for entry in list_seeds(served.workspace) if entry.seed.question == QUESTION.strip()]
    assert saved == ["the hepatocyte"]
    assert DraftStore(served.workspace).latest("seed") is None
    assert verify_trail(served.workspace).faults == []
    assert "Traceback" in served.log.read_text(), "the log says what failed and where"
