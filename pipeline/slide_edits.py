"""Changing what is said of a slide, taking a slide out of the work and bringing it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, func, select

from db import record_event, utc_now
from db.tables import Roi, Seed, Slide
from pipeline.dose_groups import sees_dose_groups, without_hidden
from pipeline.errors import InputError, NotFoundError
from pipeline.ingest import SLIDE_FIELDS, SlideMetadata, checked_metadata, organ_name
from pipeline.last_change import require_unchanged
from pipeline.notes import checked_note
from pipeline.permissions import NotAllowedError, Permission, needs
from pipeline.workspace import Workspace

_FROM_ORGANS = ("organ_system", "structure")
"""Fields that follow the organ unless somebody states them."""

_WITH_SLIDE = "its slide was withdrawn: "
"""How the reason begins of a ROI that goes and comes back with its slide."""


@dataclass(frozen=True)
class SlideUse:
    """What hangs on a slide: ROIs by state, and the seeds on them that are not dropped."""

    candidates: int
    selected: int
    rejected: int
    seeds: int


@needs(Permission.VIEW_SLIDES)
def use_of_slide(workspace: Workspace, slide_id: str) -> SlideUse:
    """Return what hangs on a slide.

    Raises:
        NotFoundError: there is none of this id.
    """
    with workspace.reading() as session:
        _slide(session, slide_id)
        states = select(Roi.state, func.count()).where(Roi.slide_id == slide_id, col(Roi.withdrawn_at).is_(None))
        counts = dict(session.exec(states.group_by(col(Roi.state))).all())
        seeds = _live_seeds(session, slide_id)
    return SlideUse(
        candidates=counts.get("candidate", 0),
        selected=counts.get("selected", 0),
        rejected=counts.get("rejected", 0),
        seeds=seeds,
    )


@needs(Permission.VIEW_SLIDES)
def withdrawn_slides(workspace: Workspace) -> list[Slide]:
    """Return the slides that were withdrawn, the last one first."""
    query = select(Slide).where(col(Slide.withdrawn_at).is_not(None), Slide.kind == "slide")
    with workspace.reading() as session:
        slides = list(session.exec(query.order_by(col(Slide.withdrawn_at).desc(), col(Slide.name))))
    return [without_hidden(workspace, slide) for slide in slides]


@needs(Permission.EDIT_SLIDES)
def edit_slide(
    workspace: Workspace,
    slide_id: str,
    said: Mapping[str, str | None],
    *,
    who: str,
    expected_version: int | None = None,
) -> Slide:
    """Change what is said of a slide. Another organ takes the slide's ROIs along, out of the bins of the old one.

    Args:
        workspace: where.
        slide_id: which slide.
        said: new values by field, "" or None where nothing is known; fields that are not in it stay.
        who: the account that changes it.
        expected_version: the row version that the person saw.

    Returns:
        the slide as it stands then; where nothing differs, nothing is written.

    Raises:
        InputError: a field is unknown or wrong, or the organ cannot change since seeds ask about its ROIs.
        NotAllowedError: the dose group is hidden from the actor.
        ChangedError: the slide was changed since `expected_version` was seen.
    """
    unknown = sorted(set(said) - set(SLIDE_FIELDS))
    if unknown:
        raise InputError(f"{', '.join(unknown)}: no such field of a slide (known: {', '.join(SLIDE_FIELDS)})")
    if "dose_group" in said and not sees_dose_groups(workspace):
        raise NotAllowedError("Dose groups are hidden from your role here; nothing was changed.")
    with workspace.writing() as session:
        slide = _slide(session, slide_id)
        require_unchanged(session, slide, expected_version, who=who)
        new = _new_values(workspace, slide, said)
        old = {name: getattr(slide, name) for name in new}
        if not new:
            return without_hidden(workspace, slide)
        if "organ" in new:
            _move_rois(session, slide, str(new["organ"]), who=who)
        record_event(session, who=who, action="edit", row=slide, old=old, new=new)
        for name, value in new.items():
            setattr(slide, name, value)
        session.add(slide)
    return without_hidden(workspace, slide)


def _new_values(workspace: Workspace, slide: Slide, said: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the fields that differ from what is stored, normalised."""
    other_organ = "organ" in said and organ_name(said["organ"]) != slide.organ
    # Of an organ that stays, what was stated once stays as well, whatever the organs file says by now.
    follows = [
        name
        for name in _FROM_ORGANS
        if name not in said and (other_organ or ("organ" in said and getattr(slide, name) is None))
    ]
    kept = {name: getattr(slide, name) for name in SLIDE_FIELDS if name not in _FROM_ORGANS}
    checked = checked_metadata(workspace, SlideMetadata(**{**kept, **said}))
    defaults = {"species": workspace.settings.species, "stain": workspace.settings.stain}
    values = {name: getattr(checked, name) or defaults.get(name) for name in (*said, *follows)}
    return {name: value for name, value in values.items() if value != getattr(slide, name)}


