"""The log of jobs: each worker writes a rotating file of its own, and a job's lines are read back from all of them."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.log import NamesJob, QuietFile, WithoutSecrets, without_secrets, writes_to
from pipeline.permissions import Permission, needs
from pipeline.workspace import Workspace

MAX_BYTES = 2_000_000
BACKUP_COUNT = 4

LAST_LINES = 40
"""So many lines a page and a command show unless they are asked for more."""

_PREFIX = "jobs-"


@dataclass(frozen=True)
class LogLine:
    """What was logged of a job: when (UTC), how grave (a level of `logging`), and the text, which may have lines."""

    at: datetime
    level: str
    text: str


_OWN = ("pipeline", "evaluation", "db")


class _OfJobsOnly(NamesJob):
    """Lets through what we say of a job, and of what libraries say in one only warnings."""

    def filter(self, record: logging.LogRecord) -> bool:
        super().filter(record)
        own = record.name.partition(".")[0] in _OWN
        return bool(record.__dict__["job"]) and (own or record.levelno >= logging.WARNING)


class _AsJson(WithoutSecrets):
    """One JSON document a line, so that a text with line ends stays one entry."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(
            {
                "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
                "level": record.levelname,
                "job": record.__dict__["job"],
                "text": super().format(record),
            },
            ensure_ascii=False,
        )


def start_job_log(workspace: Workspace, worker: str) -> None:
    """Write what this process logs of jobs to the file of the worker; a second call changes nothing.

    Workers do not share a file: two of them, perhaps on two machines, would rotate it under each other's hands.
    """
    path = workspace.log_file.with_name(f"{_PREFIX}{worker}.log")
    if writes_to(path):
        return
    file = QuietFile(path, maxBytes=MAX_BYTES, backupCount=BACKUP_COUNT, encoding="utf-8")
    file.addFilter(_OfJobsOnly())
    file.setFormatter(_AsJson("%(message)s"))
    logging.getLogger().addHandler(file)


@needs(Permission.VIEW_JOBS)
def read_job_log(workspace: Workspace, job_id: str, *, lines: int = LAST_LINES) -> list[LogLine]:
    """Return the last lines that workers logged of a job, oldest first; older ones than the log keeps are gone."""
    found: list[LogLine] = []
    for path in workspace.log_file.parent.glob(f"{_PREFIX}*.log*"):
        found += _lines_of(path, job_id)
    return sorted(found, key=lambda line: line.at)[-lines:]


def _lines_of(path: Path, job_id: str) -> list[LogLine]:
    # A file that was rotated away meanwhile is read under its new name; a line that is cut is none.
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
        return [line for text in file if job_id in text and (line := _read(text, job_id)) is not None]
    return []


def _read(text: str, job_id: str) -> LogLine | None:
    try:
        entry = json.loads(text)
        if entry["job"] != job_id:
            return None
        return LogLine(datetime.fromisoformat(entry["at"]), str(entry["level"]), without_secrets(str(entry["text"])))
    except (ValueError, KeyError, TypeError):
        return None
