"""The chained audit trail on a real PostgreSQL: many writers, refused changes, tampering that is named."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from db import connect, migrate, new_id, read_session, record_event, write_session
from db.audit import HEAD_FILE, START, begin_head, read_head, verify_chain
from db.tables import Account

WRITERS = 20
TURNS = 10


pytestmark = pytest.mark.both_engines


@pytest.fixture
def engine(postgresql_url: str) -> Iterator[Engine]:
    made = connect(postgresql_url)
    migrate(made)
    yield made
    made.dispose()


@pytest.fixture
def head(tmp_path: Path) -> Path:
    begin_head(tmp_path / HEAD_FILE, START)
    return tmp_path / HEAD_FILE


def add(engine: Engine, head: Path, name: str) -> None:
    with write_session(engine, roles="author", head_file=head) as session:
        account = Account(id=new_id("acc"), created_by="a", name=name, display_name=name, roles=["reader"])
        session.add(account)
        record_event(session, who="a", action="add", row=account, new={"name": name})


def said(engine: Engine, head: Path) -> list[str]:
    return [str(fault) for fault in verify_chain(engine, head)[1]]


def execute(engine: Engine, *statements: str) -> None:
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def test_twenty_writers_on_connections_of_their_own_fork_nothing(
    engine: Engine, postgresql_url: str, head: Path
) -> None:
    refused: list[Exception] = []

    def write(worker: int) -> None:
        own = connect(postgresql_url)
        try:
            for turn in range(TURNS):
                add(own, head, f"{worker}-{turn}")
        except Exception as error:
            refused.append(error)
        finally:
            own.dispose()

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == []
    assert verify_chain(engine, head) == (WRITERS * TURNS, [])
    noted = read_head(head)
    assert noted is not None
    assert noted.sequence == WRITERS * TURNS
    with read_session(engine) as session:
        assert len(session.connection().execute(text("SELECT id FROM account")).all()) == WRITERS * TURNS


def test_who_goes_round_the_lock_is_refused_rather_than_forking(engine: Engine, head: Path) -> None:
    add(engine, head, "a")
    copied = (
        "INSERT INTO audit_event (sequence, at, who, role, action, object_type, object_id, previous_sha256, sha256) "
        "SELECT sequence, at, 'b', role, action, object_type, object_id, previous_sha256, sha256 FROM audit_event"
    )
    with pytest.raises(DBAPIError, match="duplicate key"):
        execute(engine, copied)
    assert said(engine, head) == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_event SET who = 'b'",
        "UPDATE audit_event SET sequence = sequence + 10",
        "DELETE FROM audit_event",
        "DELETE FROM audit_event WHERE false",
        "TRUNCATE audit_event",
    ],
)
def test_changes_are_refused(engine: Engine, head: Path, statement: str) -> None:
    add(engine, head, "a")
    with pytest.raises(DBAPIError, match="append-only"):
        execute(engine, statement)
    assert verify_chain(engine, head) == (1, [])


REPLACED = (
    "CREATE OR REPLACE FUNCTION audit_event_refuse() RETURNS trigger AS $$ BEGIN {} RETURN NULL; END; $$ "
    "LANGUAGE plpgsql"
)


@pytest.mark.parametrize(
    ("statements", "named"),
    [
        (["DROP TRIGGER audit_event_keeps_rows ON audit_event"], ["keeps_rows"]),
        (["DROP TRIGGER audit_event_keeps_content ON audit_event"], ["keeps_content"]),
        (["DROP FUNCTION audit_event_refuse CASCADE"], ["keeps_rows", "keeps_content"]),
        (["ALTER TABLE audit_event DISABLE TRIGGER audit_event_keeps_content"], ["keeps_content"]),
        (["ALTER TABLE audit_event DISABLE TRIGGER ALL"], ["keeps_rows", "keeps_content"]),
        (["ALTER TABLE audit_event ENABLE REPLICA TRIGGER audit_event_keeps_rows"], ["keeps_rows"]),
        ([REPLACED.format("")], ["keeps_rows", "keeps_content"]),
        ([REPLACED.format("-- the audit trail is append-only\n")], ["keeps_rows", "keeps_content"]),
        (
            [
                "DROP TRIGGER audit_event_keeps_rows ON audit_event",
                "CREATE TRIGGER audit_event_keeps_rows BEFORE TRUNCATE ON audit_event "
                "FOR EACH STATEMENT EXECUTE FUNCTION audit_event_refuse()",
            ],
            ["keeps_rows"],
        ),
        (
            [
                "DROP TRIGGER audit_event_keeps_content ON audit_event",
                "CREATE TRIGGER audit_event_keeps_content BEFORE UPDATE OF reason ON audit_event "
                "FOR EACH STATEMENT EXECUTE FUNCTION audit_event_refuse()",
            ],
            ["keeps_content"],
        ),
    ],
)
def test_a_trigger_that_is_gone_or_does_something_else_is_named(
    engine: Engine, head: Path, statements: list[str], named: list[str]
) -> None:
    add(engine, head, "a")
    assert said(engine, head) == []
    execute(engine, *statements)
    assert said(engine, head) == [
        f"the trigger audit_event_{name} is missing or changed: rows can be altered unnoticed" for name in named
    ]


@pytest.mark.parametrize(
    ("statements", "fault"),
    [
        (["UPDATE audit_event SET who = 'b' WHERE sequence = 2"], "row 2: its content does not fit its hash"),
        (["DELETE FROM audit_event WHERE sequence = 4"], "the trail ends at row 3, but reached row 4"),
        (["DELETE FROM audit_event WHERE sequence = 2"], "row 3: follows row 1"),
        (
            [
                "UPDATE audit_event SET sequence = -1 WHERE sequence = 2",
                "UPDATE audit_event SET sequence = 2 WHERE sequence = 3",
                "UPDATE audit_event SET sequence = 3 WHERE sequence = -1",
            ],
            "row 2: does not continue row 1",
        ),
        (["TRUNCATE audit_event"], "the trail ends at row 0, but reached row 4"),
    ],
)
def test_what_is_done_behind_the_triggers_shows(engine: Engine, head: Path, statements: list[str], fault: str) -> None:
    for name in "abcd":
        add(engine, head, name)
    # A superuser can switch triggers off for a while and leaves nothing of that behind.
    execute(
        engine,
        "ALTER TABLE audit_event DISABLE TRIGGER ALL",
        *statements,
        "ALTER TABLE audit_event ENABLE TRIGGER ALL",
    )
    found = said(engine, head)
    assert any(fault in one for one in found), found
    assert not any("trigger" in one for one in found)


def test_a_table_that_is_gone_is_no_whole_trail(engine: Engine, head: Path) -> None:
    add(engine, head, "a")
    execute(engine, "DROP TABLE audit_event")
    assert said(engine, head) == ["the table audit_event is missing: the whole trail was removed"]
