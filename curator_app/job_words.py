"""Jobs in words: what each does, what came of it, what it cost, what cancelling it will do. For pages and commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pipeline.job_costs import JobCost
from pipeline.jobs import JobKind, JobStatus

WORDS: Mapping[str, str] = {
    "add_slides": "Adding slides",
    "sample": "Drawing candidates",
    "bin": "Making bins",
    "select": "Selecting ROIs",
    "generate": "Generating and checking items",
    "check": "Checking items again",
    "evaluate": "Evaluating a model",
}

UNITS: Mapping[str, tuple[str, str]] = {
    "add_slides": ("slide", "slides"),
    "sample": ("candidate", "candidates"),
    "bin": ("candidate", "candidates"),
    "select": ("ROI", "ROIs"),
    "generate": ("seed", "seeds"),
    "check": ("item", "items"),
    "evaluate": ("item", "items"),
}
"""What a job counts while it runs: one and many."""


@dataclass(frozen=True)
class ResultPage:
    """Where the result of a job is seen: the page's module and the words of the link."""

    module: str
    words: str


RESULT_PAGES: Mapping[JobKind, ResultPage] = {
    "add_slides": ResultPage("slides", "Open Slides"),
    "sample": ResultPage("sample_rois", "Open Sample ROIs"),
    "bin": ResultPage("sample_rois", "Open Sample ROIs"),
    "select": ResultPage("sample_rois", "Open Sample ROIs"),
    "generate": ResultPage("items", "Open Items"),
    "check": ResultPage("items", "Open Items"),
    "evaluate": ResultPage("benchmark", "Open Benchmark"),
}


def what(job: JobStatus) -> str:
    """Return what a job does."""
    return WORDS.get(job.kind, job.kind)


def about(job: JobStatus) -> str:
    """Return what a job is about: the organ, the models, the files; "" where its kind says it all."""
    given = {**job.parameters, **(job.result or {})}
    parts = [str(given["organ"]).replace("_", " ")] if given.get("organ") else []
    if paths := given.get("paths"):
        parts.append(str(paths[0]) if len(paths) == 1 else f"{len(paths)} paths")
    if job.kind in ("generate", "check"):
        parts += [str(given[name]) for name in ("generator", "checker") if given.get(name)]
    if job.kind == "evaluate":
        parts += [str(given[name]) for name in ("model",) if given.get(name)]
    return " · ".join(dict.fromkeys(parts))


def units(job: JobStatus) -> str:
    """Return how many units are done of how many, and how many of them failed; "" where none are counted yet."""
    if not job.total:
        return ""
    failed = f" · {job.failed:,} failed" if job.failed else ""
    return f"{job.done:,} / {job.total:,} {UNITS.get(job.kind, ('unit', 'units'))[1]}{failed}"


def outcome(kind: str, result: Mapping[str, Any]) -> str:
    """Return what came of a job that is done."""
    if kind == "add_slides" and "added" in result:
        return f"{len(result['added'])} added, {len(result.get('problems', ()))} refused"
    if kind == "sample" and "drawn" in result:
        known = result["drawn"] - result["added"]
        again = f", {known} of them were there before" if known else ""
        return f"{result['drawn']} drawn of {result['asked']} asked for{again}"
    if kind == "bin" and "bins" in result:
        return f"{result['bins']} bins of {sum(result['sizes'])} candidates"
    if kind == "select" and "selected" in result:
        number = len(result["selected"])
        return f"{number} {'ROI' if number == 1 else 'ROIs'} selected"
    if kind == "generate" and "ready" in result:
        return f"{result['ready']} seeds ready, {len(result['failed'])} failed"
    if kind == "check" and "passed" in result:
        return f"{result['passed']} passed, {result['guessable']} guessed, {len(result['failed'])} without a verdict"
    if kind == "evaluate" and "run" in result:
        return f"run {result['run']}"
    return ""


def problems(job: JobStatus) -> list[str]:
    """Return why a job failed, and every file, seed or item that failed in it, a line each."""
    lines = [line.strip() for line in (job.error or "").splitlines() if line.strip()]
    result = job.result or {}
    lines += [str(problem) for problem in result.get("problems", ())]
    lines += [
        f"{failed.get('seed_id') or failed.get('item_id')}: {failed.get('reason')}"
        for failed in result.get("failed", ())
        if isinstance(failed, dict)
    ]
    return lines


def money(cost: JobCost) -> str:
    """Return the price as far as it is known."""
    if not cost.calls:
        return "nothing"
    if cost.unpriced == cost.calls:
        return "price unknown"
    amount = f"${cost.usd:,.2f}" if cost.usd >= 1 or not cost.usd else f"${cost.usd:,.4f}"
    return f"{amount} and {cost.unpriced:,} calls of unknown price" if cost.unpriced else amount


def tokens(cost: JobCost) -> str:
    """Return the tokens of a cost, in and out."""
    return f"{cost.input_tokens:,} in · {cost.output_tokens:,} out"


def duration(job: JobStatus, *, now: datetime | None = None) -> str:
    """Return how long a job has run, or ran; "" where no worker has taken it."""
    if job.begun_at is None:
        return ""
    seconds = int(((job.ended_at or now or datetime.now(UTC)) - job.begun_at).total_seconds())
    if seconds < 60:
        return f"{max(0, seconds)} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02} min"


_CANCELLING: Mapping[str, str] = {
    "add_slides": "What was added stays.",
    "sample": "Candidates that were drawn stay.",
    "bin": "Embeddings that were made are kept; the bins stay as they were.",
    "select": "Nothing is half-selected: the selection stays as it was.",
    "generate": "Seeds that are finished keep their items; the others wait again. Replies that are on their way are "
    "lost.",
    "check": "Items that were checked keep their verdict; the others wait as before. Replies that are on their way are "
    "lost.",
    "evaluate": "Replies so far stay in the run's folder; no run is registered.",
}


def cancelling(job: JobStatus) -> str:
    """Return what cancelling a job will do, and to how many units."""
    if job.state == "queued":
        return "It has not begun: nothing is lost."
    left = max(0, job.total - job.done)
    one, many = UNITS.get(job.kind, ("unit", "units"))
    counted = (
        f"{job.done:,} of {job.total:,} {many} are done; {left:,} {one if left == 1 else many} will not be. "
        if job.total
        else ""
    )
    return f"{counted}{_CANCELLING.get(job.kind, '')}".strip()
