"""The worker's process: takes a number, serves the queues, and goes on with what a killed worker left."""

from __future__ import annotations

import fcntl
import logging
import socket
from collections.abc import Iterator, Set
from contextlib import contextmanager
from importlib.metadata import version
from threading import Event
from typing import IO

from dbos import DBOS, DBOSConfig
from dbos import error as dbos_error
from dbos._dbos import _get_dbos_instance
from dbos._recovery import _recover_workflow
from dbos._utils import GlobalParams

from pipeline.errors import InputError
from pipeline.job_log import start_job_log
from pipeline.jobs import APPLICATION_NAME, JOB_QUEUE, QUEUES, SEED_QUEUE, QueueChoice
from pipeline.log import scrub_consoles
from pipeline.worker import JobCancelledError, passing, work_in
from pipeline.workers import JOBS_AT_ONCE, worker_lock
from pipeline.workspace import Workspace

TAKE_OVER_S = 10
MAX_WORKERS_PER_HOST = 16

_log = logging.getLogger(__name__)


def check_queue_choice(queue_url: str, queue: QueueChoice) -> None:
    """Make sure that a worker may serve only some queues.

    Raises:
        InputError: the workspace is on SQLite, whose queue is a file of this one machine.
    """
    if queue != "all" and queue_url.startswith("sqlite"):
        raise InputError(
            f"--queue {queue} is for more machines on PostgreSQL. This workspace's queue is a SQLite file, which only "
            "workers on one machine can share: leave --queue away, or set HISTOCURATOR_DATABASE_URL (docs/jobs.md)."
        )


def run_worker(workspace: Workspace, *, stop: Event, queue: QueueChoice = "all") -> None:
    """Work on the queues until `stop` is set.

    Args:
        workspace: whose jobs.
        stop: ends it.
        queue: which of its queues: whole jobs, single seeds and items, or all.

    Raises:
        InputError: too many workers run on this host already, or the choice of a queue needs PostgreSQL.
    """
    check_queue_choice(workspace.queue_url, queue)
    slot, lock = _take_slot(workspace)
    work_in(workspace)
    start_job_log(workspace, _worker_name(workspace, slot))
    configuration: DBOSConfig = {
        "name": APPLICATION_NAME,
        "system_database_url": workspace.queue_url,
        "application_version": version("histocurator"),
        # The same id after a restart: that is how a killed worker's jobs are found again.
        "executor_id": _worker_name(workspace, slot),
        "log_level": "WARNING",
        # Errors go to logs, and values are replies of models.
        "db_engine_kwargs": {"hide_parameters": True},
        "notification_listener_polling_interval_sec": 0.2,
    }
    DBOS(config=configuration)
    DBOS.listen_queues(QUEUES[queue])
    scrub_consoles()
    logging.getLogger("dbos").addFilter(_is_no_cancellation)
    try:
        DBOS.launch()
        DBOS.register_queue(JOB_QUEUE, worker_concurrency=JOBS_AT_ONCE, polling_interval_sec=0.3)
        DBOS.register_queue(
            SEED_QUEUE,
            worker_concurrency=workspace.settings.model_concurrency,
            polling_interval_sec=0.3,
        )
        _log.info("worker %s waits for %s of %s", slot, " and ".join(QUEUES[queue]), workspace.root)
        dropped: set[str] = set()
        while True:
            with _where_it_can("What other workers left was not looked for"):
                _take_over(workspace, slot)
            with _where_it_can("What was left for later was not looked for"):
                dropped = _take_up(_worker_name(workspace, slot), dropped)
            if stop.wait(TAKE_OVER_S):
                break
    finally:
        DBOS.destroy()
        lock.close()


@contextmanager
def _where_it_can(what: str) -> Iterator[None]:
    """Go on where disk or database refuse what is tried again soon."""
    try:
        yield
    except Exception as error:
        if (trouble := passing(error)) is None:
            raise
        _log.warning("%s: %s", what, trouble.short)


def _take_up(name: str, dropped_before: Set[str]) -> set[str]:
    """Give this worker's own work back to the queues that nobody does here: it was left for later, or its end is lost.

    Args:
        name: the worker's.
        dropped_before: what was found so the time before; only what is so twice is given back, since work that is
            just being taken up looks the same.

    Returns:
        what was found so for the first time.
    """
    dbos = _get_dbos_instance()
    pending = {one.workflow_id: one for one in dbos._sys_db.get_pending_workflows(name, GlobalParams.app_version)}
    dropped = set(pending) - set(dbos._active_workflows_set.activeList())
    for workflow_id in dropped & dropped_before:
        _recover_workflow(dbos, pending[workflow_id], [name])
        _log.warning("%s goes on", workflow_id)
    return dropped - dropped_before


def _worker_name(workspace: Workspace, slot: int) -> str:
    """Return the name under which a worker's jobs are found again.

    Workers on a SQLite queue share its folder, whatever their machine is called: a container has another name after
    each start. Those on PostgreSQL may run on several machines.
    """
    where = "local" if workspace.queue_url.startswith("sqlite") else socket.gethostname()
    return f"{where}-{slot}"


def _take_slot(workspace: Workspace) -> tuple[int, IO[str]]:
    """Return the lowest free worker number of this host, held by a lock that ends with the process."""
    for slot in range(MAX_WORKERS_PER_HOST):
        if (lock := _lock_slot(workspace, slot)) is not None:
            return slot, lock
    raise InputError(f"{MAX_WORKERS_PER_HOST} workers run on this machine already")


def _lock_slot(workspace: Workspace, slot: int) -> IO[str] | None:
    """Return the lock of a worker number, or None where a worker has it."""
    lock = worker_lock(workspace, _worker_name(workspace, slot)).open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return lock


def _take_over(workspace: Workspace, own: int) -> None:
    """Give what this host's workers left undone that have ended back to the queues.

    A killed worker's work is found again by the next one of its number. Where two were at work and one is started
    again, nobody would have the other number.
    """
    for slot in range(MAX_WORKERS_PER_HOST):
        name = _worker_name(workspace, slot)
        if slot == own or not worker_lock(workspace, name).exists():
            continue
        if (lock := _lock_slot(workspace, slot)) is None:
            continue
        # Held meanwhile, so that no worker of this number starts and its work is not taken from under it.
        with lock:
            for handle in DBOS._recover_pending_workflows([name]):
                _log.warning("worker %s has ended: %s goes on here", slot, handle.get_workflow_id())


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """Let through what the queue logs, but for its tracebacks of work that somebody cancelled: that is no fault."""
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    cancelled = (dbos_error.DBOSWorkflowCancelledError, dbos_error.DBOSAwaitedWorkflowCancelledError, JobCancelledError)
    return not isinstance(error, cancelled)
