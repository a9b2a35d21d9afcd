"""Sample ROIs, Draw candidates: how many, at which magnifications in which shares, and how they are placed."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from curator_app.job_progress import start_job
from curator_app.layout import organ_words

MAGNIFICATIONS = (40.0, 20.0, 10.0, 5.0, 2.5)
SIZES = (1024, 512, 256, 2048)
_FIRST = 20.0
"""The magnification that has all of the draw until the person says otherwise."""


def draw_candidates(organ: str, *, key: str, close: Callable[[], None]) -> None:
    """Draw the button and its form; `close` closes it when the draw was started."""
    with st.popover("Draw candidates", key=key), st.form("draw_form", border=False):
        st.caption(
            f"Random fields on the tissue of all slides of {organ_words(organ)}, spread over studies and slides."
        )
        left, right = st.columns(2)
        count = left.number_input("Candidates", min_value=1, max_value=20_000, value=400, step=50)
        seed = right.number_input("Random seed", min_value=0, max_value=2**31 - 1, value=0)
        shares = _shares()
        left, right = st.columns(2)
        size = left.selectbox("Side (px)", SIZES)
        min_tissue = right.number_input("Least tissue (%)", min_value=0, max_value=100, value=50, step=5)
        overlap = left.number_input("Most overlap (%)", min_value=0, max_value=99, value=25, step=5)
        if st.form_submit_button("Draw", type="primary"):
            total = sum(shares.values())
            if total != 100:
                st.error(f"The shares of the magnifications add up to {total} %, not to 100 %. Nothing was drawn.")
                return
            start_job(
                "sample",
                organ=organ,
                count=count,
                size=size,
                magnifications=[[magnification, share / 100] for magnification, share in shares.items() if share],
                min_tissue=min_tissue / 100,
                max_overlap=overlap / 100,
                seed=seed,
            )
            close()


def _shares() -> dict[float, int]:
    """Draw the table of magnifications and return the share of each in per cent."""
    st.caption("Share of each magnification (%), 100 in all")
    columns = st.columns(len(MAGNIFICATIONS), gap="small")
    return {
        magnification: int(
            column.number_input(
                f"{magnification:g}×", min_value=0, max_value=100, value=100 if magnification == _FIRST else 0, step=10
            )
        )
        for column, magnification in zip(columns, MAGNIFICATIONS, strict=True)
    }
