"""Long work from the app: handed to a durable queue, watched and cancelled from any process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal, get_args

from dbos import DBOS, DBOSClient, EnqueueOptions, WorkflowStatus

from pipeline.dose_groups import sees_dose_groups
from pipeline.errors import InputError, NotFoundError
from pipeline.log import without_secrets
from pipeline.permissions import Actor, Permission, needs
from pipeline.queue_file import require_queue
from pipeline.seed_holds import JOB_HOLDER, job_holders, release_seeds
from pipeline.workspace import Workspace

JobKind = Literal["add_slides", "sample", "embed", "bin", "select", "diversity", "generate", "check", "evaluate"]
JOB_KINDS: tuple[JobKind, ...] = get_args(JobKind)

JOB_PERMISSIONS: Mapping[JobKind, Permission] = {
    "add_slides": Permission.ADD_SLIDES,
    "sample": Permission.CHOOSE_ROIS,
    "embed": Permission.CHOOSE_ROIS,
    "bin": Permission.CHOOSE_ROIS,
    "select": Permission.CHOOSE_ROIS,
    "diversity": Permission.CHOOSE_ROIS,
    "generate": Permission.GENERATE_ITEMS,
    "check": Permission.GENERATE_ITEMS,
    "evaluate": Permission.EVALUATE,
}
"""What submitting a job of each kind asks for; the worker asks again when the job begins."""

IN_UNITS: tuple[JobKind, ...] = ("generate", "check")
"""Kinds of which each seed or item is a workflow of its own."""

JobState = Literal["queued", "running", "done", "failed", "cancelled"]

JOB_QUEUE = "jobs"
SEED_QUEUE = "seeds"
WORKFLOW_NAME = "histocurator_job"
APPLICATION_NAME = "histocurator"
PROGRESS_EVENT = "progress"

QueueChoice = Literal["all", "jobs", "seeds"]
QUEUES: Mapping[QueueChoice, tuple[str, ...]] = {
    "all": (JOB_QUEUE, SEED_QUEUE),
    "jobs": (JOB_QUEUE,),
    "seeds": (SEED_QUEUE,),
}
"""Which queues a worker serves by the name of the choice: whole jobs, or the single seeds and items of them."""

FEW = 5
"""So many jobs are named where the beginning of an id is not enough."""

_CANCELLED_BY, _BEGUN_AT = "cancelled_by", "begun_at"
"""Attributes of a cancelled job: the queue itself forgets when it began."""

_STATES: dict[str, JobState] = {
    "DELAYED": "queued",
    "ENQUEUED": "queued",
    "PENDING": "running",
    "SUCCESS": "done",
    "ERROR": "failed",
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "failed",
    "CANCELLED": "cancelled",
}


@dataclass(frozen=True)
class JobStatus:
    """Where a job stands: `done` of `total` units, `failed` among them, the last word on them, what came of it.

    `created_at` is when it was asked for by `who`, `begun_at` when a worker took it, `ended_at` when it ended.
    `parameters` are those of the pipeline function behind its kind.
    """

    id: str
    kind: str
    state: JobState
    done: int
    total: int
    message: str
    error: str | None
    result: dict[str, Any] | None
    created_at: datetime
    who: str
    failed: int = 0
    begun_at: datetime | None = None
    ended_at: datetime | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    cancelled_by: str | None = None

    @property
    def active(self) -> bool:
        """Whether the job waits or runs."""
        return self.state in ("queued", "running")


@cache
def _prepare(queue_url: str) -> None:
    DBOS.migrate(queue_url)


def prepare_queue(workspace: Workspace) -> None:
    """Make the queue's tables where they are not there yet; the server does it before its worker starts."""
    _prepare(workspace.queue_url)


@contextmanager
def _client(workspace: Workspace) -> Iterator[DBOSClient]:
    # Also here, not only at the start: the file may be damaged while the app runs.
    require_queue(workspace)
    prepare_queue(workspace)
    client = DBOSClient(system_database_url=workspace.queue_url, application_name=APPLICATION_NAME)
    try:
        yield client
    finally:
        client.destroy()


