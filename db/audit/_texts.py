"""Compares the texts of items with what rows of the trail say of them, and says which one an item shows wrongly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Table
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from db.audit._chain import document_digest
from db.audit._readable import UNREADABLE
from db.tables import AuditEvent, Item, ItemVersion

BATCH = 500

Fault = tuple[int | None, str]
"""The row of the trail that it is about, if it is one, and what is wrong."""


class NamedTexts:
    """What the trail says of texts: which rows name which versions of which items, and since when it names any."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, int], tuple[int, str]] = {}
        """By item and number of a version: the row that names its text, and the text's SHA-256."""
        self._first_of: dict[str, int] = {}
        self._began: datetime | None = None

    def note(self, row: AuditEvent) -> None:
        """Take in what a row of the trail says."""
        match row.new:
            case {"version": int(number), "text_sha256": str(sha256)}:
                self.rows[row.object_id, number] = (row.sequence, sha256)
                self._first_of[row.object_id] = min(number, self._first_of.get(row.object_id, number))
                self._began = self._began or row.at

    def may_be_unnamed(self, item_id: str, number: int, created_at: datetime) -> bool:
        """Say whether a text is older than the naming of texts, of which no row tells."""
        if self._began is None:
            return True
        return number < self._first_of.get(item_id, number + 1) and created_at < self._began


def faults_of_texts(session: Session, texts: NamedTexts) -> Iterator[Fault]:
    """Compare the stored texts of items with what rows name, and look which version each item shows."""
    missing = dict(texts.rows)
    last: dict[str, tuple[int, str]] = {}
    for text in _texts(session):
        row, sha256 = missing.pop((text.item_id, text.number), (None, ""))
        what = f"the text of version {text.number} of item {text.item_id}"
        if text.content is None or text.created_at is None:
            yield row, f"{what} cannot be read: it was changed"
        elif row is None:
            if not texts.may_be_unnamed(text.item_id, text.number, text.created_at):
                yield None, f"{what} is one that no row of the trail tells of: it was added"
        elif document_digest(text.content) != sha256:
            yield row, f"{what} is not the one it names"
        last[text.item_id] = max(last.get(text.item_id, (0, "")), (text.number, text.id))
    for (item_id, number), (row, _) in missing.items():
        yield row, f"version {number} of item {item_id}, which it names, was removed"
    yield from _faults_of_current(session, last)


def _faults_of_current(session: Session, last: dict[str, tuple[int, str]]) -> Iterator[Fault]:
    for item_id, current in session.exec(select(Item.id, Item.current_version_id)):
        number, identifier = last.get(item_id, (0, None))
        if current != identifier:
            yield None, f"item {item_id} shows a text that is not its last version (number {number}): it was changed"


@dataclass(frozen=True)
class _Text:
    """A version of an item; no time or content where it cannot be read."""

    id: str
    item_id: str
    number: int
    created_at: datetime | None
    content: dict[str, Any] | None


def _texts(session: Session) -> Iterator[_Text]:
    ids, last = select(ItemVersion.id).order_by(col(ItemVersion.id)).limit(BATCH), ""
    while part := session.exec(ids.where(ItemVersion.id > last)).all():
        try:
            found = [
                _Text(one.id, one.item_id, one.number, one.created_at, one.content) for one in _rows(session, part)
            ]
        except UNREADABLE:
            found = [_one(session, identifier) for identifier in part]
        yield from found
        last = part[-1]


def _rows(session: Session, ids: Sequence[str]) -> Sequence[Row[Any]]:
    version: Table = ItemVersion.__table__  # type: ignore[attr-defined]
    columns = [version.c[name] for name in ("id", "item_id", "number", "created_at", "content")]
    wanted = select_columns(*columns).where(version.c.id.in_(ids)).order_by(version.c.id)
    return session.connection().execute(wanted).all()


def _one(session: Session, identifier: str) -> _Text:
    try:
        (row,) = _rows(session, [identifier])
    except UNREADABLE:
        of = select(ItemVersion.item_id, ItemVersion.number).where(ItemVersion.id == identifier)
        item_id, number = session.exec(of).one()
        return _Text(identifier, item_id, number, None, None)
    return _Text(row.id, row.item_id, row.number, row.created_at, row.content)
