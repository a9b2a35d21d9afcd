"""Jobs in a worker process of their own: progress, results, failures, cancelling, and a worker that is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.errors import InputError, NotFoundError
from pipeline.jobs import JobStatus, cancel_job, job_status, list_jobs, submit
from pipeline.review import list_items
from pipeline.rois import list_rois
from pipeline.variants import pending_seeds
from pipeline.worker import _worker_name
from pipeline.workspace import Workspace
from tests.pipeline import scripted
from tests.wire.stub import Hang, Received, Step, WireStub

PATIENCE_S = 120


@contextmanager
def worker(workspace: Workspace) -> Iterator[subprocess.Popen[bytes]]:
    """A worker as `serve` starts it."""
    process = subprocess.Popen(
        [Path(sys.executable).parent / "histocurator", "worker", "--workspace", workspace.root],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(workspace: Workspace, job_id: str, reached: Callable[[JobStatus], bool]) -> JobStatus:
    """Watch a job until something is true of it."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        status = job_status(workspace, job_id)
        if reached(status):
            return status
        time.sleep(0.2)
    raise AssertionError(f"the job stays {status}")


def ended(status: JobStatus) -> bool:
    return not status.active


def test_jobs_do_what_the_commands_do(with_slides: Workspace) -> None:
    with worker(with_slides):
        sample = submit(with_slides, "sample", organ="liver", count=12, size=128)
        status = wait_for(with_slides, sample, ended)
        assert (status.state, status.kind, status.done, status.total) == ("done", "sample", 12, 12)
        assert status.result is not None
        assert status.result["added"] == 12
        for kind, parameters in (("bin", {"organ": "liver", "bins": 3}), ("select", {"organ": "liver", "per_bin": 1})):
            status = wait_for(with_slides, submit(with_slides, kind, **parameters), ended)  # type: ignore[arg-type]
            assert status.state == "done", status.error
        wrong = wait_for(with_slides, submit(with_slides, "bin", organ="spleen"), ended)
        assert wrong.state == "failed"
        assert "spleen" in (wrong.error or "")
    assert len(list_rois(with_slides)) == 3
    assert [job.kind for job in list_jobs(with_slides)] == ["bin", "select", "bin", "sample"]
    assert list_jobs(with_slides, active_only=True) == []


def test_generation_is_one_unit_per_seed(with_seeds: Workspace) -> None:
    with worker(with_seeds):
        status = wait_for(with_seeds, submit(with_seeds, "generate"), ended)
    assert status.state == "done", status.error
    assert (status.done, status.total) == (4, 4)
    assert status.result is not None
    assert status.result["ready"] == 4
    assert len(list_items(with_seeds)) == 12


def test_a_killed_worker_goes_on_and_pays_nothing_twice(with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = scripted.Writer()
    checker = scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: 2)

    def script(received: Received) -> Step:
        time.sleep(0.15)
        return writer.answer(received) if scripted.writer_of(received) else checker(received)

    with WireStub(script=script) as server:
        monkeypatch.setenv("STUB_BASE_URL", server.openai_url)
        monkeypatch.setenv("STUB_API_KEY", "key")
        with worker(with_seeds) as first:
            job = submit(with_seeds, "generate", generator=scripted.WRITER, checker=scripted.CHECKER)
            end = time.monotonic() + PATIENCE_S
            while len(server.received) < 9 and time.monotonic() < end:
                time.sleep(0.02)
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
        with worker(with_seeds):
            status = wait_for(with_seeds, job, ended)
        calls = len(server.received)
    assert status.state == "done", status.error
    assert status.result is not None
    assert status.result["ready"] == 4
    entries = list_items(with_seeds)
    assert len(entries) == 12, "nothing is half-written, nothing twice"
    assert {entry.item.state for entry in entries} == {"passed"}
    needed = 4 * (1 + 2 * 3)
    in_flight = 4 * 3  # four seeds, each with at most three trials under way
    assert needed <= calls <= needed + in_flight, f"{calls} calls for {needed}"


def test_a_job_keeps_to_the_limit_of_calls_at_once(with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = scripted.Writer()
    checker = scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: 2)
    now: list[Received] = []
    most: list[int] = []

    def script(received: Received) -> Step:
        now.append(received)
        most.append(len(now))
        time.sleep(0.2)
        now.remove(received)
        return writer.answer(received) if scripted.writer_of(received) else checker(received)

    with WireStub(script=script) as server:
        monkeypatch.setenv("STUB_BASE_URL", server.openai_url)
        monkeypatch.setenv("STUB_API_KEY", "key")
        monkeypatch.setenv("HISTOCURATOR_MODEL_CONCURRENCY", "2")
        with worker(with_seeds):
            job = submit(with_seeds, "generate", generator=scripted.WRITER, checker=scripted.CHECKER)
            assert wait_for(with_seeds, job, ended).state == "done"
    assert max(most) == 2


def test_a_worker_keeps_its_name_where_the_machine_gets_another(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = set()
    for host in ("before", "after"):
        monkeypatch.setattr(socket, "gethostname", lambda host=host: host)
        names.add(_worker_name(workspace, 0))
    assert len(names) == 1
    assert _worker_name(workspace, 1) not in names


def test_a_cancelled_generation_stops_and_keeps_what_is_finished(
    with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WireStub(Hang(60)) as server:
        monkeypatch.setenv("STUB_BASE_URL", server.openai_url)
        monkeypatch.setenv("STUB_API_KEY", "key")
        with worker(with_seeds):
            job = submit(with_seeds, "generate", generator=scripted.WRITER, checker=scripted.CHECKER)
            wait_for(with_seeds, job, lambda status: status.total == 4)
            cancel_job(with_seeds, job)
            assert wait_for(with_seeds, job, ended).state == "cancelled"
    assert list_items(with_seeds) == []
    assert len(pending_seeds(with_seeds)) == 4, "they wait again"
    assert len(server.received) <= 4, "what had not begun did not begin"


def test_an_unknown_job_and_an_unknown_kind_are_errors(workspace: Workspace) -> None:
    with pytest.raises(NotFoundError, match="no job"):
        job_status(workspace, "nothing")
    with pytest.raises(InputError, match="kind of job"):
        submit(workspace, "clean")  # type: ignore[arg-type]
