"""The pages of the app in the order of the work; each module is imported when its page is first opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from curator_app.session import may
from pipeline.permissions import Actor, Permission


@dataclass(frozen=True)
class RailEntry:
    """A page: its module in `curator_app.pages`, its name, its icon, and what one must be allowed to see it."""

    module: str
    name: str
    icon: str
    permission: Permission

    @property
    def address(self) -> str:
        """The last part of the page's address."""
        return self.module.replace("_", "-")


RAIL: tuple[RailEntry, ...] = (
    RailEntry("home", "Home", ":material/home:", Permission.OWN_ACCOUNT),
    RailEntry("slides", "Slides", ":material/biotech:", Permission.VIEW_SLIDES),
    RailEntry("sample_rois", "Sample ROIs", ":material/crop_free:", Permission.CHOOSE_ROIS),
    RailEntry("write_seeds", "Write seeds", ":material/edit_note:", Permission.WRITE_SEEDS),
    RailEntry("items", "Items", ":material/fact_check:", Permission.VIEW_ITEMS),
    RailEntry("releases", "Releases", ":material/inventory_2:", Permission.VIEW_RELEASES),
    RailEntry("benchmark", "Benchmark", ":material/leaderboard:", Permission.VIEW_RUNS),
    RailEntry("jobs", "Jobs", ":material/schedule:", Permission.VIEW_JOBS),
    RailEntry("audit", "Audit", ":material/history:", Permission.VIEW_AUDIT),
    RailEntry("people", "People", ":material/group:", Permission.INVITE_READERS),
    RailEntry("my_account", "My account", ":material/person:", Permission.OWN_ACCOUNT),
)


def own_rail(actor: Actor) -> list[RailEntry]:
    """Return the pages that a person may see."""
    return [entry for entry in RAIL if actor.may(entry.permission)]


def entry_of(module: str) -> RailEntry:
    """Return the entry of a page's module."""
    return next(entry for entry in RAIL if entry.module == module)


def may_open(module: str) -> bool:
    """Say whether the person at the browser may see a page; no page links to one that would be refused."""
    return may(entry_of(module).permission)


def open_page(entry: RailEntry) -> None:
    """Draw a page, or say why it is not for the person at the browser."""
    # Imported late: the pages' layout imports this module.
    from curator_app.layout import refusals_shown
    from curator_app.pages._refused import show_refused

    with refusals_shown():
        if may(entry.permission):
            import_module(f"curator_app.pages.{entry.module}").show()
        else:
            show_refused(entry)


def _opener(entry: RailEntry) -> Callable[[], None]:
    def show() -> None:
        open_page(entry)

    return show


@cache
def _openers() -> dict[str, Callable[[], None]]:
    return {entry.module: _opener(entry) for entry in RAIL}


def addresses() -> list[str]:
    """Return the addresses of the pages, without the slash before them; the first page's is also ""."""
    return ["", *(entry.address for entry in RAIL)]


def page_of(module: str, *, in_rail: bool = True) -> StreamlitPage:
    """Return the page of a module for st.navigation, st.switch_page or st.page_link.

    Args:
        module: the page's.
        in_rail: whether the rail names it; it has its address in any case, and says there why it is refused.
    """
    entry = entry_of(module)
    return st.Page(
        _openers()[module],
        title=entry.name,
        icon=entry.icon,
        url_path=entry.address,
        default=entry.module == RAIL[0].module,
        visibility="visible" if in_rail else "hidden",
    )
