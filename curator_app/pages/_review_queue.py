"""The review queue: filters, one item at a time beside its image and its safety, and the decision on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from curator_app.components import draft_keeper, roi_image
from curator_app.components.item_html import FORMAT_NAMES, changes_html, item_html
from curator_app.components.safety_html import (
    category_name,
    decisions_html,
    flag_html,
    provenance_html,
    section,
    seed_html,
    trials_html,
)
from curator_app.drafts import DraftStore
from curator_app.item_changes import changed_fields
from curator_app.layout import key_label, mark, organ_words, show_problems
from curator_app.pages._edit_form import Editing, edit_form, editing, last_edited, start_editing, stop_editing, unsaved
from curator_app.session import may, who, workspace
from pipeline.errors import InputError
from pipeline.item_store import content_of
from pipeline.permissions import Permission
from pipeline.review import (
    REVIEWABLE,
    ItemEntry,
    ItemHistory,
    decide,
    item_history,
    undo_decision,
    withdraw_item,
)

STATE_FILTERS: dict[str, tuple[str, ...]] = {
    "Waits for a decision": REVIEWABLE,
    "Approved": ("approved",),
    "Rejected": ("rejected",),
    "Released": ("released",),
    "Being made": ("drafted", "checking", "guessable", "regenerating", "in_review", "revise"),
    "All": (),
}

_CURRENT, _PLACE, _SAID, _FAULT, _DECIDED, _ASKED = (
    "review_item",
    "review_place",
    "review_said",
    "review_fault",
    "review_decided",
    "review_asked",
)


@dataclass(frozen=True)
class _Asked:
    """A dialog that somebody opened on what they saw: an item in one of its row versions, and what follows it."""

    dialog: Literal["reject", "withdraw"]
    item_id: str
    row_version: int
    after: str | None


def review_queue(entries: Sequence[ItemEntry], choose_view: Callable[[], None]) -> None:
    """Draw the queue; `choose_view` draws what stands at its left end."""
    with st.container(horizontal=True, vertical_alignment="center", key="queue_line"):
        choose_view()
        queue = _filtered(entries)
        place = _place(queue)
        _steps(queue, place)
    if not queue:
        _actions(None, None)
        st.html(
            '<div class="hc-empty" role="status"><p><strong>Nothing here under this filter.</strong></p>'
            "<p>Choose another state under Filter.</p></div>"
        )
        return
    entry = queue[place]
    following = queue[place + 1] if place + 1 < len(queue) else (queue[place - 1] if place else None)
    _actions(entry, following)
    _columns(entry, item_history(workspace(), entry.item.id), following)


def _filtered(entries: Sequence[ItemEntry]) -> list[ItemEntry]:
    states = Counter(entry.item.state for entry in entries)

    def counted(name: str) -> str:
        wanted = STATE_FILTERS[name]
        return f"{name} ({sum(states[s] for s in wanted) if wanted else len(entries)})"

    with st.popover("Filter"):
        state = st.selectbox("State", list(STATE_FILTERS), format_func=counted, key="filter_state")
        item_format = _choice("Format", {e.item.format for e in entries}, FORMAT_NAMES.__getitem__)
        organ = _choice("Organ", {e.roi.organ for e in entries}, organ_words)
        category = _choice("Category", {e.seed.category for e in entries}, category_name)
    wanted = STATE_FILTERS[state]
    open_edit = editing()
    return [
        entry
        for entry in entries
        if (
            (not wanted or entry.item.state in wanted)
            and item_format in ("", entry.item.format)
            and organ in ("", entry.roi.organ)
            and category in ("", entry.seed.category)
        )
        # What is being edited stays in front of its editor, whatever somebody else decides on it.
        or (open_edit is not None and open_edit.item_id == entry.item.id)
    ]


def _choice(label: str, found: set[str], name: Callable[[str], str]) -> str:
    """Let the person narrow the queue; "" is everything."""
    chosen: str = st.selectbox(
        label,
        ["", *sorted(found)],
        format_func=lambda value: name(value) if value else "All",
        key=f"filter_{label.lower()}",
    )
    return chosen


def _place(queue: Sequence[ItemEntry]) -> int:
    """Return the place of the current item; where it left the queue, the place that it had."""
    ids = [entry.item.id for entry in queue]
    current = st.session_state.get(_CURRENT) or last_edited()
    place = ids.index(current) if current in ids else st.session_state.get(_PLACE, 0)
    place = max(0, min(place, len(queue) - 1))
    st.session_state[_PLACE] = place
    st.session_state[_CURRENT] = ids[place] if ids else None
    return place


def _steps(queue: Sequence[ItemEntry], place: int) -> None:
    number = f"{place + 1} of {len(queue)}" if queue else "0"
    shown = str(st.session_state["filter_state"]).lower()
    if any(st.session_state[f"filter_{name}"] for name in ("format", "organ", "category")):
        shown += ", filtered"
    st.html(f'<p class="hc-facts" role="status">{number} · {shown}</p>', width="content")
    previous = queue[place - 1].item.id if place > 0 and queue else None
    following = queue[place + 1].item.id if place + 1 < len(queue) else None
    st.button(key_label("Before", "←"), key="previous", disabled=previous is None, on_click=_go, args=(previous,))
    st.button(key_label("Next", "→"), key="next", disabled=following is None, on_click=_go, args=(following,))


def _go(item_id: str | None) -> None:
    st.session_state[_CURRENT] = item_id
    stop_editing()
    for note in (_SAID, _FAULT):
        st.session_state.pop(note, None)


def _actions(entry: ItemEntry | None, following: ItemEntry | None) -> None:
    """Draw the line of what one may do, always in one place; what cannot be done now is greyed."""
    waits = entry is not None and entry.item.state in REVIEWABLE
    busy = entry is not None and _edited(entry) is not None
    seen = (entry.item.id, entry.item.row_version) if entry else ("", 0)
    after = following.item.id if following else None
    decides = may(Permission.DECIDE_ITEMS)
    # Callbacks, since they run with what the person saw: the queue may have moved on by the time it is drawn again.
    with st.container(horizontal=True, vertical_alignment="center", key="action_line"):
        if decides:
            st.button(
                key_label("Approve", "a"),
                key="approve",
                type="primary",
                disabled=not waits or busy,
                on_click=_approve,
                args=(*seen, after),
            )
        if may(Permission.EDIT_ITEMS):
            st.button(key_label("Edit", "e"), key="edit", disabled=not waits or busy, on_click=_edit, args=(entry,))
        if decides:
            st.button(
                key_label("Reject", "r"),
                key="reject",
                disabled=not waits or busy,
                on_click=_ask,
                args=(_Asked("reject", *seen, after),),
            )
            back = _undoable(entry)
            # An edit of an item that somebody decided meanwhile goes on after the decision is taken back.
            held = back is None or (busy and waits)
            st.button(key_label("Undo", "u"), key="undo", disabled=held, on_click=_undo, args=(back,))
        if may(Permission.WITHDRAW_ITEMS):
            st.button(
                "Withdraw",
                key="withdraw",
                disabled=entry is None or entry.item.state == "withdrawn" or busy,
                on_click=_ask,
                args=(_Asked("withdraw", *seen, after),),
            )
        said, fault = st.session_state.get(_SAID, ""), st.session_state.get(_FAULT)
        st.html(f'<p class="hc-facts" role="status" id="hc-said">{said}</p>')
    if isinstance(fault, InputError):
        show_problems(fault)
    _dialog(entry)


def _edited(entry: ItemEntry) -> Editing | None:
    open_edit = editing()
    mine = open_edit is not None and open_edit.item_id == entry.item.id and may(Permission.EDIT_ITEMS)
    return open_edit if mine else None


def _ask(asked: _Asked) -> None:
    st.session_state[_ASKED] = asked
    for note in (_SAID, _FAULT):
        st.session_state.pop(note, None)


def _dialog(entry: ItemEntry | None) -> None:
    """Open the dialog that was asked for, unless its item is no longer the one that the person saw."""
    asked: _Asked | None = st.session_state.pop(_ASKED, None)
    if asked is None:
        return
    if entry is None or (entry.item.id, entry.item.row_version) != (asked.item_id, asked.row_version):
        show_problems(InputError("That item was decided or changed elsewhere in the meantime. Nothing was done."))
    elif asked.dialog == "reject":
        st.dialog("Reject this item")(_reject)(asked.item_id, asked.row_version, asked.after)
    else:
        st.dialog("Withdraw this item for good")(_withdraw)(asked.item_id, asked.row_version, asked.after)


def _undoable(entry: ItemEntry | None) -> str | None:
    decided: list[str] = st.session_state.get(_DECIDED, [])
    if entry is not None and entry.item.state in ("approved", "rejected"):
        return entry.item.id
    return decided[-1] if decided else None


def _approve(item_id: str, row_version: int, after: str | None) -> None:
    try:
        decide(workspace(), item_id, "approve", who=who(), expected_version=row_version)
    except InputError as error:
        st.session_state[_FAULT] = error
        return
    _decided(item_id, "✓ Approved. Undo takes it back.", after)


def _decided(item_id: str, said: str, after: str | None) -> None:
    _go(after)
    st.session_state.setdefault(_DECIDED, []).append(item_id)
    st.session_state[_SAID] = said


def _edit(entry: ItemEntry) -> None:
    _go(entry.item.id)
    start_editing(entry)


def _undo(item_id: str) -> None:
    decided: list[str] = st.session_state.setdefault(_DECIDED, [])
    if item_id in decided:
        decided.remove(item_id)
    try:
        item = undo_decision(workspace(), item_id, who=who())
    except InputError as error:
        st.session_state[_FAULT] = error
        return
    _go(item_id)
    st.session_state[_SAID] = f"Taken back: {mark(item.state)} again."


def _reject(item_id: str, row_version: int, after: str | None) -> None:
    store, draft = DraftStore(workspace()), f"reject_{item_id}"
    key = f"reject_note_{item_id}"
    with st.form("reject_form", border=False):
        note = st.text_area("What is wrong", store.read(draft).fields.get("note", ""), key=key)
        sent = st.form_submit_button(key_label("Reject with this note", "Ctrl ⏎"), type="primary")
    draft_keeper(draft, writing=f"{item_id}_{row_version}", fields={"note": key})
    if not sent:
        return
    try:
        decide(workspace(), item_id, "reject", who=who(), note=str(note or ""), expected_version=row_version)
    except InputError as error:
        show_problems(error)
        return
    store.drop(draft, writing=f"{item_id}_{row_version}")
    _decided(item_id, "✕ Rejected. Undo takes it back.", after)
    st.rerun()


def _withdraw(item_id: str, row_version: int, after: str | None) -> None:
    st.markdown("This one item leaves the queue and later releases. It stays in the history; there is no undo.")
    with st.form("withdraw_form", border=False):
        reason = st.text_area("Why", key="withdraw_reason")
        sent = st.form_submit_button("Withdraw 1 item", type="primary")
    if not sent:
        return
    try:
        withdraw_item(workspace(), item_id, reason=str(reason or ""), who=who(), expected_version=row_version)
    except InputError as error:
        show_problems(error)
        return
    _go(after)
    st.session_state[_SAID] = "Withdrawn."
    st.rerun()


def _columns(entry: ItemEntry, history: ItemHistory, following: ItemEntry | None) -> None:
    row = st.container(horizontal=True, wrap=False, gap="medium", key="review_columns")
    image, middle, right = (row.container(key=f"review_{name}") for name in ("image", "text", "safety"))
    with image:
        roi_image(
            entry.roi,
            key="review_picture",
            described_as=f"Microscopic image of {organ_words(entry.roi.organ).lower()}",
            preload=[following.roi.id] if following else [],
            facts={"": " · ".join(part for part in (organ_words(entry.roi.organ), entry.roi.magnification) if part)},
        )
    with middle:
        if (open_edit := _edited(entry)) is not None:
            number = len(history.versions)
            if (said := edit_form(entry, open_edit)) is not None:
                _go(entry.item.id)
                st.session_state[_SAID] = said
                st.rerun()
        else:
            number = _text(entry, history)
    with right:
        version = history.versions[number - 1]
        st.html(
            flag_html(entry.item)
            + section(
                f"Image-free trials of v{number}",
                trials_html(content_of(version), version, history.trials[version.id]),
            )
            + section("Seed", seed_html(entry.seed))
            + section(f"Where v{number} comes from", provenance_html(version))
            + section("Decisions", decisions_html(history.decisions, history.versions))
        )


def _text(entry: ItemEntry, history: ItemHistory) -> int:
    """Show the item as its reader sees it, in the version that is chosen; return that version's number."""
    numbers = [version.number for version in history.versions]
    with st.container(horizontal=True, vertical_alignment="center", key="version_line"):
        st.html(
            f'<p class="hc-facts"><strong>{FORMAT_NAMES[entry.item.format]} v{entry.version.number}</strong> '
            f"{mark(entry.item.state)}</p>",
            width="content",
        )
        chosen = numbers[-1]
        if len(numbers) > 1:
            chosen = st.segmented_control(
                "Version",
                numbers,
                default=numbers[-1],
                format_func=lambda number: f"v{number}",
                key=f"version_{entry.version.id}",
                required=True,
                label_visibility="collapsed",
            )
    if may(Permission.EDIT_ITEMS) and unsaved(entry):
        st.html('<p class="hc-flag">✎ An edit of this item is not saved yet: press Edit to go on with it.</p>')
    content = content_of(history.versions[chosen - 1])
    body = section("As the reader sees it", item_html(content))
    if chosen > 1:
        before = content_of(history.versions[chosen - 2])
        changes = changes_html(changed_fields(before, content), since=chosen - 1)
        body += section(f"Changed since v{chosen - 1}, word by word", changes)
    st.html(body)
    return int(chosen)
