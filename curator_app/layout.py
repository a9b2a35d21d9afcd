"""What all pages share: head, empty states, problems, marks of state, times. Read this before writing a page.

A page is a module of `curator_app.pages` with a function `show()`; rail.py names it. It starts with
`page_head(title, purpose, keys=...)` and does its work by one call into `pipeline` per action, with
`workspace()` and `who()` from `curator_app.session`.

Shared parts:
    page_head      title, one line of purpose, the page's keys (a button and `?` list them)
    Key            a key and the button (by its Streamlit key) that it presses; `key_label` shows it on the button
    empty_state    what to do first where a list is empty, with a link to the page that does it
    show_problems  an InputError (or SlideError) with every fault on its own line
    refusals_shown what runs in it may be refused, since a role was taken away or the session ended meanwhile
    mark           a state as shape and word, never as a colour alone
    cancel_button  closes a dialog and does nothing; every dialog that does something for good has it
    bar            a share as a bar with its numbers, for st.html
    choose_organ   the organ of the page, kept from page to page
    image_and_form two containers: the image takes what is left beside a form of fixed width

Components (curator_app.components): `roi_image` (a ROI, as tall as the window, pan and zoom, scale bar),
`slide_viewer`, `roi_picker`, `slide_list`. Long work: `curator_app.job_progress` (`start_job`, `watch_jobs`).
Every act (button, form, key) is drawn only where `may(Permission.X)` says that its pipeline function would do it;
a part that runs by itself (`st.fragment`) stands in `refusals_shown`.
Texts that people or models wrote go through `plain` before they enter Markdown, `html.escape` before HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from curator_app.components import Key, keyboard
from curator_app.session import SignedOutError, workspace
from curator_app.theme import style_sheet
from evaluation.slides import SlideError
from pipeline.errors import InputError
from pipeline.ingest import list_organs
from pipeline.permissions import NotAllowedError

FORM_WIDTH_PX = 360
"""Width of the form beside an image; the image takes the rest of the window."""

FEW_PROBLEMS = 8
"""More than this many faults are shown in a part of the page that scrolls."""

PROBLEMS_HEIGHT_PX = 300

MAX_PROBLEMS = 1000
"""So many faults are listed; a browser stands still over many thousands."""

MARKS = {
    "open": "○ open",
    "written": "◐ written",
    "generating": "◌ generating",
    "ready": "● ready",
    "failed": "✕ failed",
    "dropped": "– dropped",
    "candidate": "○ candidate",
    "selected": "✓ selected",
    "drafted": "○ drafted",
    "checking": "◌ checking",
    "guessable": "! guessable",
    "regenerating": "↻ regenerating",
    "escalated": "▲ escalated",
    "passed": "◐ passed the check",
    "in_review": "◑ in review",
    "approved": "✓ approved",
    "revise": "✎ revise",
    "rejected": "✕ rejected",
    "released": "■ released",
    "withdrawn": "– withdrawn",
    "queued": "○ waiting",
    "running": "◌ running",
    "done": "✓ done",
    "cancelled": "– cancelled",
    "used": "✓ used",
    "expired": "✕ expired",
    "closed": "– closed",
}
"""A shape and a word for every state that a page shows."""


def mark(state: str) -> str:
    """Return a state as shape and word."""
    return MARKS.get(state, f"· {state.replace('_', ' ')}")


def page_head(title: str, purpose: str, *, keys: Sequence[Key] = ()) -> None:
    """Open a page: its style, its title, what it is for, and its keys."""
    st.html(f"<style>{style_sheet()}</style>")
    with st.container(horizontal=True, vertical_alignment="center", key="page_head"):
        st.html(
            f'<div class="hc-head"><h1>{html.escape(title)}</h1><p class="hc-facts">{html.escape(purpose)}</p></div>'
        )
        keyboard(keys)


def key_label(words: str, key: str) -> str:
    """Return a button's label with the key that presses it."""
    return f"{words} `{key}`"


