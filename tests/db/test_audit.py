"""The audit trail is one chain whoever writes, and whatever is done to it afterwards shows."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DatabaseError, IntegrityError
from sqlmodel import select

from db import connect, migrate, new_id, read_session, record_event, write_session
from db.audit import (
    HEAD_FILE,
    START,
    ChainLink,
    HeadError,
    advance_head,
    begin_head,
    create_triggers,
    digest,
    drop_triggers,
    read_head,
    verify_chain,
)
from db.tables import Account, AuditEvent
from tests.databases import new_database_url

Change = Callable[[Connection], object]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return new_database_url(tmp_path)


@pytest.fixture
def head(tmp_path: Path) -> Path:
    """The note of a trail that is empty."""
    begin_head(tmp_path / HEAD_FILE, START)
    return tmp_path / HEAD_FILE


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    made = connect(url)
    migrate(made)
    yield made
    made.dispose()


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
    with pytest.raises(IntegrityError):
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
    def tamper(connection: Connection) -> None:
        drop_triggers(connection)
        for statement in change.split(";"):
            connection.exec_driver_sql(statement)
        create_triggers(connection)

    return tamper


_SWAP = """
UPDATE audit_event SET sequence = -1 WHERE sequence = 2;
UPDATE audit_event SET sequence = 2 WHERE sequence = 3;
UPDATE audit_event SET sequence = 3 WHERE sequence = -1
"""


def _without_refusal(connection: Connection) -> None:
    connection.exec_driver_sql("DROP TRIGGER audit_event_keeps_content")
    connection.exec_driver_sql(
        "CREATE TRIGGER audit_event_keeps_content BEFORE UPDATE ON audit_event BEGIN SELECT 1; END"
    )


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (_without_triggers("UPDATE audit_event SET who = 'bob' WHERE sequence = 2"), "row 2: its content does not fit"),
        (_without_triggers("UPDATE audit_event SET at = '2020-01-01' WHERE sequence = 2"), "row 2: its content"),
        (_without_triggers("DELETE FROM audit_event WHERE sequence = 5"), "ends at row 4, but reached row 5"),
        (_without_triggers("DELETE FROM audit_event"), "ends at row 0, but reached row 5"),
        (_without_triggers("DELETE FROM audit_event WHERE sequence = 2"), "row 3: follows row 1"),
        (_without_triggers(_SWAP), "row 2: does not continue row 1"),
        pytest.param(
            *(_without_refusal, "audit_event_keeps_content is missing or changed"),
            marks=pytest.mark.sqlite("test_audit_on_postgresql does it to PostgreSQL's"),
        ),
        pytest.param(
            lambda connection: connection.exec_driver_sql("DROP TRIGGER audit_event_keeps_rows"),
            "audit_event_keeps_rows is missing",
            marks=pytest.mark.sqlite("test_audit_on_postgresql does it to PostgreSQL's"),
        ),
    ],
)
def test_tampering_is_named(engine: Engine, head: Path, tamper: Change, said: str) -> None:
    for name in "abcde":
        add(engine, head, name)
    with engine.begin() as connection:
        tamper(connection)
    _, faults = verify_chain(engine, head)
    assert any(said in str(fault) for fault in faults), [str(fault) for fault in faults]


def test_a_trail_written_anew_does_not_fit_the_head(engine: Engine, head: Path) -> None:
    for name in "abc":
        add(engine, head, name)
    with engine.begin() as connection:
        _without_triggers("DELETE FROM audit_event WHERE sequence > 1")(connection)
    for name in "de":
        add(engine, None, name)
    count, faults = verify_chain(engine, head)
    assert count == 3
    assert [str(fault) for fault in faults] == [
        "row 3 is not the one that was noted outside the database: it was written anew, or this database belongs to "
        "another workspace"
    ]
    _, without_head = verify_chain(engine)
    assert without_head == []


def test_a_missing_or_damaged_head_is_said(engine: Engine, head: Path) -> None:
    add(engine, head, "a")
    head.unlink()
    assert "is missing" in str(verify_chain(engine, head)[1][0])
    head.write_text("nonsense")
    assert "holds no head" in str(verify_chain(engine, head)[1][0])
    head.unlink()
    head.mkdir()
    assert "cannot be read: Is a directory" in str(verify_chain(engine, head)[1][0])


@pytest.mark.parametrize("number", ["9223372036854775807", "9223372036854775808", "9" * 20, "9" * 90])
def test_a_head_with_a_number_that_no_row_has_stops_no_change(engine: Engine, head: Path, number: str) -> None:
    add(engine, head, "a")
    head.write_text(f"{number} {'a' * 64}")
    add(engine, head, "b")
    count, faults = verify_chain(engine, head)
    assert (count, len(faults)) == (2, 1)
    assert "holds no head" in faults[0].what or "but reached row 9223372036854775807" in faults[0].what
    head.unlink()
    head.mkdir()
    add(engine, head, "c")
    assert verify_chain(engine)[0] == 3


@pytest.mark.sqlite("PostgreSQL has no such statement")
def test_the_triggers_refuse_that_a_row_is_replaced(engine: Engine, head: Path) -> None:
    for name in "abc":
        add(engine, head, name)
    copy = "INSERT OR REPLACE INTO audit_event SELECT * FROM audit_event WHERE sequence = 2"
    with pytest.raises(DatabaseError, match="append-only"), engine.begin() as connection:
        connection.exec_driver_sql(copy)
    assert verify_chain(engine, head) == (3, [])


def _cut(connection: Connection) -> None:
    _without_triggers("DELETE FROM audit_event WHERE sequence > 3")(connection)


@pytest.mark.parametrize(
    ("tamper", "damage", "logged", "said"),
    [
        (_cut, None, "has no row 5 as it is noted", "row 5 is not the one that was noted outside the database"),
        (_cut, "removed", "it is missing", "is missing: nothing shows whether rows at the end were removed"),
        (_cut, "emptied", "it holds no head", "holds no head of an audit trail"),
        (_without_triggers("DELETE FROM audit_event"), None, "has no row 5", "row 5 is not the one that was noted"),
        (None, "removed", "it is missing", "is missing: nothing shows whether rows at the end were removed"),
    ],
)
def test_ten_writes_later_it_still_shows(
    engine: Engine,
    head: Path,
    caplog: pytest.LogCaptureFixture,
    tamper: Change | None,
    damage: str | None,
    logged: str,
    said: str,
) -> None:
    """Going on with the work must not cover up what was done to the trail: no write notes what it cannot vouch for."""
    for name in "abcde":
        add(engine, head, name)
    if tamper is not None:
        with engine.begin() as connection:
            tamper(connection)
    if damage == "removed":
        head.unlink()
    elif damage == "emptied":
        head.write_text("")
    for number in range(10):
        with caplog.at_level(logging.ERROR):
            add(engine, head, f"later {number}")
        assert f"could not be noted in {head}" in caplog.text
        assert logged in caplog.text
        caplog.clear()
        assert len(verify_chain(engine, head)[1]) == 1
    assert said in str(verify_chain(engine, head)[1][0])


def test_a_cut_that_reaches_only_what_was_not_noted_is_all_that_is_lost_on_the_way(engine: Engine, head: Path) -> None:
    """A note that is behind, as after a crash between commit and note, goes on with the next change."""
    for name in "abc":
        add(engine, head, name)
    noted = head.read_bytes()
    add(engine, head, "d")
    head.write_bytes(noted)
    assert verify_chain(engine, head) == (4, [])
    add(engine, head, "e")
    assert read_head(head) == ChainLink(5, last_sum(engine))
    assert verify_chain(engine, head) == (5, [])


def last_sum(engine: Engine) -> str:
    with engine.connect() as connection:
        query = text("SELECT sha256 FROM audit_event ORDER BY sequence DESC LIMIT 1")
        return str(connection.execute(query).scalar_one())


def test_who_comes_late_takes_nothing_back(head: Path) -> None:
    late, early = ChainLink(6, "a" * 64), ChainLink(7, "b" * 64)
    advance_head(head, early, lambda _: True)
    asked: list[ChainLink] = []

    def is_row(noted: ChainLink) -> bool:
        asked.append(noted)
        return True

    advance_head(head, late, is_row)
    assert (read_head(head), asked) == (early, [early])
    with pytest.raises(HeadError, match="no row 7 as it is noted"):
        advance_head(head, late, lambda _: False)
    with pytest.raises(HeadError, match="no row 7 as it is noted"):
        advance_head(head, ChainLink(8, "c" * 64), lambda _: False)
    assert read_head(head) == early


def test_a_note_that_is_there_is_not_begun_again(head: Path) -> None:
    advance_head(head, ChainLink(7, "b" * 64), lambda _: True)
    begin_head(head, START)
    assert read_head(head) == ChainLink(7, "b" * 64)


def test_a_note_that_cannot_be_written_undoes_nothing(
    engine: Engine, head: Path, caplog: pytest.LogCaptureFixture
) -> None:
    add(engine, head, "a")
    head.unlink()
    head.mkdir()
    with caplog.at_level(logging.ERROR):
        add(engine, head, "b")
    assert "could not be noted" in caplog.text
    assert verify_chain(engine) == (2, [])


_WRITER = """
import sys
from pathlib import Path
from db import connect, new_id, record_event, write_session
from db.tables import Account

