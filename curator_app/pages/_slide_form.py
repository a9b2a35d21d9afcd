"""The fields of a slide as forms show them: what is needed first, then the subject and its study, then the image."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from curator_app.session import workspace
from pipeline.dose_groups import sees_dose_groups
from pipeline.ingest import SACRIFICES, SEXES
from pipeline.organs import organ_map

NOT_SAID = "–"
"""The choice of who does not know, or leaves it to the organs file."""


def slide_fields(values: Mapping[str, str | None], *, key: str, required: bool = True) -> dict[str, str]:
    """Draw the fields and return what stands in them, by field; dose groups only for who may see them.

    Args:
        values: what stands in them at first.
        key: tells this form's fields from those of another one.
        required: whether organ, source and licence are marked as required.
    """
    settings = workspace().settings
    said: dict[str, str] = {}

    def text(place: DeltaGenerator, name: str, label: str, placeholder: str = "") -> None:
        said[name] = str(
            place.text_input(label, value=values.get(name) or "", placeholder=placeholder, key=f"{key}_{name}") or ""
        )

    def choice(place: DeltaGenerator, name: str, label: str, words: tuple[str, ...]) -> None:
        options = (NOT_SAID, *words)
        stored = values.get(name) or NOT_SAID
        # A stored word that the organs file no longer has stays until somebody chooses another one.
        options = options if stored in options else (*options, stored)
        chosen = place.selectbox(label, options, index=options.index(stored), key=f"{key}_{name}")
        said[name] = "" if chosen == NOT_SAID else str(chosen)

    mark = " (required)" if required else ""
    left, middle, right = st.columns(3)
    text(left, "organ", f"Organ{mark}", "liver")
    text(middle, "source", f"Source{mark}", "Institution or collection")
    text(right, "licence", f"Licence{mark}", "CC0-1.0")
    st.markdown("**Subject and study**")
    left, middle, right = st.columns(3)
    text(left, "species", "Species", settings.species)
    text(middle, "strain", "Strain", "Wistar")
    choice(right, "sex", "Sex", SEXES)
    text(left, "age", "Age", "13 weeks")
    text(middle, "subject", "Subject", "code of the animal or patient")
    text(right, "study", "Study")
    if sees_dose_groups(workspace()):
        text(left, "dose_group", "Dose group", "control")
    choice(middle, "sacrifice", "Sacrifice", SACRIFICES)
    st.markdown("**Image**")
    left, middle, right = st.columns(3)
    text(left, "stain", "Stain", settings.stain)
    text(middle, "institution", "Institution")
    text(right, "scanner", "Scanner")
    choice(left, "organ_system", "Organ system", organ_map(workspace()).systems)
    text(middle, "structure", "Structure", "as the organs file has it")
    return said
