"""What a worker does: queued jobs as durable workflows, which go on where they were after a kill."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from dbos import DBOS
from dbos import error as dbos_error

from evaluation.models import ModelReply, ModelRequest, call_model, use_workspace
from pipeline.benchmarks import evaluate_in_process, run_folder_of_job
from pipeline.bins import bin_candidates
from pipeline.diversity import measure_diversity
from pipeline.embedding import embed_organ
from pipeline.errors import InputError
from pipeline.ingest import SlideMetadata, add_slides
from pipeline.job_log import read_job_log
from pipeline.jobs import (
    JOB_PERMISSIONS,
    PROGRESS_EVENT,
    SEED_QUEUE,
    WORKFLOW_NAME,
    JobKind,
    in_words,
)
from pipeline.log import working_on
from pipeline.people import actor_of, find_account, system_actor
from pipeline.progress import Progress
from pipeline.rechecks import CheckedItem, check_again, items_to_check
from pipeline.rois import select_across_bins
from pipeline.sampling import sample_candidates
from pipeline.seed_holds import JOB_HOLDER
from pipeline.slide_tables import add_slides_from_table
from pipeline.troubles import Trouble, trouble_of
from pipeline.variants import ModelChoice, SeedResult, choose_models, develop_seed, pending_seeds
from pipeline.workspace import Workspace

P = ParamSpec("P")
T = TypeVar("T")

PROGRESS_INTERVAL_S = 0.5
_PAUSES_S = (0.5, 1, 2, 4, 8, 15, 30, 30, 30)
"""Between tries of a write that disk or database refuse: two minutes. After that the work is left for later."""

_log = logging.getLogger(__name__)
_workspace: Workspace | None = None


class _LeftForLaterError(BaseException):
    """The machine refuses what the work needs: it is taken up again from its record, and no failure of its own.

    No Exception, since the queue would record one as the end of the work.
    """


class JobCancelledError(Exception):
    """The job was cancelled while it ran; what it finished stays."""


def work_in(workspace: Workspace) -> None:
    """Say whose jobs this process does, before it takes any."""
    global _workspace
    _workspace = workspace
    # A worker of single seeds never plans a job, which is where others set this.
    use_workspace(workspace.root)


def _here() -> Workspace:
    if _workspace is None:
        raise RuntimeError("no worker runs in this process")
    return _workspace


def _as(who: str) -> Workspace:
    """Return the workspace as the person may use it who started the job."""
    account = find_account(_here(), who)
    return _here().acting_as(actor_of(account) if account is not None else system_actor(who))


_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def _call_slots() -> asyncio.Semaphore:
    """Return the event loop's slots for model calls, as many as the workspace allows."""
    loop = asyncio.get_running_loop()
    if loop not in _slots:
        _slots[loop] = asyncio.Semaphore(_here().settings.model_concurrency)
    return _slots[loop]


