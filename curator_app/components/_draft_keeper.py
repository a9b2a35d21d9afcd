"""Sends the texts of a form to the server while they are typed; shows nothing."""

from __future__ import annotations

from collections.abc import Mapping

from curator_app.components._assets import component_from
from curator_app.session import workspace

_mount = component_from("draft_keeper")


def draft_keeper(name: str, *, writing: str, fields: Mapping[str, str]) -> None:
    """Keep a form's texts as the draft `name`.

    Streamlit sends a text when its field loses the focus; a tab that is closed or reloaded before loses it.

    Args:
        name: the draft, as `curator_app.drafts` names it.
        writing: this act of writing; after it has ended, what comes late is not kept.
        fields: the Streamlit key of each field's text area, text input or radio group (kept as a place).
    """
    kind = name.partition("_")[0]
    # Whoever signs in next in this browser must not get the text: the route takes it for this account only.
    account = workspace().actor.account_id
    _mount(key=f"draft_{kind}", data={"name": name, "account": account, "writing": writing, "fields": dict(fields)})
