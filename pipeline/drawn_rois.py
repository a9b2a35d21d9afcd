"""ROIs that a person draws on a slide: stored as selected, with their image; taken back by withdrawing them."""

from __future__ import annotations

import hashlib

from sqlmodel import Session, col, select

from db import new_id, record_event, utc_now
from db.tables import Roi, Slide
from evaluation.slides import Region, encode_png, magnification_label
from pipeline.errors import InputError, NotFoundError
from pipeline.last_change import require_unchanged
from pipeline.notes import checked_note
from pipeline.permissions import Permission, needs
from pipeline.roi_images import open_added_slide
from pipeline.roi_places import checked_resolution, faults_of_place, said_standing, side_on_slide, standing_at
from pipeline.rois import keep_image_of_seeds
from pipeline.tissue_masks import tissue_mask
from pipeline.workspace import Workspace, write_atomically

BY_HAND = "drawn"
"""The key in a ROI's `draw` that says that a person drew it."""


def slide_named(session: Session, name: str) -> Slide:
    """Return the whole-slide image of an id, or of a name that only one has.

    Raises:
        NotFoundError: there is none, or several have the name.
    """
    whole = select(Slide).where(Slide.kind == "slide", col(Slide.withdrawn_at).is_(None))
    found = session.exec(whole.where((Slide.id == name) | (Slide.name == name))).all()
    exact = [slide for slide in found if slide.id == name] or found
    if len(exact) != 1:
        what = "There is no slide" if not exact else f"{len(exact)} slides have the name"
        raise NotFoundError(f"{what} {name}; 'slides list' shows the ids. Nothing was changed.")
    return exact[0]


@needs(Permission.CHOOSE_ROIS)
def draw_roi(
    workspace: Workspace, slide_id: str, *, x: int, y: int, magnification: float, size: int = 1024, who: str
) -> Roi:
    """Make a field of a slide a selected ROI: its image is read at full size and stored as PNG.

    A field that was drawn and taken back before comes back as the same ROI.

    Args:
        workspace: where.
        slide_id: the slide's id, or its name where no other slide has it.
        x: level-0 pixels from the left edge to the field's top-left corner.
        y: level-0 pixels from the upper edge.
        magnification: 20 for 0.5 µm per output pixel, 5 for 2, 2.5 for 4.
        size: side in output pixels; the field spans `size` times the µm per output pixel, exactly.
        who: the account that draws.

    Raises:
        InputError: the field is finer than the slide, reaches beyond it, or is a ROI or candidate already.
        NotFoundError: there is no such slide.
        SlideError: the slide cannot be read any more.
    """
    mpp = checked_resolution(magnification)
    with workspace.reading() as session:
        slide = slide_named(session, slide_id)
    if faults := faults_of_place(slide, x=x, y=y, size=size, mpp=mpp):
        raise InputError("This field cannot become an ROI; nothing was changed:", faults)
    with open_added_slide(slide) as opened:
        png = encode_png(opened.read_region(Region(x, y, size, mpp)))
    roi = selected_roi(slide, x=x, y=y, size=size, mpp=mpp, png=png, who=who)
    roi.draw, roi.tissue_share = {BY_HAND: True}, _tissue_share(workspace, slide, roi)
    path = workspace.root / (roi.image_path or "")
    write_atomically(path, png)
    stored = False
    try:
        with workspace.writing() as session:
            before = standing_at(session, slide, x=x, y=y, size=size, mpp=mpp)
            if before is None:
                session.add(roi)
                about = {"x": x, "y": y, "size": size, "resolution": mpp, "slide": slide.name}
                record_event(session, who=who, action="draw", row=roi, new=about)
            else:
                _bring_back(session, before, who=who)
        stored = before is None
    finally:
        if not stored:
            path.unlink(missing_ok=True)
    return roi if before is None else before


def selected_roi(slide: Slide, *, x: int, y: int, size: int, mpp: float | None, png: bytes, who: str) -> Roi:
    """Return a selected ROI of a slide whose image is `png`, which belongs at its `image_path`.

    `mpp` is None where nobody knows the resolution.
    """
    identifier = new_id("roi")
    return Roi(
        id=identifier,
        created_by=who,
        slide_id=slide.id,
        organ=slide.organ,
        x=x,
        y=y,
        size=size,
        mpp=mpp,
        magnification=magnification_label(mpp) if mpp is not None else "unknown",
        state="selected",
        image_path=f"rois/{identifier}.png",
        image_sha256=hashlib.sha256(png).hexdigest(),
    )


def _bring_back(session: Session, roi: Roi, *, who: str) -> None:
    if roi.withdrawn_at is None or not roi.draw.get(BY_HAND):
        raise InputError(f"This field is {said_standing(roi)} already; nothing was changed.")
    record_event(session, who=who, action="draw", row=roi, old={"withdrawn": roi.withdrawn_reason})
    roi.withdrawn_at = roi.withdrawn_reason = None
    session.add(roi)


def _tissue_share(workspace: Workspace, slide: Slide, roi: Roi) -> float | None:
    """Return the share of a ROI that is tissue, None where the slide's mask is gone: it decides nothing here."""
    mask = tissue_mask(workspace, slide)
    if mask is None or not (roi.mpp and slide.mpp):
        return None
    side = side_on_slide(slide, size=roi.size, mpp=roi.mpp)
    return mask.share(roi.x, roi.y, side, side)


@needs(Permission.CHOOSE_ROIS)
def withdraw_drawn_roi(
    workspace: Workspace, roi_id: str, *, who: str, reason: str, expected_version: int | None = None
) -> Roi:
    """Take back a ROI that somebody drew; drawing the same field again brings it back.

    Raises:
        InputError: it was not drawn by hand, is withdrawn already, has a seed question, or there is no reason.
        NotFoundError: there is none of this id.
        ChangedError: it was changed since `expected_version` was seen.
    """
    said = checked_note(
        reason,
        name="reason",
        most=workspace.settings.max_text_length,
        needed="Say why the ROI is withdrawn; nothing was changed.",
    )
    with workspace.writing() as session:
        row = session.get(Roi, roi_id)
        if row is None:
            raise NotFoundError(f"There is no ROI {roi_id} in this workspace.")
        require_unchanged(session, row, expected_version, who=who)
        if not row.draw.get(BY_HAND):
            raise InputError(f"ROI {roi_id} was not drawn by hand; reject it on the page Sample ROIs instead.")
        if row.withdrawn_at is not None:
            raise InputError(f"ROI {roi_id} is withdrawn already; nothing was changed.")
        keep_image_of_seeds(session, row)
        record_event(session, who=who, action="withdraw", row=row, reason=said)
        row.withdrawn_at, row.withdrawn_reason = utc_now(), said
        session.add(row)
    return row
