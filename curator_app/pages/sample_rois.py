"""Sample ROIs: draw candidates, make bins, and pick across them."""

from __future__ import annotations

import streamlit as st

from curator_app.components import Key
from curator_app.job_progress import start_job, watch_jobs
from curator_app.layout import choose_organ, empty_state, key_label, organ_words, page_head
from curator_app.pages._bin_numbers import show_numbers
from curator_app.pages._bin_quotas import progress_bars, quota_popover
from curator_app.pages._draw_candidates import draw_candidates
from curator_app.pages._pick_candidates import MAP_OR_GRID, PICK_KEYS, map_or_grid, pick_candidates
from curator_app.session import workspace
from evaluation.stains import NORMALISATIONS
from pipeline.bin_sheets import sheets_of
from pipeline.bins import DEFAULT_BINS
from pipeline.encoders import known_encoders
from pipeline.ingest import list_slides
from pipeline.rois import current_binning, list_rois

_KEYS = (
    *PICK_KEYS,
    Key("m", "The map of all candidates, and back to the grid", button=MAP_OR_GRID),
    Key("i", "Numbers of the selection, for the methods section", button="open_numbers"),
)


def show() -> None:
    """Draw the page."""
    page_head("Sample ROIs", "Draw candidates on tissue, put them into bins, pick across the bins.", keys=_KEYS)
    if not list_slides(workspace()):
        empty_state("There is no slide to draw from.", "Add slides first.", page="slides", link="Go to Slides")
        return
    bar_row = st.container(horizontal=True, vertical_alignment="center", key="sample_bar")
    with bar_row:
        organ = choose_organ() or ""
    binning = current_binning(workspace(), organ)
    rows = list_rois(workspace(), organ=organ, states=("candidate", "selected", "rejected"))
    with bar_row:
        draw_candidates(organ, key=_popover_key("draw"), close=_close_popovers)
        if rows:
            _bin_popover(organ)
        if binning is not None:
            sheets = sheets_of(binning, rows)
            _select_popover(organ)
            if quota_popover(organ, binning, sheets, key=_popover_key("target")):
                _close_popovers()
            map_or_grid(organ)
            if st.button(key_label("Numbers", "i"), key="open_numbers"):
                show_numbers(organ)
            progress_bars(sheets)
    watch_jobs("sample", "bin", "select", "diversity")
    if not rows:
        empty_state(
            f"{organ_words(organ)} has no candidates yet.",
            "Press Draw candidates: random fields on tissue, spread over the organ's slides.",
        )
        return
    if binning is None:
        empty_state(
            f"{len(rows):,} candidates of {organ_words(organ)} wait for their bins.",
            "Press Make bins: the candidates are embedded and clustered, so that you can pick across them.",
        )
        return
    pick_candidates(organ, binning, rows, sheets)


def _bin_popover(organ: str) -> None:
    encoders = {encoder.name: encoder for encoder in known_encoders(workspace()) if encoder.available}
    names = list(encoders)
    default = workspace().settings.encoder
    with st.popover("Make bins", key=_popover_key("bins")), st.form("bin_form", border=False):
        encoder = st.selectbox(
            "Encoder",
            names,
            index=names.index(default) if default in names else 0,
            help="\n\n".join(f"**{name}** {encoder.description}" for name, encoder in encoders.items()),
        )
        left, right = st.columns(2)
        bins = left.number_input("Bins", min_value=1, max_value=500, value=DEFAULT_BINS)
        seed = right.number_input("Random seed", min_value=0, max_value=2**31 - 1, value=0, key="bin_seed")
        normalisation = left.selectbox(
            "Stain normalisation",
            NORMALISATIONS,
            help="Colours are moved to those of a reference before the encoder sees them; the images stay as they are.",
        )
        st.caption("New bins replace the old ones, without undo; what is selected stays selected.")
        if st.form_submit_button("Make bins", type="primary"):
            start_job("bin", organ=organ, bins=bins, encoder=encoder, normalisation=normalisation, seed=seed)
            _close_popovers()


def _select_popover(organ: str) -> None:
    with st.popover("Pick for me", key=_popover_key("select")), st.form("select_form", border=False):
        st.caption(
            "Fills every bin's quota with its most typical candidates, those with an artefact last; what you picked "
            "counts. There is no undo for all of them: reject what you do not want."
        )
        if st.form_submit_button("Select", type="primary"):
            start_job("select", organ=organ)
            _close_popovers()


def _popover_key(name: str) -> str:
    return f"{name}_{st.session_state.get('popovers_closed', 0)}"


def _close_popovers() -> None:
    """Draw the page again with closed popovers: under a new key they are new ones."""
    st.session_state["popovers_closed"] = st.session_state.get("popovers_closed", 0) + 1
    st.rerun()
