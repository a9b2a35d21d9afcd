"""Connections: SQLite tuned for several processes on one file, or PostgreSQL; one writer at a time."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.orm import Session as OrmSession
from sqlmodel import Session

from db._time import utc_now
from db.audit._head import write_head
from db.audit._record import HEAD, ROLE
from db.tables import Row

BUSY_TIMEOUT_MS = 30_000
"""How long a SQLite writer waits for another one before it gives up."""

WRITE_LOCK_KEY = 0x48697374
"""PostgreSQL's advisory lock that all writing transactions take, so that they follow each other."""

_WRITES = "histocurator_writes"

_log = logging.getLogger(__name__)


def connect(url: str) -> Engine:
    """Return an engine for a SQLAlchemy URL (sqlite or postgresql).

    Raises:
        ValueError: the URL names another kind of database.
    """
    if url.startswith(("postgres://", "postgresql://")):
        url = "postgresql+psycopg://" + url.split("://", 1)[1]
    if not url.startswith(("sqlite:", "postgresql+psycopg:")):
        raise ValueError("the database URL names neither SQLite nor PostgreSQL")
    # Hidden, since errors go to logs, and values are hashes of passwords and the answers of items too.
    engine = create_engine(url, pool_pre_ping=not url.startswith("sqlite"), hide_parameters=True)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _tune_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        event.listen(engine, "begin", _begin_postgresql)
    return engine


def _tune_sqlite(connection: Any, _record: Any) -> None:
    # The driver's own transaction handling would start reading transactions that cannot become writers.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _begin_postgresql(connection: Connection) -> None:
    if connection.get_execution_options().get(_WRITES, False):
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": WRITE_LOCK_KEY})


@contextmanager
def read_session(engine: Engine) -> Iterator[Session]:
    """Open a session for reading; nothing that is changed in it is kept."""
    with Session(engine, expire_on_commit=False) as session:
        yield session


@contextmanager
def write_session(engine: Engine, *, roles: str = "", head_file: Path | None = None) -> Iterator[Session]:
    """Open one writing transaction that commits on leaving and rolls back on an error.

    Writers follow each other (SQLite: BEGIN IMMEDIATE, PostgreSQL: an advisory lock), so that what a
    transaction reads is still true when it commits.

    Args:
        engine: the database.
        roles: those of who writes, for the audit trail.
        head_file: where the head of the audit trail is noted after the commit; where that fails, the log says so.
    """
    with (
        engine.connect().execution_options(**{_WRITES: True}) as connection,
        Session(bind=connection, expire_on_commit=False) as session,
    ):
        session.info[ROLE] = roles
        yield session
        session.commit()
        head = session.info.get(HEAD)
    if head_file is not None and head is not None:
        try:
            write_head(head_file, head)
        except OSError as error:
            # The change is kept: an error here would have it made twice. The next one notes the head again.
            _log.error("The head of the audit trail could not be noted in %s: %s", head_file, error)


@event.listens_for(OrmSession, "before_flush")
def _stamp_changes(session: OrmSession, _context: Any, _instances: Any) -> None:
    for row in session.dirty:
        if isinstance(row, Row) and session.is_modified(row):
            row.changed_at = utc_now()
            row.row_version += 1
