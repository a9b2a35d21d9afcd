"""Acts of writing on this visit: each draft that is typed belongs to one, from the first key to saving or giving up."""

from __future__ import annotations

import streamlit as st

from curator_app.components import DraftField
from curator_app.drafts import DraftStore, new_writing
from curator_app.session import workspace

_WRITINGS = "writings"


def writing_of(name: str) -> str:
    """Return the act of writing that a draft belongs to on this visit."""
    writings: dict[str, str] = st.session_state.setdefault(_WRITINGS, {})
    return writings.setdefault(name, new_writing())


def draft_field(name: str, field: str) -> DraftField:
    """Return the place where a field of a draft is kept while it is typed."""
    return DraftField(name, writing_of(name), field)


def end_writing(name: str) -> None:
    """Forget a draft, since it was saved or given up; what the browser still sends of it comes too late."""
    DraftStore(workspace()).drop(name, writing=writing_of(name))
    st.session_state[_WRITINGS].pop(name)
