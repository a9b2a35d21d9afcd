"""`histocurator jobs`: list, show and cancel, as text and as JSON; and which queues a worker serves."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pipeline.jobs import job_status, list_jobs, submit
from pipeline.workspace import QUEUE_FILE, Workspace
from tests.curator_app.cli.conftest import Command
from tests.pipeline.test_jobs import ended, wait_for, worker


@pytest.fixture
def of(workspace: Workspace) -> str:
    return f"--workspace={workspace.root}"


def test_without_jobs_it_says_what_there_would_be(here: Command, of: str) -> None:
    assert "No jobs yet." in here("jobs", "list", of).out
    assert "No job runs." in here("jobs", "list", "--active", of).out
    assert here("jobs", "list", "--json", of).json == []


def test_a_waiting_job_is_listed_shown_and_cancelled(here: Command, workspace: Workspace, of: str) -> None:
    job = submit(workspace, "bin", organ="liver")
    (listed,) = here("jobs", "list", "--json", of).json
    assert (listed["id"], listed["kind"], listed["state"]) == (job, "bin", "queued")
    text = here("jobs", "list", "--active", of).out
    assert all(word in text for word in (job, "Making bins of liver", "waiting"))
    shown = here("jobs", "show", job, "--json", of).json
    assert (shown["parameters"], shown["cost"], shown["log"], shown["error"]) == ({"organ": "liver"}, None, [], None)
    ran = here("jobs", "cancel", job, of)
    assert (ran.code, ran.out.strip()) == (0, "Cancelled: Making bins of liver. It has not begun: nothing is lost.")
    assert job_status(workspace, job).state == "cancelled"
    assert f"cancelled by {workspace.actor.name}" in here("jobs", "show", job, of).out
    again = here("jobs", "cancel", job, of)
    assert (again.code, "has ended" in again.err) == (2, True)


def test_the_beginning_of_an_id_is_enough_where_one_job_has_it(here: Command, workspace: Workspace, of: str) -> None:
    # Of 17 ids, written in hexadecimal, two begin alike.
    jobs = [submit(workspace, "bin", organ="liver") for _ in range(17)]
    first = next(job[0] for job in jobs if sum(other[0] == job[0] for other in jobs) > 1)
    both = here("jobs", "cancel", first, of)
    assert (both.code, f"More than one job's id begins with {first}: " in both.err) == (2, True)
    assert here("jobs", "cancel", "", of).code == 2, "nothing is no beginning"
    assert len(list_jobs(workspace, active_only=True)) == 17
    assert here("jobs", "show", jobs[0][:13], "--json", of).json["id"] == jobs[0]
    assert here("jobs", "cancel", jobs[0][:13], "--json", of).json["cancelled"] == jobs[0]
    assert not job_status(workspace, jobs[0]).active


def test_a_failed_job_is_shown_with_its_error_and_log(here: Command, workspace: Workspace, of: str) -> None:
    with worker(workspace):
        job = submit(workspace, "bin", organ="spleen")
        wait_for(workspace, job, ended)
    ran = here("jobs", "show", job, of)
    assert ran.code == 0
    for said in ("failed", "error         There are no candidates of spleen", "begins", "ERROR failed:"):
        assert said in ran.out, ran.out
    shown = here("jobs", "show", job, "--json", "--lines=1", of).json
    assert len(shown["log"]) == 1
    assert "no candidates of spleen" in shown["error"]
    assert here("jobs", "show", job, "--lines=0", "--json", of).json["log"] == []


@pytest.mark.parametrize("verb", ["show", "cancel"])
def test_an_unknown_job_is_an_error(here: Command, of: str, verb: str) -> None:
    ran = here("jobs", verb, "nothing", "--json", of)
    assert ran.code == 2
    assert ran.json == {"error": "There is no job nothing in this workspace."}


@pytest.mark.sqlite("on PostgreSQL it is chosen in test_workers_side_by_side_do_each_unit_once")
@pytest.mark.parametrize("queue", ["jobs", "seeds"])
def test_a_queue_is_chosen_on_postgresql_only(here: Command, of: str, queue: str) -> None:
    ran = here("worker", "--queue", queue, of)
    assert ran.code == 2
    assert "more machines on PostgreSQL" in ran.err
    assert "leave --queue away" in ran.err


def test_an_unknown_queue_is_refused(here: Command, of: str) -> None:
    assert here("worker", "--queue", "none", of).code == 2


@pytest.mark.parametrize("how", ["the server is gone", "it is told to end"])
def test_a_servers_worker_ends_in_order(workspace: Workspace, how: str) -> None:
    command = [sys.executable, "-m", "curator_app", "worker", "--until-stdin-ends", "--workspace", str(workspace.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stderr is not None
        said = ""
        while "waits for" not in said:
            said = child.stderr.readline()
            assert said, "it ended before it began"
        if how == "the server is gone":
            child.stdin.close()
        else:
            child.terminate()
        rest = child.stderr.read()
        assert child.wait(60) == 0
    assert "Fatal" not in rest


@pytest.mark.sqlite("the queue is no file")
@pytest.mark.parametrize("command", [("jobs", "list"), ("jobs", "show", "x"), ("worker",), ("serve", "--no-browser")])
def test_a_damaged_queue_is_said_with_how_to_go_on(
    here: Command, workspace: Workspace, of: str, command: tuple[str, ...]
) -> None:
    queue = workspace.root / QUEUE_FILE
    queue.write_bytes(b"junk" * 1024)
    ran = here(*command, of)
    assert (ran.code, "move queue.sqlite away" in ran.err) == (2, True)
    queue.rename(workspace.root.parent / "damaged")
    assert here("jobs", "list", of).code == 0
