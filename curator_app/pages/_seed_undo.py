"""What was done last on the page Write seeds, and how it is taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from curator_app import seed_drafts
from curator_app.layout import key_label, plain
from curator_app.session import who, workspace
from evaluation.slides import SlideError
from pipeline.errors import ChangedError, InputError
from pipeline.rois import return_roi
from pipeline.seeds import SeedText, drop_seed, list_seeds, restore_seed, save_seed

_LAST = "seed_last"

_DOES = {
    "wrote": "Drops the new seed and puts its text back into the form",
    "changed": "Gives the seed its former text and puts yours back into the form",
    "dropped ROI": "Puts the ROI back into the queue",
    "dropped seed": "Makes the seed a written one again; its withdrawn items stay withdrawn",
    "gave up": "Puts the discarded text back into the form",
}
"""What Undo does, by the act."""


@dataclass(frozen=True)
class Done:
    """What was done last and can be taken back.

    `text` is what the writer wrote, `before` what the seed said before it, `version` the row version that the act
    left: only what still stands in it is taken back.
    """

    act: Literal["wrote", "changed", "dropped ROI", "dropped seed", "gave up"]
    words: str
    roi_id: str
    seed_id: str | None = None
    text: SeedText | None = None
    before: SeedText | None = None
    version: int | None = None


def remember(done: Done) -> None:
    """Offer to take back what was just done."""
    st.session_state[_LAST] = done


def undo_row(after: Callable[[str, InputError | SlideError | None], None]) -> None:
    """Draw what was done last with its Undo.

    `after` is told the ROI that it was about, and why it could not be taken back where it could not.
    """
    done: Done | None = st.session_state.get(_LAST)
    if done is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="seed_last_row"):
        st.caption(f":material/check: {plain(done.words)}")
        st.button(key_label("Undo", "u"), key="undo_seed", help=_DOES[done.act], on_click=_undo, args=(done, after))


def _undo(done: Done, after: Callable[[str, InputError | SlideError | None], None]) -> None:
    """Take back what was done last; a text that was saved or given up returns to the form.

    What somebody else has changed since stays as it is, and is not offered any more.
    """
    try:
        _take_back(done)
    except (InputError, SlideError) as error:
        if isinstance(error, ChangedError):
            st.session_state.pop(_LAST, None)
        after(done.roi_id, error)
        return
    st.session_state.pop(_LAST, None)
    after(done.roi_id, None)


def _take_back(done: Done) -> None:
    if done.act == "dropped ROI":
        return_roi(workspace(), done.roi_id, who=who(), expected_version=done.version)
    elif done.act == "dropped seed":
        restore_seed(workspace(), str(done.seed_id), who=who(), expected_version=done.version)
    elif done.act == "wrote":
        # In the version that the writing left it is a written seed: items that were made of it since stay.
        drop_seed(
            workspace(),
            str(done.seed_id),
            reason="taken back by its author",
            who=who(),
            expected_version=done.version,
        )
        _bring_back(done)
    elif done.act == "changed":
        if done.before is not None:
            save_seed(
                workspace(),
                done.before,
                roi_id=done.roi_id,
                who=who(),
                seed_id=done.seed_id,
                expected_version=done.version,
            )
        _bring_back(done)
    else:
        _bring_back(done)


def _bring_back(done: Done) -> None:
    """Put a text into the form again, unless another one has been begun there since."""
    if done.text is None:
        return
    if done.act == "wrote" or done.seed_id is None:
        draft = seed_drafts.Draft(done.roi_id)
    else:
        seed = next(entry.seed for entry in list_seeds(workspace()) if entry.seed.id == done.seed_id)
        draft = seed_drafts.change_seed(seed)
    if not draft.kept().is_text:
        draft.fill(done.text)
