"""Exchanging a slide's ROIs with QuPath: what is exported, and importing what is not here yet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlmodel import col, select

from db import record_event
from db.tables import Roi, Slide
from evaluation.slides import Region, encode_png
from evaluation.slides import Slide as OpenSlide
from pipeline.drawn_rois import selected_roi, slide_named
from pipeline.errors import InputError
from pipeline.file_access import reason_to_refuse
from pipeline.permissions import Permission, needs
from pipeline.progress import Progress, silent
from pipeline.roi_geojson import MAX_FILE_BYTES, FieldFound, as_geojson, read_geojson
from pipeline.roi_images import open_added_slide, thumbnail_region
from pipeline.roi_places import checked_resolution, said_standing, standing_at
from pipeline.workspace import Workspace, write_atomically


@dataclass(frozen=True)
class Exchanged:
    """What an import did: the new ROIs, and in words each feature that is a ROI here already."""

    added: tuple[Roi, ...]
    skipped: tuple[str, ...]


@needs(Permission.VIEW_SLIDES)
def export_geojson(workspace: Workspace, slide_id: str, *, states: Sequence[str] = ("selected",)) -> bytes:
    """Return the ROIs of a slide, in given states, as GeoJSON that QuPath opens.

    Raises:
        NotFoundError: there is no such slide.
    """
    with workspace.reading() as session:
        slide = slide_named(session, slide_id)
        here = (Roi.slide_id == slide.id, col(Roi.withdrawn_at).is_(None), col(Roi.state).in_(states))
        rois = session.exec(select(Roi).where(*here).order_by(col(Roi.y), col(Roi.x), col(Roi.id))).all()
    return (json.dumps(as_geojson(slide, rois), indent=1) + "\n").encode()


@needs(Permission.CHOOSE_ROIS)
def read_file(workspace: Workspace, path: Path) -> bytes:
    """Return a GeoJSON file that the actor may name.

    Raises:
        InputError: it is not there, cannot be read, is too large, or may not be named.
    """
    if (refused := reason_to_refuse(workspace, path)) is not None:
        raise InputError(refused)
    try:
        with path.expanduser().open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}. Nothing was imported.") from None


@needs(Permission.CHOOSE_ROIS)
def import_geojson(
    workspace: Workspace,
    slide_id: str,
    data: bytes,
    *,
    name: str,
    magnification: float | None = None,
    who: str,
    progress: Progress = silent,
) -> Exchanged:
    """Import the squares of a GeoJSON file as ROIs of a slide; all of them are good, or none is imported.

    What states a resolution, size and state in its metadata (our own exports do) becomes that ROI; every other
    square becomes a selected ROI at `magnification`, its side rounded to the next whole output pixel.

    Args:
        workspace: where.
        slide_id: the slide's id, or its name where no other slide has it.
        data: the file.
        name: how messages and the audit trail call the file.
        magnification: of squares that state none; 20 for 0.5 µm per output pixel.
        who: the account that imports.
        progress: told after each image.

    Raises:
        InputError: a feature is wrong; every fault is listed with its feature's number.
        NotFoundError: there is no such slide.
        SlideError: the slide cannot be read any more.
    """
    mpp = None if magnification is None else checked_resolution(magnification)
    with workspace.reading() as session:
        slide = slide_named(session, slide_id)
    try:
        fields, faults = read_geojson(data, slide, mpp=mpp)
    except InputError as error:
        raise InputError(f"{name}: {error.message}. Nothing was imported.") from None
    if faults:
        count = "1 problem" if len(faults) == 1 else f"{len(faults):,} problems"
        raise InputError(f"{name}: {count}; nothing was imported", faults)
    fresh, skipped = _not_here_yet(workspace, slide, fields)
    files: list[Path] = []
    stored = False
    try:
        rois = []
        with open_added_slide(slide) as opened:
            for number, field in enumerate(fresh, start=1):
                rois.append(_with_pictures(workspace, slide, opened, field, files, who))
                progress(number, len(fresh), f"feature {field.feature}")
        with workspace.writing() as session:
            for roi in rois:
                before = standing_at(session, slide, x=roi.x, y=roi.y, size=roi.size, mpp=roi.mpp or 0.0)
                if before is not None:
                    raise InputError(f"{said_standing(before)} was made by somebody else at this moment; import again")
                session.add(roi)
                record_event(session, who=who, action="import", row=roi, new={"from": name, "state": roi.state})
        stored = True
    finally:
        if not stored:
            for file in files:
                file.unlink(missing_ok=True)
    return Exchanged(tuple(rois), tuple(skipped))


def _not_here_yet(
    workspace: Workspace, slide: Slide, fields: Sequence[FieldFound]
) -> tuple[list[FieldFound], list[str]]:
    fresh: list[FieldFound] = []
    skipped: list[str] = []
    seen: dict[tuple[int, int, int, float], int] = {}
    with workspace.reading() as session:
        rows = session.exec(select(Roi).where(Roi.slide_id == slide.id)).all()
    standing = {(roi.x, roi.y, roi.size, roi.mpp): roi for roi in rows}
    for field in fields:
        place = (field.x, field.y, field.size, field.mpp)
        if (before := standing.get(place)) is not None:
            skipped.append(f"feature {field.feature} is {said_standing(before)} already")
        elif place in seen:
            skipped.append(f"feature {field.feature} is the same field as feature {seen[place]}")
        else:
            seen[place] = field.feature
            fresh.append(field)
    return fresh, skipped


def _with_pictures(
    workspace: Workspace, slide: Slide, opened: OpenSlide, field: FieldFound, files: list[Path], who: str
) -> Roi:
    """Return the ROI of a field; a selected one has its image, any other the small picture of a candidate."""
    region = Region(field.x, field.y, field.size, field.mpp)
    selected = field.state == "selected"
    png = encode_png(opened.read_region(region if selected else thumbnail_region(region)))
    roi = selected_roi(slide, x=field.x, y=field.y, size=field.size, mpp=field.mpp, png=png, who=who)
    roi.draw = {"imported": True}
    if not selected:
        roi.state, roi.thumbnail_path = field.state, f"thumbnails/{roi.id}.png"
        roi.image_path = roi.image_sha256 = None
    path = workspace.root / (roi.image_path or roi.thumbnail_path or "")
    files.append(path)
    write_atomically(path, png)
    return roi
