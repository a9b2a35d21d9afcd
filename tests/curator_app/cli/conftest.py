"""Runs the installed command as a user does, in a folder that has nothing to do with the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


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
        clean = {name: value for name, value in os.environ.items() if not name.startswith("HISTOCURATOR_")}
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
