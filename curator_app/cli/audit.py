"""`histocurator audit`: check, read and export the trail of who changed what, when and why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curator_app.cli._output import (
    EXIT_FAULT_FOUND,
    MOST_LISTED,
    JsonOption,
    WorkspaceOption,
    opened_workspace,
    print_json,
    print_table,
    print_text,
    to_stderr,
)

if TYPE_CHECKING:
    from db.tables import AuditEvent
    from pipeline.audit import EventFilter, TrailCheck

audit_app = typer.Typer(help="The audit trail: check it, read it, export it.", no_args_is_help=True)

WhoOption = Annotated[str | None, typer.Option("--who", help="Only what this account did.")]
ActionOption = Annotated[str | None, typer.Option("--action", help="Only this action, such as write or approve.")]
ObjectOption = Annotated[
    str | None, typer.Option("--object", help="Only this kind of object (seed, item, account) or this one (its id).")
]
SinceOption = Annotated[
    str | None, typer.Option("--since", help="Only from this time on: 2026-01-31 or 2026-01-31T14:00, in UTC.")
]
UntilOption = Annotated[
    str | None, typer.Option("--until", help="Only before this time; of a day without a time, all of it counts.")
]


@audit_app.command("verify")
def verify(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Check every row, every link, the head outside the database and the triggers. Exit 1 if anything is wrong."""
    with opened_workspace(workspace) as opened:
        from pipeline.audit import verify_trail

        check = verify_trail(opened)
        if as_json:
            print_json(
                {
                    "whole": not check.faults,
                    "rows": check.rows,
                    "head": check.head.sha256,
                    "noted": check.noted.sequence if check.noted else None,
                    "faults": [{"row": fault.sequence, "what": fault.what} for fault in check.faults],
                }
            )
        elif not check.faults:
            print_text(_whole(check))
            if check.noted is not None and check.noted.sequence < check.head.sequence:
                print_text(f"The head outside the database was noted last at row {check.noted.sequence:,}.")
        if check.faults:
            for fault in check.faults:
                to_stderr(str(fault))
            to_stderr(f"Error: the audit trail is not whole (faults: {len(check.faults)}, rows: {check.rows:,}).")
            raise typer.Exit(EXIT_FAULT_FOUND)


@audit_app.command("list")
def list_(
    who: WhoOption = None,
    action: ActionOption = None,
    object_: ObjectOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    limit: Annotated[int, typer.Option(min=1, max=MOST_LISTED, help="How many rows at most.")] = 100,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List rows of the trail, newest first; times are UTC."""
    with opened_workspace(workspace) as opened:
        from pipeline.audit import count_events, list_events

        wanted = _filter(who, action, object_, since, until)
        events = list_events(opened, wanted, limit=limit)
        total = count_events(opened, wanted)
        if as_json:
            print_json([_as_row(event) for event in events])
        elif not events:
            print_text("No rows of the audit trail fit.")
        else:
            print_table(
                f"{len(events)} of {total:,} {'row' if total == 1 else 'rows'}",
                ("row", "time (UTC)", "who", "action", "object", "old → new", "reason"),
                [_cells(event) for event in events],
                cut=("old → new", "reason"),
            )


@audit_app.command("export")
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file; its ending .csv or .jsonl decides.")],
    who: WhoOption = None,
    action: ActionOption = None,
    object_: ObjectOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write rows of the trail to a file, oldest first; all of them without a filter."""
    with opened_workspace(workspace) as opened:
        from pipeline.audit import export_trail

        count = export_trail(opened, file.expanduser(), _filter(who, action, object_, since, until))
        if as_json:
            print_json({"file": file.expanduser().absolute(), "rows": count})
        else:
            print_text(f"{file}: {count:,} {'row' if count == 1 else 'rows'}")


def _whole(check: TrailCheck) -> str:
    if not check.rows:
        return "The audit trail is whole: it holds no row yet."
    number = "1 row" if check.rows == 1 else f"{check.rows:,} rows"
    return f"The audit trail is whole: {number}, the last one is {check.head.sha256}."


def _filter(
    who: str | None, action: str | None, object_: str | None, since: str | None, until: str | None
) -> EventFilter:
    from pipeline.audit import EventFilter

    # Ids are made of a prefix, a line and digits; the names of kinds have no line.
    is_id = object_ is not None and "_" in object_
    return EventFilter(
        who=who,
        action=action,
        object_type=None if is_id else object_,
        object_id=object_ if is_id else None,
        since=_time("--since", since),
        until=_time("--until", until, whole_day=True),
    )


def _time(option: str, text: str | None, *, whole_day: bool = False) -> datetime | None:
    from pipeline.errors import InputError

    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{option} {text!r} is no time; write 2026-01-31 or 2026-01-31T14:00") from None
    if whole_day and len(text) == len("2026-01-31"):
        try:
            moment += timedelta(days=1)
        except OverflowError:
            raise InputError(f"{option} {text!r} lies outside the years 1 to 9999") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _cells(event: AuditEvent) -> tuple[Any, ...]:
    from curator_app.audit_words import action_words, line_of

    return (
        event.sequence,
        f"{event.at:%Y-%m-%d %H:%M:%S}",
        f"{event.who} ({event.role})",
        action_words(event.action),
        event.object_id,
        line_of(event.old, event.new),
        event.reason,
    )


def _as_row(event: AuditEvent) -> dict[str, Any]:
    from pipeline.audit import COLUMNS

    row = event.model_dump()
    return {name: row[name] for name in COLUMNS}
