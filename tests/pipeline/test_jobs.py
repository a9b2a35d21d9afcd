"""Jobs in a worker process of their own: progress, results, failures, cancelling, and a worker that is killed."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.audit import verify_trail
from pipeline.benchmarks import list_runs, load_results, run_folder_of_job
from pipeline.errors import InputError, NotFoundError
from pipeline.job_costs import job_cost
from pipeline.job_log import read_job_log
from pipeline.jobs import JobStatus, cancel_job, job_status, list_jobs, submit
from pipeline.rechecks import items_to_check
from pipeline.releases import build_release
from pipeline.review import decide, list_items
from pipeline.rois import list_rois
from pipeline.variants import choose_models, generate_items, pending_seeds
from pipeline.worker_process import _worker_name
from pipeline.workspace import QUEUE_FILE, Workspace
from tests.pipeline import scripted
from tests.wire.stub import Answer, Fault, Hang, Received, Step, WireStub

PATIENCE_S = 120
CALLS_AT_ONCE = 4
CALLS_PER_SEED = 1 + 2 * 3
"""One that writes, three checks of the multiple choice, three of KPrim."""

UNRECORDED_S = 0.5
"""A reply that was sent so shortly before a kill may not have been recorded yet: it still counts as under way."""


@contextmanager
def worker(workspace: Workspace, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker as `serve` starts it."""
    process = subprocess.Popen(
        [Path(sys.executable).parent / "histocurator", "worker", *options, "--workspace", workspace.root],
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


def workers_that_wait(workspace: Workspace) -> int:
    """Return how many workers have said in the log that they wait for jobs, those included that have ended."""
    return workspace.log_file.read_text().count(" waits for ") if workspace.log_file.is_file() else 0


@dataclass(frozen=True)
class Killed:
    """How a generation went whose worker was killed: calls that it needed, that were made, that were under way."""

    status: JobStatus
    kills: int
    needed: int
    made: int
    under_way: int

    @property
    def repeated(self) -> int:
        return self.made - self.needed


def generate_under_kills(
    workspace: Workspace, *, kills: int, seed: int, monkeypatch: pytest.MonkeyPatch, seconds: float = 0.25
) -> Killed:
    """Generate the items of all seeds, each call taking `seconds`, and kill the worker at random moments."""
    rng = random.Random(seed)
    writer = scripted.Writer()
    checker = scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: 2)
    begun: list[float] = []
    sent: list[float] = []

    def script(received: Received) -> Step:
        begun.append(time.monotonic())
        time.sleep(seconds)
        sent.append(time.monotonic())
        return writer.answer(received) if scripted.writer_of(received) else checker(received)

    needed = len(pending_seeds(workspace)) * CALLS_PER_SEED
    killed = under_way = 0
    with WireStub(script=script) as server:
        monkeypatch.setenv("STUB_BASE_URL", server.openai_url)
        monkeypatch.setenv("STUB_API_KEY", "key")
        job = submit(workspace, "generate", generator=scripted.WRITER, checker=scripted.CHECKER)
        while killed < kills and job_status(workspace, job).active:
            # Between two kills it may come on by less than a seed's calls, in which case nothing of it is finished.
            until = len(begun) + rng.randint(2, max(3, 2 * needed // (kills + 1)))
            with worker(workspace) as process:
                end = time.monotonic() + PATIENCE_S
                while len(begun) < until and time.monotonic() < end and job_status(workspace, job).active:
                    time.sleep(0.01)
                time.sleep(rng.uniform(0, seconds))
                now = time.monotonic()
                under_way += len(begun) - sum(moment < now - UNRECORDED_S for moment in sent)
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                killed += 1
        with worker(workspace):
            status = wait_for(workspace, job, ended)
        return Killed(status, killed, needed, len(server.received), under_way)


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


def test_a_worker_that_is_killed_again_and_again_repeats_only_what_was_under_way(
    with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HISTOCURATOR_MODEL_CONCURRENCY", str(CALLS_AT_ONCE))
    killed = generate_under_kills(with_seeds, kills=3, seed=7, monkeypatch=monkeypatch)
    assert killed.status.state == "done", killed.status.error
    assert killed.status.result is not None
    assert killed.status.result["ready"] == 4
    assert killed.kills == 3
    assert killed.repeated <= killed.under_way, killed
    assert {entry.item.state for entry in list_items(with_seeds)} == {"passed"}
    assert len(list_items(with_seeds)) == 12, "nothing is half-written, nothing twice"
    assert verify_trail(with_seeds).faults == []
    cost = job_cost(with_seeds, killed.status)
    assert cost is not None
    assert cost.calls == killed.needed, "each reply that was stored counts once"
    log = [line.text for line in read_job_log(with_seeds, killed.status.id, lines=200)]
    assert sum("goes on after its worker ended" in text for text in log) >= 1, log


def test_one_worker_goes_on_with_what_two_left(with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is killed leaves its worker; the next one's is the second, and a kill of all ends both."""
    monkeypatch.setenv("HISTOCURATOR_MODEL_CONCURRENCY", "1")
    writer = scripted.Writer()
    checker = scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: 2)

    def script(received: Received) -> Step:
        time.sleep(0.3)
        return writer.answer(received) if scripted.writer_of(received) else checker(received)

    with WireStub(script=script) as server:
        monkeypatch.setenv("STUB_BASE_URL", server.openai_url)
        monkeypatch.setenv("STUB_API_KEY", "key")
        with worker(with_seeds) as first, worker(with_seeds) as second:
            end = time.monotonic() + PATIENCE_S
            while workers_that_wait(with_seeds) < 2 and time.monotonic() < end:
                time.sleep(0.1)
            job = submit(with_seeds, "generate", generator=scripted.WRITER, checker=scripted.CHECKER)
            while len(server.received) < 6 and time.monotonic() < end:
                time.sleep(0.02)
            for one in (first, second):
                os.kill(one.pid, signal.SIGKILL)
                one.wait()
        with worker(with_seeds):
            status = wait_for(with_seeds, job, ended)
    assert status.state == "done", status.error
    assert status.result is not None
    assert status.result["ready"] == 4
    log = with_seeds.log_file.read_text()
    assert "worker 1 has ended" in log, "the worker that was started again is the other one"


def test_two_workers_do_nothing_twice(with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where both have their queue in one SQLite file."""
    # One seed at a time, so that each worker gets some.
    monkeypatch.setenv("HISTOCURATOR_MODEL_CONCURRENCY", "1")
    writer = scripted.Writer()
    checker = scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: 2)

    def script(received: Received) -> Step:
        time.sleep(0.3)
        return writer.answer(received) if scripted.writer_of(received) else checker(received)

    with WireStub(script=script) as server:
        monkeypatch.setenv("STUB_BASE_URL", server.openai_url)
        monkeypatch.setenv("STUB_API_KEY", "key")
        with worker(with_seeds), worker(with_seeds):
            end = time.monotonic() + PATIENCE_S
            while workers_that_wait(with_seeds) < 2 and time.monotonic() < end:
                time.sleep(0.1)
            job = submit(with_seeds, "generate", generator=scripted.WRITER, checker=scripted.CHECKER)
            status = wait_for(with_seeds, job, ended)
        calls = len(server.received)
    assert status.state == "done", status.error
    assert status.result is not None
    assert status.result["ready"] == 4
    assert calls == 4 * CALLS_PER_SEED, "no unit is done twice"
    assert len(list_items(with_seeds)) == 12
    assert verify_trail(with_seeds).faults == []
    did = [path for path in with_seeds.log_file.parent.glob("jobs-*.log") if " ready" in path.read_text()]
    assert len(did) == 2, "both took seeds"


def test_a_cancelled_job_says_by_whom_and_when_it_began(with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with WireStub(Hang(60)) as server:
        monkeypatch.setenv("STUB_BASE_URL", server.openai_url)
        monkeypatch.setenv("STUB_API_KEY", "key")
        with worker(with_seeds):
            job = submit(with_seeds, "generate", generator=scripted.WRITER, checker=scripted.CHECKER)
            began = wait_for(with_seeds, job, lambda status: status.total == 4).begun_at
            cancel_job(with_seeds, job)
            status = wait_for(with_seeds, job, ended)
    assert began is not None
    assert (status.cancelled_by, status.begun_at, status.error) == (with_seeds.actor.name, began, None)
    assert status.ended_at is not None
    with pytest.raises(InputError, match="has ended"):
        cancel_job(with_seeds, job)


def test_lost_checks_are_made_again_as_a_job(with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = scripted.Writer()
    checker = scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: 2)
    broken = [True]

    def script(received: Received) -> Step:
        if scripted.writer_of(received):
            return writer.answer(received)
        return Fault(401, "no such key") if broken[0] else checker(received)

    with WireStub(script=script) as server:
        monkeypatch.setenv("STUB_BASE_URL", server.openai_url)
        monkeypatch.setenv("STUB_API_KEY", "key")
        with worker(with_seeds):
            first = submit(with_seeds, "generate", generator=scripted.WRITER, checker=scripted.CHECKER)
            assert wait_for(with_seeds, first, ended).state == "done"
            assert len(items_to_check(with_seeds)) == 8
            broken[0] = False
            server.received.clear()
            again = submit(with_seeds, "check", checker=scripted.CHECKER)
            status = wait_for(with_seeds, again, ended)
    assert status.state == "done", status.error
    assert status.result == {"passed": 8, "guessable": 0, "failed": [], "checker": scripted.CHECKER}
    assert (status.done, status.total, status.failed) == (8, 8, 0)
    assert len(server.received) == 24
    assert items_to_check(with_seeds) == []
    cost = job_cost(with_seeds, status)
    assert cost is not None
    assert (cost.calls, cost.input_tokens, cost.output_tokens, cost.unpriced) == (24, 24 * 11, 24 * 7, 24)
    assert any("401" in line.text for line in read_job_log(with_seeds, first)), "failed calls are in the log"


def test_an_evaluation_goes_on_in_its_folder_after_a_kill(
    with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = choose_models(with_seeds, generator=None, checker=None)
    generate_items(with_seeds, models=models, who="test")
    for entry in list_items(with_seeds):
        decide(with_seeds, entry.item.id, "approve", who="test")
    release = build_release(with_seeds, name="liver", version="1", who="test").release

    def script(_received: Received) -> Step:
        time.sleep(0.3)
        return Answer("A")

    with WireStub(script=script) as server:
        monkeypatch.setenv("STUB_BASE_URL", server.openai_url)
        monkeypatch.setenv("STUB_API_KEY", "key")
        parameters = {"benchmark": release.path, "model": "openai-api/stub/tested", "rotations": 1, "concurrency": 1}
        with worker(with_seeds) as first:
            job = submit(with_seeds, "evaluate", **parameters)
            end = time.monotonic() + PATIENCE_S
            while len(server.received) < 4 and time.monotonic() < end:
                time.sleep(0.02)
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
        with worker(with_seeds):
            status = wait_for(with_seeds, job, ended)
        calls = len(server.received)
    assert status.state == "done", status.error
    (run,) = list_runs(with_seeds)
    assert run.path == str(run_folder_of_job(with_seeds.runs, job, status.parameters, status.created_at))
    results = load_results(run)
    assert results.provenance.sittings == 2
    cost = job_cost(with_seeds, status)
    assert cost is not None
    assert results.judge is not None
    # The judge is built in and costs nothing.
    assert (cost.calls, cost.input_tokens) == (results.usage.calls - results.judge.calls, results.usage.input_tokens)
    assert calls <= cost.calls + 1, "one call was under way"


def test_an_evaluation_says_how_many_items_failed(with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    generate_items(with_seeds, models=choose_models(with_seeds, generator=None, checker=None), who="test")
    for entry in list_items(with_seeds):
        decide(with_seeds, entry.item.id, "approve", who="test")
    release = build_release(with_seeds, name="liver", version="1", who="test").release
    with WireStub(script=lambda _: Fault(400, "no such model")) as server:
        monkeypatch.setenv("STUB_BASE_URL", server.openai_url)
        monkeypatch.setenv("STUB_API_KEY", "key")
        with worker(with_seeds):
            job = submit(with_seeds, "evaluate", benchmark=release.path, model="openai-api/stub/gone", limit=2)
            status = wait_for(with_seeds, job, ended)
    assert (status.state, status.total, status.failed) == ("done", 2, 2), status.error


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


@pytest.mark.sqlite("workers on PostgreSQL may run on several machines, and take over from each other")
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


@pytest.mark.sqlite("the queue is in the database itself")
def test_a_queue_damaged_while_the_app_runs_is_said_with_what_to_do(with_seeds: Workspace) -> None:
    assert list_jobs(with_seeds) == []
    (with_seeds.root / QUEUE_FILE).write_bytes(b"junk" * 1024)
    for asked in (lambda: list_jobs(with_seeds), lambda: submit(with_seeds, "bin", organ="liver")):
        with pytest.raises(InputError, match=r"job queue .* is damaged .* move"):
            asked()
