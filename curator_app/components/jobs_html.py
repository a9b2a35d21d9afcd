"""Jobs as HTML: the table, one job's facts, its log; every text in them is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from curator_app.job_words import about, duration, money, outcome, problems, title, tokens, units, why
from curator_app.layout import local_time, local_zone, mark
from pipeline.job_costs import JobCost
from pipeline.job_log import LogLine
from pipeline.jobs import JobStatus


def jobs_table(jobs: Sequence[JobStatus], costs: Mapping[str, JobCost | None], *, chosen: str) -> str:
    """Return the table of jobs; choosing a row gives the job's id."""
    rows = "".join(_row(job, costs.get(job.id), chosen=chosen) for job in jobs)
    return (
        '<div class="scroll"><table class="top jobs"><caption>Choose a row to see its result, errors and log. '
        f"Times are {escape(local_zone())}.</caption>"
        '<thead><tr><th scope="col">Job</th><th scope="col">Asked for</th><th scope="col">Progress</th>'
        f'<th scope="col" class="number">Cost</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _row(job: JobStatus, cost: JobCost | None, *, chosen: str) -> str:
    identifier = escape(job.id)
    said = escape(about(job))
    priced = f'{escape(money(cost))}<div class="note">{escape(_short_tokens(cost))}</div>' if cost is not None else "–"
    return (
        f'<tr data-choose="{identifier}" aria-selected="{str(job.id == chosen).lower()}">'
        f'<td><button type="button" data-choose="{identifier}">{escape(title(job))}</button>'
        f'<div class="note">{said}</div></td>'
        f'<td>{escape(job.who)}<div class="note moment">{local_time(job.created_at)}</div></td>'
        f'<td><span class="state {escape(job.state)}">{escape(mark(job.state))}</span>{_bar(job)}'
        f'<div class="note">{escape(units(job))}</div></td>'
        f'<td class="number">{priced}</td></tr>'
    )


def _short_tokens(cost: JobCost) -> str:
    return f"{_short(cost.input_tokens + cost.output_tokens)} tokens" if cost.calls else ""


def _short(number: int) -> str:
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1_000:,.0f} k" if number < 1_000_000 else f"{number / 1_000_000:,.1f} M"


def _bar(job: JobStatus) -> str:
    """Return the bar of a job that runs; the words beside it say the same, so it is hidden from screen readers."""
    if not job.active or not job.total:
        return ""
    return f'<span class="bar" aria-hidden="true"><span style="width:{_percent(job):.0f}%"></span></span>'


def _percent(job: JobStatus) -> float:
    return 100 * min(1.0, job.done / job.total)


def job_html(job: JobStatus, cost: JobCost | None, *, waits: str) -> str:
    """Return the facts of one job.

    Args:
        job: where it stands.
        cost: what it cost, or None for a kind that calls no model.
        waits: what it waits for; "" where it does not wait.
    """
    head = f"<h2>{escape(mark(job.state))} · {escape(title(job))}</h2>"
    if said := about(job):
        head += f'<p class="hc-facts">{escape(said)}</p>'
    if waits:
        head += f'<p class="hc-flag">{escape(waits)}</p>'
    return f'<div class="hc-job">{head}{_progress(job)}{_facts(job, cost)}{_problems(job)}</div>'


def _progress(job: JobStatus) -> str:
    if not job.active or not job.total:
        return ""
    return (
        f'<p class="hc-bar" role="progressbar" aria-label="Progress" aria-valuemin="0" aria-valuemax="{job.total}" '
        f'aria-valuenow="{job.done}" aria-valuetext="{escape(units(job))}">'
        f'<span class="track" aria-hidden="true"><span style="width:{_percent(job):.0f}%"></span></span>'
        f"<span>{escape(units(job))}</span></p>"
        + (f'<p class="hc-facts">{escape(job.message)}</p>' if job.message else "")
    )


def _facts(job: JobStatus, cost: JobCost | None) -> str:
    ended = f" by {job.cancelled_by}" if job.cancelled_by and job.state == "cancelled" else ""
    facts = [
        ("Asked for", f"{local_time(job.created_at, seconds=True)} by {job.who}"),
        ("Runs" if job.active else "Ran", duration(job)),
        ("Cancelled" if ended else "", ended.strip()),
        ("Units", "" if job.active else units(job)),
        ("Result", outcome(job.kind, job.result or {})),
    ]
    if cost is not None:
        facts += [("Model calls", f"{cost.calls:,}"), ("Tokens", tokens(cost) if cost.calls else "")]
        facts += [("Cost", money(cost))]
    inside = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts if name and value)
    return f'<dl class="hc-facts-list hc-grid">{inside}</dl>'


def _problems(job: JobStatus) -> str:
    said, lines = why(job), problems(job)
    if not said and not lines:
        return ""
    heading = "Why it failed" if said else f"Failed · {len(lines):,}"
    first = f'<p class="hc-why">{escape(" ".join(said))}</p>' if said else ""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<p class="hc-section">{heading}</p>{first}' + (f'<ul class="hc-problems">{items}</ul>' if items else "")


def log_html(lines: Sequence[LogLine], *, error: str | None = None) -> str:
    """Return the last lines of a job's log, the newest at the foot; the error that stands above is not repeated."""
    if not lines:
        return '<p class="hc-facts">Nothing was logged of it yet, or its lines are older than the log keeps.</p>'
    text = "\n".join(
        f"{local_time(line.at, seconds=True)[11:]} {_grave(line.level)}{_logged(line.text, error)}" for line in lines
    )
    return f'<div class="hc-log" role="log" aria-label="Log of the job" tabindex="0"><pre>{escape(text)}</pre></div>'


def _logged(text: str, error: str | None) -> str:
    return "failed, as said above" if error and text.strip() == f"failed: {error}".strip() else text


def _grave(level: str) -> str:
    """Return a mark before a line that tells of a fault."""
    return {"WARNING": "! ", "ERROR": "✕ ", "CRITICAL": "✕ "}.get(level, "")
