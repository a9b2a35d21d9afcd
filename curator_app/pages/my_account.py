"""My account: who I am here, where I am signed in, what is kept of me."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from curator_app.components import sign_out_button
from curator_app.components.item_html import item_style
from curator_app.components.people_html import kept_table
from curator_app.layout import empty_state, local_time, page_head, show_problems
from curator_app.session import signed_in, workspace
from db.tables import Account, AccountSession
from pipeline.errors import InputError
from pipeline.people import (
    accounts_exist,
    change_own_display_name,
    end_own_session,
    find_account,
    list_own_sessions,
    retention_rules,
)
from pipeline.permissions import ROLE_WORDS, Role

FORM_WIDTH_PX = 460

_NAME, _SAID, _PROBLEM = "my_display_name", "my_said", "my_problem"

_BROWSERS = (("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrom", "Chrome"), ("Safari", "Safari"))
_SYSTEMS = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Mac OS", "macOS"),
    ("Linux", "Linux"),
)
_UNKNOWN_LENGTH = 60


def show() -> None:
    """Draw the page."""
    page_head("My account", "Who you are here, where you are signed in, what is kept of you")
    st.html(item_style())
    account = find_account(workspace(), workspace().actor.name)
    if account is None:
        return
    alone = not accounts_exist(workspace())
    if alone:
        empty_state(
            "Nobody has to sign in yet.",
            f"Everybody who uses this computer works as {account.name}. On the page People the first administrator is "
            "made; from then on everybody has an account of their own.",
            page="people",
            link="Go to People",
        )
    left, right = st.columns([1, 1], gap="large")
    with left:
        _who(account, alone=alone)
        _display_name(account)
    with right:
        if not alone:
            _sessions(list_own_sessions(workspace()))
    with st.expander("What is kept of you, and how long"):
        st.html(kept_table(retention_rules(workspace().settings)))


def _who(account: Account, *, alone: bool) -> None:
    actor = workspace().actor
    roles = "".join(
        f"<div><strong>{role.value}</strong> {escape(ROLE_WORDS[role])}</div>" for role in Role if role in actor.roles
    )
    rows = [
        ("Sign-in name", escape(account.name)),
        ("Roles", roles),
        ("Pseudonym", f"{escape(account.pseudonym)} · exports of your answers carry it instead of your name"),
    ]
    facts = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)
    st.html(f'<dl class="hc-facts-list hc-grid">{facts}</dl>')
    if alone:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="my_acts"):
        if account.password_hash is not None:
            st.html(
                '<p class="hc-link"><a href="/password" target="_self">Change the password</a></p>', width="content"
            )
        sign_out_button(key="sign_out")


def _display_name(account: Account) -> None:
    with st.container(width=FORM_WIDTH_PX), st.form("display_name_form", border=False):
        st.text_input("Name that colleagues see", value=account.display_name, key=_NAME)
        st.form_submit_button(
            "Save the name", key="display_name_save", on_click=_save_name, args=(account.row_version,)
        )
    if (problem := st.session_state.pop(_PROBLEM, None)) is not None:
        show_problems(problem)
    if (said := st.session_state.pop(_SAID, None)) is not None:
        st.html(f'<p class="hc-facts" role="status">{escape(said)}</p>')


def _save_name(seen: int) -> None:
    try:
        account = change_own_display_name(workspace(), str(st.session_state[_NAME] or ""), expected_version=seen)
    except InputError as error:
        st.session_state[_PROBLEM] = error
        return
    # As it is stored: without needless spaces, the sign-in name where nothing was given.
    st.session_state[_NAME] = account.display_name
    st.session_state[_SAID] = "✓ Saved."


def _sessions(sessions: Sequence[AccountSession]) -> None:
    known = signed_in()
    current = known.session_id if known is not None else ""
    st.subheader("Where you are signed in", anchor=False)
    for one in sessions:
        here = " · this browser" if one.id == current else ""
        with st.container(horizontal=True, vertical_alignment="center", key=f"session_{one.id}"):
            st.html(
                f'<p class="hc-session"><strong>{escape(browser_words(one.browser))}</strong>{here}<br>'
                f'<span class="hc-facts">{escape(one.address)} · since {local_time(one.created_at)} · last seen '
                f"{local_time(one.last_seen_at)}</span></p>",
                width="stretch",
            )
            if one.id != current:
                st.button("End", key=f"end_{one.id}", on_click=_end, args=(one.id,), help="Signs that browser out")
    st.html('<p class="hc-facts">Do you not know one of them? End it and change your password.</p>')


def _end(session_id: str) -> None:
    try:
        end_own_session(workspace(), session_id)
    except InputError as error:
        st.session_state[_PROBLEM] = error


def browser_words(user_agent: str) -> str:
    """Return in two words how a browser names itself, or the beginning of what it says."""
    browser = next((name for sign, name in _BROWSERS if sign in user_agent), None)
    system = next((name for sign, name in _SYSTEMS if sign in user_agent), None)
    if browser is None:
        return user_agent[:_UNKNOWN_LENGTH] or "an unnamed browser"
    return f"{browser} on {system}" if system else browser
