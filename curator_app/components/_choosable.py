"""A table or map written as HTML whose rows and cells can be chosen by click or key."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from curator_app.components._assets import component_from

_mount = component_from("choosable")


def choosable(html: str, *, key: str, on_choose: Callable[[str], None]) -> None:
    """Show HTML and tell when one of its parts is chosen, before the page is drawn again.

    Args:
        html: trusted markup: every text in it is escaped. A part that can be chosen has `data-choose`; a row
            that has it also holds a button with the same value, for the keyboard.
        key: one key per place on the page.
        on_choose: called with the value of `data-choose`.
    """

    def chosen() -> None:
        value = st.session_state[key].get("chosen")
        if value is not None:
            on_choose(str(value))

    _mount(key=key, data={"html": html}, on_chosen_change=chosen)
