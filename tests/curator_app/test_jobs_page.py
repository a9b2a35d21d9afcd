"""The Jobs page without a browser: what it says of each job, cancelling, who may, and hostile texts."""

from __future__ import annotations

from html import escape

import pytest
from google.protobuf.text_format import MessageToString
from streamlit.testing.v1 import AppTest

from curator_app.components.jobs_html import log_html
from curator_app.session import use_workspace
from db.tables import Item, ItemVersion
from pipeline.jobs import job_status, list_jobs, submit
from pipeline.permissions import Actor, Role
from pipeline.review import list_items
from pipeline.variants import choose_models, generate_items
from pipeline.workspace import Workspace
from tests.curator_app.conftest import open_page
from tests.pipeline.test_jobs import ended, wait_for, worker

pytestmark = pytest.mark.sqlite("what a page draws and calls; what it reads and writes is asked on both engines")

HOSTILE = "<img src=x onerror=alert(1)>"


def said(page: AppTest) -> str:
    assert not page.exception, page.exception
    return "\n".join(MessageToString(element.proto, as_utf8=True) for element in page.main if element.proto is not None)


def keys(page: AppTest) -> set[str]:
    return {str(button.key) for button in page.button}


def test_an_empty_page_says_what_runs_as_a_job(workspace: Workspace) -> None:
    page = open_page(workspace, "jobs")
    assert "No jobs yet." in said(page)
    assert keys(page) == {"empty_slides"}


def test_a_waiting_job_is_cancelled_after_asking(workspace: Workspace) -> None:
    job = submit(workspace, "bin", organ="liver")
    page = open_page(workspace, "jobs")
    assert "Making bins" in said(page)
    assert "○ waiting" in said(page)
    page.button(key="cancel_job").click().run()
    assert "It has not begun: nothing is lost." in said(page)
    assert job_status(workspace, job).active, "it asks first"
    page.button(key="cancel_keep").click().run()
    assert keys(page) == {"cancel_job"}
    page.button(key="cancel_job").click().run()
    page.button(key="cancel_now").click().run()
    assert job_status(workspace, job).state == "cancelled"
    assert "– cancelled" in said(page)
    assert keys(page) == set()


def test_a_job_that_ended_meanwhile_is_not_cancelled_but_named(workspace: Workspace) -> None:
    job = submit(workspace, "bin", organ="spleen")
    page = open_page(workspace, "jobs")
    page.button(key="cancel_job").click().run()
    with worker(workspace):
        wait_for(workspace, job, ended)
    page.button(key="cancel_now").click().run()
    assert not page.exception
    assert job_status(workspace, job).state == "failed"
    assert "has ended" in said(page).replace("\\", "")
    assert "There are no candidates of spleen" in said(page)
    assert "✕ failed" in said(page)


def test_only_the_own_job_or_that_permission_cancels(workspace: Workspace) -> None:
    submit(workspace.acting_as(Actor("anna", frozenset({Role.AUTHOR}))), "bin", organ="liver")
    for name, role, may in (
        ("anna", Role.AUTHOR, True),
        ("otto", Role.AUTHOR, False),
        ("rita", Role.REVIEWER, False),
        ("carl", Role.COORDINATOR, True),
    ):
        page = open_page(workspace.acting_as(Actor(name, frozenset({role}))), "jobs")
        assert "anna" in said(page)
        assert ("cancel_job" in keys(page)) is may, name


def test_the_page_leads_to_the_result(with_slides: Workspace) -> None:
    with worker(with_slides):
        job = submit(with_slides, "sample", organ="liver", count=3, size=128)
        assert wait_for(with_slides, job, ended).state == "done"
    page = open_page(with_slides, "jobs")
    assert "3 drawn of 3 asked for" in said(page)
    assert keys(page) == {"open_result"}
    assert "begins" in said(page), "the log"


def test_what_people_and_models_wrote_is_no_markup(workspace: Workspace) -> None:
    submit(workspace.acting_as(Actor(HOSTILE, frozenset({Role.AUTHOR}))), "bin", organ=HOSTILE)
    text = said(open_page(workspace, "jobs"))
    assert HOSTILE not in text
    assert escape(HOSTILE) in text


def test_older_jobs_are_shown_on_asking(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curator_app.pages.jobs.SHOWN", 2)
    with worker(workspace):
        jobs = [submit(workspace, "bin", organ=organ) for organ in ("first", "second", "third")]
        for job in jobs:
            wait_for(workspace, job, ended)
    page = open_page(workspace, "jobs")
    assert jobs[0] not in said(page)
    page.button(key="jobs_older").click().run()
    assert all(job in said(page) for job in jobs)
    assert "jobs_older" not in keys(page)


def test_an_empty_log_says_why() -> None:
    assert "Nothing was logged" in log_html([])


def test_items_whose_check_came_to_nothing_are_checked_again_from_the_items_page(with_seeds: Workspace) -> None:
    generate_items(with_seeds, models=choose_models(with_seeds, generator=None, checker=None), who="test")
    assert "check_again" not in keys(open_page(with_seeds, "items"))
    lost = next(entry for entry in list_items(with_seeds) if entry.item.format == "mcq")
    with with_seeds.writing() as session:
        session.get_one(ItemVersion, lost.version.id).guess_verdict = "incomplete"
        session.get_one(Item, lost.item.id).state = "escalated"
    use_workspace(with_seeds)
    page = AppTest.from_string("from curator_app.pages import items\nitems.show()\n", default_timeout=30)
    page.session_state["items_view"] = "write"
    page.run()
    assert "Check 1 item again" in [button.label for button in page.button]
    page.button(key="check_again").click().run()
    assert not page.exception
    (job,) = list_jobs(with_seeds)
    assert (job.kind, job.parameters) == ("check", {"checker": "offline/test-wise", "item_ids": [lost.item.id]})
    assert page.button(key="check_again").disabled, "one at a time"
    use_workspace(with_seeds.acting_as(Actor("rita", frozenset({Role.REVIEWER}))))
    page.run()
    assert "check_again" not in keys(page)
