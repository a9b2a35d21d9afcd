"""Long work on a page: start it, watch its bar, cancel it, read why it failed; the page reruns once at its end."""

from __future__ import annotations

from typing import Any

import streamlit as st

from curator_app.job_words import outcome, problems, title, units, waits_for, why
from curator_app.layout import mark, plain, refusals_shown, show_problems
from curator_app.session import workspace
from pipeline.errors import InputError
from pipeline.jobs import JobKind, JobStatus, cancel_job, list_jobs, may_cancel, submit
from pipeline.workers import Queue, queue_of

REFRESH_S = 1.0

_WATCHED = "jobs_seen_active"
_CLOSED = "jobs_closed"
_PROBLEM = "jobs_problem"


def start_job(kind: JobKind, **parameters: Any) -> str:
    """Queue a job with the parameters of its pipeline function and remember to show how it ends."""
    job_id = submit(workspace(), kind, **parameters)
    st.session_state.setdefault(_WATCHED, set()).add(job_id)
    return job_id


def watch_jobs(*kinds: JobKind) -> None:
    """Show the active jobs of some kinds, and those of this visit that ended, until they are closed.

    Without a job nothing is shown. Put it above what the job changes: the page reruns when one ends.
    """
    if any(job.active for job in _jobs(kinds)):
        # A fragment of its own: while a job runs only this part of the page is drawn again each second.
        st.fragment(_draw_live, run_every=REFRESH_S)(kinds)
    else:
        _draw(_jobs(kinds))


def ended_here(kind: JobKind) -> list[JobStatus]:
    """Return the jobs of a kind that ended while this visit watched them and that are not closed."""
    return [job for job in _jobs((kind,)) if not job.active]


def close_job(job_id: str) -> None:
    """Show a job that ended no longer."""
    st.session_state.setdefault(_CLOSED, set()).add(job_id)


def _draw_live(kinds: tuple[JobKind, ...]) -> None:
    with refusals_shown():
        jobs = _jobs(kinds)
        _draw(jobs)
        if not any(job.active for job in jobs):
            st.rerun()


def _jobs(kinds: tuple[JobKind, ...]) -> list[JobStatus]:
    """Return what is to be shown: what is active, and what ended while this visit watched it."""
    watched: set[str] = st.session_state.setdefault(_WATCHED, set())
    closed: set[str] = st.session_state.setdefault(_CLOSED, set())
    shown = [
        job
        for job in list_jobs(workspace())
        if job.kind in kinds and job.id not in closed and (job.active or job.id in watched)
    ]
    watched.update(job.id for job in shown)
    return shown


def _draw(jobs: list[JobStatus]) -> None:
    if (problem := st.session_state.pop(_PROBLEM, None)) is not None:
        show_problems(problem)
    waits = any(job.state == "queued" for job in jobs)
    queue = queue_of(workspace(), list_jobs(workspace(), active_only=True)) if waits else Queue(0, 0, ())
    for job in jobs:
        with st.container(horizontal=True, vertical_alignment="center", key=f"job_{job.id}"):
            if job.active:
                # Without a count there is no share to draw: an empty bar would look like one that stands still.
                if job.total:
                    st.progress(min(1.0, job.done / job.total), text=_standing(job, queue))
                else:
                    st.markdown(_standing(job, queue))
                if may_cancel(job, workspace().actor):
                    # By a callback: what a button returns is lost where the page draws itself again just then.
                    st.button(
                        "Cancel", key=f"cancel_{job.id}", help=plain(title(job)), on_click=_cancel, args=(job.id,)
                    )
            else:
                st.markdown(_ending(job))
                if st.button("Close", key=f"close_{job.id}"):
                    close_job(job.id)
                    st.rerun()


def _cancel(job_id: str) -> None:
    try:
        cancel_job(workspace(), job_id)
    except InputError as error:
        st.session_state[_PROBLEM] = error


def _standing(job: JobStatus, queue: Queue) -> str:
    """Return where an active job stands; one that waits says for what: without a worker it would wait for ever."""
    parts = (units(job), job.message) if job.state == "running" else (waits_for(job, queue),)
    return " · ".join([_title(job), *(plain(part) for part in parts if part)])


def _title(job: JobStatus) -> str:
    return f"{mark(job.state)} · {plain(title(job))}"


def _ending(job: JobStatus) -> str:
    """Return how a job ended and why, with every problem on its own line."""
    said = " ".join(why(job)) or outcome(job.kind, job.result or {})
    first = f"**{_title(job)}**" + (f" · {plain(said)}" if said else "")
    return "\n".join([first, "", *(f"- {plain(line)}" for line in problems(job))])
