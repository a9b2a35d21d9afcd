"""Saving a seed over the text that its writer saw; over another text, the writer decides with both in sight."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import asdict

import streamlit as st

from curator_app.conflicts import Conflict, ask_to_decide, differing
from curator_app.item_changes import FieldChange
from curator_app.layout import local_time
from curator_app.pages._seed_undo import Done, remember
from curator_app.seed_drafts import Draft, finish_saved
from curator_app.session import who, workspace
from evaluation.items import describe_categories
from pipeline.acts import Made, once
from pipeline.errors import ConflictError, Standing
from pipeline.seeds import SeedText, save_seed

SAID_LENGTH = 40
"""Characters of a question that are repeated beside Undo."""

_CONFLICT, _BESIDE = "seed_conflict", "seed_beside"


def shortened(question: str) -> str:
    """Return the beginning of a question."""
    return textwrap.shorten(question, SAID_LENGTH, placeholder="…")


def store_text(
    draft: Draft, text: SeedText, version: int | None, *, saved: Callable[[str], None], act: str | None = None
) -> None:
    """Save a text over the row version that its writer saw; over another one, have them decide.

    Args:
        draft: the form.
        text: what is written.
        version: the row version; None for a new seed.
        saved: told the ROI once the text is in the database.
        act: under which a route may have saved it already.

    Raises:
        InputError: the text is not complete, or the seed takes none any more.
    """
    before = draft.stored()
    try:
        made = _saved(draft, text, version, act)
    except ConflictError as error:
        _conflict(draft, text, error.now)
        return
    if made.again and (change := finish_saved(draft.name, text)) is not None:
        # More was typed while the save was under way.
        store_text(change, text, made.row_version, saved=saved)
        return
    words = f"Saved {local_time(made.at, seconds=True)[-8:]}: {shortened(text.question)}"
    if draft.editing is None:
        remember(Done("wrote", words, draft.roi_id, made.object_id, text, version=made.row_version))
    else:
        remember(Done("changed", words, draft.roi_id, made.object_id, text, before, made.row_version))
    _close(draft)
    saved(draft.roi_id)


def _saved(draft: Draft, text: SeedText, version: int | None, act: str | None) -> Made:
    def save(expected: int | None) -> Made:
        return once(
            workspace(),
            act,
            lambda own: save_seed(
                own, text, roi_id=draft.roi_id, who=who(), seed_id=draft.editing, expected_version=expected
            ),
        )

    try:
        return save(version)
    except ConflictError as error:
        if dict(error.now.document) != asdict(draft.stored()):
            raise
        # Only its state changed meanwhile; the text is the one that the writer saw.
        return save(error.now.row_version)


def _close(draft: Draft) -> None:
    draft.clear()
    forget_conflict(draft)


def forget_conflict(draft: Draft) -> None:
    """Forget that somebody else saved another text meanwhile."""
    st.session_state.pop(_CONFLICT, None)
    st.session_state.get(_BESIDE, {}).pop(draft.name, None)


def text_beside(draft: Draft) -> Conflict | None:
    """Return the other text that the writer chose to have beside theirs."""
    beside: dict[str, Conflict] = st.session_state.get(_BESIDE, {})
    return beside.get(draft.name)


def _conflict(draft: Draft, mine: SeedText, now: Standing) -> None:
    """Have both texts shown, unless they say the same."""
    names: dict[str, str] = {entry.slug: entry.name for entry in describe_categories()}
    theirs = SeedText(**now.document)
    category = [names.get(text.category, text.category) for text in (theirs, mine)]
    pairs = [
        FieldChange("Category", category[0], category[1]),
        FieldChange("Question", theirs.question, mine.question),
        FieldChange("Answer", theirs.answer, mine.answer),
        FieldChange("Notes", theirs.notes, mine.notes),
    ]
    differ = differing(pairs)
    if not differ:
        _close(draft)
        remember(Done("gave up", f"{now.writer} saved the same text", draft.roi_id, draft.editing, mine))
        return
    st.session_state[_CONFLICT] = (draft.name, Conflict(now, differ, len(pairs) - len(differ)))


def decide_conflict(draft: Draft, *, saved: Callable[[str], None]) -> None:
    """Open the dialog with both texts where somebody saved another one meanwhile; `saved` as `store_text` has it."""
    found: tuple[str, Conflict] | None = st.session_state.get(_CONFLICT)
    if found is None or found[0] != draft.name:
        return
    conflict, mine = found[1], draft.text()

    def keep_mine() -> None:
        store_text(draft, mine, conflict.now.row_version, saved=saved)

    def take_theirs() -> None:
        _close(draft)
        words = f"{conflict.whose} stands; yours was given up"
        remember(Done("gave up", words, draft.roi_id, draft.editing, mine))

    def go_on() -> None:
        draft.saw(conflict.now.row_version)
        forget_conflict(draft)
        st.session_state.setdefault(_BESIDE, {})[draft.name] = conflict

    ask_to_decide(conflict, keep_mine=keep_mine, take_theirs=take_theirs, go_on=go_on)
