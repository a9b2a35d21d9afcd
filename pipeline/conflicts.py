"""How an object stands that somebody changed while another person wrote: read where the change is refused."""

from __future__ import annotations

from datetime import datetime

from sqlmodel import Session, col, select

from db.tables import Account, AuditEvent, Item, Seed
from pipeline.errors import Standing
from pipeline.item_store import current_content

_WRITES = ("write", "edit")
"""Acts of the audit trail that give a seed its text."""


def seed_texts(seed: Seed) -> dict[str, str]:
    """Return what a person wrote of a seed, by field."""
    return {
        "question": seed.question,
        "answer": seed.answer,
        "category": seed.category,
        "notes": seed.notes,
    }


def standing_of_seed(session: Session, seed: Seed) -> Standing:
    """Return a seed's text and who wrote it when."""
    last = session.exec(
        select(AuditEvent)
        .where(AuditEvent.object_id == seed.id, AuditEvent.object_type == "seed", col(AuditEvent.action).in_(_WRITES))
        .order_by(col(AuditEvent.sequence).desc())
    ).first()
    by, at = (last.who, last.at) if last is not None else (seed.created_by, seed.changed_at)
    return _standing(session, seed, dict(seed_texts(seed)), by=by, at=at)


def standing_of_item(session: Session, item: Item) -> Standing:
    """Return an item's current version and who wrote it when."""
    version, content = current_content(session, item)
    document = content.model_dump(mode="json")
    return _standing(session, item, document, by=version.created_by, at=version.created_at, number=version.number)


def _standing(
    session: Session, row: Seed | Item, document: dict[str, object], *, by: str, at: datetime, number: int = 0
) -> Standing:
    shown = session.exec(select(Account.display_name).where(Account.name == by)).first()
    return Standing(
        object_id=row.id,
        row_version=row.row_version,
        state=row.state,
        changed_at=row.changed_at,
        document=document,
        written_by=by,
        writer=shown or by,
        written_at=at,
        number=number,
    )