url, head, name, turns = sys.argv[1:]
engine = connect(url)
for turn in range(int(turns)):
    with write_session(engine, roles="author", head_file=Path(head)) as session:
        row = Account(id=new_id("acc"), created_by=name, name=f"{name}-{turn}", display_name=name, roles=["reader"])
        session.add(row)
        record_event(session, who=name, action="add", row=row)
"""


def test_processes_that_write_at_once_keep_one_note(engine: Engine, url: str, head: Path) -> None:
    """As server, worker and command line do: none puts back what another has noted, and none finds a fault in it."""
    command = [sys.executable, "-c", _WRITER, url, str(head)]
    writers = [
        subprocess.Popen([*command, f"w{number}", "40"], stderr=subprocess.PIPE, text=True) for number in range(4)
    ]
    seen: list[int] = []
    while any(writer.poll() is None for writer in writers):
        noted = read_head(head)
        assert noted is not None
        seen.append(noted.sequence)
    said = [writer.communicate()[1] for writer in writers]
    assert (said, [writer.returncode for writer in writers]) == ([""] * 4, [0] * 4)
    assert seen == sorted(seen)
    assert read_head(head) == ChainLink(160, last_sum(engine))
    assert verify_chain(engine, head) == (160, [])


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE audit_event SET new = 'nonsense' WHERE sequence = 2",
        "UPDATE audit_event SET at = 'nonsense' WHERE sequence = 2",
        "UPDATE audit_event SET who = CAST(x'ff22' AS TEXT) WHERE sequence = 2",
        "UPDATE audit_event SET new = 'deep' WHERE sequence = 2".replace("deep", "[" * 100_000),
    ],
)
@pytest.mark.sqlite("PostgreSQL takes no text that is no document or time")
def test_a_row_that_cannot_even_be_read_is_said(engine: Engine, head: Path, change: str) -> None:
    for name in "abc":
        add(engine, head, name)
    with engine.begin() as connection:
        _without_triggers(change)(connection)
    count, faults = verify_chain(engine, head)
    assert (count, [str(fault) for fault in faults]) == (3, ["row 2: it cannot be read: it was changed"])


def test_the_role_is_that_of_the_account_that_is_named(engine: Engine) -> None:
    def account(name: str, *roles: str) -> Account:
        return Account(id=new_id("acc"), created_by="a", name=name, display_name=name, roles=list(roles))

    people = {"ann": ["author", "reviewer"], "otto": ["admin"]}
    with write_session(engine) as session:
        session.add_all(account(name, *roles) for name, roles in people.items())
    with write_session(engine, who="otto", roles="admin, auditor") as session:
        row = account("new", "reader")
        session.add(row)
        for who in ("ann", "otto", "new", "nobody"):
            record_event(session, who=who, action="look", row=row)
    with write_session(engine, who="single sign-on") as session:
        for who in ("ann", "single sign-on"):
            record_event(session, who=who, action="look", row=row)
    with read_session(engine) as session:
        found = [(event.who, event.role) for event in session.exec(select(AuditEvent).order_by(AuditEvent.sequence))]  # type: ignore[arg-type]
    assert found == [
        ("ann", "author, reviewer"),
        ("otto", "admin, auditor"),
        ("new", "reader"),
        ("nobody", "admin, auditor"),
        ("ann", "author, reviewer"),
        ("single sign-on", ""),
    ]


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
