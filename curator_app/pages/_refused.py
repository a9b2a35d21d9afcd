"""What stands at the address of a page that is not for the person's roles; nothing of the workspace is shown."""

from __future__ import annotations

from collections.abc import Collection
from html import escape

import streamlit as st

from curator_app.layout import page_head
from curator_app.rail import RailEntry
from curator_app.session import workspace
from pipeline.permissions import GRANTS, Role


def show_refused(entry: RailEntry) -> None:
    """Say which roles the person has and which one the page needs."""
    roles = workspace().actor.roles
    page_head(entry.name, "")
    if roles:
        words = "role {} does" if len(roles) == 1 else "roles {} do"
        has = f"Your {words.format(' and '.join(_names(roles)))} not include it"
    else:
        has = "Your account has no role in this workspace"
    st.html(
        '<div class="hc-empty" role="status"><p><strong>This page is not for you.</strong></p>'
        f"<p>{escape(has)}. It needs {escape(_needed(GRANTS[entry.permission]))} ({escape(entry.permission)}). "
        "Ask an administrator of this workspace.</p></div>"
    )


def _names(roles: Collection[Role]) -> list[str]:
    return [role.value for role in Role if role in roles]


def _needed(roles: Collection[Role]) -> str:
    names = _names(roles)
    return f"the role {names[0]}" if len(names) == 1 else f"one of the roles {', '.join(names)}"
