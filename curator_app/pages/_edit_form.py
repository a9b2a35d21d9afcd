"""Editing an item: the form beside its image, kept while it is typed, saved as a new version."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import streamlit as st

from curator_app.components import put_text, text_field
from curator_app.conflicts import Conflict, ask_to_decide, beside_html
from curator_app.drafts import DraftStore
from curator_app.item_changes import FieldChange, changed_fields
from curator_app.layout import key_label, local_time, mark, plain, show_problems
from curator_app.pages._edit_item import Content, edit_fields, field_key, read_document, texts_of
from curator_app.session import who, workspace
from curator_app.writings import draft_field, end_writing
from db.tables import Item
from evaluation.items import parse_item
from evaluation.models import ModelConfigurationError
from pipeline.errors import ConflictError, InputError, Standing
from pipeline.item_store import content_of, load_item
from pipeline.review import REVIEWABLE, ItemEntry, ItemHistory, edit_item, item_history

_EDITING = "review_editing"
_CONFLICT, _AGAIN, _DONE, _GIVEN_UP = "edit_conflict", "edit_again", "edit_done", "edit_given_up"
_KIND, _NOTE, _SAVE = "edit", "note", "save_edit"

_NO_VERSION = 0
"""A row version that none has: an edit of an older version is a conflict whatever the item's row version is."""


@dataclass(frozen=True)
class Editing:
    """An edit that is open: the version that it began from, as the editor saw its item.

    `row_version` is None where the item has another version by now. `came_back` is when the text was typed that an
    earlier visit left, `beside` the other text that the editor chose to have beside theirs.
    """

    item_id: str
    number: int
    content: Content
    row_version: int | None
    came_back: datetime | None = None
    beside: Conflict | None = None

    @property
    def draft(self) -> str:
        """The name under which the workspace keeps what is typed."""
        return _draft(self.item_id)


def _draft(item_id: str) -> str:
    return f"{_KIND}_{item_id}"


def editing() -> Editing | None:
    """Return the edit that is open on this visit."""
    found: Editing | None = st.session_state.get(_EDITING)
    return found


def start_editing(entry: ItemEntry) -> None:
    """Open the form on an item: with what was typed before on the version that it was typed on, else as it is."""
    store, name = DraftStore(workspace()), _draft(entry.item.id)
    kept = store.read(name)
    history = item_history(workspace(), entry.item.id)
    number = kept.about.get("number", "")
    base = _version(history, int(number)) if kept.is_text and number.isdecimal() else None
    if base is None:
        base = entry.content
        number = str(entry.version.number)
        store.begin(name, texts_of(base), about={"number": number})
        kept = store.read(name)
    same = int(number) == entry.version.number
    row_version = entry.item.row_version if same else None
    texts = {**texts_of(base), _NOTE: "", **kept.fields}
    for field, text in texts.items():
        put_text(field_key(name, field), text)
    came_back = kept.at if kept.is_text else None
    st.session_state[_EDITING] = Editing(entry.item.id, int(number), base, row_version, came_back)


def _version(history: ItemHistory, number: int) -> Content | None:
    return next((content_of(version) for version in history.versions if version.number == number), None)


def stop_editing() -> None:
    """Close the form; what was typed and not saved stays a draft."""
    for shown in (_EDITING, _CONFLICT, _AGAIN):
        st.session_state.pop(shown, None)


def unsaved_since(entry: ItemEntry) -> datetime | None:
    """Return when an edit of the item was typed that was neither saved nor given up; None where there is none."""
    kept = DraftStore(workspace()).read(_draft(entry.item.id))
    return kept.at if kept.is_text else None


def give_up_edit(item_id: str) -> None:
    """Forget what was typed of an edit; `bring_back_edit` keeps it again on this visit."""
    kept = DraftStore(workspace()).read(_draft(item_id))
    if kept.is_text:
        st.session_state[_GIVEN_UP] = (item_id, kept)
    end_writing(_draft(item_id))


def was_given_up(item_id: str) -> bool:
    """Whether an edit of the item was given up on this visit and can be brought back."""
    return bool(st.session_state.get(_GIVEN_UP, ("",))[0] == item_id)


def bring_back_edit(item_id: str) -> None:
    """Keep again what was given up, unless another edit of the item was begun since."""
    given_up, kept = st.session_state.pop(_GIVEN_UP)
    store, name = DraftStore(workspace()), _draft(item_id)
    if given_up == item_id and not store.read(name).is_text:
        store.begin(name, kept.own, about=kept.about)
        store.write(name, kept.fields)


def last_edited() -> str | None:
    """Return the item whose unsaved edit was changed last."""
    latest = DraftStore(workspace()).latest(_KIND)
    return latest.removeprefix(f"{_KIND}_") if latest else None


