"""Editing an item: the form beside its image, kept while it is typed, saved as a new version."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from curator_app.components import draft_keeper
from curator_app.drafts import DraftStore, new_writing
from curator_app.layout import key_label, local_time, mark, plain, show_problems
from curator_app.pages._edit_item import Content, edit_fields, field_names, read_document
from curator_app.session import who, workspace
from evaluation.models import ModelConfigurationError
from pipeline.errors import ConflictError, InputError
from pipeline.review import REVIEWABLE, ItemEntry, edit_item

_EDITING = "review_editing"
_KIND, _NOTE = "edit", "note"

_one_check_at_a_time = threading.Lock()
"""The model library hangs when two threads of one process call it at once."""


@dataclass(frozen=True)
class Editing:
    """An edit that is open: its item as the editor saw it, what an earlier visit left, and the act of writing."""

    item_id: str
    version_id: str
    content: Content
    row_version: int
    writing: str
    typed: Mapping[str, str]

    @property
    def key(self) -> str:
        """What the form's widgets are named by: one edit keeps its widgets whatever happens to the item."""
        return f"edit_{self.version_id}"

    @property
    def draft(self) -> str:
        """The name under which the workspace keeps what is typed."""
        return f"{_KIND}_{self.item_id}"


def editing() -> Editing | None:
    """Return the edit that is open on this visit."""
    found: Editing | None = st.session_state.get(_EDITING)
    return found


def start_editing(entry: ItemEntry) -> None:
    """Open the form on an item."""
    typed = DraftStore(workspace()).read(f"{_KIND}_{entry.item.id}").fields
    st.session_state[_EDITING] = Editing(
        entry.item.id, entry.version.id, entry.content, entry.item.row_version, new_writing(), typed
    )


def stop_editing() -> None:
    """Close the form; what was typed and not saved stays a draft."""
    st.session_state.pop(_EDITING, None)


def unsaved(entry: ItemEntry) -> bool:
    """Whether an edit of the item was begun and neither saved nor given up."""
    return bool(DraftStore(workspace()).read(f"{_KIND}_{entry.item.id}").fields)


def last_edited() -> str | None:
    """Return the item whose unsaved edit was changed last."""
    return DraftStore(workspace()).latest(_KIND)


def edit_form(entry: ItemEntry, edit: Editing) -> str | None:
    """Draw the form; return what to say once it was saved or given up, None while it stays open."""
    checked = entry.item.format != "free_text"
    words = "Save and check without the image" if checked else "Save"
    with st.form("edit_form", border=False):
        buttons = st.container(horizontal=True, key="edit_buttons")
        sent = buttons.form_submit_button(key_label(words, "Ctrl ⏎"), type="primary", key="save_edit")
        cancelled = buttons.form_submit_button("Cancel", key="cancel_edit")
        problems = st.container()
        document = edit_fields(edit.content, key=edit.key, typed=edit.typed)
        note = str(st.text_input("Why you changed it", edit.typed.get(_NOTE, ""), key=f"{edit.key}_{_NOTE}") or "")
    fields = {name: f"{edit.key}_{name}" for name in (*field_names(edit.content), _NOTE)}
    draft_keeper(edit.draft, writing=edit.writing, fields=fields)
    if cancelled:
        DraftStore(workspace()).drop(edit.draft, writing=edit.writing)
        return ""
    if not sent:
        return None
    content, faults = read_document(document)
    with problems:
        if content is None:
            show_problems(InputError("Not saved yet", faults))
            return None
        if entry.item.state not in REVIEWABLE:
            show_problems(_decided_elsewhere(entry))
            return None
        return _save(entry, edit, content, note)


def _save(entry: ItemEntry, edit: Editing, content: Content, note: str) -> str | None:
    try:
        with st.spinner("Saving, then asking the checker three times without the image"), _one_check_at_a_time:
            item = edit_item(
                workspace(), edit.item_id, content, who=who(), note=note, expected_version=edit.row_version
            )
    except ConflictError:
        # The editor is shown that it changed; their next save counts.
        st.session_state[_EDITING] = replace(edit, row_version=entry.item.row_version)
        show_problems(_changed_elsewhere(entry))
        return None
    except InputError as error:
        show_problems(error)
        return None
    except ModelConfigurationError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None
    DraftStore(workspace()).drop(edit.draft, writing=edit.writing)
    return f"✎ Saved as v{entry.version.number + 1}: {mark(item.state)}"


def _decided_elsewhere(entry: ItemEntry) -> InputError:
    return InputError(
        f"This item is {mark(entry.item.state)} since {local_time(entry.item.changed_at, seconds=True)[-8:]}. Your "
        "text is kept: take the decision back with Undo, then press Edit to go on."
    )


def _changed_elsewhere(entry: ItemEntry) -> InputError:
    return InputError(
        f"This item was changed elsewhere at {local_time(entry.item.changed_at, seconds=True)[-8:]}. Your text is "
        "still here and not saved: save again to make it the next version.",
        [f"it is now v{entry.version.number}, {mark(entry.item.state)}", f"its stem now: {entry.content.stem}"],
    )
