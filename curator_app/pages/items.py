"""Items: write them from the seeds that wait, then review them one by one."""

from __future__ import annotations

import streamlit as st

from curator_app.components import Key
from curator_app.components.item_html import item_style
from curator_app.layout import empty_state, page_head
from curator_app.pages._review_queue import review_queue
from curator_app.pages._write_items import write_items
from curator_app.session import workspace
from pipeline.review import REVIEWABLE, list_items
from pipeline.variants import pending_seeds

VIEW = "items_view"

REVIEW_KEYS = (
    Key("a", "approve this item", button="approve"),
    Key("e", "edit this item", button="edit"),
    Key("r", "reject this item with a note", button="reject"),
    Key("u", "undo the last decision", button="undo"),
    Key("ArrowLeft", "the item before", button="previous"),
    Key("ArrowRight", "the next item", button="next"),
)
WRITE_KEYS = (Key("g", "write items for the seeds that wait", button="generate"),)


def show() -> None:
    """Draw the page; it opens on what waits: review where items exist, writing where none do."""
    entries = list_items(workspace())
    pending = pending_seeds(workspace())
    waiting = sum(entry.item.state in REVIEWABLE for entry in entries)
    st.session_state.setdefault(VIEW, "review" if entries else "write")
    reviewing = st.session_state[VIEW] == "review"
    keys = REVIEW_KEYS if reviewing else WRITE_KEYS
    page_head("Items", "Three questions from each seed, checked without the image, decided by you", keys=keys)
    st.html(item_style())

    def choose_view() -> None:
        names = {"review": f"Review · {waiting}", "write": f"Write items · {len(pending)}"}
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
        empty_state(
            "No items yet.",
            "Write items first: choose Write items above. They are made from seed questions.",
        )
    else:
        write_items(pending)
