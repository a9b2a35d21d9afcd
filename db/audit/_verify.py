"""Checks the trail: every row, every link, the head outside the database, the triggers, the texts that rows name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, inspect
from sqlmodel import Session, col, select

from db.audit._chain import START, ChainLink, digest
from db.audit._head import read_head
from db.audit._readable import UNREADABLE
from db.audit._texts import NamedTexts, faults_of_texts
from db.audit._triggers import missing_triggers
from db.tables import AuditEvent

BATCH = 1_000

ANOTHER = "or this database belongs to another workspace"


@dataclass(frozen=True)
class ChainFault:
    """Something wrong with the trail: at which row (None for the whole), and what."""

    sequence: int | None
    what: str

    def __str__(self) -> str:
        return self.what if self.sequence is None else f"row {self.sequence}: {self.what}"


def verify_chain(engine: Engine, head_file: Path | None = None) -> tuple[int, list[ChainFault]]:
    """Check the whole trail and return how many rows it has and what is wrong with it.

    A changed row no longer fits its hash; a removed or inserted one breaks the numbers and the link of the next; a
    swapped pair breaks both links; a cut end no longer reaches the head that was noted outside the database. The text
    of an item's version is in no row, but its hash is: a changed or removed text does not fit the row that names it, a
    new one is named by none.

    Args:
        engine: the database.
        head_file: where the head is noted; not looked at where None.
    """
    if not inspect(engine).has_table("audit_event"):
        return 0, [ChainFault(None, "the table audit_event is missing: the whole trail was removed")]
    faults: list[ChainFault] = []
    # Before the rows, so that they must reach as far.
    noted = _noted(head_file, faults)
    walk = _Walk(noted)
    with _at_one_moment(engine) as session:
        for row in _rows(session):
            faults += walk.pass_by(row)
        faults += walk.faults_of_head()
        try:
            faults += [ChainFault(row, what) for row, what in faults_of_texts(session, walk.texts)]
        except UNREADABLE:
            faults.append(ChainFault(None, "the items and their texts cannot all be read: they were changed"))
        faults += [
            ChainFault(None, f"the trigger {name} is missing or changed: rows can be altered unnoticed")
            for name in missing_triggers(session.connection())
        ]
    return walk.count, faults


@contextmanager
def _at_one_moment(engine: Engine) -> Iterator[Session]:
    """Read everything as it is at one moment, so that no text is seen whose row is not; SQLite reads so by itself."""
    options = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with engine.connect().execution_options(**options) as connection, Session(connection) as session:
        yield session


@dataclass(frozen=True)
class _Unreadable:
    """A row of which something cannot be read; what is known of it all the same."""

    link: ChainLink | None
    sequence: int


class _Walk:
    """What is seen on the way along the chain: the last row, the one that was noted, the texts that rows name."""

    def __init__(self, noted: ChainLink | None) -> None:
        self.count = 0
        self.texts = NamedTexts()
        self._last: ChainLink | None = START
        self._sequence = 0
        self._noted = noted
        self._at_noted = START if noted == START else None

    def pass_by(self, row: AuditEvent | _Unreadable) -> list[ChainFault]:
        """Return what is wrong with the next row."""
        if isinstance(row, AuditEvent):
            link: ChainLink | None = ChainLink(row.sequence, row.sha256)
            faults = [*self._faults_of_place(row.sequence), *self._faults_of_link(row)]
            self.texts.note(row)
        else:
            link = row.link
            faults = [
                *self._faults_of_place(row.sequence),
                ChainFault(row.sequence, "it cannot be read: it was changed"),
            ]
        self._last, self._sequence, self.count = link, row.sequence, self.count + 1
        if self._noted is not None and row.sequence == self._noted.sequence:
            self._at_noted = link
        return faults

    def _faults_of_place(self, sequence: int) -> Iterator[ChainFault]:
        if sequence != self._sequence + 1:
            yield ChainFault(sequence, f"follows row {self._sequence}: rows between them are missing")

    def _faults_of_link(self, row: AuditEvent) -> Iterator[ChainFault]:
        if self._last is not None and row.previous_sha256 != self._last.sha256:
            yield ChainFault(row.sequence, f"does not continue row {self._sequence}")
        fits = False
        with suppress(*UNREADABLE):
            fits = row.sha256 == digest(row.model_dump())
        if not fits:
            yield ChainFault(row.sequence, "its content does not fit its hash: it was changed")

    def faults_of_head(self) -> Iterator[ChainFault]:
        """Return what does not fit the head that was noted outside the database."""
        noted = self._noted
        if noted is None or self._at_noted == noted:
            return
        if self._sequence < noted.sequence:
            what = f"the trail ends at row {self._sequence}, but reached row {noted.sequence}"
            yield ChainFault(None, f"{what}: rows at its end were removed, {ANOTHER}")
        else:
            what = f"row {noted.sequence} is not the one that was noted outside the database"
            yield ChainFault(None, f"{what}: it was written anew, {ANOTHER}")


def _noted(head_file: Path | None, faults: list[ChainFault]) -> ChainLink | None:
    if head_file is None:
        return None
    try:
        noted = read_head(head_file)
    except ValueError as error:
        faults.append(ChainFault(None, str(error)))
        return None
    if noted is None:
        faults.append(ChainFault(None, f"{head_file} is missing: nothing shows whether rows at the end were removed"))
    return noted


def _rows(session: Session) -> Iterator[AuditEvent | _Unreadable]:
    last = 0
    while True:
        after = select(AuditEvent).where(AuditEvent.sequence > last).order_by(col(AuditEvent.sequence)).limit(BATCH)
        try:
            part: list[AuditEvent | _Unreadable] = [*session.exec(after).all()]
        except UNREADABLE:
            part = list(_one_by_one(session, last))
        if not part:
            return
        yield from part
        last = part[-1].sequence


def _one_by_one(session: Session, last: int) -> Iterator[AuditEvent | _Unreadable]:
    numbers = select(AuditEvent.sequence).where(AuditEvent.sequence > last).order_by(col(AuditEvent.sequence))
    for number in session.exec(numbers.limit(BATCH)).all():
        try:
            yield session.exec(select(AuditEvent).where(AuditEvent.sequence == number)).one()
        except UNREADABLE:
            yield _Unreadable(_link(session, number), number)


def _link(session: Session, number: int) -> ChainLink | None:
    try:
        return ChainLink(number, session.exec(select(AuditEvent.sha256).where(AuditEvent.sequence == number)).one())
    except UNREADABLE:
        return None
