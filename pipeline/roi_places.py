"""Where an ROI may lie: inside its slide, not finer than it, and where there is none yet."""

from __future__ import annotations

import math

from sqlmodel import Session, select

from db.tables import Roi, Slide
from evaluation.slides import RESOLUTION_TOLERANCE, magnification_label, mpp_of_magnification
from pipeline.errors import InputError
from pipeline.sampling import MAX_ROI_SIZE, MIN_ROI_SIZE

MAGNIFICATIONS = (2.5, 5.0, 10.0, 20.0, 40.0)
"""What people name a field of view by; other magnifications can be typed."""

MIN_MAGNIFICATION, MAX_MAGNIFICATION = 0.5, 80.0

EDGE_PX = 0.5
"""So many level-0 pixels a field may reach beyond the slide: its corner is a whole pixel, its side need not be."""


def side_on_slide(slide: Slide, *, size: int, mpp: float | None) -> float:
    """Return the side of a field in level-0 pixels."""
    return size * mpp / slide.mpp if mpp and slide.mpp else float(size)


def is_finer(slide: Slide, mpp: float) -> bool:
    """Say whether a resolution is finer than the slide's, so that pixels would have to be invented."""
    return slide.mpp is not None and mpp < slide.mpp * (1 - RESOLUTION_TOLERANCE)


def magnifications_of(slide: Slide) -> list[float]:
    """Return the usual magnifications that the slide is fine enough for."""
    return [one for one in MAGNIFICATIONS if not is_finer(slide, mpp_of_magnification(one))]


def checked_resolution(magnification: float) -> float:
    """Return the µm per output pixel of a magnification that somebody named.

    Raises:
        InputError: it is none.
    """
    if not (math.isfinite(magnification) and MIN_MAGNIFICATION <= magnification <= MAX_MAGNIFICATION):
        raise InputError(
            f"The magnification is {magnification:g}; it must lie between {MIN_MAGNIFICATION:g} and "
            f"{MAX_MAGNIFICATION:g}. Nothing was changed."
        )
    return mpp_of_magnification(magnification)


def faults_of_place(slide: Slide, *, x: int, y: int, size: int, mpp: float) -> list[str]:
    """Return in words what is wrong with a field: `x`, `y` level-0 pixels, `size` output pixels, `mpp` µm per pixel."""
    faults = []
    if not MIN_ROI_SIZE <= size <= MAX_ROI_SIZE:
        faults.append(f"its side is {size} px; it must lie between {MIN_ROI_SIZE} and {MAX_ROI_SIZE:,}")
    if is_finer(slide, mpp):
        faults.append(
            f"{magnification_label(mpp)} ({mpp:g} µm/px) is finer than the slide, which has {slide.mpp:.4g} µm/px"
        )
    side = side_on_slide(slide, size=size, mpp=mpp)
    if min(x, y) < 0 or x + side > slide.width + EDGE_PX or y + side > slide.height + EDGE_PX:
        faults.append(
            f"it reaches beyond the slide: it spans {side:,.0f} level-0 pixels from ({x:,}, {y:,}), the slide has "
            f"{slide.width:,} × {slide.height:,}"
        )
    return faults


def standing_at(session: Session, slide: Slide, *, x: int, y: int, size: int, mpp: float) -> Roi | None:
    """Return the ROI of exactly this field, also one that was withdrawn, or None."""
    place = (Roi.slide_id == slide.id, Roi.x == x, Roi.y == y, Roi.size == size, Roi.mpp == mpp)
    return session.exec(select(Roi).where(*place)).first()


def said_standing(roi: Roi) -> str:
    """Return in words what stands where an ROI was asked for."""
    return f"{'the withdrawn' if roi.withdrawn_at else f'the {roi.state}'} ROI {roi.id}"
