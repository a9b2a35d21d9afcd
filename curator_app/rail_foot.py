"""The foot of the rail: who is signed in, and the way out."""

from __future__ import annotations

from html import escape

import streamlit as st

from curator_app.components import sign_out_button
from pipeline.people import SignedIn


def rail_foot(known: SignedIn) -> None:
    """Name the person and offer to sign out; where nobody signs in, there is nothing to say."""
    if not known.session_id:
        return
    name = known.actor.display_name or known.actor.name
    with st.sidebar.container(key="rail_foot"):
        st.html(f'<p class="hc-facts" title="{escape(name)} ({escape(known.actor.name)})">{escape(name)}</p>')
        sign_out_button(key="rail_sign_out")
