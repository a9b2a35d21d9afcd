"""Two people wrote one text at once: both are shown side by side, and the later writer decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from curator_app.components.item_html import marked
from curator_app.item_changes import FieldChange, diff_words
from curator_app.layout import local_time, plain, show_problems
from curator_app.session import who
from pipeline.errors import InputError, Standing

_REFUSED = "conflict_refused"


@dataclass(frozen=True)
class Conflict:
    """How the object stands, and each field in which the two texts differ: `before` is theirs, `after` mine.

    `same` fields are alike in both.
    """

    now: Standing
    pairs: tuple[FieldChange, ...]
    same: int

    @property
    def is_own(self) -> bool:
        """Whether the other text is the writer's own, saved in another tab."""
        return self.now.written_by == who()

    @property
    def whose(self) -> str:
        """Whose the other text is, at the head of a column or on a button."""
        return "Your other text" if self.is_own else f"{self.now.writer}’s text"


def at_time(now: Standing) -> str:
    """Return when the other text was saved, without the date."""
    return local_time(now.written_at)[-5:]


def ask_to_decide(
    conflict: Conflict,
    *,
    keep_mine: Callable[[], None],
    take_theirs: Callable[[], None],
    go_on: Callable[[], None],
) -> None:
    """Open the dialog with both texts; closing it goes on with the writing.

    Args:
        conflict: the two texts.
        keep_mine: saves the writer's text over the other one; may raise an InputError.
        take_theirs: gives the writer's text up.
        go_on: lets the writer change their text, with the other one beside it.
    """
    st.dialog("Two texts", width="large", on_dismiss=go_on)(_choices)(conflict, keep_mine, take_theirs, go_on)


def _choices(
    conflict: Conflict, keep_mine: Callable[[], None], take_theirs: Callable[[], None], go_on: Callable[[], None]
) -> None:
    mine = "Keep mine, over your other text" if conflict.is_own else f"Keep mine, over {conflict.now.writer}’s"
    theirs = "Take your other text" if conflict.is_own else f"Take {conflict.now.writer}’s"
    st.html(f'<p class="hc-conflict-said">{what_happened(conflict)}</p>{texts_html(conflict)}')
    # None of the three is the one to press: two of them give up a text. What gives up nothing stands first.
    # Callbacks: they may change what is in the form below, which is drawn by then elsewhere.
    with st.container(horizontal=True, key="conflict_buttons"):
        pressed = [
            st.button("Go on editing mine", key="conflict_edit", on_click=_choose, args=(go_on,)),
            st.button(plain(mine), key="conflict_mine", on_click=_choose, args=(keep_mine,)),
            st.button(plain(theirs), key="conflict_theirs", on_click=_choose, args=(take_theirs,)),
        ]
    refused: InputError | None = st.session_state.pop(_REFUSED, None)
    if refused is not None:
        show_problems(refused)
    elif any(pressed):
        st.rerun()


def _choose(choice: Callable[[], None]) -> None:
    try:
        choice()
    except InputError as error:
        st.session_state[_REFUSED] = error


def what_happened(conflict: Conflict) -> str:
    """Return as HTML who saved what when, and that nothing is lost."""
    name = "you" if conflict.is_own else escape(conflict.now.writer)
    where = " in another tab" if conflict.is_own else ""
    return (
        f"<strong>While you wrote, {name} saved another text at {at_time(conflict.now)}{where}.</strong> "
        "Yours is not saved yet; it stays a draft until you decide. Words that the other text does not have are marked."
    )


def texts_html(conflict: Conflict) -> str:
    """Return both texts as columns, each with the words marked that the other one does not have."""
    heads = (
        f"<th scope='col'>{escape(conflict.whose)}, saved {at_time(conflict.now)}</th>"
        "<th scope='col'>Your text, not saved</th>"
    )
    rows = "".join(
        f"<tr><th scope='rowgroup' colspan='2'>{escape(pair.name)}</th></tr>"
        f"<tr><td>{_side(pair, 'gone')}</td><td>{_side(pair, 'new')}</td></tr>"
        for pair in conflict.pairs
    )
    rest = f"<p class='hc-facts'>{_alike(conflict.same)}</p>" if conflict.same else ""
    return f"<table class='hc-conflict'><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{rest}"


def beside_html(conflict: Conflict) -> str:
    """Return the other text alone, to stand beside the form in which the writer goes on."""
    rows = "".join(f"<dt>{escape(pair.name)}</dt><dd>{_side(pair, 'gone')}</dd>" for pair in conflict.pairs)
    head = f"{escape(conflict.whose)}, saved {at_time(conflict.now)}"
    return f'<section class="hc-beside"><h3>{head}</h3><dl>{rows}</dl></section>'


def _side(pair: FieldChange, kind: str) -> str:
    pieces = [piece for piece in diff_words(pair.before, pair.after) if piece.kind in ("same", kind)]
    words = "".join(escape(piece.text) if piece.kind == "same" else marked(piece.text, "mark") for piece in pieces)
    return words or "<em>empty</em>"


def _alike(count: int) -> str:
    return "One field is the same in both." if count == 1 else f"{count} fields are the same in both."


def differing(pairs: Sequence[FieldChange]) -> tuple[FieldChange, ...]:
    """Return the fields whose two texts differ."""
    return tuple(pair for pair in pairs if pair.before.strip() != pair.after.strip())
