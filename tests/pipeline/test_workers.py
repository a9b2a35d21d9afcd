"""Which workers run: as many as hold their lock, whatever files were left by others."""

from __future__ import annotations

import fcntl

from pipeline.jobs import list_jobs, submit
from pipeline.workers import queue_of, running_workers, worker_lock
from pipeline.workspace import Workspace
from tests.pipeline.test_jobs import ended, wait_for, worker, workers_that_wait


def test_only_a_worker_that_holds_its_lock_runs(workspace: Workspace) -> None:
    assert running_workers(workspace) == 0
    with worker_lock(workspace, "here-0").open("w") as held, worker_lock(workspace, "there-1").open("w"):
        fcntl.flock(held, fcntl.LOCK_EX)
        assert running_workers(workspace) == 1
    assert running_workers(workspace) == 0


def test_the_queue_says_who_is_before_whom(workspace: Workspace) -> None:
    jobs = [submit(workspace, "bin", organ="liver") for _ in range(3)]
    queue = queue_of(workspace, list_jobs(workspace, active_only=True))
    assert (queue.workers, queue.running) == (0, 0)
    assert [queue.before(job) for job in jobs] == [0, 1, 2]
    assert queue.before("unknown") == 0


def test_a_started_worker_is_seen_until_it_ends(workspace: Workspace) -> None:
    with worker(workspace):
        wait_for(workspace, submit(workspace, "bin", organ="liver"), ended)
        assert workers_that_wait(workspace) == 1
        assert running_workers(workspace) == 1
    assert running_workers(workspace) == 0
