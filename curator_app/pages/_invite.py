"""Inviting: whom for, as what, how long; the link is shown once."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime
from urllib.parse import urlsplit

import streamlit as st

from curator_app.layout import local_time, show_problems
from curator_app.listening import opens_here_only
from curator_app.session import may, who, workspace
from pipeline.errors import InputError
from pipeline.people import MAX_DAYS, invite, withdraw_invitation
from pipeline.permissions import ROLE_WORDS, Permission, Role

DOUBLE_PRESS_S = 3.0
"""A second press within this time is the same wish."""

_JUST_MADE = "invite_just_made"


def invite_button(label: str) -> None:
    """Offer to invite: administrators anybody, coordinators readers."""
    if st.button(label, key="invite", type="primary"):
        # Drawn again as a whole when it is closed: the link goes, and its row is in the list.
        st.dialog("Invite somebody", width="medium", on_dismiss="rerun")(invite_dialog)()


def invite_dialog() -> None:
    """Draw the form, and once the link is made the link in its place."""
    place = st.empty()
    with place.container(), st.form("invite_form", border=False):
        if may(Permission.MANAGE_PEOPLE):
            roles = role_boxes("invite", ())
        else:
            st.markdown(f"As **{Role.READER}**: {ROLE_WORDS[Role.READER]}. Administrators invite everybody else.")
            roles = [Role.READER]
        shown = st.text_input("Whom for (they may change it)", key="invite_name", placeholder="Dr. Anna Berger")
        days = st.number_input(
            "Works for (days)",
            min_value=1,
            max_value=MAX_DAYS,
            value=workspace().settings.invitation_days,
            key="invite_days",
        )
        sent = st.form_submit_button("Make the link", type="primary", key="invite_make")
    if not sent:
        return
    try:
        _withdraw_the_one_just_made()
        invitation, token = invite(workspace(), roles=roles, display_name=str(shown or ""), days=int(days), who=who())
    except InputError as error:
        show_problems(error)
        return
    st.session_state[_JUST_MADE] = (invitation.id, time.monotonic())
    place.empty()
    show_link(token, until=invitation.expires_at, does="makes one account")


def _withdraw_the_one_just_made() -> None:
    """Withdraw the link of a moment ago: a button pressed twice makes two, of which only the last one is shown."""
    made, at = st.session_state.pop(_JUST_MADE, (None, 0.0))
    if made is not None and time.monotonic() - at < DOUBLE_PRESS_S:
        with suppress(InputError):
            withdraw_invitation(workspace(), made, who=who())


def role_boxes(key: str, had: Collection[Role]) -> list[Role]:
    """Draw a checkbox for every role, with what it is for, and return the chosen ones."""
    return [
        role for role in Role if st.checkbox(f"**{role}** {ROLE_WORDS[role]}", value=role in had, key=f"{key}_{role}")
    ]


def show_link(token: str, *, until: datetime, does: str) -> None:
    """Show a link with its copy button; it is kept nowhere, so that it cannot be shown again."""
    st.code(f"{_base()}/invitation/{token}", language=None, wrap_lines=True)
    st.html(
        f'<p class="hc-facts"><strong>Shown only now.</strong> It {does}, once, until {local_time(until)}. Send it to '
        "the one person it is for; whoever has it may use it.</p>"
    )
    if opens_here_only(_base()):
        st.html(
            '<p class="hc-facts">It opens on this computer only. For others, start the app at an address that they can '
            "open and set <code>public_url</code> to it.</p>"
        )


def _base() -> str:
    """Return the address that people open the app by: the set one, else that of this page."""
    if (public := workspace().settings.public_url) is not None:
        return public
    here = urlsplit(st.context.url or "")
    return f"{here.scheme}://{here.netloc}" if here.netloc else ""
