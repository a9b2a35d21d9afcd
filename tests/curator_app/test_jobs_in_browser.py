"""Jobs and Audit in Chromium: a job that runs, cancelling it, one that failed, its log, and how both pages look."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pipeline.jobs import cancel_job, job_status, list_jobs, submit
from pipeline.workspace import Workspace
from tests.curator_app.filled import fill_with_items
from tests.curator_app.looks import AT_REST, clipped_texts, press, unnamed_controls
from tests.curator_app.served import Served, serving
from tests.curator_app.test_pages_in_browser import SIZES, go, visit
from tests.databases import new_workspace
from tests.pipeline import scripted
from tests.pipeline.test_jobs import ended, wait_for
from tests.wire.stub import Hang, Received, Step, WireStub

pytestmark = pytest.mark.browser

SCREENSHOTS = os.environ.get("HISTOCURATOR_SCREENSHOTS")


@dataclass(frozen=True)
class AtWork:
    """A served workspace, and the jobs that it has: one that is done, one that failed."""

    served: Served
    done: str
    failed: str

    @property
    def workspace(self) -> Workspace:
        return self.served.workspace


@pytest.fixture(scope="module")
def at_work(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtWork]:
    """A served workspace whose model never answers what is generated from its third seed."""
    folder = tmp_path_factory.mktemp("jobs")
    workspace = fill_with_items(new_workspace(folder / "workspace"), folder)
    writer = scripted.Writer()
    checker = scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: 2)

    def script(received: Received) -> Step:
        if "How is the fatty change distributed?" in received.text:
            return Hang(600)
        return writer.answer(received) if scripted.writer_of(received) else checker(received)

    with WireStub(script=script) as stub, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STUB_BASE_URL", stub.openai_url)
        patch.setenv("STUB_API_KEY", "key")
        with serving(workspace, folder) as served:
            failed = submit(workspace, "bin", organ="spleen")
            wait_for(workspace, failed, ended)
            done = submit(workspace, "generate", generator=scripted.WRITER, checker=scripted.CHECKER)
            wait_for(workspace, done, lambda job: job.done == 1)
            yield AtWork(served, done, failed)
            for job in list_jobs(workspace, active_only=True):
                cancel_job(workspace, job.id)


def _looks_right(page: Page, name: str) -> None:
    page.wait_for_function(AT_REST)
    if SCREENSHOTS:
        page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}.png"))
    assert clipped_texts(page) == [], name
    assert unnamed_controls(page) == [], name


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_both_pages_look_right(chromium: Browser, at_work: AtWork, size: tuple[int, int], theme: str) -> None:
    with visit(chromium, at_work.served, size, theme=theme) as page:
        go(page, "Jobs")
        expect(page.get_by_role("progressbar", name="Progress")).to_be_visible()
        expect(page.get_by_role("log")).to_contain_text("2 seeds")
        expect(page.get_by_text("1 / 2 seeds").first).to_be_visible()
        _looks_right(page, f"jobs-running-{size[0]}-{theme}")
        page.get_by_role("button", name="Making bins").click()
        expect(page.get_by_text("Why it failed")).to_be_visible()
        _looks_right(page, f"jobs-failed-{size[0]}-{theme}")
        go(page, "Audit")
        expect(page.get_by_text("whole", exact=True)).to_be_visible()
        expect(page.get_by_role("row", name="generate").first).to_be_visible()
        expect(page.get_by_label("Object's id")).to_be_visible()
        _looks_right(page, f"audit-{size[0]}-{theme}")


def test_a_chosen_job_stays_chosen_while_the_page_draws_itself_again(chromium: Browser, at_work: AtWork) -> None:
    with visit(chromium, at_work.served) as page:
        go(page, "Jobs")
        page.get_by_role("button", name="Making bins").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".hc-why")).to_contain_text("There are no candidates of spleen")
        page.wait_for_timeout(5_000)
        expect(page.locator(".hc-why")).to_contain_text("There are no candidates of spleen")


def test_the_trail_is_downloaded_with_the_filters(chromium: Browser, at_work: AtWork) -> None:
    with visit(chromium, at_work.served) as page:
        go(page, "Audit")
        with page.expect_download() as everything:
            page.get_by_role("link", name="Download as CSV").click()
        page.get_by_label("Object's id").fill("nothing_like_it")
        page.keyboard.press("Enter")
        expect(page.get_by_text("No rows fit.")).to_be_visible()
        with page.expect_download() as nothing:
            page.get_by_role("link", name="Download as CSV").click()
        rows = everything.value.path().read_text().splitlines()
        assert len(rows) > 10
        assert nothing.value.path().read_text().splitlines() == rows[:1]


def test_cancelling_asks_and_says_what_it_does(chromium: Browser, at_work: AtWork) -> None:
    with visit(chromium, at_work.served) as page:
        go(page, "Jobs")
        expect(page.get_by_role("button", name="Cancel this job")).to_be_visible()
        press(page, "c")
        expect(page.get_by_text("seeds are done")).to_be_visible()
        _looks_right(page, "jobs-cancel")
        press(page, "k")
        expect(page.get_by_role("button", name="Cancel this job")).to_be_visible()
        assert job_status(at_work.workspace, at_work.done).active
        press(page, "c")
        expect(page.get_by_role("button", name="Yes, cancel it")).to_be_visible()
        press(page, "y")
        expect(page.get_by_role("heading", name="– cancelled")).to_be_visible()
    job = job_status(at_work.workspace, at_work.done)
    assert (job.state, job.cancelled_by) == ("cancelled", at_work.workspace.actor.name)
