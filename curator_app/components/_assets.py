"""Registers a component from the script and style sheet that lie in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer


def component_from(folder: str, *, before: Sequence[str] = ()) -> ComponentRenderer:
    """Return the mounting function of the component in `components/<folder>/{index.js,style.css}`.

    Args:
        folder: the component's folder.
        before: further scripts, below `components/`, whose classes and functions the component's own one uses.
    """
    shared = resources.files("curator_app.components")

    def text(*names: str) -> str:
        return "".join(shared.joinpath(name).read_text(encoding="utf-8") for name in names)

    renderer: ComponentRenderer = st.components.v2.component(
        f"histocurator_{folder}",
        html='<div class="root"></div>',
        css=text("shared.css", f"{folder}/style.css"),
        js=text("shared.js", *before, f"{folder}/index.js"),
    )
    return renderer
