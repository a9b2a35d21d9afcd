"""What an administrator may do with one account: each act says what it does and to whom before it is done."""

from __future__ import annotations

from html import escape

import streamlit as st

from curator_app.components import text_field
from curator_app.components.people_html import role_words
from curator_app.layout import cancel_button, plain, show_problems
from curator_app.pages._invite import role_boxes, show_link
from curator_app.session import who, workspace
from curator_app.writings import draft_field, end_writing
from pipeline.errors import InputError
from pipeline.people import PersonRow, close_account, end_sessions_of, reset_link, set_roles, unlock

_SAID = "people_said"


def one_person(person: PersonRow) -> None:
    """Draw the account that was chosen and what may be done with it."""
    with st.container(border=True, key="one_person"):
        st.html(
            f'<p class="hc-release"><strong>{escape(person.display_name)}</strong> {escape(person.name)} · '
            f"{escape(role_words(person.roles))}</p>"
        )
        with st.container(horizontal=True, vertical_alignment="center", key="person_acts"):
            _acts(person)
        if (said := st.session_state.pop(_SAID, None)) is not None:
            st.html(f'<p class="hc-facts" role="status">{escape(said)}</p>')
        if person.operating_system_owner:
            st.html(
                '<p class="hc-facts">This account was made with the workspace and is that of the command line: it '
                "stays admin and cannot be closed.</p>"
            )


def _acts(person: PersonRow) -> None:
    name = plain(person.name)
    if st.button("Change roles", key="change_roles"):
        st.dialog(f"Roles of {name}", width="medium")(roles_dialog)(person)
    if st.button("New password link", key="reset_link"):
        st.dialog(f"New password for {name}", width="medium", on_dismiss="rerun")(reset_dialog)(person)
    if st.button(f"End sessions ({person.sessions})", key="end_sessions", disabled=not person.sessions):
        st.dialog(f"End the sessions of {name}")(end_sessions_dialog)(person)
    if st.button("Unlock", key="unlock", help="Forget failed attempts to sign in"):
        _unlock(person)
    if not person.operating_system_owner and st.button("Close account", key="close_account"):
        st.dialog(f"Close the account {name} for good", width="medium")(close_dialog)(person)


def _say(words: str) -> None:
    st.session_state[_SAID] = words
    st.rerun()


def roles_dialog(person: PersonRow) -> None:
    """Give the account other roles."""
    with st.form("roles_form", border=False):
        roles = role_boxes(f"roles_{person.name}", person.roles)
        sent = st.form_submit_button("Save the roles", type="primary", key="roles_save")
    st.html(
        '<p class="hc-facts">Counts at once, in all sessions. What the person did so far stays as it is. '
        "There is no undo: give the former roles again.</p>"
    )
    if not sent:
        return
    try:
        set_roles(workspace(), person.name, roles=roles, who=who(), expected_version=person.row_version)
    except InputError as error:
        show_problems(error)
        return
    _say(f"✓ {person.name} is now {role_words(roles)}.")


def reset_dialog(person: PersonRow) -> None:
    """Say what the link does, then make and show it."""
    place = st.empty()
    with place.container():
        st.markdown(
            f"Makes a link with which **{plain(person.display_name)}** ({plain(person.name)}) sets a new password. "
            "Until it is used, the old one goes on; then all sessions of this account end."
        )
        with st.container(horizontal=True):
            pressed = st.button("Make the link", key="reset_make", type="primary")
            cancel_button("reset_cancel")
        if not pressed:
            return
    try:
        link, token = reset_link(workspace(), person.name, who=who())
    except InputError as error:
        show_problems(error)
        return
    place.empty()
    show_link(token, until=link.expires_at, does=f"sets a new password for {escape(person.name)}")


def end_sessions_dialog(person: PersonRow) -> None:
    """Say what ends, then end it."""
    number = f"{person.sessions} {'session' if person.sessions == 1 else 'sessions'}"
    st.markdown(
        f"Ends {number} of **{plain(person.display_name)}** ({plain(person.name)}) at once, on all computers. What "
        "they typed is kept; they may sign in again."
    )
    with st.container(horizontal=True):
        pressed = st.button(f"End {number}", key="end_sessions_now", type="primary")
        cancel_button("end_sessions_cancel")
    if not pressed:
        return
    try:
        ended = end_sessions_of(workspace(), person.name, who=who())
    except InputError as error:
        show_problems(error)
        return
    _say(f"✓ {ended} ended.")


def _unlock(person: PersonRow) -> None:
    try:
        unlock(workspace(), person.name, who=who())
    except InputError as error:
        show_problems(error)
        return
    _say(f"✓ {person.name} may try to sign in again at once.")


def close_dialog(person: PersonRow) -> None:
    """Say what closing does, ask why, then close the account."""
    st.markdown(
        f"Closes the account of **{plain(person.display_name)}** ({plain(person.name)}). The password is erased, "
        f"{person.sessions} open {'session ends' if person.sessions == 1 else 'sessions end'}, and links that this "
        f"person sent no longer work. What they wrote, decided and answered stays under {plain(person.name)} and "
        f"{plain(person.pseudonym)}. There is no undo."
    )
    draft = f"close_{person.pseudonym.replace('-', '_')}"
    reason = text_field("Why (for the audit trail)", key=f"{draft}_reason", kept=draft_field(draft, "reason"))
    forget = st.checkbox("Also erase the name that colleagues see", key="close_forget")
    with st.container(horizontal=True):
        pressed = st.button("Close this account", type="primary", key="close_now")
        cancel_button("close_cancel")
    if not pressed:
        return
    try:
        close_account(
            workspace(),
            person.name,
            reason=reason,
            who=who(),
            forget_name=bool(forget),
            expected_version=person.row_version,
        )
    except InputError as error:
        show_problems(error)
        return
    end_writing(draft)
    st.rerun()
