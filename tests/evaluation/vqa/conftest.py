"""Fixtures of the benchmark's tests: a release folder and a way to run a scripted model on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.vqa import VqaConfig, VqaResults, run_vqa
from tests.evaluation.vqa import drawn, scripted


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """The twelve items as a release folder."""
    return drawn.write(tmp_path / "release")


@pytest.fixture(autouse=True)
def _fresh_scripts() -> None:
    scripted.SCRIPTS.clear()
    scripted.CALLS.clear()
    scripted.SCRIPTS.update(first=scripted.always_first, knowing=scripted.knows_all, judge=scripted.full_marks)


Runner = Callable[..., VqaResults]


@pytest.fixture
def run(release: Path, tmp_path: Path) -> Runner:
    """Run a script (by name, or a function) on the release; keywords change the configuration."""

    def run_script(script: str | scripted.Script, **changes: Any) -> VqaResults:
        name = script if isinstance(script, str) else "given"
        if not isinstance(script, str):
            scripted.SCRIPTS[name] = script
        fields = {
            "benchmark": str(release),
            "model": f"scripted/{name}",
            "judge": "scripted/judge",
            "out": tmp_path / "run",
        }
        return run_vqa(VqaConfig.model_validate(fields | changes))

    return run_script
