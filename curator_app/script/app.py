"""The app's script, run by Streamlit for every visit: rail on the left, the chosen page beside it.

It stands in a folder of its own: beside a folder `pages`, Streamlit would list every module there as a page.
"""

import streamlit as st

from curator_app.at_work import leave_work
from curator_app.rail import RAIL, own_rail, page_of
from curator_app.rail_foot import rail_foot
from curator_app.session import signed_in, take_tab
from curator_app.signed_out import show_signed_out
from curator_app.troubles import show_trouble_before
from pipeline.troubles import not_needed

SIDEBAR_WIDTH_PX = 200

WORK_PAGES = ("write-seeds", "items")
"""Pages on which one works on something; elsewhere it is given back to the queue."""

st.set_page_config(page_title="Histocurator", layout="wide", initial_sidebar_state=SIDEBAR_WIDTH_PX)
if (known := signed_in()) is None:
    show_signed_out()
else:
    take_tab(known)
    own = own_rail(known.actor)
    chosen = st.navigation([page_of(entry.module, in_rail=entry in own) for entry in RAIL], expanded=True)
    rail_foot(known)
    show_trouble_before()
    if chosen.url_path not in WORK_PAGES:
        with not_needed("What was worked on could not be given back"):
            leave_work()
    chosen.run()
