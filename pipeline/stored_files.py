"""The files of a workspace: which ones its rows refer to, and how one is written that must survive a power cut."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

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


def write_durably(path: Path, data: bytes) -> None:
    """Write a small file whole; after the return a power cut does not lose it. Before, what was there stays.

    Raises:
        OSError: it cannot be written; nothing unfinished is left.
    """
    unfinished = path.with_suffix(f".{uuid.uuid4().hex}")
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have the disk keep the names in a folder, so that a file that was renamed is there after a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
