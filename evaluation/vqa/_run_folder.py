"""A run's folder: what it is for, whether it may be used, and writing to it as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from evaluation.vqa._config import Configuration
from evaluation.vqa._results import VqaResults

RUN_VERSION = 1
"""Raised when a run folder of an earlier version cannot be resumed."""


class RunFolderError(Exception):
    """A run folder cannot be used: which, why, and what to do. Nothing in it was touched."""


class _RunFile(BaseModel):
    """`run.json`: the one configuration that the folder belongs to."""

    model_config = ConfigDict(frozen=True)

    version: int = RUN_VERSION
    configuration: Configuration
    started: str
    sittings: int


class RunFolder:
    """The folder of one run: `run.json`, `predictions.jsonl`, `results.json` and inspect's log in `logs/`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.predictions = path / "predictions.jsonl"
        self.results = path / "results.json"
        self.logs = path / "logs"
        self._run = path / "run.json"

    def check(self, configuration: Configuration) -> VqaResults | None:
        """Make sure that the folder is new, empty, or of the same configuration; touch nothing.

        Returns:
            The results of a run that is complete already, else None.

        Raises:
            RunFolderError: the folder belongs to something else.
        """
        if self.path.exists() and not self.path.is_dir():
            raise RunFolderError(f"{self.path} is a file. Give a folder for the run.")
        if not self._is_begun():
            return None
        run = self._read_run()
        differences = run.configuration.differences(configuration)
        if differences:
            raise RunFolderError(
                f"{self.path} holds a run with another configuration ({'; '.join(differences)}). "
                "Choose another folder, or repeat that run's settings to resume it."
            )
        if not self.results.exists():
            return None
        try:
            results = VqaResults.model_validate_json(self.results.read_bytes())
        except ValidationError as error:
            raise RunFolderError(
                f"{self.results} does not read ({error.errors()[0]['msg']}). Delete it to score again."
            ) from error
        return results if results.complete else None

    def _is_begun(self) -> bool:
        """Whether the folder holds anything but what a sitting that was killed at once leaves there."""
        return self.path.exists() and any(not path.name.startswith(".") for path in self.path.iterdir())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes out of the folder for as long as the block runs, where the system has file locks.

        Raises:
            RunFolderError: another process evaluates into the folder.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / ".lock").open("w") as file:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:
                pass
            except BlockingIOError:
                raise RunFolderError(
                    f"Another process evaluates into {self.path} now. Wait for it, or choose another folder."
                ) from None
            yield

    def begin(self, configuration: Configuration) -> tuple[str, int]:
        """Open a sitting; return when the run was first started (UTC) and this sitting's number (from 1)."""
        self.path.mkdir(parents=True, exist_ok=True)
        started, sittings = _now(), 1
        if self._run.exists():
            earlier = self._read_run()
            started, sittings = earlier.started, earlier.sittings + 1
        run = _RunFile(configuration=configuration, started=started, sittings=sittings)
        write_whole(self._run, run.model_dump_json(indent=2) + "\n")
        return started, sittings

    def _read_run(self) -> _RunFile:
        if not self._run.exists():
            raise RunFolderError(f"{self.path} is not empty and holds no {self._run.name}. Choose another folder.")
        try:
            run = _RunFile.model_validate_json(self._run.read_bytes())
        except ValidationError as error:
            raise RunFolderError(
                f"{self._run} does not read ({error.errors()[0]['msg']}). Choose another folder."
            ) from error
        if run.version != RUN_VERSION:
            raise RunFolderError(f"{self._run} is of version {run.version}, not {RUN_VERSION}. Choose another folder.")
        return run


def write_whole(path: Path, text: str) -> None:
    """Write a text file so that a reader finds the old content or the new, never a part."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
