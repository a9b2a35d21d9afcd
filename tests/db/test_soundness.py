"""A database is compared with what the program writes: every difference and every row that cannot be read is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine

from db import connect, faults_of_rows, faults_of_schema, migrate, new_id, write_session
from db._copy import BATCH, MAX_FAULTS
from db.tables import Account


def fill(engine: Engine, count: int) -> list[str]:
    """Accounts; returns their ids in order."""
    ids = sorted(new_id("acc") for _ in range(count))
    with write_session(engine) as session:
        session.add_all(Account(id=one, created_by="a", name=one, display_name=one, roles=["reader"]) for one in ids)
    return ids


@pytest.mark.both_engines
def test_what_the_program_wrote_is_sound(empty: Engine) -> None:
    migrate(empty)
    fill(empty, 3)
    assert faults_of_schema(empty) == []
    assert faults_of_rows(empty) == []


@pytest.mark.both_engines
def test_a_column_that_is_another_one_is_named(empty: Engine) -> None:
    migrate(empty)
    with empty.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE seed RENAME COLUMN question TO asked")
    assert sorted(faults_of_schema(empty)) == [
        "the column seed.asked is none of this program's",
        "the column seed.question is missing",
    ]


@pytest.mark.sqlite("PostgreSQL takes no such value")
def test_every_row_that_cannot_be_read_is_named_wherever_it_lies(tmp_path: Path) -> None:
    empty = connect(f"sqlite:///{tmp_path / 'a.db'}")
    migrate(empty)
    ids = fill(empty, 2 * BATCH + 10)
    damaged = {0: "'{'", BATCH - 1: "'" + "[" * 50_000 + "'", BATCH: "CAST(x'ff' AS TEXT)", 2 * BATCH + 9: "'{}'"}
    with empty.begin() as connection:
        for place, value in damaged.items():
            connection.exec_driver_sql(f"UPDATE account SET roles = {value} WHERE id = '{ids[place]}'")  # noqa: S608
    assert [fault.split(":")[0] for fault in faults_of_rows(empty)] == [f"account {ids[place]}" for place in damaged]


@pytest.mark.sqlite("PostgreSQL takes no such value")
def test_the_first_faults_are_enough(tmp_path: Path) -> None:
    empty = connect(f"sqlite:///{tmp_path / 'a.db'}")
    migrate(empty)
    fill(empty, MAX_FAULTS + 5)
    with empty.begin() as connection:
        connection.exec_driver_sql("UPDATE account SET created_at = 'soon'")
    assert len(faults_of_rows(empty)) == MAX_FAULTS
