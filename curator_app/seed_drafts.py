"""What somebody is writing about a ROI, kept for the visit: Streamlit forgets fields that are not on the page."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pipeline.seeds import SeedText

FIELDS = ("category", "question", "answer", "notes")

_DRAFTS = "seed_drafts"


@dataclass(frozen=True)
class Draft:
    """The draft of one ROI. `editing` is the seed that it changes (None: a new one), `version` as it was read."""

    roi_id: str
    editing: str | None = None
    version: int | None = None

    def key(self, field: str) -> str:
        """Return the Streamlit key of a field's widget, one for each ROI."""
        return f"seed_{field}_{self.roi_id}"

    def keep(self) -> None:
        """Copy what the widgets hold to where it stays when they leave the page."""
        st.session_state[_DRAFTS][self.roi_id].update(
            {field: st.session_state.get(self.key(field)) for field in FIELDS}
        )

    def text(self) -> SeedText:
        """Return what is written."""
        values = {field: st.session_state.get(self.key(field)) or "" for field in FIELDS}
        return SeedText(**values)

    def fill(self, text: SeedText, *, editing: str | None = None, version: int | None = None) -> None:
        """Put a text into the fields, as a new seed or as a change of one."""
        values = {field: getattr(text, field) for field in FIELDS}
        st.session_state[_DRAFTS][self.roi_id] = {**values, "editing": editing, "version": version}
        for field, value in values.items():
            st.session_state[self.key(field)] = value

    def clear(self) -> None:
        """Empty the fields."""
        st.session_state[_DRAFTS][self.roi_id] = {}
        for field in FIELDS:
            st.session_state[self.key(field)] = None if field == "category" else ""


def open_draft(roi_id: str) -> Draft:
    """Return the draft of a ROI and give its fields back what they held when they were last on the page."""
    stored = st.session_state.setdefault(_DRAFTS, {}).setdefault(roi_id, {})
    draft = Draft(roi_id, editing=stored.get("editing"), version=stored.get("version"))
    for field in FIELDS:
        if draft.key(field) not in st.session_state:
            st.session_state[draft.key(field)] = stored.get(field) or (None if field == "category" else "")
    return draft
