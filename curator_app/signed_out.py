"""What the app's script shows somebody who is not signed in: the way over the identity provider, and nothing else."""

from __future__ import annotations

import streamlit as st

from curator_app.components import leave_for
from curator_app.single_sign_on import COMPLETE, HandOver, hand_over

_TICKET = "sign_in_ticket"


def show_signed_out() -> None:
    """Go on with signing in at the provider, or leave for the way in; nothing of the workspace is read."""
    st.navigation([st.Page(_show, title="Sign in", url_path="", default=True)], position="hidden").run()


def _show() -> None:
    way = hand_over()
    if way is not None and st.user.get("is_logged_in"):
        st.html("<p>Signing in…</p>")
        leave_for(f"{COMPLETE}?ticket={_ticket(way)}")
    elif way is not None and st.query_params.get("sign-in") == "provider":
        st.html('<p>You are being taken to sign in. <a href="/sign-in" target="_self">Back</a></p>')
        st.login()
    else:
        st.html('<p>You are not signed in. <a href="/sign-in" target="_self">Sign in</a></p>')
        leave_for("/sign-in")


def _ticket(way: HandOver) -> str:
    """Return this tab's ticket: where the script runs twice, the browser may use the first one."""
    if _TICKET not in st.session_state:
        # Both were read when this tab connected: the claims are those of these cookies.
        st.session_state[_TICKET] = way.offer(st.user.to_dict(), st.context.cookies.to_dict())
    return str(st.session_state[_TICKET])
