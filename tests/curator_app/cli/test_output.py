"""What commands print about themselves."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from curator_app.cli._output import own_command


def test_the_command_is_named_as_it_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "bin" / "histocurator"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(command), "demo"])
    monkeypatch.setenv("PATH", "/nowhere")
    assert own_command() == str(command), "the shell does not find it"
    monkeypatch.setenv("PATH", str(command.parent))
    assert own_command() == "histocurator"
    monkeypatch.setattr(sys, "argv", ["/a/curator_app/__main__.py", "demo"])
    assert own_command() == f"{sys.executable} -m curator_app"
