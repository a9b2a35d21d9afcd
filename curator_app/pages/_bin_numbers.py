"""The numbers of an organ's selection: for the methods section, with the diversity against random picking."""

from __future__ import annotations

import streamlit as st

from curator_app.components.selection_html import bins_table, histogram_html, numbers_html, selection_style
from curator_app.job_progress import start_job
from curator_app.layout import local_time, organ_words, plain, show_problems
from curator_app.session import workspace
from evaluation.encoders import RANDOM_PICKS
from pipeline.diversity import MAX_RANDOM_PICKS
from pipeline.encoders import known_encoders
from pipeline.errors import InputError
from pipeline.selection import SelectionNumbers, methods_text, selection_numbers

LEAST_RANDOM_PICKS = 1_000
"""Fewer random picks say too little about the tail that the pick is compared with."""


def show_numbers(organ: str) -> None:
    """Open the numbers of an organ's selection."""
    st.dialog(f"Numbers of {organ_words(organ)}", width="large")(_numbers)(organ)


def _numbers(organ: str) -> None:
    try:
        numbers = selection_numbers(workspace(), organ=organ)
    except InputError as error:
        show_problems(error)
        return
    st.html(f"{selection_style()}{numbers_html(numbers)}")
    st.markdown("**For the methods section**")
    st.code(methods_text(numbers), language=None, wrap_lines=True)
    st.markdown("**More varied than random picks?**")
    _diversity(organ, numbers)
    st.markdown("**Bins**")
    st.html(bins_table(numbers.bins))


def _diversity(organ: str, numbers: SelectionNumbers) -> None:
    if (measured := numbers.diversity) is not None:
        if not numbers.same_pick:
            st.caption("The selection was changed since this was measured: it is of another pick. Measure again.")
        st.html(histogram_html(measured.report))
        st.caption(
            f"p = {measured.report.vendi.p:.2g}: the share of random picks that are at least as varied. Measured by "
            f"{plain(measured.who)}, {local_time(measured.at)}."
        )
    encoders = [
        one.name for one in known_encoders(workspace()) if not one.missing and one.name != numbers.binning.encoder
    ]
    if not encoders:
        st.caption(
            "The pick has to be measured in an encoder that did not make the bins, and there is no other one here: "
            "the extra gpu brings some."
        )
        return
    if numbers.selected < 2:
        st.caption("Select two ROIs or more first.")
        return
    with st.form("diversity_form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        encoder = st.selectbox("Encoder (not the one of the bins)", encoders, width=260)
        picks = st.number_input(
            "Random picks", min_value=LEAST_RANDOM_PICKS, max_value=MAX_RANDOM_PICKS, value=RANDOM_PICKS, width=150
        )
        if st.form_submit_button("Measure", type="primary"):
            start_job("diversity", organ=organ, encoder=encoder, random_picks=picks)
            st.rerun()
