"""Connections: SQLite tuned for several processes on one file, or PostgreSQL; one writer at a time."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session as OrmSession
from sqlmodel import Session

from db._text import refuse_unstorable
from db._time import utc_now
from db.audit._chain import ChainLink
from db.audit._head import HeadError, advance_head
from db.audit._record import ACTOR, HEAD, ROLE, is_row
from db.tables import Row

BUSY_TIMEOUT_MS = 30_000
"""How long a SQLite writer waits for another one before it gives up."""

WRITE_LOCK_KEY = 0x48697374
"""PostgreSQL's advisory lock that all writing transactions take, so that they follow each other."""

_WRITES = "histocurator_writes"

_turns: WeakKeyDictionary[Engine, Lock] = WeakKeyDictionary()

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
    refuse_unstorable(engine)
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
    # Else INSERT OR REPLACE would take rows away without asking the triggers that keep them.
    cursor.execute("PRAGMA recursive_triggers=ON")
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
def _in_turn(engine: Engine) -> Iterator[None]:
    """Wait until the other writers of this process have ended, without a connection: readers need those.

    SQLite lets waiting writers ask again now and then, which starves some of them where there are many. After
    `BUSY_TIMEOUT_MS` the database itself is asked, and says what is the matter.
    """
    turn = _turns.setdefault(engine, Lock())
    mine = turn.acquire(timeout=BUSY_TIMEOUT_MS / 1000)
    try:
        yield
    finally:
        if mine:
            turn.release()


@contextmanager
def write_session(
    engine: Engine, *, who: str = "", roles: str = "", head_file: Path | None = None
) -> Iterator[Session]:
    """Open one writing transaction that commits on leaving and rolls back on an error.

    Writers follow each other (SQLite: BEGIN IMMEDIATE, PostgreSQL: an advisory lock), so that what a
    transaction reads is still true when it commits.

    Args:
        engine: the database.
        who: the name of who writes, for the audit trail.
        roles: those of who writes.
        head_file: where the head of the audit trail is noted after the commit, if it is one of this trail; where it
            is not noted, the log says why.
    """
    with (
        _in_turn(engine),
        engine.connect().execution_options(**{_WRITES: True}) as connection,
        Session(bind=connection, expire_on_commit=False) as session,
    ):
        session.info[ACTOR], session.info[ROLE] = who, roles
        yield session
        session.commit()
        head = session.info.get(HEAD)
        if head_file is not None and isinstance(head, ChainLink):
            _note_head(connection, head_file, head)


def _note_head(connection: Connection, head_file: Path, head: ChainLink) -> None:
    # Only reads from here on: what is noted is looked up in the trail as it is committed now, not when the writing
    # began, since another process may have noted a row of its own meanwhile.
    connection.execution_options(**{_WRITES: False})
    try:
        advance_head(head_file, head, lambda noted: is_row(connection, noted))
    except (OSError, ValueError, ArithmeticError, HeadError, DBAPIError) as error:
        # The change is kept: an error here would have it made twice.
        _log.error("The head of the audit trail could not be noted in %s: %s", head_file, error)


@event.listens_for(OrmSession, "before_flush")
def _stamp_changes(session: OrmSession, _context: Any, _instances: Any) -> None:
    for row in session.dirty:
        if isinstance(row, Row) and session.is_modified(row):
            row.changed_at = utc_now()
            row.row_version += 1
