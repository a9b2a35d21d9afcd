"""The audit trail for people: read with filters, checked, exported."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from sqlmodel import Session, col, func, select
from sqlmodel.sql.expression import SelectOfScalar

from db import unstorable_character
from db.audit import START, ChainFault, ChainLink, read_head, trail_head, verify_chain
from db.tables import AuditEvent
from pipeline.errors import InputError
from pipeline.permissions import Permission, needs
from pipeline.workspace import Workspace, write_atomically

COLUMNS = (
    "sequence",
    "at",
    "who",
    "role",
    "action",
    "object_type",
    "object_id",
    "old",
    "new",
    "reason",
    "previous_sha256",
    "sha256",
)


ExportKind = Literal["csv", "jsonl"]

ROWS_PER_PART = 1_000
"""So many rows are read at a time while the trail is sent to a browser."""


@dataclass(frozen=True)
class EventFilter:
    """Which rows of the trail are wanted; what is None does not count. Times are aware, `until` is excluded.

    Raises:
        InputError: a text holds a character that no row can hold, or a time lies outside the years 1 to 9999 in UTC.
    """

    who: str | None = None
    action: str | None = None
    object_type: str | None = None
    object_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("who", "action", "object_type", "object_id"):
            if (character := unstorable_character(getattr(self, name) or "")) is not None:
                raise InputError(f"The filter {name} holds the character {character}: no row of the trail does")
        for name in ("since", "until"):
            moment = getattr(self, name)
            try:
                if moment is not None:
                    moment.astimezone(UTC)
            except OverflowError:
                raise InputError(f"The filter {name} lies outside the years 1 to 9999 in UTC") from None


@dataclass(frozen=True)
class TrailCheck:
    """What a check of the trail found: how many rows, the last one, the head noted outside, and the faults."""

    rows: int
    head: ChainLink
    noted: ChainLink | None
    faults: list[ChainFault]


@needs(Permission.VIEW_AUDIT)
def verify_trail(workspace: Workspace) -> TrailCheck:
    """Check every row, every link, the head outside the database, the triggers, and the texts that rows name."""
    rows, faults = verify_chain(workspace.engine, workspace.audit_head)
    with workspace.reading() as session:
        head = trail_head(session) if rows else START
    with suppress(ValueError):  # A damaged note is among the faults.
        return TrailCheck(rows, head, read_head(workspace.audit_head), faults)
    return TrailCheck(rows, head, None, faults)


@needs(Permission.VIEW_AUDIT)
def list_events(
    workspace: Workspace, wanted: EventFilter | None = None, *, limit: int = 100, before: int | None = None
) -> list[AuditEvent]:
    """Return rows of the trail, newest first.

    Args:
        workspace: whose trail.
        wanted: a filter; all rows where not given.
        limit: how many at most.
        before: only rows with a smaller number, to read on.

    Raises:
        InputError: the limit is not positive.
    """
    if limit < 1:
        raise InputError(f"limit is {limit}; it must be at least 1")
    query = _filtered(wanted or EventFilter())
    if before is not None:
        query = query.where(AuditEvent.sequence < before)
    with workspace.reading() as session:
        return list(session.exec(query.order_by(col(AuditEvent.sequence).desc()).limit(limit)))


@needs(Permission.VIEW_AUDIT)
def count_events(workspace: Workspace, wanted: EventFilter | None = None) -> int:
    """Return how many rows of the trail fit a filter."""
    query = _filtered(wanted or EventFilter())
    with workspace.reading() as session:
        return session.exec(select(func.count()).select_from(query.subquery())).one()


@needs(Permission.VIEW_AUDIT)
def event_choices(workspace: Workspace) -> dict[str, list[str]]:
    """Return what the trail knows of people, actions and kinds of objects, for the filters of a page."""
    with workspace.reading() as session:
        return {
            name: sorted(session.exec(select(column).distinct()))
            for name, column in (
                ("who", AuditEvent.who),
                ("action", AuditEvent.action),
                ("object_type", AuditEvent.object_type),
            )
        }


@needs(Permission.VIEW_AUDIT)
def export_trail(workspace: Workspace, path: Path, wanted: EventFilter | None = None) -> int:
    """Write rows of the trail, oldest first, as CSV or (by the ending .jsonl) as JSON Lines, and return how many.

    Raises:
        InputError: the ending is another one, the file exists, or its folder does not.
    """
    if path.suffix.lower() not in (".csv", ".jsonl"):
        raise InputError(f"{path}: the trail is exported as .csv or .jsonl")
    if path.exists():
        raise InputError(f"{path} exists; choose another file")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path.absolute().parent} is no folder; make it first")
    with workspace.reading() as session:
        rows = [_as_row(event) for event in _in_order(session, wanted or EventFilter())]
    data = _as_csv(rows) if path.suffix.lower() == ".csv" else _as_lines(rows)
    # What people did is for who exported it alone, as a backup is.
    write_atomically(path.absolute(), data, mode=0o600)
    return len(rows)


@needs(Permission.VIEW_AUDIT)
def stream_trail(workspace: Workspace, wanted: EventFilter | None = None, *, kind: ExportKind) -> Iterator[bytes]:
    """Yield rows of the trail as `export_trail` writes them, part by part, up to the row that is the last one now.

    Each part is read by itself: a slow reader keeps no transaction open, and rows that are there never change.
    """
    chosen = _filtered(wanted or EventFilter())
    with workspace.reading() as session:
        last = trail_head(session).sequence
    if kind == "csv":
        yield _as_csv([])
    read = 0
    while True:
        part = chosen.where(AuditEvent.sequence > read, AuditEvent.sequence <= last)
        with workspace.reading() as session:
            found = session.exec(part.order_by(col(AuditEvent.sequence)).limit(ROWS_PER_PART)).all()
        if not found:
            return
        read = found[-1].sequence
        rows = [_as_row(event) for event in found]
        yield _as_csv(rows, head=False) if kind == "csv" else _as_lines(rows)


def _filtered(wanted: EventFilter) -> SelectOfScalar[AuditEvent]:
    query = select(AuditEvent)
    for column, value in (
        (AuditEvent.who, wanted.who),
        (AuditEvent.action, wanted.action),
        (AuditEvent.object_type, wanted.object_type),
        (AuditEvent.object_id, wanted.object_id),
    ):
        if value is not None:
            query = query.where(column == value)
    if wanted.since is not None:
        query = query.where(AuditEvent.at >= wanted.since)
    if wanted.until is not None:
        query = query.where(AuditEvent.at < wanted.until)
    return query


def _in_order(session: Session, wanted: EventFilter) -> Iterator[AuditEvent]:
    yield from session.exec(_filtered(wanted).order_by(col(AuditEvent.sequence)))


def _as_row(event: AuditEvent) -> dict[str, Any]:
    return {**event.model_dump(include=set(COLUMNS)), "at": event.at.isoformat(timespec="microseconds")}


def _as_lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(
        json.dumps({name: row[name] for name in COLUMNS}, ensure_ascii=False) + "\n" for row in rows
    ).encode()


def _as_csv(rows: list[dict[str, Any]], *, head: bool = True) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    if head:
        writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in COLUMNS])
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    """Return a cell that a spreadsheet does not take for a formula."""
    if value is None:
        return ""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" and value else value
