"""Jobs in words: what each does, what came of it, what it cost, what cancelling it will do. For pages and commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.job_costs import JobCost
from pipeline.jobs import JobKind, JobStatus
from pipeline.workers import JOBS_AT_ONCE, Queue

UNTAKEN_S = 15
"""After this long in the queue a job says what it waits for; one that is taken at once needs a few seconds."""

STATE_WORDS: Mapping[str, str] = {"queued": "waiting"}
"""States by another word than the queue's own, the same on pages and in commands."""

WORDS: Mapping[str, str] = {
    "add_slides": "Adding slides",
    "sample": "Drawing candidates",
    "embed": "Embedding candidates",
    "bin": "Making bins",
    "select": "Selecting ROIs",
    "diversity": "Measuring the diversity of ROIs",
    "generate": "Generating and checking items",
    "check": "Checking items again",
    "evaluate": "Evaluating a model",
}

UNITS: Mapping[str, tuple[str, str]] = {
    "add_slides": ("slide", "slides"),
    "sample": ("candidate", "candidates"),
    "embed": ("candidate", "candidates"),
    "bin": ("candidate", "candidates"),
    "select": ("ROI", "ROIs"),
    "diversity": ("step", "steps"),
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
    "embed": ResultPage("sample_rois", "Open Sample ROIs"),
    "bin": ResultPage("sample_rois", "Open Sample ROIs"),
    "select": ResultPage("sample_rois", "Open Sample ROIs"),
    "diversity": ResultPage("sample_rois", "Open Sample ROIs"),
    "generate": ResultPage("items", "Open Items"),
    "check": ResultPage("items", "Open Items"),
    "evaluate": ResultPage("benchmark", "Open Benchmark"),
}


def title(job: JobStatus) -> str:
    """Return what a job does and to what: the model and benchmark, the organ, how many slides, seeds or items."""
    given = job.parameters
    words = WORDS.get(job.kind, job.kind)
    if job.kind == "evaluate" and given.get("model"):
        on = f" on {benchmark_name(str(given['benchmark']))}" if given.get("benchmark") else ""
        return f"Evaluating {given['model']}{on}"
    if job.kind == "add_slides" and (table := given.get("table")):
        return f"{words} of {Path(str(table)).name}"
    if job.kind == "add_slides" and (paths := given.get("paths")):
        return f"{words}: {Path(paths[0]).name}" if len(paths) == 1 else f"{words} from {len(paths)} paths"
    if job.kind in ("generate", "check"):
        number = len(given.get("seed_ids") or given.get("item_ids") or ()) or job.total
        one, many = UNITS[job.kind]
        verb = "Generating and checking items of" if job.kind == "generate" else "Checking again"
        return f"{verb} {number:,} {one if number == 1 else many}" if number else words
    return f"{words} of {organ}" if (organ := str(given.get("organ") or "").replace("_", " ")) else words


def about(job: JobStatus) -> str:
    """Return what sets a job apart beside its title: models, settings, the whole path; "" where the title says all."""
    given = {**job.parameters, **(job.result or {})}
    parts: list[str] = []
    if paths := given.get("paths"):
        parts.append(str(paths[0]) if len(paths) == 1 else "")
    parts.append(str(given.get("table") or ""))
    if job.kind in ("generate", "check"):
        parts += [str(given.get(name) or "") for name in ("generator", "checker")]
    if job.kind == "evaluate":
        parts.append(f"first {given['limit']} items only" if given.get("limit") else "")
        ablation = str(given.get("ablation") or "normal")
        parts.append("" if ablation == "normal" else f"image shown: {ablation}")
    return " · ".join(dict.fromkeys(part for part in parts if part))


def benchmark_name(benchmark: str) -> str:
    """Return a benchmark as people call it: a release by name and version, else a file's name, or OWNER/NAME."""
    path = Path(benchmark)
    if path.parent.parent.name == "releases":
        return f"{path.parent.name} {path.name}"
    return path.name if path.is_absolute() else benchmark


