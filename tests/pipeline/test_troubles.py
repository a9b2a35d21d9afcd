"""What an error says of the machine: a full disk, a database or file that cannot be used; nothing else is one."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import QueuePool, create_engine, text
from sqlalchemy.exc import OperationalError, ProgrammingError, SQLAlchemyError

from db import connect
from pipeline.errors import InputError
from pipeline.troubles import Trouble, trouble_of
from tests.small_disk import SmallDisk, small_disk

__all__ = ["small_disk"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_one_whoever_says_it(number: int) -> None:
    found = trouble_of(OSError(number, "No space left on device", "/work/drafts/a.json"))
    assert found == Trouble("full", "No space left on device", "/work/drafts/a.json")
    assert found.in_words == "/work/drafts/a.json: No space left on device. What was finished is kept."
    assert found.short == "the disk of the server is full"


def test_another_error_of_a_file_is_none_of_a_full_disk() -> None:
    found = trouble_of(OSError(errno.EROFS, "Read-only file system"))
    assert found is not None
    assert (found.kind, found.in_words) == ("files", "Read-only file system. What was finished is kept.")


@pytest.mark.parametrize(
    "error",
    [
        InputError("no such seed"),
        ValueError("full"),
        TimeoutError(),
        ProgrammingError("SELECT", {}, sqlite3.ProgrammingError("wrong")),
    ],
)
def test_a_fault_of_the_program_or_the_person_is_none(error: Exception) -> None:
    assert trouble_of(error) is None


def test_a_sqlite_file_on_a_full_disk(small_disk: SmallDisk) -> None:
    engine = connect(f"sqlite:///{small_disk.path / 'a.db'}")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE a (b TEXT)"))
    small_disk.fill()
    with pytest.raises(OperationalError) as failed, engine.begin() as connection:
        connection.execute(text("INSERT INTO a VALUES (:long)"), {"long": "x" * 1_000_000})
    engine.dispose()
    found = trouble_of(failed.value)
    assert found is not None
    assert found.kind == "full"
    assert found.in_words.startswith("The database cannot be used now: database or disk is full")


def test_a_sqlite_file_that_somebody_else_writes_to(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'a.db'}", connect_args={"timeout": 0})
    with sqlite3.connect(tmp_path / "a.db") as other:
        other.execute("CREATE TABLE a (b TEXT)")
        other.commit()
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OperationalError) as failed, engine.begin() as connection:
            connection.execute(text("INSERT INTO a VALUES ('x')"))
    engine.dispose()
    assert trouble_of(failed.value) == Trouble("database", "database is locked")


def test_a_pool_that_has_no_connection_left(tmp_path: Path) -> None:
    engine = create_engine(
        f"sqlite:///{tmp_path / 'a.db'}", poolclass=QueuePool, pool_size=1, max_overflow=0, pool_timeout=0.01
    )
    with engine.connect(), pytest.raises(SQLAlchemyError) as failed, engine.connect():
        pass
    engine.dispose()
    found = trouble_of(failed.value)
    assert found is not None
    assert found.kind == "database"


@pytest.mark.both_engines
def test_a_postgresql_that_is_read_only_or_gone(postgresql_url: str) -> None:
    engine = connect(postgresql_url)
    with engine.connect() as connection:
        connection.execute(text("SET TRANSACTION READ ONLY"))
        with pytest.raises(SQLAlchemyError) as failed:
            connection.execute(text("CREATE TABLE a (b TEXT)"))
    engine.dispose()
    gone = connect("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(OperationalError) as refused:
        gone.connect()
    for error in (failed.value, refused.value):
        found = trouble_of(error)
        assert found is not None
        assert (found.kind, found.short) == ("database", "the database cannot be used now")