def submit(workspace: Workspace, kind: JobKind, **parameters: Any) -> str:
    """Queue a job for the worker, under the name of the workspace's actor, and return its id.

    Args:
        workspace: where it runs.
        kind: what to do.
        parameters: those of the pipeline function behind the kind, as JSON values.

    Raises:
        InputError: the kind is unknown.
        NotAllowedError: the actor may not start such a job.
    """
    if kind not in JOB_KINDS:
        raise InputError(f"{kind!r} is no kind of job (known: {', '.join(JOB_KINDS)})")
    workspace.actor.require(JOB_PERMISSIONS[kind])
    options: EnqueueOptions = {"workflow_name": WORKFLOW_NAME, "queue_name": JOB_QUEUE}
    with _client(workspace) as client:
        return client.enqueue(options, kind, parameters, workspace.actor.name).get_workflow_id()


@needs(Permission.VIEW_JOBS)
def job_status(workspace: Workspace, job_id: str) -> JobStatus:
    """Return where a job stands.

    Raises:
        NotFoundError: there is none of this id.
    """
    with _client(workspace) as client:
        found = client.list_workflows(workflow_ids=[job_id])
        if not found:
            raise NotFoundError(f"There is no job {job_id} in this workspace.")
        return _as_shown(workspace, _status(client, found[0]))


@needs(Permission.VIEW_JOBS)
def find_job(workspace: Workspace, beginning: str) -> str:
    """Return the id of the one job whose id begins so.

    Raises:
        NotFoundError: there is none.
        InputError: there are more.
    """
    with _client(workspace) as client:
        found = client.list_workflows(
            name=WORKFLOW_NAME, workflow_id_prefix=beginning, limit=FEW, load_input=False, load_output=False
        )
    ids = [workflow.workflow_id for workflow in found]
    if not beginning or not ids:
        raise NotFoundError(f"There is no job {beginning} in this workspace.")
    if beginning in ids or len(ids) == 1:
        return beginning if beginning in ids else ids[0]
    more = " and more" if len(ids) == FEW else ""
    raise InputError(f"More than one job's id begins with {beginning}: {', '.join(ids)}{more}. Give more of it.")


@needs(Permission.VIEW_JOBS)
def list_jobs(workspace: Workspace, *, active_only: bool = False, limit: int = 50, skip: int = 0) -> list[JobStatus]:
    """Return the latest jobs, newest first, without the newest `skip`.

    Raises:
        InputError: the limit is not positive, or `skip` is negative.
    """
    if limit < 1 or skip < 0:
        raise InputError(f"limit is {limit} and skip {skip}; they must be at least 1 and 0")
    states = ["DELAYED", "ENQUEUED", "PENDING"] if active_only else None
    with _client(workspace) as client:
        found = client.list_workflows(name=WORKFLOW_NAME, status=states, limit=limit, offset=skip, sort_desc=True)
        return [_as_shown(workspace, _status(client, workflow)) for workflow in found]


@needs(Permission.VIEW_JOBS)
def cancel_job(workspace: Workspace, job_id: str) -> None:
    """Stop a job and the units it started; what they finished stays, and their seeds wait again.

    Raises:
        NotFoundError: there is none of this id.
        NotAllowedError: somebody else started it, and the actor may cancel only their own.
        InputError: it has ended.
    """
    status = job_status(workspace, job_id)
    if not may_cancel(status, workspace.actor):
        workspace.actor.require(Permission.CANCEL_JOBS)
    if not status.active:
        raise InputError(f"Job {job_id} has ended ({status.state}); there is nothing to cancel.")
    with _client(workspace) as client:
        begun = int(status.begun_at.timestamp() * 1000) if status.begun_at is not None else None
        client.update_workflow_attributes(job_id, {_CANCELLED_BY: workspace.actor.name, _BEGUN_AT: begun}, merge=True)
        # The job first: a unit that begins after this sees that its job is cancelled and does nothing.
        client.cancel_workflow(job_id)
        units = client.list_workflows(
            parent_workflow_id=job_id,
            status=["DELAYED", "ENQUEUED", "PENDING"],
            load_input=False,
            load_output=False,
        )
        client.cancel_workflows([unit.workflow_id for unit in units])
    release_ended_seeds(workspace, who=workspace.actor.name)


