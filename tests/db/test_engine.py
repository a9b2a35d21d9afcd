"""Writers follow each other on one database, and a session keeps or loses what it should."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError
from sqlmodel import func, select

from db import UnstorableTextError, connect, migrate, new_id, read_session, record_event, write_session
from db.tables import Account, AuditEvent, Slide
from tests.databases import new_database_url


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = connect(new_database_url(tmp_path))
    migrate(made)
    yield made
    made.dispose()


def _account(name: str) -> Account:
    return Account(id=new_id("acc"), created_by="test", name=name, display_name=name, roles=["author"])


def test_thirty_writers_that_read_before_they_write_lose_nothing(engine: Engine) -> None:
    def count_and_add(worker: int) -> None:
        for turn in range(10):
            with write_session(engine) as session:
                seen = session.exec(select(func.count()).select_from(Account)).one()
                row = _account(f"{worker}-{turn}")
                row.display_name = str(seen)
                session.add(row)

    threads = [threading.Thread(target=count_and_add, args=(worker,)) for worker in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with read_session(engine) as session:
        seen = sorted(int(row.display_name) for row in session.exec(select(Account)))
    assert seen == list(range(300)), "each writer saw all that the writers before it had committed"


def test_an_error_leaves_the_database_as_it_was(engine: Engine) -> None:
    def fail_in_the_middle() -> None:
        with write_session(engine) as session:
            session.add(_account("lost"))
            session.flush()
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        fail_in_the_middle()
    with read_session(engine) as session:
        assert session.exec(select(Account)).all() == []


def test_a_change_raises_the_row_version_and_an_audit_row_is_numbered(engine: Engine) -> None:
    row = _account("kept")
    with write_session(engine) as session:
        session.add(row)
        record_event(session, who="test", action="add", row=row, new={"name": "kept"})
    with write_session(engine) as session:
        stored = session.get_one(Account, row.id)
        stored.roles = ["reviewer"]
        record_event(session, who="test", action="edit", row=stored, old={"roles": ["author"]})
    with read_session(engine) as session:
        stored = session.get_one(Account, row.id)
        assert stored.row_version == 2
        assert stored.changed_at > stored.created_at
        assert stored.changed_at.utcoffset() is not None
        assert [event.sequence for event in session.exec(select(AuditEvent))] == [1, 2]


def test_foreign_keys_are_on(engine: Engine) -> None:
    from db.tables import Roi

    orphan = Roi(
        id="roi_1",
        created_by="test",
        slide_id="sld_none",
        organ="liver",
        x=0,
        y=0,
        size=64,
        mpp=0.5,
        magnification="20x",
    )
    with pytest.raises(IntegrityError), write_session(engine) as session:
        session.add(orphan)


def test_the_same_content_is_one_slide(engine: Engine) -> None:
    def slide(identifier: str) -> Slide:
        return Slide(
            id=identifier,
            created_by="test",
            name="a.svs",
            path="/a.svs",
            content_sha256="00",
            width=1,
            height=1,
            organ="liver",
            source="s",
            licence="CC0-1.0",
            species="rat",
            stain="H&E",
        )

    with write_session(engine) as session:
        session.add(slide("sld_1"))
    with pytest.raises(IntegrityError), write_session(engine) as session:
        session.add(slide("sld_2"))


@pytest.mark.parametrize(
    ("text", "character"), [("a\0b", "U+0000"), ("\ud800", "U+D800"), ("ä\udfffé", "U+DFFF"), ("😀\0", "U+0000")]
)
def test_a_text_that_not_every_engine_holds_is_refused_by_both(engine: Engine, text: str, character: str) -> None:
    with pytest.raises(UnstorableTextError) as refused, write_session(engine) as session:
        session.add_all([_account("first"), _account(text)])
    assert refused.value.character == character
    with pytest.raises(UnstorableTextError), read_session(engine) as session:
        session.exec(select(Account).where(Account.name == text)).all()
    with write_session(engine) as session:
        session.add(_account("é 😀 \x01"))
    with read_session(engine) as session:
        assert [row.name for row in session.exec(select(Account))] == ["é 😀 \x01"], "nothing of the refused was kept"
