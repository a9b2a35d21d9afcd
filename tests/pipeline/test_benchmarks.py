"""The process that evaluates: whatever it says, its watcher neither waits for ever nor loses its error."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pipeline.benchmarks import evaluate_in_process
from pipeline.errors import InputError
from pipeline.workspace import Workspace


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "head -c 3000000 /dev/zero | tr '\\0' 'x' >&2; echo '{\"error\": \"the model is gone\"}'",
            "the model is gone",
        ),
        ("echo 5; echo '[1]'; echo some library talks; echo 'it broke' >&2; exit 3", "exit code 3.*it broke"),
    ],
)
def test_much_talk_on_stderr_stops_nothing(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\ncat > /dev/null\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    with pytest.raises(InputError, match=said):
        evaluate_in_process(workspace, {"benchmark": "b", "model": "offline/first"}, who="test")
