"""Items: write them from the seeds that wait, then review them one by one."""

from __future__ import annotations

import streamlit as st

from curator_app.components import Key
from curator_app.components.item_html import item_style
from curator_app.layout import empty_state, page_head
from curator_app.pages._review_queue import review_queue
from curator_app.pages._write_items import write_items
from curator_app.session import may, workspace
from pipeline.permissions import Permission
from pipeline.review import REVIEWABLE, list_items
from pipeline.variants import pending_seeds

VIEW = "items_view"

DECIDE_KEYS = (
    Key("a", "approve this item", button="approve"),
    Key("r", "reject this item with a note", button="reject"),
)
EDIT_KEYS = (Key("e", "edit this item", button="edit"),)
UNDO_KEYS = (Key("u", "undo: the decision or your edit of this item, else your last decision", button="undo"),)
STEP_KEYS = (
    Key("ArrowLeft", "the item before", button="previous"),
    Key("ArrowRight", "the next item", button="next"),
)
WRITE_KEYS = (Key("g", "write items for the seeds that wait", button="generate"),)


def _keys(*, reviewing: bool) -> list[Key]:
    """Return the keys of what the person may do in this view."""
    offered = (
        (
            (DECIDE_KEYS, (Permission.DECIDE_ITEMS,)),
            (EDIT_KEYS, (Permission.EDIT_ITEMS,)),
            (UNDO_KEYS, (Permission.DECIDE_ITEMS, Permission.EDIT_ITEMS)),
            (STEP_KEYS, (Permission.VIEW_ITEMS,)),
        )
        if reviewing
        else ((WRITE_KEYS, (Permission.GENERATE_ITEMS,)),)
    )
    return [key for keys, permissions in offered if any(map(may, permissions)) for key in keys]


def show() -> None:
    """Draw the page; it opens on what waits: review where items exist, writing where none do."""
    entries = list_items(workspace())
    pending = pending_seeds(workspace())
    waiting = sum(entry.item.state in REVIEWABLE for entry in entries)
    st.session_state.setdefault(VIEW, "review" if entries else "write")
    reviewing = st.session_state[VIEW] == "review"
    decided = "decided by you" if may(Permission.DECIDE_ITEMS) else "decided by a reviewer"
    page_head(
        "Items",
        f"Three questions from each seed, checked without the image, {decided}",
        keys=_keys(reviewing=reviewing),
    )
    st.html(item_style())

    def choose_view() -> None:
        names = {
            "review": f"{'Review' if may(Permission.DECIDE_ITEMS) else 'To decide'} · {waiting}",
            "write": f"{'Write items' if may(Permission.GENERATE_ITEMS) else 'To write'} · {len(pending)}",
        }
        st.segmented_control(
            "What to do",
            list(names),
            format_func=names.__getitem__,
            key=VIEW,
            required=True,
            label_visibility="collapsed",
        )

    if reviewing and entries:
        review_queue(entries, choose_view)
        return
    choose_view()
    if reviewing:
        how = "Write items first: choose Write items above. " if may(Permission.GENERATE_ITEMS) else ""
        empty_state("No items yet.", f"{how}They are made from seed questions.")
    else:
        write_items(pending)