def edit_form(entry: ItemEntry, edit: Editing) -> str | None:
    """Draw the form; return what to say once it was saved or given up, None while it stays open."""
    if (done := st.session_state.pop(_DONE, None)) is not None:
        return str(done)
    checked = entry.item.format != "free_text"
    words = "Save and check without the image" if checked else "Save"
    if edit.beside is not None:
        words = plain(f"Save over {edit.beside.whose}")
    buttons = st.container(horizontal=True, key="edit_buttons")
    sent = buttons.button(key_label(words, "Ctrl ⏎"), type="primary", key=_SAVE)
    cancelled = buttons.button("Cancel", key="cancel_edit", help="Gives up what was typed; it can be brought back")
    problems = st.container()
    if edit.came_back is not None:
        at = local_time(edit.came_back)[-5:]
        st.html(f'<p class="hc-facts" role="status">✎ Your unsaved text of {at} is in the form.</p>')
    document = edit_fields(edit.content, draft=edit.draft, submits=_SAVE)
    note = text_field(
        "Why you changed it",
        key=field_key(edit.draft, _NOTE),
        kept=draft_field(edit.draft, _NOTE),
        rows=1,
        submits=_SAVE,
    )
    if cancelled:
        give_up_edit(edit.item_id)
        return ""
    again: tuple[Content, str, int] | None = st.session_state.pop(_AGAIN, None)
    said: str | None = None
    with problems:
        if again is not None:
            said = _tried(edit, *again)
        elif sent:
            said = _checked(entry, edit, document, note)
    conflict: tuple[Conflict, Content, str] | None = st.session_state.get(_CONFLICT)
    if conflict is not None and said is None:
        _decide(edit, *conflict)
    return said


def beside_edit(edit: Editing) -> str:
    """Return as HTML the other text that the editor has beside theirs; "" where there is none."""
    return beside_html(edit.beside) if edit.beside is not None else ""


def _checked(entry: ItemEntry, edit: Editing, document: dict[str, object], note: str) -> str | None:
    """Save what the form holds if it is an item; return what to say then, None where the form stays."""
    content, faults = read_document(document)
    if content is None:
        show_problems(InputError("Not saved yet", faults))
        return None
    if entry.item.state not in REVIEWABLE:
        show_problems(_decided_elsewhere(entry))
        return None
    return _tried(edit, content, note, edit.row_version if edit.row_version is not None else _NO_VERSION)


def _tried(edit: Editing, content: Content, note: str, row_version: int) -> str | None:
    try:
        return _save(edit, content, note, row_version)
    except InputError as error:
        show_problems(error)
    except ModelConfigurationError as error:
        st.error(plain(str(error)), icon=":material/error:")
    return None


def _save(edit: Editing, content: Content, note: str, row_version: int) -> str | None:
    """Save over the row version that the editor saw; over another text, let them decide.

    Raises:
        InputError: the item takes no edit now.
        ModelConfigurationError: the checker cannot be called.
    """
    try:
        with st.spinner("Saving, then asking the checker three times without the image"):
            item = _stored(edit, content, note, row_version)
    except ConflictError as error:
        return _conflict(edit, content, note, error.now)
    end_writing(edit.draft)
    _, version, _ = load_item(workspace(), edit.item_id)
    return f"✎ Saved as v{version.number}: {mark(item.state)}. Undo goes back to v{version.number - 1}."


def _stored(edit: Editing, content: Content, note: str, row_version: int) -> Item:
    try:
        return edit_item(workspace(), edit.item_id, content, who=who(), note=note, expected_version=row_version)
    except ConflictError as error:
        if error.now.number != edit.number:
            raise
        # Only its state changed meanwhile; the text is the one that the editor saw.
        row_version = error.now.row_version
        return edit_item(workspace(), edit.item_id, content, who=who(), note=note, expected_version=row_version)


def _conflict(edit: Editing, mine: Content, note: str, now: Standing) -> str | None:
    """Have both texts shown, unless they say the same."""
    theirs = parse_item(now.document)
    if theirs == mine:
        end_writing(edit.draft)
        return plain(f"{now.writer} saved the same text.")
    pairs = tuple(changed_fields(theirs, mine)) or (FieldChange("Order", _in_order(theirs), _in_order(mine)),)
    same = max(0, len(texts_of(mine)) - len(pairs))
    st.session_state[_CONFLICT] = (Conflict(now, pairs, same), mine, note)
    return None


def _in_order(content: Content) -> str:
    return "\n".join(texts_of(content).values())


def _decide(edit: Editing, conflict: Conflict, mine: Content, note: str) -> None:
    now = conflict.now

    def keep_mine() -> None:
        st.session_state.pop(_CONFLICT, None)
        st.session_state[_AGAIN] = (mine, note, now.row_version)

    def take_theirs() -> None:
        give_up_edit(edit.item_id)
        st.session_state[_DONE] = f"{conflict.whose} stands."

    def go_on() -> None:
        st.session_state.pop(_CONFLICT, None)
        st.session_state[_EDITING] = replace(edit, number=now.number, row_version=now.row_version, beside=conflict)

    ask_to_decide(conflict, keep_mine=keep_mine, take_theirs=take_theirs, go_on=go_on)


def _decided_elsewhere(entry: ItemEntry) -> InputError:
    return InputError(
        f"This item is {mark(entry.item.state)} since {local_time(entry.item.changed_at, seconds=True)[-8:]}. Your "
        "text is kept: take the decision back with Undo, then press Edit to go on."
    )
