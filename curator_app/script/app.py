"""The app's script, run by Streamlit for every visit: rail on the left, the chosen page beside it.

It stands in a folder of its own: beside a folder `pages`, Streamlit would list every module there as a page.
"""

from pathlib import Path

import streamlit as st

from curator_app.rail import RAIL, page_of

SIDEBAR_WIDTH_PX = 200

st.set_page_config(
    page_title="Histocurator",
    page_icon=Path(__file__).parent.parent / "icon.svg",
    layout="wide",
    initial_sidebar_state=SIDEBAR_WIDTH_PX,
)
st.navigation([page_of(entry.module) for entry in RAIL], expanded=True).run()
