"""What a job cost: tokens and money of the replies that it received, summed from what is stored of each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func
from sqlmodel import Session, col, select

from db.tables import GuessTrial, Item, ItemVersion, ModelCall
from pipeline.benchmarks import PREDICTIONS_FILE, run_folder_of_job
from pipeline.jobs import JobStatus
from pipeline.permissions import Permission, needs
from pipeline.rechecks import OF_JOB
from pipeline.workspace import Workspace

_REPAIRED = "repaired"


@dataclass(frozen=True)
class JobCost:
    """The replies of language models that a job received: how many, tokens in and out, and their price in USD.

    `usd` is the sum of the prices that are known; `unpriced` replies came without one.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0

    def __add__(self, other: JobCost) -> JobCost:
        """Return both together."""
        return JobCost(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.usd + other.usd,
            self.unpriced + other.unpriced,
        )


@needs(Permission.VIEW_JOBS)
def job_cost(workspace: Workspace, job: JobStatus) -> JobCost | None:
    """Return what a job cost so far, or None for a kind that calls no model.

    Counted are replies that are stored. A call that was under way when its worker was killed may have been
    charged by its provider and is in no sum.
    """
    if job.kind == "evaluate":
        return _of_evaluation(workspace, job)
    if job.kind not in ("generate", "check"):
        return None
    with workspace.reading() as session:
        return _of_generation(session, job.id) if job.kind == "generate" else _of_check(session, job.id)


def _of_generation(session: Session, job_id: str) -> JobCost:
    # The units of a job are named after it, and a generation after its unit.
    units = f"gen_{job_id}-"
    calls = select(*_sums(ModelCall.provenance)).where(col(ModelCall.generation_id).startswith(units, autoescape=True))
    edited, of_check = _any(ItemVersion.provenance)["written_by"], _any(GuessTrial.provenance)[OF_JOB]
    trials = (
        select(*_sums(GuessTrial.provenance), *_sums(GuessTrial.provenance, _REPAIRED))
        .select_from(GuessTrial)
        .join(ItemVersion, col(ItemVersion.id) == GuessTrial.item_version_id)
        .join(Item, col(Item.id) == ItemVersion.item_id)
        .where(
            col(Item.generation_id).startswith(units, autoescape=True),
            # A text that a person wrote later, and a check that was made again, belong to other work.
            edited.as_string().is_(None),
            of_check.as_string().is_(None),
        )
    )
    return _total(session.execute(calls).one()) + _total(session.execute(trials).one())


def _of_check(session: Session, job_id: str) -> JobCost:
    trials = select(*_sums(GuessTrial.provenance), *_sums(GuessTrial.provenance, _REPAIRED)).where(
        _any(GuessTrial.provenance)[OF_JOB].as_string() == job_id
    )
    return _total(session.execute(trials).one())


def _any(column: object) -> Any:
    return col(column)


def _sums(column: object, *path: str) -> Sequence[ColumnElement[Any]]:
    """Return calls, tokens in and out, money, and calls without a price, over a column of provenances."""

    def part(name: str) -> Any:
        return _any(column)[(*path, name)] if path else _any(column)[name]

    called = part("is_language_model").as_boolean()
    price = part("cost_usd").as_float()
    one = case((called, 1), else_=0)
    return (
        func.sum(one),
        func.sum(case((called, part("input_tokens").as_integer()))),
        func.sum(case((called, part("output_tokens").as_integer()))),
        func.sum(case((called, price))),
        func.sum(case((and_(called, price.is_(None)), 1), else_=0)),
    )


def _total(sums: Iterable[Any]) -> JobCost:
    numbers = [number or 0 for number in sums]
    total = JobCost()
    for start in range(0, len(numbers), 5):
        calls, tokens_in, tokens_out, usd, unpriced = numbers[start : start + 5]
        total += JobCost(int(calls), int(tokens_in), int(tokens_out), float(usd), int(unpriced))
    return total


def _of_evaluation(workspace: Workspace, job: JobStatus) -> JobCost:
    total = JobCost()
    for call in _predictions(run_folder_of_job(workspace.runs, job.id, job.parameters, job.created_at)):
        if call.get("is_language_model"):
            price = call.get("cost_usd")
            total += JobCost(
                1, call.get("input_tokens") or 0, call.get("output_tokens") or 0, price or 0.0, int(price is None)
            )
    return total


def _predictions(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the calls of a run as far as it is; a line that is being written is left out."""
    try:
        with (folder / PREDICTIONS_FILE).open(encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)
    except (OSError, ValueError):
        return
