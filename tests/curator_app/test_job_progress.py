"""What a page says of a job: while it waits, while it runs, and how it ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from curator_app import job_progress, job_words
from pipeline.job_costs import JobCost
from pipeline.jobs import JOB_KINDS, JobStatus
from pipeline.workers import Queue


def _job(kind: str = "sample", state: Any = "running", **changed: Any) -> JobStatus:
    values: dict[str, Any] = {
        "done": 0,
        "total": 0,
        "message": "",
        "error": None,
        "result": None,
        "created_at": datetime.now(UTC),
        "who": "test",
    }
    return JobStatus(id="job", kind=kind, state=state, **{**values, **changed})


def test_every_kind_has_words() -> None:
    for words in (job_words.WORDS, job_words.UNITS, job_words.RESULT_PAGES, job_words._CANCELLING):
        assert set(words) == set(JOB_KINDS)


NOBODY = Queue(workers=0, running=0, waiting=())


def test_a_running_job_says_how_far_it_is() -> None:
    standing = job_progress._standing(_job(done=3, total=9, message="slide_1.svs"), NOBODY)
    assert "3 / 9 candidates" in standing.replace("\\", "")
    assert r"slide\_1\.svs" in standing


@pytest.mark.parametrize(
    ("queue", "said"),
    [
        (NOBODY, "No worker runs: start"),
        (Queue(1, 2, ("job",)), "Waits for its turn: 2 jobs run, it is the next one."),
        (Queue(2, 4, ("a", "b", "job", "c")), "Waits for its turn: 4 jobs run, 2 wait before it."),
        (Queue(1, 1, ("a", "job")), "Waits for its turn: 1 job runs, 1 waits before it."),
        (Queue(1, 0, ("job",)), "A worker runs but has not taken it yet."),
    ],
)
def test_a_job_that_waits_says_for_what(queue: Queue, said: str) -> None:
    old = datetime.now(UTC) - timedelta(seconds=job_words.UNTAKEN_S + 1)
    assert job_words.waits_for(_job(state="queued", created_at=old), queue).startswith(said)
    assert job_words.waits_for(_job(state="queued"), queue) == "", "a free worker needs a moment"
    assert job_words.waits_for(_job(state="running", created_at=old), queue) == ""
    assert said in job_progress._standing(_job(state="queued", created_at=old), queue).replace("\\", "")


def test_a_failed_job_says_why_in_one_text_without_the_servers_folder() -> None:
    error = (
        "/a/releases/demo/1.0.0: this benchmark cannot be used.\n  it holds no .parquet file\nGive a release folder."
    )
    job = _job("evaluate", "failed", error=error, parameters={"benchmark": "/a/releases/demo/1.0.0"})
    said = "demo 1.0.0: this benchmark cannot be used. It holds no .parquet file. Give a release folder."
    assert " ".join(job_words.why(job)) == said
    assert job_words.problems(job) == []
    ending = job_progress._ending(job).replace("\\", "")
    assert "✕ failed" in ending
    assert said in ending


def test_more_than_one_fault_is_listed() -> None:
    job = _job("bin", "failed", error="2 settings are wrong\n  bins is 0\n  the organ is empty\nMend them.")
    assert job_words.why(job) == ["2 settings are wrong", "Mend them."]
    assert job_words.problems(job) == ["bins is 0", "the organ is empty"]


@pytest.mark.parametrize(
    ("kind", "result", "said"),
    [
        ("add_slides", {"added": ["a", "b"], "problems": ["c.svs: is cut off."]}, "2 added, 1 refused"),
        ("sample", {"asked": 9, "drawn": 5, "added": 5, "problems": []}, "5 drawn of 9 asked for"),
        ("sample", {"asked": 9, "drawn": 9, "added": 9, "flagged": 2, "problems": []}, "2 show an artefact"),
        ("sample", {"asked": 9, "drawn": 5, "added": 2, "problems": []}, "3 of them were there before"),
        ("embed", {"candidates": 9, "embedded": 4}, "4 of 9 candidates embedded now"),
        ("bin", {"bins": 3, "sizes": [4, 2, 1]}, "3 bins of 7 candidates"),
        ("select", {"selected": ["a"]}, "1 ROI selected"),
        ("generate", {"ready": 2, "failed": []}, "2 seeds ready, 0 failed"),
        ("check", {"passed": 2, "guessable": 1, "failed": []}, "2 passed, 1 guessed, 0 without a verdict"),
        ("evaluate", {"run": "run_1", "path": "/runs/1"}, "registered as run_1"),
    ],
)
def test_a_finished_job_says_what_came_of_it(kind: str, result: dict[str, Any], said: str) -> None:
    assert said in job_progress._ending(_job(kind, "done", result=result)).replace("\\", "")


def test_every_refused_file_and_failed_seed_is_listed() -> None:
    refused = {"added": [], "problems": ["a.svs: is cut off.", "b.svs: has no resolution."]}
    ending = job_progress._ending(_job("add_slides", "done", result=refused)).replace("\\", "")
    assert "- a.svs: is cut off." in ending
    assert "- b.svs: has no resolution." in ending
    failed = {"ready": 0, "failed": [{"seed_id": "seed_1", "reason": "the reply is no JSON"}]}
    ending = job_progress._ending(_job("generate", "done", result=failed)).replace("\\", "")
    assert "- seed_1: the reply is no JSON" in ending


def _cost(**parts: Any) -> JobCost:
    return JobCost(**{"calls": 4, "input_tokens": 1_200, "output_tokens": 80, "usd": 0.0, "unpriced": 0, **parts})


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (JobCost(), "nothing"),
        (_cost(usd=12.345), "$12.35"),
        (_cost(usd=0.0123), "$0.0123"),
        (_cost(), "$0.00"),
        (_cost(unpriced=4), "price unknown"),
        (_cost(usd=2.0, unpriced=3), "$2.00 and 3 calls of unknown price"),
    ],
)
def test_a_price_is_said_as_far_as_it_is_known(cost: JobCost, said: str) -> None:
    assert job_words.money(cost) == said


def test_cancelling_says_what_it_will_do_and_to_how_many() -> None:
    said = job_words.cancelling(_job("generate", done=3, total=40))
    assert said.startswith("3 of 40 seeds are done; 37 seeds will not be.")
    assert "wait again" in said
    assert job_words.cancelling(_job("bin", "queued")) == "It has not begun: nothing is lost."


@pytest.mark.parametrize(("seconds", "said"), [(0, "0 s"), (59, "59 s"), (61, "1 min 01 s"), (7_500, "2 h 05 min")])
def test_how_long_a_job_ran(seconds: int, said: str) -> None:
    begun = datetime.now(UTC)
    assert job_words.duration(_job(begun_at=begun, ended_at=begun + timedelta(seconds=seconds))) == said
    assert job_words.duration(_job()) == ""


@pytest.mark.parametrize(
    ("job", "title", "about"),
    [
        (_job("bin", parameters={"organ": "soft_tissue", "bins": 3}), "Making bins of soft tissue", ""),
        (
            _job("generate", parameters={"generator": "a/b", "checker": "a/b", "seed_ids": ["s", "t"]}),
            "Generating and checking items of 2 seeds",
            "a/b",
        ),
        (_job("check", total=1, parameters={"checker": "a/b"}), "Checking again 1 item", "a/b"),
        (_job("add_slides", parameters={"paths": ["/a", "/b"]}), "Adding slides from 2 paths", ""),
        (_job("add_slides", parameters={"paths": ["/a/b.svs"]}), "Adding slides: b.svs", "/a/b.svs"),
        (
            _job("evaluate", parameters={"model": "x/y", "benchmark": "/w/releases/demo/1.0.0", "limit": 4}),
            "Evaluating x/y on demo 1.0.0",
            "first 4 items only",
        ),
        (
            _job("evaluate", parameters={"model": "x/y", "benchmark": "OWNER/NAME", "ablation": "black"}),
            "Evaluating x/y on OWNER/NAME",
            "image shown: black",
        ),
    ],
)
def test_a_job_names_its_subject(job: JobStatus, title: str, about: str) -> None:
    assert (job_words.title(job), job_words.about(job)) == (title, about)
