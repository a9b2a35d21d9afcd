"""How many ROIs are wanted, in all and of each bin, and how far that is reached."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from curator_app.layout import bar, show_problems
from curator_app.session import who, workspace
from db.tables import Binning
from pipeline.bin_sheets import BinSheet
from pipeline.errors import InputError
from pipeline.quotas import quotas_of, set_quotas

_PROBLEM = "quota_problem"


def quota_popover(organ: str, binning: Binning, sheets: Sequence[BinSheet], *, key: str) -> bool:
    """Show the target as a button that opens the quotas; return whether they were changed just now."""
    quotas = quotas_of(binning)
    # Typed numbers belong to the quotas that they were typed over.
    seen = f"{binning.id}_{binning.row_version}"
    with st.popover(f"Target {sum(quotas)}", key=key):
        if (problem := st.session_state.pop(_PROBLEM, None)) is not None:
            show_problems(problem)
        with st.form("target_form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
            total = st.number_input(
                "ROIs to pick", min_value=0, max_value=sum(binning.sizes), value=sum(quotas), key=f"target_{seen}"
            )
            spread = st.form_submit_button("Spread over the bins")
        with st.form("quota_form", border=False):
            table = [
                {"Bin": sheet.number, "ROIs": sheet.size, "Picked": sheet.selected, "Quota": sheet.quota}
                for sheet in sheets
            ]
            edited = st.data_editor(
                table,
                key=f"quotas_{seen}",
                hide_index=True,
                disabled=("Bin", "ROIs", "Picked"),
                column_config={"Quota": st.column_config.NumberColumn(min_value=0, step=1, required=True)},
                height=260,
            )
            saved = st.form_submit_button("Save quotas", type="primary")
    if not (spread or saved):
        return False
    single = {row["Bin"]: row["Quota"] for row, before in zip(edited, table, strict=True) if row != before}
    try:
        set_quotas(
            workspace(),
            organ=organ,
            total=int(total) if spread else None,
            quotas={} if spread else {number: int(quota or 0) for number, quota in single.items()},
            who=who(),
            expected_version=binning.row_version,
        )
    except InputError as error:
        st.session_state[_PROBLEM] = error
        st.rerun()
    return True


def progress_bars(sheets: Sequence[BinSheet]) -> None:
    """Show how many ROIs are picked of those wanted, and how many bins are covered."""
    bars = [
        bar("picked", sum(sheet.selected for sheet in sheets), sum(sheet.quota for sheet in sheets)),
        bar("bins covered", sum(sheet.covered for sheet in sheets), len(sheets)),
    ]
    st.html(f'<div role="status" class="hc-bars">{"".join(bars)}</div>')
