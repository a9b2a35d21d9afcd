"""The pages of the app in the order of the work; each module is imported when its page is first opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import streamlit as st
from streamlit.navigation.page import StreamlitPage


@dataclass(frozen=True)
class RailEntry:
    """A page: its module in `curator_app.pages`, its name and its icon."""

    module: str
    name: str
    icon: str

    @property
    def address(self) -> str:
        """The last part of the page's address."""
        return self.module.replace("_", "-")


RAIL: tuple[RailEntry, ...] = (
    RailEntry("home", "Home", ":material/home:"),
    RailEntry("slides", "Slides", ":material/biotech:"),
    RailEntry("sample_rois", "Sample ROIs", ":material/crop_free:"),
    RailEntry("write_seeds", "Write seeds", ":material/edit_note:"),
    RailEntry("items", "Items", ":material/fact_check:"),
    RailEntry("releases", "Releases", ":material/inventory_2:"),
    RailEntry("benchmark", "Benchmark", ":material/leaderboard:"),
)


def _opener(module: str) -> Callable[[], None]:
    def show() -> None:
        import_module(f"curator_app.pages.{module}").show()

    return show


@cache
def _openers() -> dict[str, Callable[[], None]]:
    return {entry.module: _opener(entry.module) for entry in RAIL}


def addresses() -> list[str]:
    """Return the addresses of the pages, without the slash before them; the first page's is also ""."""
    return ["", *(entry.address for entry in RAIL)]


def page_of(module: str) -> StreamlitPage:
    """Return the page of a module for st.navigation, st.switch_page or st.page_link."""
    entry = next(entry for entry in RAIL if entry.module == module)
    return st.Page(
        _openers()[module],
        title=entry.name,
        icon=entry.icon,
        url_path=entry.address,
        default=entry.module == RAIL[0].module,
    )
