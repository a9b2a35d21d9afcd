"""Audit: who changed what, when and why, whether the trail is whole, and the trail as a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from html import escape

import streamlit as st

from curator_app.audit_words import action_words, kind_words
from curator_app.components import Key
from curator_app.components.audit_html import trail_table
from curator_app.components.item_html import item_style
from curator_app.layout import empty_state, key_label, local_time, page_head, show_problems
from curator_app.routes import export_address
from curator_app.session import workspace
from db import utc_now
from pipeline.audit import (
    EventFilter,
    ExportKind,
    TrailCheck,
    count_events,
    event_choices,
    list_events,
    verify_trail,
)
from pipeline.errors import InputError

SHOWN = 50
"""So many rows are shown, and so many more each time one reads on."""

CHECKED_AT_ONCE = 20_000
"""A trail of up to so many rows is checked when the page is opened; a longer one on a button."""

CHOICE_WIDTH_PX = 132
ID_WIDTH_PX = 160

_KEYS = (
    Key("v", "Check the chain of the trail", button="audit_check"),
    Key("m", "Read on: older rows", button="audit_more"),
)
_EXPORTS: dict[ExportKind, str] = {"csv": "Download as CSV", "jsonl": "Download as JSON Lines"}
_CHECK, _COUNT, _WANTED = "audit_checked", "audit_count", "audit_wanted"


@dataclass(frozen=True)
class _Checked:
    """What a check found, and when it was made."""

    check: TrailCheck
    at: datetime


class _NoDay:
    """What is typed where a day belongs, and is none."""


def show() -> None:
    """Draw the page."""
    page_head("Audit", "Who changed what, when and why; rows are only ever added", keys=_KEYS)
    st.html(item_style())
    _chain(count_events(workspace()))
    wanted = _filters()
    if wanted is None:
        # Rows and downloads as if nothing were filtered would be taken for the filtered ones.
        empty_state("No rows are shown.", "A date above is no day: mend it, or empty its field.")
        return
    if st.session_state.get(_WANTED) != wanted:
        st.session_state[_WANTED], st.session_state[_COUNT] = wanted, SHOWN
    fitting = count_events(workspace(), wanted)
    _summary(fitting, wanted)
    if not fitting:
        empty_state("No rows fit.", "Take a filter away, or choose a longer time.")
        return
    events = list_events(workspace(), wanted, limit=st.session_state[_COUNT])
    st.html(trail_table(events))
    if left := fitting - len(events):
        with st.container(horizontal=True, vertical_alignment="center", key="audit_foot"):
            st.button(key_label("Read on", "m"), key="audit_more", on_click=_read_on)
            st.html(f'<p class="hc-facts">{left:,} older {"row" if left == 1 else "rows"}</p>')


def _chain(rows: int) -> None:
    """Say whether the trail is whole, checking it at once where that is quick."""
    with st.container(horizontal=True, vertical_alignment="center", key="audit_chain"):
        said = st.container(width="content")
        pressed = st.button(key_label("Check the chain", "v"), key="audit_check")
        if pressed or (_CHECK not in st.session_state and rows <= CHECKED_AT_ONCE):
            with st.spinner("Checking every row", show_time=True):
                st.session_state[_CHECK] = _Checked(verify_trail(workspace()), utc_now())
        checked: _Checked | None = st.session_state.get(_CHECK)
        with said:
            st.html(f'<p class="hc-chain" role="status">{_chain_words(checked, rows)}</p>')
    if checked is not None and checked.check.faults:
        number = len(checked.check.faults)
        show_problems(
            InputError(
                f"The trail is not whole: {number:,} {'fault' if number == 1 else 'faults'}. "
                "Keep the database as it is and compare it with a backup.",
                [str(fault) for fault in checked.check.faults],
            )
        )


def _chain_words(checked: _Checked | None, rows: int) -> str:
    if checked is None:
        return f"○ not checked in this visit: {rows:,} {'row' if rows == 1 else 'rows'}"
    check = checked.check
    last = list_events(workspace(), limit=1, before=check.head.sequence + 1)
    when = f", last at {local_time(last[0].at, seconds=True)}" if last else ""
    state = "✕ <strong>not whole</strong>" if check.faults else "✓ <strong>whole</strong>"
    return (
        f"{state}: {check.rows:,} {'row' if check.rows == 1 else 'rows'}{when} "
        f"<small>checked at {escape(local_time(checked.at, seconds=True)[11:])}</small>"
    )


def _filters() -> EventFilter | None:
    """Return what is asked for, or None where a field holds what is no day."""
    choices = event_choices(workspace())
    with st.container(horizontal=True, vertical_alignment="top", gap="small", key="audit_filters"):
        who = _choose("Who", choices["who"], "audit_who", str)
        action = _choose("Action", choices["action"], "audit_action", action_words)
        kind = _choose("Kind of object", choices["object_type"], "audit_kind", kind_words)
        with st.container(width=ID_WIDTH_PX):
            identifier = st.text_input("Object's id", key="audit_object", placeholder="seed_…").strip()
        first, last = _day("From", "audit_from"), _day("To, with that day", "audit_to")
    if isinstance(first, _NoDay) or isinstance(last, _NoDay):
        return None
    return EventFilter(
        who=who,
        action=action,
        object_type=kind,
        object_id=identifier or None,
        since=_begin_of(first) if first else None,
        until=_begin_of(last + timedelta(days=1)) if last else None,
    )


def _choose(label: str, options: list[str], key: str, words: Callable[[str], str]) -> str | None:
    with st.container(width=CHOICE_WIDTH_PX):
        chosen: str | None = st.selectbox(
            label,
            options,
            index=None,
            placeholder="All",
            key=key,
            format_func=words,
        )
        return chosen


def _day(label: str, key: str) -> date | _NoDay | None:
    """Return the day that is typed, or None for none; of what is no day the field says so."""
    with st.container(width=CHOICE_WIDTH_PX):
        typed = st.text_input(label, key=key, placeholder="2026-01-31").strip()
        if not typed:
            return None
        try:
            return date.fromisoformat(typed)
        except ValueError:
            st.html('<p class="hc-fault" role="alert">✕ no day; write 2026-01-31</p>')
            return _NoDay()


def _begin_of(day: date) -> datetime:
    """Return when a day begins where the server stands, as the table shows its times."""
    return datetime.combine(day, time.min).astimezone()


def _summary(fitting: int, wanted: EventFilter) -> None:
    links = "".join(
        f'<a href="{escape(export_address(kind, wanted))}" download>{words}</a>' for kind, words in _EXPORTS.items()
    )
    number = f"{fitting:,} {'row' if fitting == 1 else 'rows'}, newest first"
    st.html(f'<p class="hc-facts hc-exports"><span>{number}</span>{links}</p>')


def _read_on() -> None:
    st.session_state[_COUNT] += SHOWN
