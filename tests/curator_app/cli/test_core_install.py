"""What an installation without the app's packages can do: score and evaluate, and say what it lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HIDE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        hidden = {"sqlmodel", "sqlalchemy", "alembic", "dbos", "streamlit", "pydantic_settings", "torch"}
        if name.split(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
import importlib.util
found = importlib.util.find_spec
def find_spec(name, package=None):
    try:
        return found(name, package)
    except ModuleNotFoundError:
        return None
importlib.util.find_spec = find_spec
from curator_app.cli import main
sys.argv = ["histocurator", *sys.argv[1:]]
main()
"""


def run_core(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HISTOCURATOR_")}
    return subprocess.run(
        [sys.executable, "-c", HIDE, *map(str, arguments)],
        cwd=cwd,
        env={**environment, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_doctor_names_the_extra(tmp_path: Path) -> None:
    ran = run_core("doctor", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "pip install -e '.[app]'" in ran.stdout


@pytest.mark.parametrize("arguments", [("slides", "list"), ("init", "there"), ("demo",), ("serve",)])
def test_commands_on_a_workspace_say_what_is_missing(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ran = run_core(*arguments, cwd=tmp_path)
    assert ran.returncode == 2
    assert "pip install -e '.[app]'" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not list(tmp_path.iterdir())
