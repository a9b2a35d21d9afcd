"""The workspace's log: a rotating file, and warnings on stderr. Lines of a job name it."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from logging.handlers import RotatingFileHandler
from pathlib import Path

from evaluation.models import scrub

MAX_BYTES = 5_000_000
BACKUP_COUNT = 5

_FORMAT = "%(asctime)sZ %(levelname)s %(name)s %(of_job)s%(message)s"

_job: ContextVar[str] = ContextVar("job", default="")
"""The job that the running task works on; tasks and threads that it starts know it too."""

_REDACTED = "[redacted]"
_SHAPES = (
    re.compile(r"(/invitation/)[^/?\s\"']+"),
    re.compile(r"([?&](?:ticket|code|state|provider)=)[^&\s\"']+"),
)
"""Links that work once, an identity provider's answers."""


def without_secrets(text: str) -> str:
    """Return a text as a log may hold it: without keys, passwords, and tokens of links."""
    text = scrub(text)
    for shape in _SHAPES:
        text = shape.sub(lambda match: match.group(1) + _REDACTED, text)
    return text


@contextmanager
def working_on(job_id: str) -> Iterator[None]:
    """Let every line that is logged in the block, wherever it comes from, carry the id of a job."""
    token = _job.set(job_id)
    try:
        yield
    finally:
        _job.reset(token)


class NamesJob(logging.Filter):
    """Gives each record `job`, the id of the job it belongs to ("" for none), and `of_job`, the same for a line."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record through."""
        job_id = _job.get()
        record.__dict__.update(job=job_id, of_job=f"[job {job_id}] " if job_id else "")
        return True


class WithoutSecrets(logging.Formatter):
    """Takes secrets out of messages and tracebacks alike, whoever wrote them."""

    converter = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


class _Scrubbed(logging.Formatter):
    """Takes secrets out of what another formatter writes."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(self._inner.format(record))


class QuietFile(RotatingFileHandler):
    """A log that cannot be written (a full disk) stops no work and prints nothing into it."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802  (the library's signature)
        return


def writes_to(path: Path) -> bool:
    """Say whether this process logs into a file already."""
    handlers = logging.getLogger().handlers
    return any(isinstance(h, RotatingFileHandler) and Path(h.baseFilename) == path for h in handlers)


def start_log(path: Path) -> None:
    """Write this process's log to a rotating file; a second call with the same file changes nothing."""
    root = logging.getLogger()
    if writes_to(path):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    file = QuietFile(path, maxBytes=MAX_BYTES, backupCount=BACKUP_COUNT, encoding="utf-8")
    file.addFilter(NamesJob())
    file.setFormatter(WithoutSecrets(_FORMAT, datefmt="%Y-%m-%dT%H:%M:%S"))
    root.addHandler(file)
    if root.level > logging.INFO or root.level == logging.NOTSET:
        root.setLevel(logging.INFO)
    for noisy in ("httpx", "httpcore", "openai", "anthropic", "dbos", "alembic", "PIL", "h5py"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def scrub_consoles() -> None:
    """Take secrets out of what libraries write to the console with handlers of their own, tracebacks included."""
    known = logging.root.manager.loggerDict.values()
    loggers = [logging.root, *(one for one in known if isinstance(one, logging.Logger))]
    for handler in {handler for logger in loggers for handler in logger.handlers}:
        if not isinstance(handler.formatter, WithoutSecrets | _Scrubbed):
            handler.setFormatter(_Scrubbed(handler.formatter or logging.Formatter()))
