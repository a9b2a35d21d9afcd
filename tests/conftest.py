"""What all tests share: where third-party test data lies, and that nothing is skipped where all must run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_VARIABLE = "HISTOCURATOR_TEST_DATA"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with third-party slides, reports and ratings; the test is skipped where it is absent."""
    folder = Path(os.environ.get(_VARIABLE) or Path(__file__).resolve().parent.parent.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"third-party test data not found at {folder}; set {_VARIABLE} to its folder")
    return folder


REQUIRE_ALL = "HISTOCURATOR_REQUIRE_ALL"
"""Set where every part is installed: a skipped test then fails the run."""


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Count a skip as a failure where all parts must be there."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get(REQUIRE_ALL) and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why the run fails where only a skip made it fail."""
    skipped = terminalreporter.stats.get("skipped", [])
    if os.environ.get(REQUIRE_ALL) and skipped:
        terminalreporter.section(f"{len(skipped)} skipped, and {REQUIRE_ALL} is set: the run fails", red=True)
