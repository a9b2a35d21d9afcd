"""The slide viewer and the ROI image: OpenSeadragon with scale bar, magnifications, overview, rotation, ROI frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from curator_app.components._assets import component_from
from curator_app.session import may, workspace
from db.tables import Roi, Slide
from pipeline.permissions import Permission
from pipeline.roi_places import magnifications_of, side_on_slide

_PARTS = ("place", "frames", "drawing", "rulers", "tissue", "toolbar", "line", "keys")
_mount = component_from("viewer", before=("asking.js", *(f"viewer/{part}.js" for part in _PARTS)))

SIZES = (256, 512, 1024, 2048)
"""Sides in pixels that a drawn ROI may have."""

FOCUS_CONTEXT = 1.6
"""The view holds a focused frame and a margin of three tenths of its side all around."""


@dataclass(frozen=True)
class ViewedSlide:
    """What the viewer needs of a slide: level-0 size in pixels, µm per level-0 pixel, usual magnifications it has."""

    id: str
    name: str
    width: int
    height: int
    mpp: float | None
    magnifications: tuple[float, ...] = ()

    @classmethod
    def of(cls, slide: Slide) -> ViewedSlide:
        """Return a stored slide as the viewer takes it."""
        return cls(
            id=slide.id,
            name=slide.name,
            width=slide.width,
            height=slide.height,
            mpp=slide.mpp,
            magnifications=tuple(magnifications_of(slide)),
        )

    def as_data(self) -> dict[str, object]:
        """Return what goes to the browser."""
        return {
            "id": self.id,
            "name": self.name,
            "width": self.width,
            "height": self.height,
            "mpp": self.mpp,
            "magnifications": list(self.magnifications),
            "tiles": f"/api/slides/{self.id}/tiles/",
        }


@dataclass(frozen=True)
class RoiBox:
    """A frame on a slide: top-left corner and side in level-0 pixels; `state` is candidate or selected."""

    id: str
    slide_id: str
    x: int
    y: int
    side: float
    state: str

    @classmethod
    def of(cls, roi: Roi, slide: Slide) -> RoiBox:
        """Return a stored ROI as a frame on its slide."""
        side = side_on_slide(slide, size=roi.size, mpp=roi.mpp)
        return cls(id=roi.id, slide_id=slide.id, x=roi.x, y=roi.y, side=side, state=roi.state)

    def as_data(self) -> dict[str, object]:
        """Return what goes to the browser."""
        return {
            "id": self.id,
            "slide": self.slide_id,
            "x": self.x,
            "y": self.y,
            "side": self.side,
            "state": self.state,
        }


def slide_viewer(
    slides: Sequence[ViewedSlide],
    *,
    key: str,
    slide_id: str,
    focus: RoiBox | None = None,
    context: float = FOCUS_CONTEXT,
    draws: bool = False,
    keys: bool = False,
) -> None:
    """Show a slide with the frames of its ROIs, which the browser asks for itself.

    The place changes when `slide_id` or `focus` changes, otherwise it stays where it was left.

    Args:
        slides: the slides that the viewer may be sent to by another component without a rerun.
        key: names the viewer; other components send it to a place by this name.
        slide_id: the slide to show.
        focus: the ROI to go to and to mark; None shows the whole slide.
        context: how many sides of the focused frame fit into the view.
        draws: whether ROIs are drawn here, by who may choose them.
        keys: whether the viewer's keys work on the whole page; else only while the viewer has the keyboard.
    """
    _mount(
        key=key,
        data={
            "mode": "slide",
            "name": key,
            "slides": {slide.id: slide.as_data() for slide in slides},
            "slide": slide_id,
            "focus": focus.as_data() if focus else None,
            "context": context,
            "sizes": list(SIZES),
            "draws": draws and may(Permission.CHOOSE_ROIS),
            "keys": keys,
            "account": workspace().actor.account_id,
            # The page may have changed ROIs: the browser asks whether the frames are still the same.
            "drawn_anew": uuid4().hex,
        },
    )


def roi_image(
    roi: Roi,
    *,
    key: str,
    described_as: str,
    preload: Sequence[str] = (),
    above_px: int | None = None,
    facts: Mapping[str, str] | None = None,
) -> None:
    """Show the PNG of a selected ROI as large as the window allows; wheel and keys zoom, dragging pans.

    Args:
        roi: a selected ROI (its image exists).
        key: one key per place on the page, so that the next ROI replaces this one without a jump.
        described_as: the picture's text alternative; must not give the answer away.
        preload: ids of ROIs that come next.
        above_px: the image is as tall as the window less this; None takes what is left below its place.
        facts: short facts shown in the picture's corner, for example the organ.
    """
    _mount(
        key=key,
        data={
            "mode": "image",
            "name": key,
            "url": f"/api/rois/{roi.id}/image",
            "size": roi.size,
            "mpp": roi.mpp,
            "description": described_as,
            "preload": [f"/api/rois/{identifier}/image" for identifier in preload],
            "facts": dict(facts or {}),
            "above": above_px,
        },
    )
