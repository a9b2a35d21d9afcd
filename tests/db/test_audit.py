"""The audit trail is one chain whoever writes, and whatever is done to it afterwards shows."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine
from sqlalchemy.exc import DatabaseError
from sqlmodel import select

from db import connect, migrate, new_id, read_session, record_event, write_session
from db.audit import HEAD_FILE, START, ChainLink, digest, read_head, verify_chain, write_head
from db.tables import Account, AuditEvent

Change = Callable[[sqlite3.Connection], object]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "histocurator.db"


@pytest.fixture
def head(tmp_path: Path) -> Path:
    return tmp_path / HEAD_FILE


@pytest.fixture
def engine(file: Path) -> Engine:
    made = connect(f"sqlite:///{file}")
    migrate(made)
    return made


def add(engine: Engine, head: Path | None, name: str, *, events: int = 1) -> None:
    """One change of one account, with its rows in the trail."""
    with write_session(engine, roles="author", head_file=head) as session:
        account = Account(id=new_id("acc"), created_by="test", name=name, display_name=name, roles=["author"])
        session.add(account)
        for number in range(events):
            record_event(session, who="ann", action=f"step {number}", row=account, new={"name": name, "n": number})


def test_rows_are_numbered_and_linked(engine: Engine, head: Path) -> None:
    add(engine, head, "a", events=2)
    add(engine, head, "b")
    with read_session(engine) as session:
        rows = session.exec(select(AuditEvent)).all()
    assert [row.sequence for row in rows] == [1, 2, 3]
    assert [row.previous_sha256 for row in rows] == [START.sha256, rows[0].sha256, rows[1].sha256]
    assert {row.role for row in rows} == {"author"}
    assert read_head(head) == ChainLink(3, rows[2].sha256)
    assert verify_chain(engine, head) == (3, [])


def test_fifty_writers_fork_nothing(engine: Engine, head: Path) -> None:
    def write(worker: int) -> None:
        for turn in range(8):
            add(engine, head, f"{worker}-{turn}")

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verify_chain(engine, head) == (400, [])
    noted = read_head(head)
    assert noted is not None
    assert noted.sequence == 400


def test_what_is_rolled_back_leaves_no_gap(engine: Engine, head: Path) -> None:
    add(engine, head, "a")
    with pytest.raises(Exception, match="UNIQUE"):
        add(engine, head, "a")
    add(engine, head, "b")
    assert verify_chain(engine, head) == (2, [])


def test_the_database_refuses_to_change_or_delete_a_row(engine: Engine, head: Path) -> None:
    add(engine, head, "a")
    for statement in ("UPDATE audit_event SET who = 'bob'", "DELETE FROM audit_event"):
        with pytest.raises(DatabaseError, match="append-only"), write_session(engine) as session:
            session.connection().exec_driver_sql(statement)
    assert verify_chain(engine, head) == (1, [])


def _without_triggers(change: str) -> Change:
    def tamper(connection: sqlite3.Connection) -> None:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.executescript(change)
        for _, sql in triggers:
            connection.execute(sql)

    return tamper


_SWAP = """
UPDATE audit_event SET sequence = -1 WHERE sequence = 2;
UPDATE audit_event SET sequence = 2 WHERE sequence = 3;
UPDATE audit_event SET sequence = 3 WHERE sequence = -1;
"""


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (_without_triggers("UPDATE audit_event SET who = 'bob' WHERE sequence = 2"), "row 2: its content does not fit"),
        (_without_triggers("UPDATE audit_event SET at = '2020-01-01' WHERE sequence = 2"), "row 2: its content"),
        (_without_triggers("DELETE FROM audit_event WHERE sequence = 5"), "ends at row 4, but reached row 5"),
        (_without_triggers("DELETE FROM audit_event"), "ends at row 0, but reached row 5"),
        (_without_triggers("DELETE FROM audit_event WHERE sequence = 2"), "row 3: follows row 1"),
        (_without_triggers(_SWAP), "row 2: does not continue row 1"),
        (lambda c: c.execute("DROP TRIGGER audit_event_keeps_rows"), "audit_event_keeps_rows is missing"),
        (
            lambda c: c.executescript(
                "DROP TRIGGER audit_event_keeps_content; CREATE TRIGGER audit_event_keeps_content "
                "BEFORE UPDATE ON audit_event BEGIN SELECT 1; END"
            ),
            "audit_event_keeps_content is missing or changed",
        ),
    ],
)
def test_tampering_is_named(engine: Engine, file: Path, head: Path, tamper: Change, said: str) -> None:
    for name in "abcde":
        add(engine, head, name)
    engine.dispose()
    with sqlite3.connect(file) as connection:
        tamper(connection)
    _, faults = verify_chain(engine, head)
    assert any(said in str(fault) for fault in faults), [str(fault) for fault in faults]


def test_a_trail_written_anew_does_not_fit_the_head(engine: Engine, file: Path, head: Path) -> None:
    for name in "abc":
        add(engine, head, name)
    engine.dispose()
    with sqlite3.connect(file) as connection:
        _without_triggers("DELETE FROM audit_event WHERE sequence > 1")(connection)
    for name in "de":
        add(engine, None, name)
    count, faults = verify_chain(engine, head)
    assert count == 3
    assert [str(fault) for fault in faults] == ["row 3 is not the one that was noted outside the database"]
    _, without_head = verify_chain(engine)
    assert without_head == []


def test_a_missing_or_damaged_head_is_said(engine: Engine, head: Path) -> None:
    add(engine, head, "a")
    head.unlink()
    assert "is missing" in str(verify_chain(engine, head)[1][0])
    head.write_text("nonsense")
    assert "holds no head" in str(verify_chain(engine, head)[1][0])


def test_the_head_never_goes_back(head: Path) -> None:
    write_head(head, ChainLink(7, "b" * 64))
    write_head(head, ChainLink(6, "a" * 64))
    assert read_head(head) == ChainLink(7, "b" * 64)


@given(
    old=st.none() | st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | st.integers() | st.text()),
    text=st.text(st.characters(exclude_categories=["Cs"])),
)
def test_the_hash_covers_every_field(old: dict[str, object] | None, text: str) -> None:
    row = {
        "sequence": 1,
        "at": datetime(2026, 1, 1, tzinfo=UTC),
        "who": text,
        "role": "",
        "action": "a",
        "object_type": "seed",
        "object_id": "x",
        "old": old,
        "new": None,
        "reason": None,
        "previous_sha256": START.sha256,
    }
    first = digest(row)
    assert len(first) == 64
    for name, value in row.items():
        other = value + 1 if isinstance(value, int) else "another" if name != "at" else datetime(2026, 1, 2, tzinfo=UTC)
        if other != value:
            assert digest({**row, name: other}) != first
