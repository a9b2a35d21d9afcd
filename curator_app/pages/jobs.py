"""Jobs: the long work that runs and ran, with progress, cost, result, log, and a way to cancel it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from html import escape

import streamlit as st

from curator_app.components import Key
from curator_app.components._choosable import choosable
from curator_app.components.item_html import item_style
from curator_app.components.jobs_html import job_html, jobs_table, log_html
from curator_app.job_words import RESULT_PAGES, cancelling, title, waits_for
from curator_app.layout import empty_state, go_to, key_label, page_head, refusals_shown, show_problems
from curator_app.rail import may_open
from curator_app.session import may, workspace
from pipeline.errors import InputError
from pipeline.job_costs import JobCost, job_cost
from pipeline.job_log import LAST_LINES, read_job_log
from pipeline.jobs import JOB_PERMISSIONS, JobStatus, cancel_job, list_jobs, may_cancel
from pipeline.permissions import Permission
from pipeline.workers import queue_of

REFRESH_S = 2.0
SHOWN = 20
"""So many jobs are shown, and so many more each time older ones are asked for."""

SETTLED = timedelta(minutes=1)
"""So long after a job ended its last replies may still be stored."""

_KEYS = (Key("o", "Open the page where the chosen job's result is", button="open_result"),)
_CANCEL_KEYS = (
    Key("c", "Cancel the chosen job; it asks first", button="cancel_job"),
    Key("y", "Yes, cancel it", button="cancel_now"),
    Key("k", "No, keep it running", button="cancel_keep"),
)
_CHOSEN, _ASKED, _COUNT, _COSTS = "jobs_chosen", "jobs_asked", "jobs_count", "jobs_costs"
_OPEN, _PROBLEM = "jobs_open", "jobs_problem"
_RUN_ON_BENCHMARK = "benchmark_run"


def show() -> None:
    """Draw the page; while something runs, it draws itself again."""
    # Who starts jobs may cancel their own.
    cancels = any(map(may, (Permission.CANCEL_JOBS, *JOB_PERMISSIONS.values())))
    keys = (*_KEYS, *_CANCEL_KEYS) if cancels else _KEYS
    page_head("Jobs", "Long work: what runs, what came of it, what it cost", keys=keys)
    st.html(item_style())
    jobs, more = _jobs()
    if any(job.active for job in jobs):
        st.fragment(_draw_live, run_every=REFRESH_S)()
    else:
        _draw(jobs, more=more)


def _draw_live() -> None:
    with refusals_shown():
        jobs, more = _jobs()
        _draw(jobs, more=more)
        if not any(job.active for job in jobs):
            st.rerun()


def _jobs() -> tuple[list[JobStatus], bool]:
    """Return the jobs to show, those that wait or run first, and whether there are older ones."""
    count = st.session_state.setdefault(_COUNT, SHOWN)
    active = list_jobs(workspace(), active_only=True)
    known = {job.id for job in active}
    latest = list_jobs(workspace(), limit=count + 1)
    return [*active, *(job for job in latest[:count] if job.id not in known)], len(latest) > count


def _draw(jobs: Sequence[JobStatus], *, more: bool) -> None:
    if (module := st.session_state.pop(_OPEN, None)) is not None:
        go_to(module)
    if (problem := st.session_state.pop(_PROBLEM, None)) is not None:
        show_problems(problem)
    if not jobs:
        empty_state(
            "No jobs yet.",
            "Adding slides, making bins, writing and checking items and evaluating models run as jobs. They go on "
            "when you close the page, and are listed here.",
            page="slides",
            link="Open Slides",
        )
        return
    chosen = next((job for job in jobs if job.id == st.session_state.get(_CHOSEN)), jobs[0])
    costs = {job.id: _cost(job) for job in jobs}
    left, right = st.columns([3, 2], gap="medium")
    with left:
        choosable(jobs_table(jobs, costs, chosen=chosen.id), key="jobs_table", on_choose=_choose)
        if more:
            st.button("Show older jobs", key="jobs_older", on_click=_show_older)
    with right, st.container(key="job_chosen"):
        waits = waits_for(chosen, queue_of(workspace(), [job for job in jobs if job.active]))
        _one(chosen, costs[chosen.id], waits)


def _cost(job: JobStatus) -> JobCost | None:
    """Return what a job cost; that of one that ended a while ago is looked up once in a visit."""
    kept: dict[str, JobCost | None] = st.session_state.setdefault(_COSTS, {})
    if job.id in kept:
        return kept[job.id]
    cost = job_cost(workspace(), job)
    if job.ended_at is not None and datetime.now(UTC) - job.ended_at > SETTLED:
        kept[job.id] = cost
    return cost


def _choose(job_id: str) -> None:
    st.session_state[_CHOSEN] = job_id
    st.session_state[_ASKED] = None


def _show_older() -> None:
    st.session_state[_COUNT] += SHOWN


def _one(job: JobStatus, cost: JobCost | None, waits: str) -> None:
    st.html(job_html(job, cost, waits=waits))
    with st.container(horizontal=True, key="job_acts"):
        page = next((page for kind, page in RESULT_PAGES.items() if kind == job.kind), None)
        if job.state == "done" and page is not None and may_open(page.module):
            st.button(key_label(page.words, "o"), key="open_result", on_click=_open_result, args=(job, page.module))
        if job.active and may_cancel(job, workspace().actor):
            _cancel(job)
    st.html(f'<p class="hc-section">Log · last {LAST_LINES} lines</p>')
    st.html(log_html(read_job_log(workspace(), job.id), error=job.error))


def _open_result(job: JobStatus, module: str) -> None:
    # By a callback, as all acts here: what a button returns is lost where the page draws itself again just then.
    if job.kind == "evaluate" and job.result is not None:
        st.session_state[_RUN_ON_BENCHMARK] = job.result.get("run")
    st.session_state[_OPEN] = module


def _cancel(job: JobStatus) -> None:
    """Ask before a job is cancelled, saying what that will do."""
    if st.session_state.get(_ASKED) != job.id:
        st.button(key_label("Cancel this job", "c"), key="cancel_job", on_click=_ask, args=(job.id,))
        return
    with st.container(border=True, key="cancel_asked"):
        st.html(
            f'<p role="alert" style="margin:0"><strong>Cancel “{escape(title(job))}”?</strong> '
            f"{escape(cancelling(job))}</p>"
        )
        with st.container(horizontal=True):
            st.button(
                key_label("Yes, cancel it", "y"), key="cancel_now", type="primary", on_click=_cancel_now, args=(job.id,)
            )
            st.button(key_label("Keep it running", "k"), key="cancel_keep", on_click=_ask, args=(None,))


def _cancel_now(job_id: str) -> None:
    st.session_state[_ASKED] = None
    try:
        cancel_job(workspace(), job_id)
    except InputError as error:
        st.session_state[_PROBLEM] = error


def _ask(job_id: str | None) -> None:
    st.session_state[_ASKED] = job_id
