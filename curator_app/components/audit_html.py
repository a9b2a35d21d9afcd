"""Rows of the audit trail as HTML: who, what, and old → new in words; every text in them is escaped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from curator_app.layout import local_time
from db.tables import AuditEvent

LONGEST = 240
"""A longer value is cut on the page; pointing at it, and the export, show it whole."""


def trail_table(events: Sequence[AuditEvent]) -> str:
    """Return rows of the trail in the order given."""
    heads = ("When", "Who", "Action", "Object", "Old → new", "Reason")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f'<div class="hc-scroll"><table class="hc-table hc-trail"><thead><tr><th scope="col" class="number">Row</th>'
        f"{head}</tr></thead><tbody>{''.join(_row(event) for event in events)}</tbody></table></div>"
    )


def _row(event: AuditEvent) -> str:
    return (
        f'<tr><td class="row number">{event.sequence:,}</td>'
        f'<td class="when">{local_time(event.at, seconds=True)}</td>'
        f'<td class="who">{escape(event.who)}<div class="why">{escape(event.role)}</div></td>'
        f'<td class="who">{escape(_words(event.action))}</td>'
        f'<td>{escape(_words(event.object_type))}<div class="why">{escape(event.object_id)}</div></td>'
        f"<td>{changes_html(event.old, event.new)}</td><td>{escape(event.reason or '')}</td></tr>"
    )


def changes_html(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    """Return what changed, field by field: what was, an arrow, what is; a field that is only now has no arrow."""
    before, after = old or {}, new or {}
    parts = []
    for name in dict.fromkeys((*before, *after)):
        is_now = _value(after[name]) if name in after else "nothing"
        change = f"<del>{_value(before[name])}</del> → {is_now}" if name in before else is_now
        parts.append(f"<div><dt>{escape(_words(name))}</dt><dd>{change}</dd></div>")
    return f"<dl>{''.join(parts)}</dl>" if parts else ""


def _words(name: str) -> str:
    return name.replace("_", " ")


def _value(value: Any) -> str:
    """Return a value as it is read; a long one is cut, with its whole text where one points at it."""
    if value is None or value == "":
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        text = ", ".join(value) or "nothing"
    elif isinstance(value, list | dict):
        text = json.dumps(value, ensure_ascii=False)
    else:
        text = str(value)
    if len(text) <= LONGEST:
        return escape(text)
    return f'<span title="{escape(text)}">{escape(text[:LONGEST])}…</span>'
