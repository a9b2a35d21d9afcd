"""The map of an organ's candidates: a point for each, alike ones close together, worked by mouse or keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from curator_app.components._assets import component_from
from curator_app.components._viewer import RoiBox

_mount = component_from("candidate_map")


@dataclass(frozen=True)
class MapPoint:
    """One candidate on the map: where it lies there (0 to 1), its bin as shown (from 1), and where on which slide."""

    box: RoiBox
    x: float
    y: float
    bin: int
    slide_name: str
    flags: Sequence[str] = ()

    def as_data(self) -> list[object]:
        """Return what goes to the browser: a list, since there are thousands."""
        box = self.box
        place = [round(self.x, 4), round(self.y, 4)]
        return [box.id, *place, self.bin, box.state, box.slide_id, box.x, box.y, box.side, ", ".join(self.flags)]


def candidate_map(
    points: Sequence[MapPoint],
    *,
    key: str,
    viewer: str,
    current: str | None,
    on_open: Callable[[str], None],
) -> None:
    """Show the map; the candidate in the frame is shown in the viewer, Enter or a click opens it in the grid.

    Args:
        points: the candidates of one organ.
        key: one key per place on the page.
        viewer: the name of the slide viewer that follows.
        current: the id of the candidate to begin with.
        on_open: called with the id of the candidate that the person opened.
    """

    def opened() -> None:
        roi_id = st.session_state[key].get("opened")
        if isinstance(roi_id, str):
            on_open(roi_id)

    slides = {point.box.slide_id: point.slide_name for point in points}
    _mount(
        key=key,
        on_opened_change=opened,
        data={
            "points": [point.as_data() for point in points],
            "slides": slides,
            "viewer": viewer,
            "current": current,
        },
    )
