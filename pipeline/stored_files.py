"""Which files in a workspace its rows refer to: pictures of slides, candidates and ROIs."""

from __future__ import annotations

from sqlmodel import Session, select

from db.tables import Roi, Slide

PICTURE_FOLDERS = ("rois", "thumbnails", "slides")
"""Folders of the workspace in which every file belongs to a row."""


def referenced_files(session: Session) -> dict[str, str]:
    """Return the files that rows refer to, as paths within the workspace, with what each one is."""
    found: dict[str, str] = {}
    for identifier, image, thumbnail in session.exec(select(Roi.id, Roi.image_path, Roi.thumbnail_path)):
        if image:
            found[image] = f"image of ROI {identifier}"
        if thumbnail:
            found[thumbnail] = f"thumbnail of ROI {identifier}"
    for identifier, name in session.exec(select(Slide.id, Slide.name).where(Slide.kind == "slide")):
        found[f"slides/{identifier}/tissue.png"] = f"tissue mask of slide {name}"
        found[f"slides/{identifier}/thumbnail.png"] = f"thumbnail of slide {name}"
    return found
