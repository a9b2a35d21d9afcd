"""Which workers run, and what a job that waits is waiting for."""

from __future__ import annotations

import fcntl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.jobs import JobStatus
from pipeline.permissions import Permission, needs
from pipeline.workspace import Workspace

JOBS_AT_ONCE = 2
"""So many whole jobs one worker runs at once; the others wait for their turn."""


@dataclass(frozen=True)
class Queue:
    """The queue of whole jobs: how many workers run, how many jobs they run, and which wait, the first one first.

    A worker that serves single seeds only counts as well: its lock does not say what it serves.
    """

    workers: int
    running: int
    waiting: tuple[str, ...]

    def before(self, job_id: str) -> int:
        """Return how many jobs wait before this one."""
        return self.waiting.index(job_id) if job_id in self.waiting else 0


@needs(Permission.VIEW_JOBS)
def queue_of(workspace: Workspace, active: Sequence[JobStatus]) -> Queue:
    """Return how the queue stands.

    Args:
        workspace: whose workers.
        active: its jobs that wait or run, newest first.
    """
    waiting = [job for job in reversed(active) if job.state == "queued"]
    return Queue(
        workers=running_workers(workspace),
        running=sum(job.state == "running" for job in active),
        waiting=tuple(job.id for job in waiting),
    )


def running_workers(workspace: Workspace) -> int:
    """Return how many workers hold their lock now, on this machine or on others that share the folder with locks."""
    return sum(_is_held(path) for path in workspace.cache.glob("worker-*.lock"))


def worker_lock(workspace: Workspace, name: str) -> Path:
    """Return the file that the worker of this name holds a lock on as long as it runs."""
    return workspace.cache / f"worker-{name}.lock"


def _is_held(path: Path) -> bool:
    try:
        with path.open("r") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
