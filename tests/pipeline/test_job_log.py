"""The log of jobs: what is said in one, from wherever, can be read back, without secrets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest

from pipeline.job_log import read_job_log, start_job_log
from pipeline.log import start_log, working_on
from pipeline.workspace import Workspace

_log = logging.getLogger("pipeline.test")


@pytest.fixture
def logged(workspace: Workspace) -> Iterator[Workspace]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    start_log(workspace.log_file)
    start_job_log(workspace, "local-0")
    start_job_log(workspace, "local-0")
    yield workspace
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)


def texts(workspace: Workspace, job_id: str, lines: int = 40) -> list[str]:
    return [line.text for line in read_job_log(workspace, job_id, lines=lines)]


def test_each_job_gets_its_own_lines_in_order(logged: Workspace) -> None:
    async def work(job_id: str) -> None:
        with working_on(job_id):
            for number in range(3):
                _log.info("%s says %d", job_id, number)
                await asyncio.to_thread(_log.warning, "%s from a thread", job_id)

    async def both() -> None:
        await asyncio.gather(work("job-a"), work("job-b"))

    _log.info("nobody's")
    asyncio.run(both())
    for job_id in ("job-a", "job-b"):
        said = texts(logged, job_id)
        assert len(said) == 6, said
        assert all(job_id in text for text in said)
        assert [text for text in said if "says" in text] == [f"{job_id} says {number}" for number in range(3)]
    assert texts(logged, "job-a", lines=1) == ["job-a from a thread"]
    assert texts(logged, "job") == []
    whole = logged.log_file.read_text()
    assert "[job job-a] job-a says 0" in whole
    assert "pipeline.test nobody's" in whole


def test_a_traceback_is_one_entry_and_keys_are_taken_out(logged: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef0123456789")
    with working_on("job-a"):
        try:
            raise ValueError("the key sk-0123456789abcdef0123456789 is refused")
        except ValueError:
            _log.exception("it failed")
    (line,) = read_job_log(logged, "job-a")
    assert line.level == "ERROR"
    assert line.text.startswith("it failed\nTraceback")
    assert "sk-0123456789" not in line.text
    assert "sk-0123456789" not in logged.log_file.with_name("jobs-local-0.log").read_text()


def test_libraries_are_heard_only_when_they_warn(logged: Workspace) -> None:
    with working_on("job-a"):
        logging.getLogger("some.library").info("chatter")
        logging.getLogger("some.library").warning("a fault")
    assert texts(logged, "job-a") == ["a fault"]


def test_lines_that_are_damaged_or_rotated_away_are_no_error(logged: Workspace) -> None:
    with working_on("job-a"):
        _log.info("whole")
    file = logged.log_file.with_name("jobs-local-0.log")
    file.with_name("jobs-local-0.log.1").write_text(file.read_text() + '{"job": "job-a", "at": 3}\n{"job": "job-a", "a')
    assert texts(logged, "job-a") == ["whole", "whole"]
