"""What somebody is writing about a ROI: kept for the visit, and in the workspace for the next one."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from curator_app.components import draft_keeper
from curator_app.drafts import DraftStore, new_writing
from curator_app.session import workspace
from evaluation.items import CATEGORIES
from pipeline.seeds import SeedText

FIELDS = ("category", "question", "answer", "notes")
_TEXTS = FIELDS[1:]
_KIND = "seed"
_DRAFTS = "seed_drafts"


@dataclass(frozen=True)
class Draft:
    """The draft of one ROI. `editing` is the seed that it changes (None: a new one), `version` as it was read."""

    roi_id: str
    writing: str
    editing: str | None = None
    version: int | None = None

    @property
    def name(self) -> str:
        """The name under which the workspace keeps it."""
        return f"{_KIND}_{self.roi_id}"

    def key(self, field: str) -> str:
        """Return the Streamlit key of a field's widget, one for each ROI."""
        return f"seed_{field}_{self.roi_id}"

    def keep(self) -> None:
        """Copy what the widgets hold to where it stays when they leave the page."""
        self._put({field: st.session_state.get(self.key(field)) for field in FIELDS})

    def keep_while_typed(self) -> None:
        """Have the browser send the texts while they are typed; it stands beside the widgets."""
        draft_keeper(self.name, writing=self.writing, fields={field: self.key(field) for field in _TEXTS})

    def text(self) -> SeedText:
        """Return what is written."""
        values = {field: st.session_state.get(self.key(field)) or "" for field in FIELDS}
        return SeedText(**values)

    def fill(self, text: SeedText, *, editing: str | None = None, version: int | None = None) -> None:
        """Put a text into the fields, as a new seed or as a change of one."""
        values = {field: getattr(text, field) for field in FIELDS}
        self._put(values | {"editing": editing, "version": version})
        for field, value in values.items():
            st.session_state[self.key(field)] = value

    def saw(self, version: int) -> None:
        """Remember that the writer was shown this version of the seed; their text stays."""
        self._put({"version": version})

    def clear(self) -> None:
        """Empty the fields."""
        DraftStore(workspace()).drop(self.name, writing=self.writing)
        st.session_state[_DRAFTS][self.roi_id] = {"writing": new_writing()}
        for field in FIELDS:
            st.session_state[self.key(field)] = None if field == "category" else ""

    def _put(self, values: dict[str, object]) -> None:
        stored = st.session_state[_DRAFTS][self.roi_id]
        stored.update(values)
        DraftStore(workspace()).write(
            self.name,
            {field: str(stored.get(field) or "") for field in FIELDS},
            about={name: str(stored.get(name) or "") for name in ("editing", "version")},
        )


def open_draft(roi_id: str) -> Draft:
    """Return the draft of a ROI and give its fields back what they held when they were last on the page."""
    drafts = st.session_state.setdefault(_DRAFTS, {})
    if roi_id not in drafts:
        drafts[roi_id] = {"writing": new_writing(), **_kept(roi_id)}
    stored = drafts[roi_id]
    draft = Draft(roi_id, stored["writing"], editing=stored.get("editing"), version=stored.get("version"))
    for field in FIELDS:
        if draft.key(field) not in st.session_state:
            st.session_state[draft.key(field)] = stored.get(field) or (None if field == "category" else "")
    return draft


def last_written() -> str | None:
    """Return the ROI whose draft was changed last, where one is unsaved."""
    return DraftStore(workspace()).latest(_KIND)


def _kept(roi_id: str) -> dict[str, object]:
    """Return what an earlier visit left of a ROI."""
    kept = DraftStore(workspace()).read(f"{_KIND}_{roi_id}")
    category, version = kept.fields.get("category"), kept.about.get("version", "")
    return {
        **{field: kept.fields.get(field, "") for field in _TEXTS},
        "category": category if category in CATEGORIES else None,
        "editing": kept.about.get("editing") or None,
        "version": int(version) if version.isdecimal() else None,
    }
