"""The migration to a chained audit trail, and all migrations together, on filled databases of both kinds."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, delete, inspect, select, text
from sqlalchemy.exc import DatabaseError, DBAPIError

from db import connect, copy_database, count_rows, migrate, new_id, record_event, write_session
from db._schema import schema_revision
from db.audit import (
    HEAD_FILE,
    START,
    ChainLink,
    create_triggers,
    digest,
    drop_triggers,
    missing_triggers,
    read_head,
    verify_chain,
)
from db.tables import Account, AuditEvent
from tests.db.test_people_migration import NEW_TABLES, ROWS, Rows, fill, rows_of, tables_of, without

pytestmark = pytest.mark.both_engines

CHAIN = ("role", "previous_sha256", "sha256")


@pytest.fixture
def filled(empty: Engine) -> Engine:
    """A database of the first schema with rows in every table."""
    migrate(empty, to="0001")
    fill(empty)
    return empty


def triggers(engine: Engine) -> list[str]:
    """The names of all triggers in the database."""
    query = (
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        if engine.dialect.name == "sqlite"
        else "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
    )
    with engine.connect() as connection:
        return sorted(row[0] for row in connection.execute(text(query)))


def counts(rows: Rows) -> dict[str, int]:
    return {name: len(found) for name, found in rows.items() if name not in NEW_TABLES}


def trail(engine: Engine) -> list[dict[str, Any]]:
    return sorted(rows_of(engine)["audit_event"], key=lambda row: row["sequence"])


def write_something(engine: Engine, name: str, head: Path | None = None) -> None:
    with write_session(engine, roles="author", head_file=head) as session:
        account = Account(id=new_id("acc"), created_by="a", name=name, display_name=name, roles=["reader"])
        session.add(account)
        record_event(session, who="a", action="add", row=account, new={"name": name})


def test_rows_that_are_there_are_linked_as_they_stand(filled: Engine) -> None:
    before = rows_of(filled)
    migrate(filled)
    after = rows_of(filled)
    assert without(after["audit_event"], *CHAIN) == without(before["audit_event"])
    assert triggers(filled) == ["audit_event_keeps_content", "audit_event_keeps_rows"]
    assert verify_chain(filled) == (ROWS, [])
    write_something(filled, "later")
    assert verify_chain(filled) == (ROWS + 1, [])
    rows = trail(filled)
    assert rows[0]["previous_sha256"] == START.sha256
    assert [row["previous_sha256"] for row in rows[1:]] == [row["sha256"] for row in rows[:-1]]


def test_numbers_that_a_rollback_left_out_are_closed(filled: Engine) -> None:
    with filled.begin() as connection:
        connection.execute(delete(tables_of(filled)["audit_event"]).where(text("sequence IN (2, 5, 6)")))
    before = [row["object_id"] for row in trail(filled)]
    migrate(filled)
    assert [row["object_id"] for row in trail(filled)] == before
    assert [row["sequence"] for row in trail(filled)] == [1, 2, 3, 4]
    assert verify_chain(filled) == (4, [])


def test_all_the_way_up_and_down_and_up_again(filled: Engine) -> None:
    before = rows_of(filled)
    for revision in ("0002", "0003"):
        migrate(filled, to=revision)
        assert schema_revision(filled) == revision
        assert counts(rows_of(filled)) == counts(before)
    assert missing_triggers_of(filled) == []
    migrate(filled, to="0002")
    assert triggers(filled) == []
    assert not {column["name"] for column in inspect(filled).get_columns("audit_event")} & set(CHAIN)
    migrate(filled, to="0001")
    assert rows_of(filled)["audit_event"] == before["audit_event"]
    assert counts(rows_of(filled)) == counts(before)
    migrate(filled)
    assert counts(rows_of(filled)) == {**counts(before), "lease": 0, "act": 0}
    assert missing_triggers_of(filled) == []
    assert verify_chain(filled) == (ROWS, [])


def missing_triggers_of(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return missing_triggers(connection)


def test_down_leaves_no_trigger_in_the_way_and_up_again_goes_on(filled: Engine, tmp_path: Path) -> None:
    migrate(filled)
    with pytest.raises(DBAPIError, match="append-only"), filled.begin() as connection:
        connection.execute(text("DELETE FROM audit_event"))
    migrate(filled, to="0002")
    with filled.begin() as connection:
        connection.execute(text("UPDATE audit_event SET who = 'corrected' WHERE sequence = 1"))
    head = tmp_path / HEAD_FILE
    migrate(filled, head_file=head)
    assert verify_chain(filled, head) == (ROWS, [])
    write_something(filled, "later", head)
    assert verify_chain(filled, head) == (ROWS + 1, [])
    with pytest.raises(DBAPIError, match="append-only"), filled.begin() as connection:
        connection.execute(text("UPDATE audit_event SET who = 'b'"))


def test_a_workspace_of_a_program_without_a_chain_gets_its_head_with_the_chain(filled: Engine, tmp_path: Path) -> None:
    head = tmp_path / HEAD_FILE
    migrate(filled, to="0002", head_file=head)
    assert not head.exists()
    migrate(filled, head_file=head)
    assert read_head(head) == ChainLink(ROWS, trail(filled)[-1]["sha256"])
    assert verify_chain(filled, head) == (ROWS, [])


def test_a_chain_that_is_there_gets_no_head_by_a_migration(filled: Engine, tmp_path: Path) -> None:
    head = tmp_path / HEAD_FILE
    migrate(filled, to="0003", head_file=head)
    head.unlink()
    migrate(filled, head_file=head)
    assert not head.exists(), "it may have been removed to cover up a cut"
    assert "is missing" in str(verify_chain(filled, head)[1][0])


def test_a_chain_that_was_undone_behind_the_program_shows(filled: Engine, tmp_path: Path) -> None:
    """Else whoever can write to the database could have the program link other rows anew."""
    head = tmp_path / HEAD_FILE
    migrate(filled, head_file=head)
    write_something(filled, "later", head)
    migrate(filled, to="0002")
    with filled.begin() as connection:
        connection.execute(text("UPDATE audit_event SET who = 'mallory' WHERE sequence = 1"))
    migrate(filled, head_file=head)
    for number in range(3):
        write_something(filled, f"later {number}", head)
    assert [str(fault) for fault in verify_chain(filled, head)[1]] == [
        f"row {ROWS + 1} is not the one that was noted outside the database: it was written anew, or this database "
        "belongs to another workspace"
    ]


def test_a_cut_is_not_covered_up_by_going_down_and_up(filled: Engine, tmp_path: Path) -> None:
    head = tmp_path / HEAD_FILE
    migrate(filled, head_file=head)
    with filled.begin() as connection:
        drop_triggers(connection)
        connection.execute(text("DELETE FROM audit_event WHERE sequence = :last"), {"last": ROWS})
        create_triggers(connection)
    migrate(filled, to="0002", head_file=head)
    migrate(filled, head_file=head)
    assert f"reached row {ROWS}" in str(verify_chain(filled, head)[1][0])


def test_down_to_nothing_and_up_again(filled: Engine) -> None:
    migrate(filled)
    migrate(filled, to="base")
    assert tables_of(filled) == {}
    assert triggers(filled) == []
    migrate(filled)
    write_something(filled, "first")
    assert verify_chain(filled) == (1, [])


def test_a_migration_that_fails_leaves_trail_and_triggers_as_they_were(
    filled: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(filled, to="0002")
    before = rows_of(filled)
    calls = 0

    def fails_halfway(row: dict[str, Any]) -> str:
        nonlocal calls
        calls += 1
        if calls > ROWS // 2:
            raise DatabaseError("UPDATE", None, RuntimeError("the disk is gone"))
        return digest(row)

    monkeypatch.setattr("db.audit.digest", fails_halfway)
    with pytest.raises(DatabaseError, match="the disk is gone"):
        migrate(filled)
    monkeypatch.undo()
    assert schema_revision(filled) == "0002"
    assert rows_of(filled) == before
    assert triggers(filled) == []
    migrate(filled)
    assert verify_chain(filled) == (ROWS, [])


def test_what_the_program_reads_is_what_was_hashed(filled: Engine) -> None:
    migrate(filled)
    with filled.connect() as connection:
        rows = connection.execute(select(AuditEvent).order_by(AuditEvent.sequence)).mappings().all()  # type: ignore[arg-type]
    assert all(isinstance(row["at"], datetime) and row["at"].tzinfo is not None for row in rows)
    assert [digest(row) for row in rows] == [row["sha256"] for row in rows]


def test_a_copy_of_either_kind_is_the_same_database(filled: Engine, tmp_path: Path) -> None:
    migrate(filled)
    write_something(filled, "later")
    file = tmp_path / "copy.db"
    copy_database(filled, file)
    assert not file.with_name("copy.db-wal").exists()
    copy = connect(f"sqlite:///{file}")
    assert count_rows(copy) == count_rows(filled)
    assert verify_chain(copy) == (ROWS + 1, [])
    assert {name: sorted(map(repr, rows)) for name, rows in plain(copy).items()} == {
        name: sorted(map(repr, rows)) for name, rows in plain(filled).items()
    }
    copy.dispose()


def plain(engine: Engine) -> Rows:
    """All rows as the program reads them, whatever the database."""
    from sqlmodel import SQLModel

    with engine.connect() as connection:
        return {
            table.name: [dict(row._mapping) for row in connection.execute(select(table))]
            for table in SQLModel.metadata.sorted_tables
        }
