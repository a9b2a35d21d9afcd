"""Rows of the audit trail as HTML: who, what, and old → new in words; every text in them is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from curator_app.audit_words import action_words, changes, kind_words
from curator_app.layout import local_time, local_zone
from db.tables import AuditEvent

LONGEST = 240
"""A longer value is folded on the page: its beginning, and the whole of it on asking."""


def trail_table(events: Sequence[AuditEvent]) -> str:
    """Return rows of the trail in the order given."""
    heads = (f"When ({local_zone()})", "Who", "Action", "Object", "Old → new", "Reason")
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    return (
        f'<div class="hc-scroll"><table class="hc-table hc-trail"><thead><tr><th scope="col" class="number">Row</th>'
        f"{head}</tr></thead><tbody>{''.join(_row(event) for event in events)}</tbody></table></div>"
    )


def _row(event: AuditEvent) -> str:
    return (
        f'<tr><td class="row number">{event.sequence:,}</td>'
        f'<td class="when">{local_time(event.at, seconds=True)}</td>'
        f'<td class="who">{escape(event.who)}<div class="why">{escape(event.role)}</div></td>'
        f'<td class="who">{escape(action_words(event.action))}</td>'
        f'<td class="object">{escape(kind_words(event.object_type))}'
        f'<div class="why">{escape(event.object_id)}</div></td>'
        f"<td>{changes_html(event.old, event.new)}</td><td>{escape(event.reason or '')}</td></tr>"
    )


def changes_html(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    """Return what changed, field by field: what was, an arrow, what is; a field that is only now has no arrow."""
    parts = []
    for name, was, now in changes(old, new):
        change = f"<del>{_value(was)}</del> → {_value(now)}" if was is not None else _value(now)
        parts.append(f"<div><dt>{escape(name)}</dt><dd>{change}</dd></div>")
    return f"<dl>{''.join(parts)}</dl>" if parts else ""


def _value(text: str) -> str:
    """Return a value; of a long one the beginning up to the end of a word, to be opened whole."""
    if len(text) <= LONGEST:
        return escape(text)
    beginning = text[:LONGEST].rsplit(" ", 1)[0]
    return f"<details><summary>{escape(beginning)}…</summary>{escape(text)}</details>"
