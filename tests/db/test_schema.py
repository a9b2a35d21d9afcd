"""The schema comes up to date by migrations, a newer one is refused, a copy is made before a change."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Engine, inspect
from sqlmodel import SQLModel

import db.tables  # noqa: F401
from db import SchemaError, connect, migrate
from db._schema import _configuration, schema_revision


@pytest.mark.both_engines
def test_migrations_and_tables_agree(empty: Engine) -> None:
    migrate(empty)
    command.check(_configuration(empty))
    assert set(SQLModel.metadata.tables) <= set(inspect(empty).get_table_names())


@pytest.mark.both_engines
def test_every_migration_goes_down_and_up_again(empty: Engine) -> None:
    migrate(empty)
    migrate(empty, to="base")
    assert set(inspect(empty).get_table_names()) <= {"alembic_version"}
    migrate(empty)
    assert schema_revision(empty) is not None


@pytest.mark.sqlite("the file itself stays as it is")
def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    engine = connect(f"sqlite:///{file}")
    migrate(engine)
    engine.dispose()
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    before = file.read_bytes()
    with pytest.raises(SchemaError, match="newer Histocurator"):
        migrate(connect(f"sqlite:///{file}"))
    assert file.read_bytes() == before


@pytest.mark.sqlite("no copy is made of PostgreSQL")
def test_a_copy_is_made_before_a_change_and_holds_the_old_rows(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    engine = connect(f"sqlite:///{file}")
    assert migrate(engine, copies=tmp_path / "copies") is None, "an empty database needs no copy"
    with sqlite3.connect(file) as connection:
        connection.execute(
            "INSERT INTO audit_event (at, who, action, object_type, object_id) "
            "VALUES ('2026-01-01', 'a', 'b', 'c', 'd')"
        )
    copy = migrate(engine, copies=tmp_path / "copies", to="base")
    assert copy is not None
    with sqlite3.connect(copy) as connection:
        assert connection.execute("SELECT who FROM audit_event").fetchall() == [("a",)]
