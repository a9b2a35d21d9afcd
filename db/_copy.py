"""Consistent copies of a database in use, always as one SQLite file; their check; and the way back to PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, Engine, Table, func, insert, inspect, literal, select
from sqlmodel import Session, SQLModel

from db._engine import BUSY_TIMEOUT_MS, connect
from db._schema import migrate
from db._unfinished import LoadMark, mark_load
from db.audit import trail_head, trigger_names

BATCH = 1_000
"""Rows that are carried from one engine to another at a time."""

MAX_FAULTS = 10
"""How many faults of one kind a check names."""


class NotEmptyError(Exception):
    """The database that a copy is to be loaded into holds rows already; nothing was changed."""


def copy_database(engine: Engine, target: Path) -> None:
    """Write the database as it is at one moment into a new SQLite file; others read and write meanwhile.

    A copy of PostgreSQL has the schema that this program needs, one of SQLite the schema that it has.

    Raises:
        sqlite3.Error: the file cannot be written, or the database cannot be read.
        sqlalchemy.exc.DBAPIError: likewise, where the database is PostgreSQL.
    """
    if engine.dialect.name == "sqlite" and engine.url.database is not None:
        copy_sqlite_file(Path(engine.url.database), target)
        return
    copy = connect(f"sqlite:///{target}")
    try:
        migrate(copy)
        # One snapshot for all tables, whatever is committed while they are read.
        snapshot = engine.connect().execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        with snapshot as source, copy.begin() as into:
            into.exec_driver_sql("PRAGMA defer_foreign_keys=ON")
            _carry_rows(source, into)
    finally:
        copy.dispose()
    make_one_file(target)


def copy_sqlite_file(source: Path, target: Path) -> None:
    """Copy a SQLite file that may be in use.

    Raises:
        sqlite3.Error: the one cannot be read or the other not be written.
    """
    with closing(_open(source)) as old, closing(_open(target)) as new:
        # In one step: a copy in several would begin again whenever somebody writes.
        old.backup(new)
    make_one_file(target)


def load_copy(copy: Path, engine: Engine, *, host: str, folder: str) -> None:
    """Write the rows of a copy, at the schema that this program needs, into an empty PostgreSQL.

    They come in one transaction, with a mark that says for which folder of which machine; `end_load` takes it away.

    Raises:
        NotEmptyError: the database holds rows already.
        SchemaError: the database was made by a newer program.
    """
    if filled := list(_filled(engine)):
        raise NotEmptyError(f"it holds rows already (in {', '.join(filled)})")
    migrate(engine)
    source = connect(f"sqlite:///{copy}")
    try:
        with source.connect() as rows, engine.begin() as into:
            _carry_rows(rows, into)
            with Session(rows) as session:
                mark_load(into, LoadMark(host, folder, trail_head(session)))
    finally:
        source.dispose()


def faults_of_copy(copy: Path) -> list[str]:
    """Return what is wrong with a SQLite file: damaged pages, rows that refer to nothing, programs not of ours."""
    try:
        with closing(_open(copy)) as connection:
            return _faults_of_sqlite(connection)
    except sqlite3.Error as error:
        return [str(error)]


def faults_of_database(engine: Engine) -> list[str]:
    """Return what is wrong with a database in use; PostgreSQL sees to its pages and references itself."""
    if engine.dialect.name != "sqlite" or engine.url.database is None:
        return []
    return faults_of_copy(Path(engine.url.database))


def _faults_of_sqlite(connection: sqlite3.Connection) -> list[str]:
    damaged = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({MAX_FAULTS})")]
    if damaged != ["ok"]:
        return damaged
    lost = connection.execute("PRAGMA foreign_key_check").fetchmany(MAX_FAULTS)
    kept = connection.execute("SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')")
    return [f"a row of {row[0]} refers to no row of {row[2]}" for row in lost] + [
        f"it holds the {kind} {name}, which is none of this program's"
        for kind, name in kept
        if name not in trigger_names()
    ]


def holds_nothing(engine: Engine) -> bool:
    """Say whether a database has none of the program's tables, or no row in any; it is not touched."""
    return next(_filled(engine), None) is None


def _filled(engine: Engine) -> Iterator[str]:
    present = set(inspect(engine).get_table_names())
    with engine.connect() as connection:
        yield from (table.name for table in _tables() if table.name in present and _has_rows(connection, table))


def _has_rows(connection: Connection, table: Table) -> bool:
    return connection.execute(select(literal(1)).select_from(table).limit(1)).first() is not None


def count_rows(engine: Engine) -> dict[str, int]:
    """Return how many rows each table has."""
    with engine.connect() as connection:
        return {table.name: _count(connection, table) for table in _tables()}


def _tables() -> list[Table]:
    return SQLModel.metadata.sorted_tables


def _count(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _carry_rows(source: Connection, into: Connection) -> None:
    for table in _tables():
        # A version follows the one that it replaced, so that its reference is there.
        order = [table.c.number] if "parent_id" in table.c else list(table.primary_key.columns)
        found = source.execution_options(yield_per=BATCH).execute(select(table).order_by(*order))
        for rows in found.mappings().partitions(BATCH):
            into.execute(insert(table), [dict(row) for row in rows])


def make_one_file(path: Path) -> None:
    """Leave no log of writes beside a SQLite file that nobody uses, so that the file alone is the whole."""
    with closing(_open(path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None)
