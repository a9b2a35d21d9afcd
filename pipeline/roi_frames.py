"""The ROIs of a slide as a viewer draws them: thousands of frames, told apart from an older answer without reading
them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from sqlmodel import col, func, select

from db.tables import Roi, Slide
from pipeline.containment import containment_of
from pipeline.drawn_rois import BY_HAND
from pipeline.errors import NotFoundError
from pipeline.permissions import Permission, needs
from pipeline.rois import get_roi
from pipeline.workspace import Workspace


@dataclass(frozen=True)
class Frame:
    """A ROI as a square on its slide: `x`, `y` and `side` in level-0 pixels, `size` in output pixels."""

    id: str
    x: int
    y: int
    side: float
    state: str
    magnification: str
    size: int
    version: int
    drawn: bool


@needs(Permission.VIEW_SLIDES)
def frames_mark(workspace: Workspace, slide_id: str) -> str:
    """Return a text that changes with every change of a slide's ROIs."""
    seen = select(func.count(), func.max(Roi.changed_at), func.sum(Roi.row_version)).where(Roi.slide_id == slide_id)
    with workspace.reading() as session:
        count, last, versions = session.exec(seen).one()
    return hashlib.sha256(f"{slide_id} {count} {last} {versions}".encode()).hexdigest()[:32]


@needs(Permission.VIEW_SLIDES)
def slide_frames(workspace: Workspace, slide_id: str) -> list[Frame]:
    """Return the ROIs of a slide in every state, except those that were withdrawn.

    Raises:
        NotFoundError: there is no such slide.
    """
    columns = (Roi.id, Roi.x, Roi.y, Roi.size, Roi.mpp, Roi.state, Roi.magnification, Roi.row_version, Roi.draw)
    query = select(*columns).where(Roi.slide_id == slide_id, col(Roi.withdrawn_at).is_(None))  # type: ignore[call-overload]
    with workspace.reading() as session:
        slide = session.get(Slide, slide_id)
        if slide is None:
            raise NotFoundError(f"There is no slide {slide_id} in this workspace.")
        own = slide.mpp
        return [
            Frame(id_, x, y, size * mpp / own if mpp and own else size, state, power, size, version, BY_HAND in draw)
            for id_, x, y, size, mpp, state, power, version, draw in session.exec(query)
        ]


@dataclass(frozen=True)
class Around:
    """How many ROIs a ROI holds and lies within, by state and magnification."""

    holds: dict[str, dict[str, int]]
    within: dict[str, dict[str, int]]


@needs(Permission.VIEW_SLIDES)
def around_roi(workspace: Workspace, roi_id: str) -> Around:
    """Count what a ROI holds and what it lies within on its slide, of what is selected or a candidate.

    Raises:
        NotFoundError: there is no such ROI.
    """
    roi, slide = get_roi(workspace, roi_id)
    near = (Roi.slide_id == slide.id, col(Roi.withdrawn_at).is_(None), col(Roi.state).in_(("selected", "candidate")))
    with workspace.reading() as session:
        others = {other.id: other for other in session.exec(select(Roi).where(*near))}
    held = containment_of((roi, slide), [(other, slide) for other in others.values()])
    return Around(
        holds=_counted([others[name] for name in held.holds]), within=_counted([others[name] for name in held.within])
    )


def _counted(rois: list[Roi]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for roi in rois:
        of_state = counts.setdefault(roi.state, {})
        of_state[roi.magnification] = of_state.get(roi.magnification, 0) + 1
    return counts
