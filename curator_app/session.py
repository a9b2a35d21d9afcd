"""Which workspace this server serves, and as whom the person at the browser works in it."""

from __future__ import annotations

import time

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from curator_app.identity import Access, client_address
from pipeline.errors import InputError
from pipeline.people import SignedIn
from pipeline.permissions import Permission
from pipeline.workspace import Workspace

LOOKED_UP_S = 1.0
"""A page asks for its workspace dozens of times while it is drawn; so long one look counts.

The guard looks anew at every message before a page hears of it.
"""

_served: Workspace | None = None
_access: Access | None = None

_KNOWN = "session_known"
_OWNER = "session_owner"


class SignedOutError(InputError):
    """The person's session has ended."""


def use_workspace(workspace: Workspace, access: Access | None = None) -> None:
    """Set the workspace that the pages of this process show; the server and tests call it once.

    Without `access` (in tests of a page) everybody works as the workspace's actor.
    """
    global _served, _access
    _served, _access = workspace, access


def served_workspace() -> Workspace:
    """Return the workspace as the server itself may use it.

    Raises:
        InputError: the page runs outside the server.
    """
    if _served is None:
        raise InputError("No workspace is open: start the app with 'histocurator serve --workspace DIR'")
    return _served


def signed_in() -> SignedIn | None:
    """Return who is at the browser, or None for somebody who has to sign in first."""
    if _access is None:
        return SignedIn(served_workspace().actor, "")
    looked_at, known = st.session_state.get(_KNOWN, (0.0, None))
    if known is not None and time.monotonic() - looked_at < LOOKED_UP_S:
        return known if isinstance(known, SignedIn) else None
    # The guard counts the use when the message comes in; looking again is none.
    known = _access.who_sends(st.context.cookies.to_dict(), counts=False)
    st.session_state[_KNOWN] = (time.monotonic(), known)
    return known


def take_tab(known: SignedIn) -> None:
    """Tie this tab to its account: what another one left in it is forgotten."""
    owner = st.session_state.get(_OWNER)
    if owner not in (None, known.actor.account_id):
        st.session_state.clear()
    st.session_state[_OWNER] = known.actor.account_id
    context = get_script_run_ctx()
    if _access is not None and context is not None:
        _access.remember_tab(context.session_id, known.actor.account_id)


def workspace() -> Workspace:
    """Return the workspace that the pages show, as the person at the browser may use it.

    Raises:
        InputError: the page runs outside the server.
        SignedOutError: the session ended since the page was drawn.
    """
    known = signed_in()
    if known is None:
        raise SignedOutError("Your session has ended; nothing was changed. Sign in again.")
    return served_workspace().acting_as(known.actor)


def who() -> str:
    """Return the account name that changes are recorded under."""
    return workspace().actor.name


def may(permission: Permission) -> bool:
    """Say whether the person at the browser may do it; pages show no button that would be refused."""
    return workspace().actor.may(permission)


def address() -> str:
    """Return the network address of the person's browser, by which wrong passwords are counted."""
    # Streamlit names none for a browser on this computer.
    peer = st.context.ip_address or "127.0.0.1"
    return client_address(
        peer, st.context.headers.get("X-Forwarded-For") or "", served_workspace().settings.trusted_proxies
    )