def empty_state(what: str, first: str, *, page: str | None = None, link: str | None = None) -> None:
    """Say that a list is empty and what to do first.

    Args:
        what: what there is none of.
        first: what to do first.
        page: where that is done: the page's module; linked only for who may see it.
        link: the words on the link.
    """
    st.html(
        f'<div class="hc-empty" role="status"><p><strong>{html.escape(what)}</strong></p>'
        f"<p>{html.escape(first)}</p></div>"
    )
    # Imported late: the rail opens the pages, which import this module.
    from curator_app.rail import may_open

    if page is not None and may_open(page) and st.button(link or "Go there", type="primary", key=f"empty_{page}"):
        go_to(page)


def go_to(page: str) -> None:
    """Open another page by its module name (`slides`, `sample_rois`, ...)."""
    from curator_app.rail import page_of

    st.switch_page(page_of(page))


def show_problems(error: InputError | SlideError) -> None:
    """Show what was wrong, every fault on its own line, and nothing else; many faults scroll."""
    if isinstance(error, SlideError):
        st.error(plain(str(error)), icon=":material/error:")
        return
    lines = [plain(error.message), "", *(f"- {plain(problem)}" for problem in error.problems[:MAX_PROBLEMS])]
    if more := len(error.problems) - MAX_PROBLEMS:
        lines += [f"- and {more:,} more"] if more > 0 else []
    many = len(error.problems) > FEW_PROBLEMS
    with st.container(height=PROBLEMS_HEIGHT_PX if many else "content", border=False):
        st.error("\n".join(lines), icon=":material/error:")


@contextmanager
def refusals_shown() -> Iterator[None]:
    """Show why something was refused that was allowed when the page was drawn."""
    try:
        yield
    except (NotAllowedError, SignedOutError) as error:
        show_problems(error)


def plain(text: str) -> str:
    """Escape what Streamlit's Markdown would read as markup, so that a text is shown as it was written."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!$~|<>:&])", r"\\\1", text)


def organ_words(organ: str) -> str:
    """Return an organ as a heading shows it: `soft_tissue` becomes `Soft tissue`."""
    return organ.replace("_", " ").capitalize()


def local_time(moment: datetime, *, seconds: bool = False) -> str:
    """Return a stored UTC time in the server's local time."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")


def local_zone() -> str:
    """Return the time zone in which `local_time` gives times, as the server's clock names it now."""
    zone = datetime.now().astimezone()
    name, offset = zone.tzname() or "", f"UTC{zone:%z}"
    return "UTC" if name == "UTC" else f"{name}, {offset[:-2]}:{offset[-2:]}"


def cancel_button(key: str) -> None:
    """Draw the button that closes a dialog without doing anything, beside the one that does what it asks about."""
    if st.button("Cancel", key=key):
        st.rerun()


def bar(label: str, done: int, total: int) -> str:
    """Return HTML of a share as a bar with its numbers."""
    width = 100 * done / total if total else 0
    return (
        f'<span class="hc-bar"><span>{html.escape(label)}</span>'
        f'<span class="track" aria-hidden="true"><span style="width:{width:.0f}%"></span></span>'
        f"<span>{done:,} / {total:,}</span></span>"
    )


def choose_organ(*, everything: bool = False) -> str | None:
    """Let the person choose an organ; the choice goes with them from page to page. None means all organs."""
    organs = list_organs(workspace())
    options: list[str | None] = [*([None] if everything else []), *organs]
    if not options:
        return None
    kept = st.session_state.get("organ_kept")
    index = options.index(kept) if kept in options else 0
    chosen: str | None = st.selectbox(
        "Organ",
        options,
        index=index,
        format_func=lambda organ: "All organs" if organ is None else organ_words(organ),
        width=160,
        label_visibility="collapsed",
    )
    st.session_state["organ_kept"] = chosen
    return chosen


def image_and_form() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Return two containers side by side: one for the image, one of fixed width for the form."""
    row = st.container(horizontal=True, gap="medium", wrap=False, key="image_and_form")
    image = row.container(width="stretch", key="image_side")
    form = row.container(width=FORM_WIDTH_PX, key="form_side")
    return image, form
