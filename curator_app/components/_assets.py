"""Registers a component from the script and style sheet that lie in its folder."""

from __future__ import annotations

from importlib import resources

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer


def component_from(folder: str) -> ComponentRenderer:
    """Return the mounting function of the component in `components/<folder>/{index.js,style.css}`."""
    files = resources.files("curator_app.components").joinpath(folder)
    shared = resources.files("curator_app.components")

    def text(shared_name: str, own_name: str) -> str:
        parts = (shared.joinpath(shared_name), files.joinpath(own_name))
        return "".join(part.read_text(encoding="utf-8") for part in parts)

    renderer: ComponentRenderer = st.components.v2.component(
        f"histocurator_{folder}",
        html='<div class="root"></div>',
        css=text("shared.css", "style.css"),
        js=text("shared.js", "index.js"),
    )
    return renderer
