"""`histocurator jobs`: see the long work that runs and ran, with its cost and log, and cancel it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curator_app.cli._output import (
    MOST_LISTED,
    JsonOption,
    WorkspaceOption,
    opened_with_queue,
    print_json,
    print_table,
    print_text,
)

if TYPE_CHECKING:
    from pipeline.job_costs import JobCost
    from pipeline.jobs import JobStatus
    from pipeline.workers import Queue

jobs_app = typer.Typer(help="Long work: what runs, what it cost, what went wrong.", no_args_is_help=True)

IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The job's id, as 'jobs list' shows it, or its beginning.")
]


@jobs_app.command("list")
def list_(
    active: Annotated[bool, typer.Option("--active", help="Only what waits or runs.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=MOST_LISTED, help="How many at most.")] = 50,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List jobs, newest first; times are UTC."""
    with opened_with_queue(workspace) as opened:
        from curator_app.job_words import about, state, title
        from pipeline.jobs import list_jobs

        jobs = list_jobs(opened, active_only=active, limit=limit)
        if as_json:
            print_json([_document(job) for job in jobs])
        elif not jobs:
            print_text(
                "No job runs." if active else "No jobs yet. Long work that is started in the app is listed here."
            )
        else:
            print_table(
                f"{len(jobs)} {'job' if len(jobs) == 1 else 'jobs'}",
                ("id", "state", "what", "about", "who", "asked for (UTC)", "done", "of", "failed"),
                [
                    (
                        job.id,
                        state(job),
                        title(job),
                        about(job),
                        job.who,
                        f"{job.created_at:%Y-%m-%d %H:%M:%S}",
                        job.done,
                        job.total,
                        job.failed,
                    )
                    for job in jobs
                ],
                cut=("what", "about"),
            )


@jobs_app.command("show")
def show(
    job_id: IdArgument,
    lines: Annotated[int, typer.Option(min=0, help="How many of the last lines of its log.")] = 20,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show where a job stands, what it cost, why it failed, and the last lines of its log."""
    with opened_with_queue(workspace) as opened:
        from pipeline.job_costs import job_cost
        from pipeline.job_log import read_job_log
        from pipeline.jobs import find_job, job_status, list_jobs
        from pipeline.workers import queue_of

        job = job_status(opened, find_job(opened, job_id))
        cost = job_cost(opened, job)
        log = read_job_log(opened, job.id, lines=lines) if lines else []
        if as_json:
            print_json(
                {
                    **_document(job),
                    "parameters": dict(job.parameters),
                    "result": job.result,
                    "cost": asdict(cost) if cost is not None else None,
                    "log": [asdict(line) for line in log],
                }
            )
            return
        queue = queue_of(opened, list_jobs(opened, active_only=True)) if job.state == "queued" else None
        for name, value in _facts(job, cost, queue):
            print_text(f"{name:<14}{value}")
        for line in log:
            print_text(f"{line.at:%Y-%m-%d %H:%M:%S}Z {line.level} {line.text}")


@jobs_app.command("cancel")
def cancel(job_id: IdArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Cancel a job; what it finished stays."""
    with opened_with_queue(workspace) as opened:
        from curator_app.job_words import cancelling, title
        from pipeline.jobs import cancel_job, find_job, job_status

        before = job_status(opened, find_job(opened, job_id))
        cancel_job(opened, before.id)
        if as_json:
            print_json({"cancelled": before.id, "done": before.done, "total": before.total})
        else:
            print_text(f"Cancelled: {title(before)}. {cancelling(before)}")


def _facts(job: JobStatus, cost: JobCost | None, queue: Queue | None) -> list[tuple[str, str]]:
    """Return what there is to say of a job, line by line."""
    from curator_app.job_words import (
        about,
        duration,
        money,
        outcome,
        problems,
        state,
        title,
        tokens,
        units,
        waits_for,
        why,
    )

    facts = [
        ("job", job.id),
        ("what", " · ".join(part for part in (title(job), about(job)) if part)),
        ("state", f"{state(job)} by {job.cancelled_by}" if job.cancelled_by else state(job)),
        ("waits for", waits_for(job, queue) if queue is not None else ""),
        ("asked for", f"{job.created_at:%Y-%m-%d %H:%M:%S} UTC by {job.who}"),
        ("ran", duration(job)),
        ("progress", units(job)),
        ("last", job.message if job.active else ""),
        ("result", outcome(job.kind, job.result or {})),
    ]
    if cost is not None:
        facts += [("calls", f"{cost.calls:,}"), ("tokens", tokens(cost)), ("cost", money(cost))]
    facts += [("error", " ".join(why(job)))]
    facts += [("problem", line) for line in problems(job)]
    return [(name, value) for name, value in facts if value]


def _document(job: JobStatus) -> dict[str, Any]:
    return {
        "id": job.id,
        "kind": job.kind,
        "state": job.state,
        "who": job.who,
        "asked_for": job.created_at,
        "begun": job.begun_at,
        "ended": job.ended_at,
        "done": job.done,
        "total": job.total,
        "failed": job.failed,
        "message": job.message,
        "error": job.error,
        "cancelled_by": job.cancelled_by,
    }
