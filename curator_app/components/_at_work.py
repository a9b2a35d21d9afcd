"""Gives back what somebody works on when they close the page; shows nothing."""

from __future__ import annotations

from curator_app.components._assets import component_from
from curator_app.session import workspace

_mount = component_from("at_work")


def give_back_when_closed(object_id: str) -> None:
    """Have the browser give a lease back when its tab is closed or leaves the app."""
    _mount(key="at_work", data={"object": object_id, "account": workspace().actor.account_id})
