"""What somebody is writing about a ROI: a new seed, or a change of one, each with a draft of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime

import streamlit as st

from curator_app.components import DraftField, put_text, text_of
from curator_app.drafts import DraftStore, Unsaved
from curator_app.session import workspace
from curator_app.writings import draft_field, end_writing
from db.tables import Seed
from evaluation.items import CATEGORIES
from pipeline.errors import Standing
from pipeline.seeds import SeedText, list_seeds, seed_standing

FIELDS = ("category", "question", "answer", "notes")
_TEXTS = FIELDS[1:]
_NEW, _CHANGE = "seed", "change"
_EDITING, _BACK = "seed_editing", "seed_back"


@dataclass(frozen=True)
class Draft:
    """A form's text: of a new seed of the ROI, or of a change of the seed `editing`."""

    roi_id: str
    editing: str | None = None

    @property
    def name(self) -> str:
        """The name under which the workspace keeps it."""
        return f"{_CHANGE}_{self.editing}" if self.editing else f"{_NEW}_{self.roi_id}"

    @property
    def version(self) -> int | None:
        """The row version of the seed that the writer saw; None for a new seed."""
        version = self.kept().about.get("version", "")
        return int(version) if version.isdecimal() else None

    @property
    def came_back(self) -> datetime | None:
        """When the text was typed that an earlier visit left in this form; None where there was none."""
        back: dict[str, datetime] = st.session_state.get(_BACK, {})
        return back.get(self.name)

    def kept(self) -> Unsaved:
        """Return what the workspace keeps of it."""
        return DraftStore(workspace()).read(self.name)

    def key(self, field: str) -> str:
        """Return the Streamlit key of a field's widget."""
        return f"{field}_{self.name}"

    def place(self, field: str) -> DraftField:
        """Return where a field is kept while it is typed."""
        return draft_field(self.name, field)

    def keep_category(self) -> None:
        """Keep the category that was chosen."""
        chosen = st.session_state.get(self.key("category")) or ""
        DraftStore(workspace()).write(self.name, {"category": chosen})

    def text(self) -> SeedText:
        """Return what is written."""
        texts = {field: text_of(self.key(field)) for field in _TEXTS}
        return SeedText(category=st.session_state.get(self.key("category")) or "", **texts)

    def stored(self) -> SeedText:
        """Return the text that the change began from; of a new seed, none."""
        own = self.kept().own
        return SeedText(**{field: own.get(field, "") for field in FIELDS})

    def fill(self, text: SeedText) -> None:
        """Put a text into the form and keep it."""
        DraftStore(workspace()).write(self.name, asdict(text))
        for field in _TEXTS:
            put_text(self.key(field), getattr(text, field))
        st.session_state[self.key("category")] = _known(text.category)

    def saw(self, version: int) -> None:
        """Remember that the writer was shown this version of the seed; their text stays."""
        DraftStore(workspace()).write(self.name, {}, about={"version": str(version)})

    def clear(self) -> None:
        """Forget the text; after a change, the ROI's new seed is in the form again."""
        end_writing(self.name)
        st.session_state.get(_BACK, {}).pop(self.name, None)
        for field in _TEXTS:
            put_text(self.key(field), "")
        st.session_state[self.key("category")] = None
        if self.editing is not None:
            st.session_state[_EDITING].pop(self.roi_id, None)


def open_draft(roi_id: str) -> Draft:
    """Return the draft that is in a ROI's form, with what is kept of it in its fields."""
    draft = Draft(roi_id, st.session_state.setdefault(_EDITING, {}).get(roi_id))
    _bring_back(draft)
    if draft.key("category") not in st.session_state:
        kept = draft.kept()
        st.session_state[draft.key("category")] = _known(kept.fields.get("category") or kept.own.get("category") or "")
    return draft


