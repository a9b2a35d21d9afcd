"""Checks the trail: every row, every link, the head outside the database, the triggers, the texts that rows name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, inspect
from sqlmodel import Session, col, select

from db.audit._chain import START, ChainLink, digest, document_digest
from db.audit._head import read_head
from db.audit._triggers import missing_triggers
from db.tables import AuditEvent, ItemVersion

BATCH = 1_000

_Named = dict[tuple[str, int], tuple[int, str]]
"""By item and number of a version: the row that names its text, and the text's SHA-256."""


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
    of an item's version is in no row, but its hash is: a changed or removed text does not fit the row that names it.

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
    with Session(engine) as session:
        try:
            for row in _rows(session):
                faults += _faults_of(row, walk.last)
                walk.pass_by(row)
        except (ValueError, TypeError):
            faults.append(ChainFault(None, f"a row after row {walk.last.sequence} cannot be read: it was changed"))
        else:
            faults += walk.faults_of_head()
            # After the rows that name them: what is written meanwhile is there as well.
            faults += _faults_of_texts(session, walk.named)
        faults += [
            ChainFault(None, f"the trigger {name} is missing or changed: rows can be altered unnoticed")
            for name in missing_triggers(session.connection())
        ]
    return walk.count, faults


class _Walk:
    """What is seen on the way along the chain: the last row, the one that was noted, the texts that rows name."""

    def __init__(self, noted: ChainLink | None) -> None:
        self.last = START
        self.count = 0
        self.named: _Named = {}
        self._noted = noted
        self._at_noted = START if noted == START else None

    def pass_by(self, row: AuditEvent) -> None:
        self.last, self.count = ChainLink(row.sequence, row.sha256), self.count + 1
        if self._noted is not None and row.sequence == self._noted.sequence:
            self._at_noted = self.last
        match row.new:
            case {"version": int(number), "text_sha256": str(sha256)}:
                self.named[row.object_id, number] = (row.sequence, sha256)

    def faults_of_head(self) -> Iterator[ChainFault]:
        noted = self._noted
        if noted is None or self._at_noted == noted:
            return
        if self.last.sequence < noted.sequence:
            what = f"the trail ends at row {self.last.sequence}, but reached row {noted.sequence}"
            yield ChainFault(None, f"{what}: rows at its end were removed")
        else:
            yield ChainFault(None, f"row {noted.sequence} is not the one that was noted outside the database")


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


def _faults_of_texts(session: Session, named: _Named) -> Iterator[ChainFault]:
    """Compare the stored texts of items with what rows name; a text that no row names is not looked at."""
    query = select(ItemVersion.item_id, ItemVersion.number, ItemVersion.content)
    missing = dict(named)
    try:
        for item_id, number, content in session.exec(query.execution_options(yield_per=BATCH)):
            row, sha256 = missing.pop((item_id, number), (0, ""))
            if row and document_digest(content) != sha256:
                yield ChainFault(row, f"the text of version {number} of item {item_id} is not the one it names")
    except (ValueError, TypeError):
        yield ChainFault(None, "the text of a version of an item cannot be read: it was changed")
        return
    for (item_id, number), (row, _) in missing.items():
        yield ChainFault(row, f"version {number} of item {item_id}, which it names, was removed")


def _rows(session: Session) -> Iterator[AuditEvent]:
    query = select(AuditEvent).order_by(col(AuditEvent.sequence))
    yield from session.exec(query.execution_options(yield_per=BATCH))


def _faults_of(row: AuditEvent, last: ChainLink) -> list[ChainFault]:
    faults = []
    if row.sequence != last.sequence + 1:
        faults.append(ChainFault(row.sequence, f"follows row {last.sequence}: rows between them are missing"))
    if row.previous_sha256 != last.sha256:
        faults.append(ChainFault(row.sequence, f"does not continue row {last.sequence}"))
    if row.sha256 != digest(row.model_dump()):
        faults.append(ChainFault(row.sequence, "its content does not fit its hash: it was changed"))
    return faults
