"""Marks a PostgreSQL into which a copy was loaded, until that came to something: a killed load can be taken back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Column, Connection, Engine, Integer, MetaData, String, Table, insert, inspect, select, text
from sqlmodel import Session

from db.audit import ChainLink, trail_head

LOAD_LOCK_KEY = 0x4C6F6164
"""PostgreSQL's advisory lock that is held while a database is loaded and put to its use; it ends with the process."""

_MARKS = Table(
    "unfinished_load",
    MetaData(),
    Column("host", String, nullable=False),
    Column("folder", String, nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("sha256", String, nullable=False),
)


class LoadUnderWayError(Exception):
    """Another process is loading the database at this moment."""


@dataclass(frozen=True)
class LoadMark:
    """For which folder of which machine a database was loaded, and with which row its trail ended then."""

    host: str
    folder: str
    head: ChainLink


@contextmanager
def loading(engine: Engine) -> Iterator[None]:
    """Keep other processes from loading the database as long as the block lasts.

    Raises:
        LoadUnderWayError: another one does.
    """
    key = {"key": LOAD_LOCK_KEY}
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if not connection.execute(text("SELECT pg_try_advisory_lock(:key)"), key).scalar():
            raise LoadUnderWayError
        try:
            yield
        finally:
            # The connection goes on in the pool, and a lock would with it.
            connection.execute(text("SELECT pg_advisory_unlock(:key)"), key)


def mark_load(connection: Connection, mark: LoadMark) -> None:
    """Note in the transaction of a load what it is for."""
    _MARKS.create(connection)
    place = {"host": mark.host, "folder": mark.folder}
    connection.execute(insert(_MARKS).values(**place, sequence=mark.head.sequence, sha256=mark.head.sha256))


def unfinished_load(engine: Engine) -> LoadMark | None:
    """Return what a database was loaded for, if nothing says that it came to that and nothing was recorded since."""
    if not inspect(engine).has_table(_MARKS.name):
        return None
    with Session(engine) as session:
        found = session.connection().execute(select(_MARKS)).first()
        if found is None or trail_head(session) != ChainLink(found.sequence, found.sha256):
            return None
    return LoadMark(found.host, found.folder, ChainLink(found.sequence, found.sha256))


def end_load(engine: Engine) -> None:
    """Take the mark away."""
    with engine.begin() as connection:
        _MARKS.drop(connection, checkfirst=True)
