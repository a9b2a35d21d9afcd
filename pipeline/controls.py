"""Concurrent controls of a ROI: same organ, study and magnification, of subjects that were not treated."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sqlmodel import Session, col, select

from db.tables import Roi, Slide
from pipeline.dose_groups import is_control, without_hidden
from pipeline.errors import InputError, NotFoundError
from pipeline.permissions import Permission, needs
from pipeline.workspace import Workspace


class NoControlError(InputError):
    """There is no concurrent control of a ROI; the message says why."""


@dataclass(frozen=True)
class Control:
    """A ROI of a control, its slide (without a dose group that the actor may not see), and its place among `count`."""

    roi: Roi
    slide: Slide
    number: int
    count: int


@needs(Permission.VIEW_SLIDES)
def control_roi(workspace: Workspace, roi_id: str, *, number: int = 1) -> Control:
    """Return a concurrent control of a ROI: same organ, study and magnification, and a control's dose group.

    Selected ROIs and candidates count, those of the ROI's own slide do not. The order is always the same: subjects of
    the same sex first, then one ROI of each slide before the second of any.

    Args:
        workspace: where.
        roi_id: the ROI at hand.
        number: which control, from 1; after the last one comes the first again.

    Raises:
        NotFoundError: there is no such ROI.
        NoControlError: there is no control; the message says what is missing.
    """
    with workspace.reading() as session:
        found = session.exec(select(Roi, Slide).where(Roi.slide_id == Slide.id, Roi.id == roi_id)).first()
        if found is None:
            raise NotFoundError(f"There is no ROI {roi_id} in this workspace.")
        roi, slide = found
        if slide.study is None:
            raise NoControlError(f"No study is stated for {slide.name}, so no control of the same study can be found.")
        controls = [other for other in _others_of_study(session, slide) if is_control(workspace, other)]
        if not controls:
            # Which groups there are is for those who may see them.
            raise NoControlError(
                f"No other slide of {_organ(slide)} of study {slide.study} counts as a control (setting "
                "control_dose_groups)."
            )
        ordered = _ordered(_fields_of(session, controls, roi), slide)
    if not ordered:
        raise NoControlError(
            f"The controls of study {slide.study} have no ROI of {_organ(slide)} at {roi.magnification}: draw "
            "candidates at this magnification."
        )
    place = (number - 1) % len(ordered)
    control, its_slide = ordered[place]
    return Control(control, without_hidden(workspace, its_slide), place + 1, len(ordered))


def _others_of_study(session: Session, slide: Slide) -> list[Slide]:
    query = select(Slide).where(
        Slide.study == slide.study,
        Slide.organ == slide.organ,
        Slide.id != slide.id,
        Slide.kind == "slide",
        col(Slide.withdrawn_at).is_(None),
    )
    return list(session.exec(query))


def _fields_of(session: Session, slides: list[Slide], roi: Roi) -> list[tuple[Roi, Slide]]:
    by_id = {slide.id: slide for slide in slides}
    query = select(Roi).where(
        col(Roi.slide_id).in_(by_id),
        Roi.magnification == roi.magnification,
        col(Roi.state).in_(("selected", "candidate")),
        col(Roi.withdrawn_at).is_(None),
    )
    return [(control, by_id[control.slide_id]) for control in session.exec(query)]


def _ordered(fields: list[tuple[Roi, Slide]], slide: Slide) -> list[tuple[Roi, Slide]]:
    seen: Counter[str] = Counter()
    ranked = []
    # By name and place, not by id: the same slides in another workspace give the same controls.
    for roi, its_slide in sorted(fields, key=lambda one: (one[1].name, one[1].content_sha256, one[0].y, one[0].x)):
        seen[its_slide.id] += 1
        ranked.append((its_slide.sex != slide.sex, seen[its_slide.id], its_slide.name, roi, its_slide))
    return [(roi, its_slide) for *_, roi, its_slide in sorted(ranked, key=lambda one: one[:3])]


def _organ(slide: Slide) -> str:
    return slide.organ.replace("_", " ")
