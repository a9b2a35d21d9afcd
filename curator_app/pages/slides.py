"""Slides: add them, see what they are, look at any of them at any magnification."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from curator_app.components import (
    Key,
    SlideCard,
    ViewedSlide,
    put_text,
    slide_list,
    slide_viewer,
    text_field,
)
from curator_app.job_progress import start_job, watch_jobs
from curator_app.layout import empty_state, key_label, page_head, plain, show_problems
from curator_app.pages._roi_files import roi_files
from curator_app.session import may, workspace
from curator_app.writings import draft_field, end_writing
from db.tables import Slide
from pipeline.errors import InputError
from pipeline.ingest import checked_field, list_slides, organ_name
from pipeline.permissions import Permission

LIST_WIDTH_PX = 380

_PATHS = "slides_add"
"""The draft of the files and folders to be added."""

_ADD_KEYS = (Key("a", "Add slides", button="add_slides"),)
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
    with st.container(horizontal=True, vertical_alignment="center", key="slides_bar"):
        if slides:
            if adds and st.button(key_label("Add slides", "a"), key="add_slides", icon=":material/add:"):
                st.dialog("Add slides", width="medium")(_add_form)()
            files = st.container(width="content")
    watch_jobs("add_slides")
    if not slides:
        if not adds:
            empty_state("There is no slide yet.", "Coordinators and authors add them; they appear here then.")
            return
        empty_state("There is no slide yet.", "Name a file or a folder on this machine and say what it shows.")
        with st.container(width=640):
            _add_form()
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
    with files:
        roi_files(next(slide for slide in slides if slide.id == picked))
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


def _add_form() -> None:
    """The form; it queues the job and leaves what was typed where something is missing."""
    settings = workspace().settings
    folders = [] if may(Permission.MANAGE_WORKSPACE) else settings.slide_folders
    if not folders and not may(Permission.MANAGE_WORKSPACE):
        st.info("Only an administrator can add slides here, until the setting slide_folders names folders for all.")
        return
    example = folders[0] if folders else Path("/data/slides")
    paths = text_field(
        "Files or folders on the computer that runs the app, one per line",
        key="slide_paths",
        kept=draft_field(_PATHS, "paths"),
        placeholder=f"{example / 'liver-001.svs'}\n{example / 'batch-2'}",
        rows=3,
    )
    if folders:
        st.caption(plain(f"From {', '.join(map(str, folders))}"))
    with st.form("add_slides_form", border=False):
        left, middle, right = st.columns(3)
        organ = left.text_input("Organ (required)", placeholder="liver")
        source = middle.text_input("Source (required)", placeholder="Institution or collection")
        licence = right.text_input("Licence (required)", placeholder="CC0-1.0")
        species = left.text_input("Species", placeholder=settings.species)
        stain = middle.text_input("Stain", placeholder=settings.stain)
        institution = right.text_input("Institution")
        study = left.text_input("Study")
        mpp = middle.number_input(
            "µm per pixel",
            min_value=0.05,
            max_value=10.0,
            value=None,
            format="%.4f",
            help="Only for files that do not state their resolution; one that contradicts the file is refused.",
        )
        sent = st.form_submit_button("Add", type="primary")
    if not sent:
        return
    names = [line.strip() for line in paths.splitlines() if line.strip()]
    metadata = {
        "organ": organ,
        "source": source,
        "licence": licence,
        "species": species or None,
        "stain": stain or None,
        "institution": institution or None,
        "study": study or None,
    }
    try:
        if not names:
            raise InputError("Name at least one file or folder")
        organ_name(organ)
        checked_field("source", source, required=True)
        checked_field("licence", licence, required=True)
    except InputError as error:
        show_problems(error)
        return
    end_writing(_PATHS)
    put_text("slide_paths", "")
    start_job("add_slides", paths=names, metadata=metadata, mpp=mpp)
    st.rerun()
