"""A slide's ROIs out to QuPath and in again: the download, and the form that takes a GeoJSON file."""

from __future__ import annotations

from html import escape
from pathlib import Path

import streamlit as st

from curator_app.layout import plain, show_problems
from curator_app.routes import geojson_address
from curator_app.session import may, who, workspace
from db.tables import Slide
from evaluation.slides import SlideError
from pipeline.errors import InputError
from pipeline.permissions import Permission
from pipeline.roi_exchange import Exchanged, import_geojson, read_file
from pipeline.roi_places import magnifications_of

_IMPORTS = "roi_files_taken"
_DONE = "roi_files_done"
MOST_SKIPPED_SHOWN = 20


def roi_files(slide: Slide) -> None:
    """Draw what leads to the files of a slide's ROIs."""
    with st.popover("GeoJSON", key="roi_files", help="ROIs to and from QuPath"):
        st.caption(plain(f"ROIs of {slide.name} in level-0 pixels from its top-left corner, as QuPath reads them."))
        links = {"Selected ROIs": ("selected",), "Selected ROIs and candidates": ("selected", "candidate")}
        parts = [
            f'<a href="{escape(geojson_address(slide.id, states=states))}" download>{words}</a>'
            for words, states in links.items()
        ]
        st.html(f'<p class="hc-link">Download: {" · ".join(parts)}</p>')
        if may(Permission.CHOOSE_ROIS):
            _import_form(slide)


def _import_form(slide: Slide) -> None:
    if (done := st.session_state.pop(_DONE, None)) is not None:
        _say(done)
    number = st.session_state.setdefault(_IMPORTS, 0)
    powers = magnifications_of(slide)
    with st.form(f"roi_files_form_{number}", border=False):
        file = st.file_uploader("GeoJSON file", type=["geojson", "json"], key=f"roi_file_{number}")
        path = st.text_input("or its path on the computer that runs the app", key=f"roi_path_{number}")
        power = st.selectbox(
            "Magnification of squares that state none",
            [None, *powers],
            format_func=lambda one: "refuse them" if one is None else f"{one:g}×",
            key=f"roi_power_{number}",
        )
        if not st.form_submit_button("Import", type="primary"):
            return
    try:
        if (file is None) == (not path.strip()):
            raise InputError("Choose a file or name its path, one of the two.")
        data = file.getvalue() if file is not None else read_file(workspace(), Path(path.strip()))
        name = file.name if file is not None else Path(path.strip()).name
        with st.spinner("Reading the fields from the slide…"):
            done = import_geojson(workspace(), slide.id, data, name=name, magnification=power, who=who())
    except (InputError, SlideError) as error:
        show_problems(error)
        return
    st.session_state[_DONE] = done
    st.session_state[_IMPORTS] = number + 1
    st.rerun()


def _say(done: Exchanged) -> None:
    added = len(done.added)
    st.success(f"{added:,} {'ROI' if added == 1 else 'ROIs'} imported", icon=":material/check:")
    if done.skipped:
        st.info(f"{len(done.skipped):,} skipped:")
        st.caption(plain("; ".join(done.skipped[:MOST_SKIPPED_SHOWN])))
