"""Text of several lines that loses nothing: a draft at the server and in the browser while it is typed."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import datetime
from html import escape

import streamlit as st

from curator_app.components._assets import component_from
from curator_app.drafts import DraftStore, OtherText
from curator_app.session import workspace
from pipeline.troubles import not_needed

_mount = component_from("text_field")


@dataclass(frozen=True)
class DraftField:
    """Where a text is kept while it is typed: a field of a draft, in one act of writing.

    After the writing has ended, what comes late is not kept.
    """

    draft: str
    writing: str
    field: str


@dataclass(frozen=True)
class _Held:
    """What a field holds as far as Python knows; each revision is a text that Python put there.

    `at` is the Streamlit key of the component that shows it.
    """

    text: str
    revision: str
    first: bool = True
    at: str = ""


def text_field(
    label: str,
    *,
    key: str,
    own: str = "",
    kept: DraftField | None = None,
    help: str = "",
    rows: int = 2,
    placeholder: str = "",
    submits: str | None = None,
    at: str | None = None,
) -> str:
    """Show a field and return its text.

    The browser hands its text over when the field is left and before any click on the page; nothing is ever cut.

    Args:
        label: its name.
        key: what its text is known by.
        own: what stands in it at first, where its draft holds nothing.
        kept: the draft that takes what is typed; the field opens with what the draft holds. None keeps nothing.
        help: a line below.
        rows: lines that it shows when empty; it grows with its text.
        placeholder: an example, shown while it is empty.
        submits: the Streamlit key of the button that Ctrl+Enter presses where the page has no such key.
        at: its Streamlit key where one place on the page shows one text after the other; else `key`.
    """
    at = at or key
    _open(key, at, own, kept)
    held = _hold(key)

    def handed_over() -> None:
        _hold(key)
        typed = st.session_state[at].get("typed") or {}
        # The browser sends it as well, until it is kept, and the field says how that stands.
        with not_needed("A text could not be kept as a draft"):
            if kept is None:
                return
            DraftStore(workspace()).receive(
                kept.draft, kept.writing, {kept.field: text_of(key)}, number=int(typed.get("number") or 0)
            )

    # Whoever signs in next in this browser must not get the text: the route takes it for this account only.
    place = {"name": kept.draft, "account": workspace().actor.account_id, "writing": kept.writing} if kept else None
    _mount(
        key=at,
        on_typed_change=handed_over,
        data={
            "key": key,
            "label": label,
            "help": help,
            "rows": rows,
            "placeholder": placeholder,
            "submits": submits,
            "limit": workspace().settings.max_text_length,
            "text": held.text,
            "revision": held.revision,
            "first": held.first,
            "draft": {**place, "field": kept.field} if place and kept else None,
        },
    )
    if kept is not None:
        _offer_others(key, kept)
    return _hold(key).text


def text_of(key: str) -> str:
    """Return the text of a field; "" for one that was not shown yet."""
    return _hold(key).text


def put_text(key: str, text: str) -> None:
    """Put a text into a field, in place of what is in it."""
    _put(key, _Held(text, uuid.uuid4().hex, first=False, at=_held(key).at))


def _held(key: str) -> _Held:
    found: _Held = st.session_state.get(f"{key} held") or _Held("", "")
    return found


def _put(key: str, held: _Held) -> None:
    st.session_state[f"{key} held"] = held


def _open(key: str, at: str, own: str, kept: DraftField | None) -> None:
    """Take what the draft holds when the field comes onto the page."""
    held = _held(key)
    stays = st.session_state.get(f"{at} shows") == key and at in st.session_state
    st.session_state[f"{at} shows"] = key
    if not held.revision:
        held = _Held(own, uuid.uuid4().hex)
    elif stays and held.at:
        return
    # The browser sent it there when the field left the page; Python may not have heard of the last of it.
    text = DraftStore(workspace()).read(kept.draft).fields.get(kept.field) if kept else None
    if text is not None and text != held.text:
        held = replace(held, text=text, revision=uuid.uuid4().hex)
    if kept is not None and text is not None:
        with not_needed("Which tab goes on with a draft could not be noted"):
            DraftStore(workspace()).take_over(kept.draft, kept.field, kept.writing)
    _put(key, replace(held, at=at))


def _offer_others(key: str, kept: DraftField) -> None:
    """Show what was typed into this field in another tab and is not in it; one may be put in for the other."""
    for number, other in enumerate(DraftStore(workspace()).read(kept.draft).others):
        if other.field != kept.field or other.writing == kept.writing:
            continue
        when = datetime.fromisoformat(other.at).astimezone()
        with st.container(key=f"{key}_other_{number}", gap="xsmall"):
            st.html(
                f'<p class="hc-facts" role="note">You also typed here, in another tab ({when:%Y-%m-%d %H:%M}): '
                f"<q>{escape(other.text)}</q></p>"
            )
            with st.container(horizontal=True):
                st.button("Put it in", key=f"{key}_put_{number}", on_click=_put_other, args=(key, kept, other))
                st.button(
                    "Forget it",
                    key=f"{key}_forget_{number}",
                    on_click=DraftStore(workspace()).forget_other,
                    args=(kept.draft, other),
                )


def _put_other(key: str, kept: DraftField, other: OtherText) -> None:
    DraftStore(workspace()).use_other(kept.draft, other, kept.writing, instead_of=text_of(key))
    put_text(key, other.text)


def _hold(key: str) -> _Held:
    """Return what a field holds now, and remember it for the time when it is not on the page."""
    held = _held(key)
    state = st.session_state.get(held.at) if held.at else None
    typed = state.get("typed") if state is not None else None
    if isinstance(typed, dict) and typed.get("revision") == held.revision:
        held = replace(held, text=str(typed.get("text", "")))
        _put(key, held)
    return held
