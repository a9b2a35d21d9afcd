"""The button that ends the session of this browser."""

from __future__ import annotations

from curator_app.components._assets import component_from

_mount = component_from("sign_out")


def sign_out_button(*, key: str) -> None:
    """Show a button that ends the session at the server, takes the cookie away and goes to the sign-in page.

    A script of the page could not do it: the cookie comes and goes only with an answer of the server.

    Args:
        key: one key per place on the page.
    """
    _mount(key=key, width="content")