def _move_rois(session: Session, slide: Slide, organ: str, *, who: str) -> None:
    """Give the slide's ROIs the organ; they leave the bins of the former one.

    Raises:
        InputError: seeds ask about them.
    """
    seeds = _live_seeds(session, slide.id)
    if seeds:
        raise InputError(
            f"{_counted(seeds, 'seed')} on ROIs of {slide.name} ask about {slide.organ}; drop them first, then the "
            "organ can change. Nothing was changed."
        )
    for roi in session.exec(select(Roi).where(Roi.slide_id == slide.id)):
        old: dict[str, Any] = {"organ": roi.organ}
        new: dict[str, Any] = {"organ": organ}
        if roi.bin is not None:
            old["bin"], new["bin"] = roi.bin, None
        record_event(session, who=who, action="edit", row=roi, old=old, new=new)
        roi.organ = organ
        roi.binning_id = roi.bin = roi.bin_distance = roi.map_x = roi.map_y = None
        session.add(roi)


@needs(Permission.EDIT_SLIDES)
def withdraw_slide(
    workspace: Workspace, slide_id: str, *, reason: str, who: str, expected_version: int | None = None
) -> Slide:
    """Take a slide and its ROIs out of the work; nothing is deleted, and `restore_slide` brings them back.

    Raises:
        InputError: no reason is given, the slide is withdrawn already, or seeds ask about its ROIs.
        ChangedError: the slide was changed since `expected_version` was seen.
    """
    most = workspace.settings.max_text_length
    reason = checked_note(reason, name="reason", most=most, needed="Say why the slide is withdrawn")
    with workspace.writing() as session:
        slide = _slide(session, slide_id)
        require_unchanged(session, slide, expected_version, who=who)
        if slide.withdrawn_at is not None:
            raise InputError(f"Slide {slide.name} is withdrawn already.")
        seeds = _live_seeds(session, slide_id)
        if seeds:
            raise InputError(
                f"{_counted(seeds, 'seed')} ask about ROIs of {slide.name}; drop them first. Nothing was changed."
            )
        for roi in _rois_of(session, slide_id, gone=False):
            _withdraw(session, roi, f"{_WITH_SLIDE}{reason}", who=who)
        _withdraw(session, slide, reason, who=who)
    return without_hidden(workspace, slide)


@needs(Permission.EDIT_SLIDES)
def restore_slide(workspace: Workspace, slide_id: str, *, who: str, expected_version: int | None = None) -> Slide:
    """Bring a withdrawn slide back, with the ROIs that went with it in the states that they had.

    Raises:
        InputError: the slide is not withdrawn.
        ChangedError: the slide was changed since `expected_version` was seen.
    """
    with workspace.writing() as session:
        slide = _slide(session, slide_id)
        require_unchanged(session, slide, expected_version, who=who)
        if slide.withdrawn_at is None:
            raise InputError(f"Slide {slide.name} is not withdrawn.")
        for roi in _rois_of(session, slide_id, gone=True):
            _restore(session, roi, who=who)
        _restore(session, slide, who=who)
    return without_hidden(workspace, slide)


def _withdraw(session: Session, row: Slide | Roi, reason: str, *, who: str) -> None:
    row.withdrawn_at, row.withdrawn_reason = utc_now(), reason
    record_event(session, who=who, action="withdraw", row=row, reason=reason)
    session.add(row)


def _restore(session: Session, row: Slide | Roi, *, who: str) -> None:
    record_event(session, who=who, action="restore", row=row, old={"withdrawn because": row.withdrawn_reason})
    row.withdrawn_at = row.withdrawn_reason = None
    session.add(row)


def _rois_of(session: Session, slide_id: str, *, gone: bool) -> Sequence[Roi]:
    query = select(Roi).where(Roi.slide_id == slide_id).order_by(col(Roi.id))
    if gone:
        query = query.where(col(Roi.withdrawn_reason).startswith(_WITH_SLIDE, autoescape=True))
    else:
        query = query.where(col(Roi.withdrawn_at).is_(None))
    return session.exec(query).all()


def _slide(session: Session, slide_id: str) -> Slide:
    slide = session.get(Slide, slide_id)
    if slide is None or slide.kind != "slide":
        raise NotFoundError(f"There is no slide {slide_id} in this workspace.")
    return slide


def _live_seeds(session: Session, slide_id: str) -> int:
    query = (
        select(func.count())
        .select_from(Seed)
        .join(Roi, col(Seed.roi_id) == Roi.id)
        .where(Roi.slide_id == slide_id, col(Seed.withdrawn_at).is_(None), Seed.state != "dropped")
    )
    return session.exec(query).one()


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