class DurableSteps:
    """Makes calls and writes as recorded steps: after a crash a finished one is read back, not made again."""

    async def call(self, request: ModelRequest) -> ModelReply:
        """See pipeline.steps.Steps."""

        async def in_turn() -> ModelReply:
            # Seeds run side by side and each asks its trials at once: the limit is on calls, whoever makes them.
            with _leaving_for_later():
                async with _call_slots():
                    reply = await call_model(request)
            if reply.outcome != "answered":
                _log.warning("%s: the call ended as %s: %s", request.model, reply.outcome, reply.error or "")
            return reply

        return await DBOS.run_step_async({"name": "model call"}, in_turn)

    async def write(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """See pipeline.steps.Steps."""

        async def in_thread() -> T:
            # Here, so that no reply that was paid for is asked for again: an error would be recorded as the step's end.
            for wait in (*_PAUSES_S, None):
                try:
                    return await asyncio.to_thread(function, *args, **kwargs)
                except Exception as error:
                    if (trouble := passing(error)) is None or wait is None:
                        raise
                    _log.warning("%s: %s. It is tried again.", function.__name__, trouble.short)
                    await asyncio.sleep(wait)
            raise AssertionError("the last try returns or raises")

        async def kept() -> T:
            with _leaving_for_later():
                return await in_thread()

        return await DBOS.run_step_async({"name": function.__name__}, kept)


def passing(error: BaseException) -> Trouble | None:
    """Return what an error says of disk or database, which may be over later; None for every other error."""
    trouble = trouble_of(error)
    return trouble if trouble is not None and trouble.kind in ("full", "database") else None


@contextmanager
def _leaving_for_later() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if (trouble := passing(error)) is None:
            raise
        _log.warning("%s; this goes on when that is over", trouble.short)
        raise _LeftForLaterError from error


def _reporter(job_id: str) -> Progress:
    """Return a progress callback that tells the queue, twice a second, and ends a cancelled job."""
    last = 0.0

    def report(done: int, total: int, message: str, /) -> None:
        nonlocal last
        now = time.monotonic()
        if done < total and now - last < PROGRESS_INTERVAL_S:
            return
        last = now
        DBOS.set_event(PROGRESS_EVENT, {"done": done, "total": total, "message": message})
        status = DBOS.get_workflow_status(job_id)
        if status is not None and status.status == "CANCELLED":
            raise JobCancelledError("cancelled")

    return report


def _add_slides(parameters: dict[str, Any], who: str, progress: Progress) -> dict[str, Any]:
    workspace, metadata, mpps = _as(who), SlideMetadata(**parameters["metadata"]), parameters.get("mpps")
    if (table := parameters.get("table")) is not None:
        report = add_slides_from_table(workspace, Path(table), for_all=metadata, mpps=mpps, who=who, progress=progress)
    else:
        report = add_slides(
            workspace,
            [Path(path) for path in parameters["paths"]],
            metadata,
            mpp=parameters.get("mpp"),
            mpps=mpps,
            who=who,
            progress=progress,
        )
    return {
        "added": [slide.id for slide in report.added],
        "known": len(report.known),
        "problems": report.problems,
        "without_resolution": [
            {"path": str(missing.path), "stated": missing.stated} for missing in report.without_resolution
        ],
    }


def _sample(parameters: dict[str, Any], who: str, progress: Progress) -> dict[str, Any]:
    return asdict(sample_candidates(_as(who), **parameters, who=who, progress=progress))


def _embed(parameters: dict[str, Any], who: str, progress: Progress) -> dict[str, Any]:
    return asdict(embed_organ(_as(who), **parameters, progress=progress))


def _bin(parameters: dict[str, Any], who: str, progress: Progress) -> dict[str, Any]:
    binning = bin_candidates(_as(who), **parameters, who=who, progress=progress)
    return {"binning": binning.id, "bins": binning.bins, "sizes": binning.sizes}


def _select(parameters: dict[str, Any], who: str, progress: Progress) -> dict[str, Any]:
    rois = select_across_bins(_as(who), **parameters, who=who, progress=progress)
    return {"selected": [roi.id for roi in rois]}


def _diversity(parameters: dict[str, Any], who: str, progress: Progress) -> dict[str, Any]:
    return asdict(measure_diversity(_as(who), **parameters, who=who, progress=progress))


def _evaluate(parameters: dict[str, Any], who: str, progress: Progress) -> dict[str, Any]:
    return evaluate_in_process(_as(who), parameters, who=who, progress=progress)


_WORK: dict[JobKind, Callable[[dict[str, Any], str, Progress], dict[str, Any]]] = {
    "add_slides": _add_slides,
    "sample": _sample,
    "embed": _embed,
    "bin": _bin,
    "select": _select,
    "diversity": _diversity,
    "evaluate": _evaluate,
}


@DBOS.workflow(name=WORKFLOW_NAME)
async def run_job(kind: JobKind, parameters: dict[str, Any], who: str) -> dict[str, Any]:
    """Run one job: generating and checking are one workflow per unit, anything else one step that can be repeated."""
    job_id = DBOS.workflow_id or ""
    with working_on(job_id):
        known = await asyncio.to_thread(read_job_log, _here(), job_id, lines=1)
        _log.info("%s, for %s: %s", kind, who, "goes on after its worker ended" if known else "begins")
        try:
            with _leaving_for_later():
                result = await _run(kind, parameters, who, job_id)
        except (Exception, asyncio.CancelledError, dbos_error.DBOSWorkflowCancelledError) as error:
            _log_end(error)
            raise
        _log.info("%s: done", kind)
        return result


def _log_end(error: BaseException) -> None:
    if isinstance(error, JobCancelledError | dbos_error.DBOSWorkflowCancelledError):
        _log.info("cancelled")
    elif isinstance(error, asyncio.CancelledError):
        _log.info("stopped: it was cancelled, or its worker ends")
    elif isinstance(error, InputError):
        _log.error("failed: %s", error)
    else:
        _log.error("failed: %s", in_words(error), exc_info=error)


async def _run(kind: JobKind, parameters: dict[str, Any], who: str, job_id: str) -> dict[str, Any]:
    # Asked again, after a restart as well: the person may have lost the role, or be gone, since they started it.
    _as(who).actor.require(JOB_PERMISSIONS[kind])
    if kind == "generate":
        return await _generate(parameters, who, job_id)
    if kind == "check":
        return await _check(parameters, who, job_id)
    if kind == "evaluate":
        parameters = {**parameters, "out": str(await _run_folder(parameters, job_id))}

    async def work() -> dict[str, Any]:
        with _leaving_for_later():
            return await asyncio.to_thread(_WORK[kind], parameters, who, _reporter(job_id))

    return await DBOS.run_step_async({"name": kind}, work)


async def _run_folder(parameters: dict[str, Any], job_id: str) -> Path:
    status = await DBOS.get_workflow_status_async(job_id)
    created = datetime.fromtimestamp(((status.created_at or 0) if status is not None else 0) / 1000, UTC)
    return run_folder_of_job(_here().runs, job_id, parameters, created)


async def _generate(parameters: dict[str, Any], who: str, job_id: str) -> dict[str, Any]:
    def plan() -> tuple[ModelChoice, list[str]]:
        models = choose_models(_here(), generator=parameters.get("generator"), checker=parameters.get("checker"))
        return models, parameters.get("seed_ids") or pending_seeds(_as(who))

    models, seed_ids = await DBOS.run_step_async({"name": "plan"}, plan)
    _log.info("%d seeds; %s writes, %s checks", len(seed_ids), models.generator, models.checker)
    await _tell(0, len(seed_ids), f"{models.generator} writes")
    units = [
        await DBOS.enqueue_workflow_async(SEED_QUEUE, run_seed, job_id, seed_id, models, who) for seed_id in seed_ids
    ]
    results: list[SeedResult] = []
    for seed_id, unit in zip(seed_ids, units, strict=True):
        try:
            result = await unit.get_result()
        except Exception as error:
            if passing(error) is not None:
                raise
            # One unit's fault is not the others': they go on.
            result = SeedResult(seed_id, "failed", in_words(error))
        results.append(result)
        lost = sum(result.failed for result in results)
        await _tell(len(results), len(units), f"{result.seed_id} {result.state}", lost)
    return {
        "ready": sum(not result.failed for result in results),
        "failed": [asdict(result) for result in results if result.failed],
        "generator": models.generator,
        "checker": models.checker,
    }


async def _check(parameters: dict[str, Any], who: str, job_id: str) -> dict[str, Any]:
    def plan() -> tuple[ModelChoice, list[str]]:
        # The checker alone is called: it stands for both, so that no key of a writing model is asked for.
        checker = parameters.get("checker") or _here().settings.checker
        models = choose_models(_here(), generator=checker, checker=checker)
        return models, parameters.get("item_ids") or items_to_check(_as(who))

    models, item_ids = await DBOS.run_step_async({"name": "plan"}, plan)
    _log.info("%d items; %s checks", len(item_ids), models.checker)
    await _tell(0, len(item_ids), f"{models.checker} checks")
    units = [
        await DBOS.enqueue_workflow_async(SEED_QUEUE, run_check, job_id, item_id, models.checker, who)
        for item_id in item_ids
    ]
    results: list[CheckedItem] = []
    for item_id, unit in zip(item_ids, units, strict=True):
        try:
            result = await unit.get_result()
        except Exception as error:
            if passing(error) is not None:
                raise
            result = CheckedItem(item_id, "incomplete", in_words(error))
        results.append(result)
        lost = sum(result.failed for result in results)
        await _tell(len(results), len(units), f"{result.item_id} {result.verdict}", lost)
    return {
        "passed": sum(result.verdict == "passed" for result in results),
        "guessable": sum(result.verdict == "guessable" for result in results),
        "failed": [asdict(result) for result in results if result.failed],
        "checker": models.checker,
    }


async def _tell(done: int, total: int, message: str, failed: int = 0) -> None:
    """Tell the queue where a job stands that has units."""
    await DBOS.set_event_async(PROGRESS_EVENT, {"done": done, "total": total, "message": message, "failed": failed})


@DBOS.workflow(name="histocurator_seed")
async def run_seed(job_id: str, seed_id: str, models: ModelChoice, who: str) -> SeedResult:
    """Take one seed to its items: one unit of work, one workflow."""
    with working_on(job_id):
        workflow_id = DBOS.workflow_id or ""
        job = await DBOS.get_workflow_status_async(job_id)
        if job is not None and job.status == "CANCELLED":
            return SeedResult(seed_id, "skipped", "the job was cancelled")
        with _leaving_for_later():
            result = await develop_seed(
                _as(who),
                seed_id,
                models=models,
                generation_id=f"gen_{workflow_id}",
                holder=f"{JOB_HOLDER}{workflow_id}",
                steps=DurableSteps(),
                who=who,
            )
        _log_unit(seed_id, result.state, result.reason, good=not result.failed)
        return result


@DBOS.workflow(name="histocurator_check")
async def run_check(job_id: str, item_id: str, checker: str, who: str) -> CheckedItem:
    """Check one item again without the image: one unit of work, one workflow."""
    with working_on(job_id):
        job = await DBOS.get_workflow_status_async(job_id)
        if job is not None and job.status == "CANCELLED":
            return CheckedItem(item_id, "skipped", "the job was cancelled")
        with _leaving_for_later():
            result = await check_again(_as(who), item_id, checker=checker, steps=DurableSteps(), job_id=job_id, who=who)
        _log_unit(item_id, result.verdict, result.reason, good=not result.failed)
        return result


def _log_unit(identifier: str, came_to: str, reason: str | None, *, good: bool) -> None:
    _log.log(
        logging.INFO if good else logging.WARNING,
        "%s %s%s",
        identifier,
        came_to,
        f": {reason}" if reason else "",
    )
