"""Buttons whose change is in the database before the page hears of the click, however bad the connection is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from curator_app.components._assets import component_from
from curator_app.session import workspace

_mount = component_from("saver", before=("asking.js",))

_TAKEN = "saver_taken"


@dataclass(frozen=True)
class Save:
    """What a button saves.

    `subject` names the object, so that a late answer is not taken for another one's. `address` is the route, `body`
    what it is told besides the account and the act; `texts` gives it, by field, what stands in the text fields of
    these keys at the moment of the click, `choices` which of the values is chosen in the radio group of the key.
    """

    subject: str
    address: str
    body: Mapping[str, object]
    texts: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, Sequence[str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Answered:
    """The act that a route has answered, and of what it was."""

    act: str
    subject: str


def save_first(button: str, save: Save) -> None:
    """Have a click on a Streamlit button go to a route first, again and again until the route answers.

    Then the page is told of the click; `take_act` gives it the act under which the route saw it, and the page makes
    its change under that act (`pipeline.acts.once`). Where the script does not run, the page makes the change alone.

    Args:
        button: the Streamlit key of the button, which the page draws.
        save: what a click saves.
    """
    _mount(
        key=_key(button),
        on_answered_change=lambda: None,
        data={
            "button": button,
            "subject": save.subject,
            "address": save.address,
            "body": {**save.body, "account": workspace().actor.account_id},
            "texts": dict(save.texts),
            "choices": {name: {"key": key, "values": list(values)} for name, (key, values) in save.choices.items()},
        },
    )


def take_act(button: str, subject: str) -> str | None:
    """Return the act of the click on this subject that the route has answered; each is given once."""
    answered = _answered(button)
    if answered is None or answered.subject != subject:
        return None
    _take(answered.act)
    return answered.act


def take_unheard(button: str, subject: str) -> str | None:
    """Return the subject of a save that was answered when the page had moved on to `subject`; each is given once."""
    answered = _answered(button)
    if answered is None or answered.subject == subject:
        return None
    _take(answered.act)
    return answered.subject


def is_new_here(button: str) -> bool:
    """Whether the page of this button has just been opened: what it was not told of before it was left, it asks for."""
    return _key(button) not in st.session_state


def _key(button: str) -> str:
    return f"{button}_saver"


def _answered(button: str) -> Answered | None:
    state = st.session_state.get(_key(button)) or {}
    answered = state.get("answered")
    if not isinstance(answered, dict):
        return None
    found = Answered(str(answered.get("act")), str(answered.get("subject")))
    taken: set[str] = st.session_state.get(_TAKEN, set())
    return None if found.act in taken else found


def _take(act: str) -> None:
    st.session_state.setdefault(_TAKEN, set()).add(act)