def waits_for(job: JobStatus, queue: Queue, *, now: datetime | None = None) -> str:
    """Return what a job waits for; "" where it does not wait, or not longer than a free worker needs to take it."""
    waited = ((now or datetime.now(UTC)) - job.created_at).total_seconds()
    if job.state != "queued" or waited <= UNTAKEN_S:
        return ""
    if not queue.workers:
        return "No worker runs: start “histocurator serve”, or “histocurator worker”."
    before = queue.before(job.id)
    if before or queue.running >= queue.workers * JOBS_AT_ONCE:
        runs = f"{queue.running} {'job runs' if queue.running == 1 else 'jobs run'}"
        line = f"{before} {'waits' if before == 1 else 'wait'} before it" if before else "it is the next one"
        return f"Waits for its turn: {runs}, {line}."
    return "A worker runs but has not taken it yet. One that was started with “--queue seeds” takes no whole job."


def state(job: JobStatus) -> str:
    """Return a job's state in one word."""
    return STATE_WORDS.get(job.state, job.state)


def units(job: JobStatus) -> str:
    """Return how many units are done of how many, and how many of them failed; "" where none are counted yet."""
    if not job.total:
        return ""
    failed = f" · {job.failed:,} failed" if job.failed else ""
    return f"{job.done:,} / {job.total:,} {UNITS.get(job.kind, ('unit', 'units'))[1]}{failed}"


def outcome(kind: str, result: Mapping[str, Any]) -> str:
    """Return what came of a job that is done."""
    if kind == "add_slides" and "added" in result:
        known = f", {result['known']} there before" if result.get("known") else ""
        return f"{len(result['added'])} added, {len(result.get('problems', ()))} refused{known}"
    if kind == "sample" and "drawn" in result:
        known = result["drawn"] - result["added"]
        again = f", {known} of them were there before" if known else ""
        flagged = f", {result['flagged']} show an artefact" if result.get("flagged") else ""
        return f"{result['drawn']} drawn of {result['asked']} asked for{again}{flagged}"
    if kind == "embed" and "embedded" in result:
        return f"{result['embedded']} of {result['candidates']} candidates embedded now"
    if kind == "bin" and "bins" in result:
        return f"{result['bins']} bins of {sum(result['sizes'])} candidates"
    if kind == "select" and "selected" in result:
        number = len(result["selected"])
        return f"{number} {'ROI' if number == 1 else 'ROIs'} selected"
    if kind == "diversity" and "vendi" in result:
        vendi = result["vendi"]
        return f"Vendi Score {vendi['picked']:.2f}, random picks {vendi['mean']:.2f} (p {vendi['p']:.2g})"
    if kind == "generate" and "ready" in result:
        return f"{result['ready']} seeds ready, {len(result['failed'])} failed"
    if kind == "check" and "passed" in result:
        return f"{result['passed']} passed, {result['guessable']} guessed, {len(result['failed'])} without a verdict"
    if kind == "evaluate" and "run" in result:
        return f"registered as {result['run']}"
    return ""


def why(job: JobStatus) -> list[str]:
    """Return in sentences why a job failed and what to do; more than one fault is left to `problems`.

    A benchmark goes by its name, not by its folder on the server.
    """
    benchmark = str(job.parameters.get("benchmark") or "")
    error = (job.error or "").replace(benchmark, benchmark_name(benchmark)) if benchmark else job.error or ""
    alone = len(_faults(job)) == 1
    return [_sentence(line) for line in error.splitlines() if line.strip() and (alone or not _is_fault(line))]


def _sentence(line: str) -> str:
    """Return one of several faults as a sentence of its own."""
    text = line.strip()
    return f"{text[0].upper()}{text[1:]}." if _is_fault(line) and text[-1] not in ".!?:" else text


def _is_fault(line: str) -> bool:
    # As InputError and BenchmarkError write them: each on a line of its own, indented.
    return line.startswith("  ")


def _faults(job: JobStatus) -> list[str]:
    return [line.strip() for line in (job.error or "").splitlines() if line.strip() and _is_fault(line)]


def problems(job: JobStatus) -> list[str]:
    """Return the faults that the error lists, and every file, seed or item that failed in the job, a line each."""
    lines = faults if len(faults := _faults(job)) > 1 else []
    result = job.result or {}
    lines += [str(problem) for problem in result.get("problems", ())]
    lines += [
        f"{part['slide']} at {part['magnification']:g}×: {part['drawn']} of {part['asked']}: {part['why']}"
        for part in result.get("parts", ())
        if part.get("why")
    ]
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
    "embed": "Embeddings that were made are kept.",
    "bin": "Embeddings that were made are kept; the bins stay as they were.",
    "select": "Nothing is half-selected: the selection stays as it was.",
    "diversity": "Embeddings that were made are kept.",
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
