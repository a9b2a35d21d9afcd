"""What a page says of a job: while it waits, while it runs, and how it ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from curator_app import job_progress
from pipeline.jobs import JOB_KINDS, JobStatus


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
    assert set(job_progress.WORDS) == set(JOB_KINDS)


def test_a_running_job_says_how_far_it_is() -> None:
    standing = job_progress._standing(_job(done=3, total=9, message="slide_1.svs"))
    assert "3 of 9" in standing
    assert r"slide\_1\.svs" in standing


def test_a_job_that_nobody_takes_says_so() -> None:
    old = datetime.now(UTC) - timedelta(seconds=job_progress.UNTAKEN_S + 1)
    assert "no worker has taken it" in job_progress._standing(_job(state="queued", created_at=old))
    assert "no worker" not in job_progress._standing(_job(state="queued"))
    assert "no worker" not in job_progress._standing(_job(state="running", created_at=old))


def test_a_failed_job_says_why_line_by_line() -> None:
    ending = job_progress._ending(_job(state="failed", error="The count is wrong\n  it must be positive"))
    assert "✕ failed" in ending
    assert "- The count is wrong\n- it must be positive" in ending


@pytest.mark.parametrize(
    ("kind", "result", "said"),
    [
        ("add_slides", {"added": ["a", "b"], "problems": ["c.svs: is cut off."]}, "2 added, 1 refused"),
        ("sample", {"asked": 9, "drawn": 5, "added": 5, "problems": []}, "5 drawn of 9 asked for"),
        ("sample", {"asked": 9, "drawn": 5, "added": 2, "problems": []}, "3 of them were there before"),
        ("bin", {"bins": 3, "sizes": [4, 2, 1]}, "3 bins of 7 candidates"),
        ("select", {"selected": ["a"]}, "1 ROI selected"),
        ("generate", {"ready": 2, "failed": []}, "2 seeds ready, 0 failed"),
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
