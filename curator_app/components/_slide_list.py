"""The list of slides: a card each, with picture and facts, found by typing, chosen by click or arrow keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from curator_app.components._assets import component_from
from db.tables import Slide

_mount = component_from("slide_list")

MICRONS_PER_MM = 1000


@dataclass(frozen=True)
class SlideCard:
    """A slide as its card shows it: name, lines of facts, and the words that the search finds it by."""

    id: str
    name: str
    lines: tuple[str, ...]

    @classmethod
    def of(cls, slide: Slide) -> SlideCard:
        """Return a stored slide as a card."""
        resolution = f"{slide.mpp:.3g} µm/px" if slide.mpp else "resolution unknown"
        tissue = "" if slide.tissue_share is None else f" · {slide.tissue_share:.0%} tissue"
        levels = "1 level" if slide.level_count == 1 else f"{slide.level_count} levels"
        return cls(
            id=slide.id,
            name=slide.name,
            lines=(
                *_said_of(slide),
                f"{_extent(slide)}{_pixels(slide.width * slide.height)}",
                f"{resolution} · {levels}{tissue}",
                f"{slide.source} · {slide.licence}",
            ),
        )


def _extent(slide: Slide) -> str:
    """Return how large a slide is, in the unit in which that can be read; nothing where nobody knows."""
    if not slide.mpp:
        return ""
    width, height = (side * slide.mpp for side in (slide.width, slide.height))
    if min(width, height) < MICRONS_PER_MM / 2:
        return f"{width:,.0f} × {height:,.0f} µm · "
    return f"{width / MICRONS_PER_MM:,.1f} × {height / MICRONS_PER_MM:,.1f} mm · "


def _pixels(count: int) -> str:
    for unit, size in (("Gpx", 1e9), ("Mpx", 1e6)):
        if count >= size / 10:
            return f"{count / size:,.3g} {unit}"
    return f"{count:,} px"


def _said_of(slide: Slide) -> list[str]:
    """Return the lines of what people said of a slide: organ, subject, study; what nobody said is left out."""
    organ = slide.organ.replace("_", " ").capitalize()
    structure = slide.structure if (slide.structure or "").casefold() != organ.casefold() else None
    lines = (
        (organ, slide.organ_system, structure),
        (slide.species, slide.strain, slide.sex, slide.age, slide.subject and f"subject {slide.subject}", slide.stain),
        (
            slide.study,
            slide.dose_group and f"dose group {slide.dose_group}",
            slide.sacrifice and f"{slide.sacrifice} sacrifice",
        ),
        (slide.institution, slide.scanner),
    )
    return [" · ".join(part for part in line if part) for line in lines if any(line)]


def slide_list(cards: Sequence[SlideCard], *, key: str, chosen: str) -> str:
    """Show the slides and return the id of the chosen one (`chosen` until the person chooses another)."""
    known = {card.id for card in cards}
    # What was chosen just now, before the component is told what is chosen.
    stated = st.session_state.get(key) or {}
    if stated.get("slide") in known:
        chosen = str(stated["slide"])
    result = _mount(
        key=key,
        default={"slide": chosen},
        on_slide_change=lambda: None,
        data={
            "slides": [
                {
                    "id": card.id,
                    "name": card.name,
                    "lines": list(card.lines),
                    "image": f"/api/slides/{card.id}/thumbnail",
                }
                for card in cards
            ],
            "chosen": chosen,
        },
    )
    picked = result.get("slide")
    return str(picked) if picked in known else chosen
