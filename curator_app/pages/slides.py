"""Slides: add them, see what they are, look at any of them at any magnification."""

from __future__ import annotations

import streamlit as st

from curator_app.components import (
    Key,
    SlideCard,
    ViewedSlide,
    slide_list,
    slide_viewer,
)
from curator_app.job_progress import watch_jobs
from curator_app.layout import empty_state, key_label, page_head
from curator_app.pages._add_slides import add_form, ask_for_resolutions
from curator_app.pages._change_slide import slide_acts, withdrawn_popover
from curator_app.pages._roi_files import roi_files
from curator_app.session import may, workspace
from db.tables import Slide
from pipeline.ingest import list_slides
from pipeline.permissions import Permission

LIST_WIDTH_PX = 380

_ADD_KEYS = (
    Key("a", "Add slides", button="add_slides"),
    Key("e", "Change what is said of the slide", button="edit_slide"),
)
_DRAW_KEYS = (Key("n", "New ROI: a frame to place; arrows or dragging move it, ⏎ saves it, Esc cancels"),)
_VIEW_KEYS = (
    Key("+", "Zoom in (while the viewer has the focus; − zooms out, arrows pan)"),
    Key("m", "Measure: ⏎ or a click sets a point, Esc ends"),
    Key("t", "Show where tissue was found"),
    Key("f", "Choose the next ROI in view (Shift: the one before)"),
    Key("[", "Rotate left by 15° ({ by 90°)"),
    Key("]", "Rotate right by 15° (} by 90°)"),
    Key("Home", "Whole slide, upright"),
)


def show() -> None:
    """Draw the page."""
    adds = may(Permission.ADD_SLIDES)
    page_head(
        "Slides",
        "Add whole-slide images and look at them." if adds else "Look at the whole-slide images.",
        keys=(*(_ADD_KEYS if adds else ()), *(_DRAW_KEYS if may(Permission.CHOOSE_ROIS) else ()), *_VIEW_KEYS),
    )
    slides = list_slides(workspace())
    bar = st.container(horizontal=True, vertical_alignment="center", key="slides_bar")
    with bar:
        if slides:
            if adds and st.button(key_label("Add slides", "a"), key="add_slides", icon=":material/add:"):
                st.dialog("Add slides", width="large")(add_form)()
            files = st.container(width="content")
    watch_jobs("add_slides")
    if adds:
        ask_for_resolutions()
    if not slides:
        if not adds:
            empty_state("There is no slide yet.", "Coordinators and authors add them; they appear here then.")
            return
        withdrawn_popover(bar)
        empty_state("There is no slide yet.", "Name a file or a folder on this machine and say what it shows.")
        with st.container(width=640):
            add_form()
        return
    chosen = _chosen(slides)
    row = st.container(horizontal=True, wrap=False, gap="medium", key="slides_row")
    with row.container(width=LIST_WIDTH_PX):
        picked = slide_list(
            [SlideCard.of(slide) for slide in slides],
            key="slide_list",
            chosen=chosen.id,
        )
    st.session_state["slide_chosen"] = picked
    shown = next(slide for slide in slides if slide.id == picked)
    if may(Permission.EDIT_SLIDES):
        with bar:
            slide_acts(shown)
        withdrawn_popover(bar)
    with files:
        roi_files(shown)
    with row.container(width="stretch"):
        slide_viewer(
            [ViewedSlide.of(slide) for slide in slides],
            key="slide_viewer",
            slide_id=picked,
            draws=True,
            keys=True,
        )


def _chosen(slides: list[Slide]) -> Slide:
    kept = st.session_state.get("slide_chosen")
    return next((slide for slide in slides if slide.id == kept), slides[0])
