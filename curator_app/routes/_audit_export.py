"""The audit trail as a file for who may see it: rows that fit the page's filters, oldest first, sent part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from curator_app.routes._protected import ProtectedRoute, who_asks
from db import utc_now
from pipeline.audit import EventFilter, ExportKind, stream_trail
from pipeline.errors import InputError
from pipeline.permissions import Permission
from pipeline.workspace import Workspace

MEDIA_TYPES: Mapping[ExportKind, str] = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}

_TEXTS = ("who", "action", "object_type", "object_id")
_TIMES = ("since", "until")


def audit_routes(workspace: Workspace) -> list[ProtectedRoute]:
    """Return the routes that export a workspace's audit trail, one for each kind of file."""

    def export(request: Request, kind: ExportKind) -> Response:
        try:
            wanted = _filter(request.query_params)
        except InputError as error:
            return JSONResponse(
                {"error": error.message},
                status_code=HTTPStatus.UNPROCESSABLE_ENTITY,
                headers={"Cache-Control": "no-store"},
            )
        name = f"audit-{workspace.root.name}-{utc_now():%Y%m%dT%H%M%SZ}.{kind}"
        return StreamingResponse(
            stream_trail(workspace.acting_as(who_asks(request).actor), wanted, kind=kind),
            media_type=MEDIA_TYPES[kind],
            headers={
                "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}",
                "Cache-Control": "private, no-store",
            },
        )

    return [
        ProtectedRoute(f"/api/audit/export.{kind}", partial(export, kind=kind), Permission.VIEW_AUDIT, methods=["GET"])
        for kind in MEDIA_TYPES
    ]


def export_address(kind: ExportKind, wanted: EventFilter) -> str:
    """Return where the rows that fit a filter are downloaded."""
    chosen = {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in asdict(wanted).items()
        if value is not None
    }
    return f"/api/audit/export.{kind}{'?' if chosen else ''}{urlencode(chosen)}"


def _filter(asked: Mapping[str, str]) -> EventFilter:
    """Return what a request asks for.

    Raises:
        InputError: a name is unknown, or a time is none.
    """
    if unknown := set(asked) - {*_TEXTS, *_TIMES}:
        raise InputError(f"There is no filter {sorted(unknown)[0]!r}; there are {', '.join((*_TEXTS, *_TIMES))}")
    texts = {name: asked[name] for name in _TEXTS if asked.get(name)}
    times = {name: _time(name, asked[name]) for name in _TIMES if asked.get(name)}
    return EventFilter(
        who=texts.get("who"),
        action=texts.get("action"),
        object_type=texts.get("object_type"),
        object_id=texts.get("object_id"),
        since=times.get("since"),
        until=times.get("until"),
    )


def _time(name: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{name} {text!r} is no time; write 2026-01-31 or 2026-01-31T14:00") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
