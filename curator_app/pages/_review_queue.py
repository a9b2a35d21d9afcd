"""The review queue: filters, one item at a time beside its image and its safety, and the decision on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import streamlit as st

from curator_app.at_work import free_of, work_on
from curator_app.components import Save, roi_image, save_first, take_act, take_unheard, text_field
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
from curator_app.drafts import note_draft
from curator_app.item_changes import changed_fields
from curator_app.layout import cancel_button, key_label, local_time, mark, organ_words, show_problems
from curator_app.pages._edit_form import (
    Editing,
    beside_edit,
    bring_back_edit,
    edit_form,
    editing,
    give_up_edit,
    last_edited,
    start_editing,
    stop_editing,
    unsaved_since,
    was_given_up,
)
from curator_app.session import may, who, workspace
from curator_app.writings import draft_field, end_writing, writing_of
from pipeline.acts import Made, once
from pipeline.errors import InputError
from pipeline.item_store import content_of, load_item
from pipeline.leases import lease_item
from pipeline.permissions import Permission
from pipeline.review import (
    REVIEWABLE,
    ItemEntry,
    ItemHistory,
    decide,
    edit_to_undo,
    item_history,
    undo_decision,
    undo_edit,
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


@dataclass(frozen=True)
class _Back:
    """What can be taken back: of which item, in the row version that the person saw or left."""

    item_id: str
    row_version: int
    does: str
    words: str = "Undo"
    is_edit: bool = False


def review_queue(entries: Sequence[ItemEntry], choose_view: Callable[[], None]) -> None:
    """Draw the queue; `choose_view` draws what stands at its left end."""
    with st.container(horizontal=True, vertical_alignment="center", key="queue_line"):
        choose_view()
        queue = _filtered(entries)
        place = _place(queue)
        _steps(queue, place)
    if not queue:
        _actions(None, None, _back(None, None))
        st.html(
            '<div class="hc-empty" role="status"><p><strong>Nothing here under this filter.</strong></p>'
            "<p>Choose another state under Filter.</p></div>"
        )
        return
    entry = queue[place]
    if may(Permission.EDIT_ITEMS):
        work_on(entry.item.id, lease_item)
    following = _following(queue, place)
    history = item_history(workspace(), entry.item.id)
    _actions(entry, following, _back(entry, history))
    _columns(entry, history, following)


def _following(queue: Sequence[ItemEntry], place: int) -> ItemEntry | None:
    """Return what is shown after a decision: the next item that nobody else works on, where there is one."""
    others = [*queue[place + 1 :], *reversed(queue[:place])]
    free = set(free_of([entry.item.id for entry in others]))
    return next((entry for entry in others if entry.item.id in free), others[0] if others else None)


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
    if current is None and ids and may(Permission.EDIT_ITEMS):
        # The first one that nobody else works on, so that two reviewers who begin get different items.
        current = lease_item(workspace(), ids)
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


def _actions(entry: ItemEntry | None, following: ItemEntry | None, back: _Back | None) -> None:
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
            save_first("approve", _deciding("approve", *seen))
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
        if decides or may(Permission.EDIT_ITEMS):
            # An edit of an item that somebody decided meanwhile goes on after the decision is taken back.
            held = back is None or (busy and waits)
            words, does = (back.words, back.does) if back is not None else ("Undo", None)
            act = _undo_edit if back is not None and back.is_edit else _undo
            st.button(key_label(words, "u"), key="undo", disabled=held, help=does, on_click=act, args=(back,))
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
        if back is not None and not back.is_edit:
            # Last, since it is not always there: what stands behind it would be drawn anew each time it comes or goes.
            save_first("undo", _deciding("undo", back.item_id, back.row_version))
    if isinstance(fault, InputError):
        show_problems(fault)
    _dialog(entry)


def _deciding(decision: str, item_id: str, row_version: int | None, **more: str) -> Save:
    body = {"decision": decision, "version": row_version, **more}
    return Save(item_id, f"/api/items/{item_id}/decisions", body)


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


def _back(entry: ItemEntry | None, history: ItemHistory | None) -> _Back | None:
    """Return what Undo takes back: the decision on the item shown, else what was done last.

    That is an edit of the item shown, or a decision of this visit.
    """
    decides, item = may(Permission.DECIDE_ITEMS), entry.item if entry is not None else None
    if item is not None and decides and item.state in ("approved", "rejected"):
        return _Back(item.id, item.row_version, f"Takes back that this item is {item.state}")
    last: Made | None = next(reversed(_decisions().values()), None) if decides else None
    if item is not None and history is not None and may(Permission.EDIT_ITEMS):
        before = edit_to_undo(item, history, who=who())
        if before is not None and (last is None or last.at < history.versions[-1].created_at):
            does = f"Takes your edit back: the text of v{before.number} becomes a new version, with its check"
            return _Back(item.id, item.row_version, does, f"Back to v{before.number}", is_edit=True)
    if last is None:
        return None
    return _Back(last.object_id, last.row_version, "Takes back your last decision and shows that item again")


def _decisions() -> dict[str, Made]:
    """Return the decisions of this visit that were not taken back, by item, the last one at the end."""
    decided: dict[str, Made] = st.session_state.setdefault(_DECIDED, {})
    return decided


def _approve(item_id: str, row_version: int, after: str | None) -> None:
    if take_unheard("approve", item_id) is not None:
        return  # the click was for the item before, which the route has approved
    try:
        made = once(
            workspace(),
            take_act("approve", item_id),
            lambda own: decide(own, item_id, "approve", who=who(), expected_version=row_version),
        )
    except InputError as error:
        st.session_state[_FAULT] = error
        return
    _decided(made, "✓ Approved. Undo takes it back.", after)


def _decided(made: Made, said: str, after: str | None) -> None:
    _go(after)
    _decisions().pop(made.object_id, None)
    _decisions()[made.object_id] = made
    st.session_state[_SAID] = said


def _edit(entry: ItemEntry) -> None:
    _go(entry.item.id)
    start_editing(entry)


def _undo(back: _Back) -> None:
    item_id, seen = back.item_id, back.row_version
    if take_unheard("undo", item_id) is not None:
        return  # likewise
    _decisions().pop(item_id, None)
    try:
        once(
            workspace(),
            take_act("undo", item_id),
            lambda own: undo_decision(own, item_id, who=who(), expected_version=seen),
        )
    except InputError as error:
        st.session_state[_FAULT] = error
        return
    _go(item_id)
    item, _, _ = load_item(workspace(), item_id)
    st.session_state[_SAID] = f"Taken back: {mark(item.state)} again."


def _undo_edit(back: _Back) -> None:
    try:
        item = undo_edit(workspace(), back.item_id, who=who(), expected_version=back.row_version)
    except InputError as error:
        st.session_state[_FAULT] = error
        return
    _go(back.item_id)
    _, version, _ = load_item(workspace(), back.item_id)
    st.session_state[_SAID] = f"Edit taken back, as v{version.number}: {mark(item.state)}"


def _reject(item_id: str, row_version: int, after: str | None) -> None:
    draft = note_draft(item_id)
    note = _reason("What is wrong", draft, submits="reject_now")
    with st.container(horizontal=True):
        pressed = st.button(key_label("Reject with this note", "Ctrl ⏎"), key="reject_now", type="primary")
        cancel_button("reject_cancel")
    saving = _deciding("reject", item_id, row_version, writing=writing_of(draft))
    save_first("reject_now", replace(saving, texts={"note": f"{draft}_note"}))
    if not pressed:
        return
    try:
        made = once(
            workspace(),
            take_act("reject_now", item_id),
            lambda own: decide(own, item_id, "reject", who=who(), note=note, expected_version=row_version),
        )
    except InputError as error:
        show_problems(error)
        return
    end_writing(draft)
    _decided(made, "✕ Rejected. Undo takes it back.", after)
    st.rerun()


def _withdraw(item_id: str, row_version: int, after: str | None) -> None:
    draft = f"withdraw_{item_id}"
    st.markdown("This one item leaves the queue and later releases. It stays in the history; there is no undo.")
    reason = _reason("Why", draft, submits=None)
    with st.container(horizontal=True):
        pressed = st.button("Withdraw 1 item", key="withdraw_now", type="primary")
        cancel_button("withdraw_cancel")
    if not pressed:
        return
    try:
        withdraw_item(workspace(), item_id, reason=reason, who=who(), expected_version=row_version)
    except InputError as error:
        show_problems(error)
        return
    end_writing(draft)
    _go(after)
    st.session_state[_SAID] = "Withdrawn."
    st.rerun()


def _reason(label: str, draft: str, *, submits: str | None) -> str:
    return text_field(label, key=f"{draft}_note", kept=draft_field(draft, "note"), rows=3, submits=submits)


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
            (beside_edit(open_edit) if open_edit is not None else "")
            + flag_html(entry.item)
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
    if may(Permission.EDIT_ITEMS):
        _offer(entry)
    content = content_of(history.versions[chosen - 1])
    body = section("As the reader sees it", item_html(content))
    if chosen > 1:
        before = content_of(history.versions[chosen - 2])
        changes = changes_html(changed_fields(before, content), since=chosen - 1)
        body += section(f"Changed since v{chosen - 1}, word by word", changes)
    st.html(body)
    return int(chosen)


def _offer(entry: ItemEntry) -> None:
    """Offer what was typed of an edit and not saved, beside the text that is stored."""
    item = entry.item.id
    at = unsaved_since(entry)
    if at is None and not was_given_up(item):
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="edit_offer"):
        if at is not None:
            words = f"✎ Unsaved edit of {local_time(at)[-5:]}"
            st.html(f'<p class="hc-facts" role="status">{words}</p>', width="content")
            st.button(
                "Use it", key="use_edit", on_click=_edit, args=(entry,), disabled=entry.item.state not in REVIEWABLE
            )
            st.button("Discard", key="discard_edit", on_click=give_up_edit, args=(item,))
        else:
            st.html('<p class="hc-facts" role="status">What was typed of an edit is discarded.</p>', width="content")
            st.button("Bring it back", key="bring_back_edit", on_click=bring_back_edit, args=(item,))