def may_cancel(job: JobStatus, actor: Actor) -> bool:
    """Say whether somebody may cancel a job: their own, or anybody's with that permission."""
    return job.who == actor.name or actor.may(Permission.CANCEL_JOBS)


def release_ended_seeds(workspace: Workspace, *, who: str) -> None:
    """Let the seeds wait again that jobs hold which have ended: cancelled, failed, or unknown to the queue."""
    holders = job_holders(workspace)
    if not holders:
        return
    ids = [holder.removeprefix(JOB_HOLDER) for holder in holders]
    with _client(workspace) as client:
        found = client.list_workflows(workflow_ids=ids, load_input=False, load_output=False)
    active = {unit.workflow_id for unit in found if _STATES.get(unit.status) in ("queued", "running")}
    release_seeds(workspace, [JOB_HOLDER + identifier for identifier in ids if identifier not in active], who=who)


def _status(client: DBOSClient, workflow: WorkflowStatus) -> JobStatus:
    progress = client.get_event(workflow.workflow_id, PROGRESS_EVENT, timeout_seconds=0) or {}
    arguments = workflow.input["args"] if workflow.input else ()
    result = workflow.output if isinstance(workflow.output, dict) else None
    kind = str(arguments[0]) if arguments else workflow.name
    state = _STATES.get(workflow.status, "running")
    attributes = workflow.attributes or {}
    if kind in IN_UNITS and state in ("running", "cancelled", "failed"):
        progress = {**progress, **_units(client, workflow.workflow_id)}
    return JobStatus(
        id=workflow.workflow_id,
        kind=kind,
        state=state,
        done=int(progress.get("done", 0)),
        total=int(progress.get("total", 0)),
        message=str(progress.get("message", "")),
        error=_error(workflow),
        result=result,
        created_at=_moment(workflow.created_at) or datetime.fromtimestamp(0, UTC),
        who=str(arguments[2]) if len(arguments) > 2 else "",
        failed=_failed(progress, result),
        begun_at=_moment(workflow.dequeued_at or attributes.get(_BEGUN_AT)),
        ended_at=_moment(workflow.completed_at),
        parameters=arguments[1] if len(arguments) > 1 and isinstance(arguments[1], dict) else {},
        cancelled_by=attributes.get(_CANCELLED_BY),
    )


def _as_shown(workspace: Workspace, job: JobStatus) -> JobStatus:
    """Return a job without a dose group that is hidden from the actor; who named it when starting the job knows it."""
    metadata = job.parameters.get("metadata")
    if job.who == workspace.actor.name or not isinstance(metadata, dict) or sees_dose_groups(workspace):
        return job
    shown = {name: value for name, value in metadata.items() if name != "dose_group"}
    return replace(job, parameters={**job.parameters, "metadata": shown})


def _units(client: DBOSClient, job_id: str) -> dict[str, int]:
    """Count the units of a job that have ended; the job itself hears of them in their order only."""
    ended = client.list_workflows(parent_workflow_id=job_id, status=["SUCCESS", "ERROR"], load_input=False)
    failed = sum(unit.status == "ERROR" or getattr(unit.output, "failed", False) for unit in ended)
    return {"done": len(ended), "failed": failed}


def _moment(milliseconds: int | None) -> datetime | None:
    return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None


def _failed(progress: Mapping[str, Any], result: Mapping[str, Any] | None) -> int:
    """Return how many units failed: as the job said while it ran, or as its result lists them."""
    listed = [*(result or {}).get("problems", ()), *(result or {}).get("failed", ())]
    return max(int(progress.get("failed", 0)), len(listed), int((result or {}).get("items_failed", 0)))


def _error(workflow: WorkflowStatus) -> str | None:
    """Return in words why a job failed."""
    if workflow.status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
        return "It was begun again and again, and its worker ended each time. The workspace's log says more."
    return in_words(workflow.error) if workflow.error is not None and workflow.status == "ERROR" else None


def in_words(error: BaseException) -> str:
    """Return what to tell a person of an error; one that is a fault of the program says so."""
    # What evaluation and pipeline raise themselves is written for people.
    own = isinstance(error, OSError) or type(error).__module__.startswith(("evaluation.", "pipeline."))
    words = str(error) if own else f"The program failed: {type(error).__name__}: {error}"
    return without_secrets(words)
