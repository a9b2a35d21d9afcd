"""Runs the installed command as a user does, in a folder of its own; or within this process, where that is enough."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from curator_app.cli import _output, main
from tests.databases import URL_VARIABLE, on_postgresql


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document on stdout; fails where stdout holds anything else."""
        return json.loads(self.out)


Command = Callable[..., Ran]


@pytest.fixture
def histocurator(tmp_path: Path) -> Command:
    """Call the command with arguments; environment variables as keywords."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def run(*arguments: object, **environment: str) -> Ran:
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("HISTOCURATOR_") or (name == URL_VARIABLE and on_postgresql())
        }
        done = subprocess.run(
            [Path(sys.executable).parent / "histocurator", *map(str, arguments)],
            cwd=elsewhere,
            env={**clean, "COLUMNS": "200", **environment},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert not list(elsewhere.iterdir()), "a command leaves nothing in the working directory"
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """Call the command within this process, which is quicker; what it reads from stdin as a keyword."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    for name in ("HISTOCURATOR_WORKSPACE", URL_VARIABLE, "HISTOCURATOR_SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: object, stdin: str = "") -> Ran:
        monkeypatch.setattr(sys, "argv", ["histocurator", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        monkeypatch.setattr(_output, "_document_printed", False)
        # As wide as into a file, whatever this test run's own terminal and environment say.
        monkeypatch.setattr(_output, "_stdout", Console(soft_wrap=True, width=_output.WIDE))
        capsys.readouterr()
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        else:
            code = 0
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    yield run
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)
