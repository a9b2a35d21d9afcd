"""The first administrator: until there is one, nobody signs in; this form makes them."""

from __future__ import annotations

from html import escape

import streamlit as st

from curator_app.layout import plain, show_problems
from curator_app.session import may, who, workspace
from pipeline.errors import InputError
from pipeline.people import add_account
from pipeline.permissions import Permission, Role

FORM_WIDTH_PX = 460

_NAME, _SHOWN = "first_name", "first_display_name"
_TRIES, _PROBLEM = "first_tries", "first_problem"


def first_account() -> None:
    """Say how one works without accounts, and make the first one.

    From the moment there is one, this tab is signed out too: nothing may be asked of the workspace any more.
    """
    place = st.empty()
    with place.container():
        name = _alone()
    if name is None:
        return
    place.empty()
    st.html(
        f'<div class="hc-empty" role="status"><p><strong>✓ The account {escape(name)} is made.</strong></p>'
        '<p>From now on everybody signs in here, you too: <a href="/sign-in" target="_self">Sign in</a> as '
        f"{escape(name)}, then invite the others on this page.</p></div>"
    )


def _alone() -> str | None:
    me = escape(who())
    st.html(
        '<div class="hc-empty" role="status"><p><strong>Nobody has to sign in yet.</strong></p>'
        f"<p>Everybody who uses this computer works as <strong>{me}</strong> and may do everything; the app answers "
        "to this computer alone.</p><p>From the first account on, everybody signs in, on this computer too. What was "
        f"done until then stays under the name {me}, whose account remains that of the command line.</p></div>"
    )
    if not may(Permission.MANAGE_PEOPLE):
        return None
    st.subheader("Make the first administrator", anchor=False)
    with st.container(width=FORM_WIDTH_PX):
        name = _form()
        st.html('<p class="hc-facts">Or on the command line: <code>histocurator users add NAME --role admin</code></p>')
    return name


def _form() -> str | None:
    """Draw the form; return the name of the account once it is made."""
    # Passwords get fields of their own for every try: the next one begins empty, and nothing keeps the last.
    tries = st.session_state.setdefault(_TRIES, 0)
    first, again = f"first_password_{tries}", f"first_again_{tries}"
    with st.form("first_account_form", border=False):
        name = st.text_input(
            "Sign-in name (required)",
            key=_NAME,
            autocomplete="username",
            help="Small letters, digits, '.', '-' and '_'. It stands in the audit trail for ever. "
            f"Not {plain(who())}: that is the account of the command line.",
        )
        shown = st.text_input(
            "Name that colleagues see", key=_SHOWN, placeholder="Dr. Anna Berger", autocomplete="name"
        )
        password = st.text_input(
            "Password (required, at least 12 characters)", type="password", key=first, autocomplete="new-password"
        )
        repeated = st.text_input("Password again", type="password", key=again, autocomplete="new-password")
        sent = st.form_submit_button("Make this administrator", type="primary", key="first_make")
    if (problem := st.session_state.pop(_PROBLEM, None)) is not None:
        show_problems(problem)
    if not sent:
        return None
    name = str(name or "").strip()
    try:
        if password != repeated:
            raise InputError("The two passwords are not the same")
        add_account(
            workspace(),
            name,
            roles=[Role.ADMIN],
            password=str(password or ""),
            display_name=str(shown or ""),
            who=who(),
        )
    except InputError as error:
        st.session_state[_PROBLEM] = error
        st.session_state[_TRIES] = tries + 1
        st.rerun()
    for key in (first, again):
        del st.session_state[key]
    return name
