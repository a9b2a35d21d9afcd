"""The page's keys: each presses a Streamlit button, and `?` (or the button Keys) lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from curator_app.components._assets import component_from

_mount = component_from("keyboard")


@dataclass(frozen=True)
class Key:
    """A key and what it does.

    `key` is the browser's name of it (`k`, `1`, `Enter`, `ArrowRight`; `Ctrl+Enter` also takes ⌘). `button` is
    the Streamlit key of the button that it presses; `choice` the 0-based option of a radio group of that key;
    with neither, the key is only listed, because a component handles it itself. A key with Ctrl works while
    somebody types, the others do not.
    """

    key: str
    does: str
    button: str | None = None
    choice: int | None = None


def keyboard(keys: Sequence[Key]) -> None:
    """Put the page's keys in force and show the button that lists them."""
    _mount(
        key="page_keys",
        width="content",
        data={"keys": [{"key": key.key, "does": key.does, "button": key.button, "choice": key.choice} for key in keys]},
    )