def change_seed(seed: Seed) -> Draft:
    """Put a seed into the form: what was typed of a change before, else its text as it is stored."""
    draft = Draft(seed.roi_id, seed.id)
    kept = draft.kept()
    if not kept.is_text:
        own = {field: getattr(seed, field) for field in FIELDS}
        DraftStore(workspace()).begin(draft.name, own, about={"version": str(seed.row_version)})
        kept = Unsaved(own=own)
    for field in _TEXTS:
        put_text(draft.key(field), kept.fields.get(field, kept.own.get(field, "")))
    category = kept.fields.get("category") or kept.own.get("category") or ""
    st.session_state[draft.key("category")] = _known(category)
    st.session_state.setdefault(_EDITING, {})[seed.roi_id] = seed.id
    return draft


def close_change(draft: Draft) -> None:
    """Put the ROI's new seed into the form again; the change stays a draft."""
    st.session_state[_EDITING].pop(draft.roi_id, None)


@dataclass(frozen=True)
class UnsavedChange:
    """A change of a seed that was typed at `at` and not saved, by the first text that differs: `mine` and `stored`.

    `saved_meanwhile` is how the seed stands where another text was saved since the change began.
    """

    seed: Seed
    at: datetime
    mine: str
    stored: str
    saved_meanwhile: Standing | None


def unsaved_changes(seeds: Iterable[Seed]) -> list[UnsavedChange]:
    """Return the changes of these seeds that were typed and not saved."""
    found = []
    for seed in seeds:
        draft = Draft(seed.roi_id, seed.id)
        kept = draft.kept()
        if not kept.is_text or kept.at is None:
            continue
        now = {field: str(getattr(seed, field)) for field in FIELDS}
        mine = {field: kept.fields.get(field, kept.own.get(field, "")) for field in FIELDS}
        # The first text that differs says which change it is; where none does, the question says of what.
        field = next((one for one in _TEXTS if mine[one] != now[one]), "question")
        other = draft.version not in (None, seed.row_version) and any(
            kept.own.get(one, now[one]) != now[one] for one in now
        )
        standing = seed_standing(workspace(), seed.id) if other else None
        found.append(UnsavedChange(seed, kept.at, mine[field], now[field], standing))
    return found


def finish_saved(name: str, typed: SeedText | None = None) -> Draft | None:
    """Close a form that was saved without the page's hearing of it.

    Args:
        name: its draft.
        typed: what stands in the form, if it is open; else what the workspace keeps of it counts.

    Returns:
        the change of the saved seed that was typed since the save; None where nothing was.
    """
    store = DraftStore(workspace())
    kept = store.read(name)
    seed_id, version = kept.about.get("saved_as"), kept.about.get("saved_version", "")
    entry = next((entry for entry in list_seeds(workspace()) if entry.seed.id == seed_id), None)
    if not kept.saved or entry is None:
        return None
    roi_id = entry.seed.roi_id
    since = Unsaved(asdict(typed) if typed is not None else kept.fields, kept.saved)
    Draft(roi_id, entry.seed.id if name.startswith(f"{_CHANGE}_") else None).clear()
    if not since.is_text:
        return None
    change = Draft(roi_id, entry.seed.id)
    store.begin(change.name, kept.saved, about={"version": version})
    store.write(change.name, since.fields)
    return change


def finish_all_saved() -> list[str]:
    """Close every form that was saved without the page's hearing of it, as `finish_saved`; return their questions."""
    store, questions = DraftStore(workspace()), []
    for name in store.saved(_NEW, _CHANGE):
        questions.append(store.read(name).saved.get("question", ""))
        finish_saved(name)
    return questions


def last_written(seeds: Iterable[Seed]) -> str | None:
    """Return the ROI whose draft was changed last, where one is unsaved."""
    latest = DraftStore(workspace()).latest(_NEW, _CHANGE) or ""
    kind, _, identifier = latest.partition("_")
    if kind == _NEW:
        return identifier
    return next((seed.roi_id for seed in seeds if seed.id == identifier), None)


def _bring_back(draft: Draft) -> None:
    """Note at the first look of a visit what an earlier one left in the form."""
    seen: set[str] = st.session_state.setdefault(f"{_BACK}_seen", set())
    if draft.name in seen:
        return
    seen.add(draft.name)
    kept = draft.kept()
    if draft.editing is None and kept.is_text and kept.at is not None:
        st.session_state.setdefault(_BACK, {})[draft.name] = kept.at


def _known(category: str) -> str | None:
    return category if category in CATEGORIES else None
