"""Checks the trail: every row, every link, the head outside the database, the triggers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, inspect
from sqlmodel import Session, col, select

from db.audit._chain import START, ChainLink, digest
from db.audit._head import read_head
from db.audit._triggers import missing_triggers
from db.tables import AuditEvent

BATCH = 1_000


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
    swapped pair breaks both links; a cut end no longer reaches the head that was noted outside the database.

    Args:
        engine: the database.
        head_file: where the head is noted; not looked at where None.
    """
    if not inspect(engine).has_table("audit_event"):
        return 0, [ChainFault(None, "the table audit_event is missing: the whole trail was removed")]
    faults: list[ChainFault] = []
    noted = _noted(head_file, faults)
    last, at_noted, count = START, None, 0
    with Session(engine) as session:
        for row in _rows(session):
            faults += _faults_of(row, last)
            last, count = ChainLink(row.sequence, row.sha256), count + 1
            if noted is not None and row.sequence == noted.sequence:
                at_noted = last
        faults += [
            ChainFault(None, f"the trigger {name} is missing or changed: rows can be altered unnoticed")
            for name in missing_triggers(session.connection())
        ]
    if noted is None and count and head_file is not None and not head_file.exists():
        faults.append(ChainFault(None, f"{head_file} is missing: nothing shows whether rows at the end were removed"))
    if noted is not None and at_noted != noted:
        what = (
            f"the trail ends at row {last.sequence}, but reached row {noted.sequence}: rows at its end were removed"
            if last.sequence < noted.sequence
            else f"row {noted.sequence} is not the one that was noted outside the database"
        )
        faults.append(ChainFault(None, what))
    return count, faults


def _noted(head_file: Path | None, faults: list[ChainFault]) -> ChainLink | None:
    if head_file is None:
        return None
    try:
        noted = read_head(head_file)
    except ValueError as error:
        faults.append(ChainFault(None, str(error)))
        return None
    return noted


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
