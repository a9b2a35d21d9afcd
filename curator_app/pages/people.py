"""People: who works here and as what; inviting, changing roles, ending sessions, closing accounts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from curator_app.components import Key
from curator_app.components._choosable import choosable
from curator_app.components.item_html import item_style
from curator_app.components.people_html import (
    closed_table,
    link_words,
    links_table,
    people_table,
    permissions_table,
)
from curator_app.layout import key_label, local_time, mark, page_head, show_problems
from curator_app.pages._first_account import first_account
from curator_app.pages._invite import invite_button
from curator_app.pages._one_person import one_person
from curator_app.session import may, who, workspace
from pipeline.errors import InputError
from pipeline.people import (
    NEW_ACCOUNT,
    InvitationRow,
    PersonRow,
    accounts_exist,
    list_invitations,
    list_people,
    permission_to_make,
    withdraw_invitation,
)
from pipeline.permissions import Permission

LINKS_WIDTH_PX = 760

_KEYS = (Key("i", "Invite somebody", button="invite"),)
_CHOSEN = "people_chosen"


def show() -> None:
    """Draw the page."""
    exist = accounts_exist(workspace())
    page_head("People", "Who works here, and as what", keys=_KEYS if exist else ())
    st.html(item_style())
    if exist:
        with st.container(horizontal=True, vertical_alignment="center", key="people_bar"):
            invite_button(key_label("Invite somebody", "i"))
        _accounts(list_people(workspace()))
        _links(list_invitations(workspace()))
    else:
        first_account()
    with st.expander("Who may do what"):
        st.html(permissions_table())


def _accounts(people: Sequence[PersonRow]) -> None:
    """Draw the open accounts, what may be done with the chosen one, and the closed ones folded away."""
    there = [person for person in people if person.closed_at is None]
    if may(Permission.MANAGE_PEOPLE):
        chosen = next((person for person in there if person.name == st.session_state.get(_CHOSEN)), None)
        table = people_table(there, chosen=chosen.name if chosen else None, can_choose=True)
        choosable(table, key="people_table", on_choose=_choose)
        if chosen is not None:
            one_person(chosen)
        else:
            st.html(
                '<p class="hc-facts">Choose a row to change roles, send a new password link or close an account.</p>'
            )
    else:
        st.html(people_table(there))
    if closed := [person for person in people if person.closed_at is not None]:
        with st.expander(f"Closed accounts · {len(closed)}"):
            st.html(closed_table(closed))


def _choose(name: str) -> None:
    st.session_state[_CHOSEN] = None if st.session_state.get(_CHOSEN) == name else name


def _links(links: Sequence[InvitationRow]) -> None:
    """Draw the links that work, each with its end, and the others folded away."""
    working = [link for link in links if link.state == "open"]
    st.subheader(f"Links that were sent and not used yet · {len(working)}", anchor=False)
    if not working:
        st.html('<p class="hc-facts">None. An invitation stands here until it is used, expires or is withdrawn.</p>')
    for link in working:
        with st.container(
            horizontal=True, vertical_alignment="center", width=LINKS_WIDTH_PX, wrap=False, key=f"link_{link.id}"
        ):
            st.html(
                f'<p class="hc-line-of-link">{mark(link.state)} · {link_words(link)} '
                f'<span class="hc-facts">by {escape(link.created_by)}, until {local_time(link.expires_at)}</span></p>'
            )
            if may(permission_to_make(link.roles, resets=link.purpose != NEW_ACCOUNT)):
                with st.popover("Withdraw", key=f"withdraw_{link.id}"):
                    _withdraw(link)
    if ended := [link for link in links if link.state != "open"]:
        with st.expander(f"Used, expired and withdrawn links · {len(ended)}"):
            st.html(links_table(ended))


def _withdraw(link: InvitationRow) -> None:
    st.caption("This one link stops working; there is no undo, make a new one. An account that was made stays.")
    if st.button("Withdraw this link", key=f"withdraw_now_{link.id}", type="primary"):
        try:
            withdraw_invitation(workspace(), link.id, who=who())
        except InputError as error:
            show_problems(error)
            return
        st.rerun()
