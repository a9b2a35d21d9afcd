"""Takes the browser from the app's page to an address of a route; shows nothing."""

from __future__ import annotations

from curator_app.components._assets import component_from

_mount = component_from("leave")


def leave_for(address: str) -> None:
    """Leave the page for an address of this app, which begins with a slash; "back" does not return here."""
    _mount(key="leave", data={"address": address})
