"""Importing ROIs that exist already: image files, or places on slides of this workspace."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path

from sqlmodel import Session, select

from db import new_id, record_event
from db.tables import Roi, Slide
from evaluation.slides import (
    Region,
    SlideError,
    decode_image,
    encode_png,
)
from pipeline.csv_tables import TableRow, read_table
from pipeline.drawn_rois import selected_roi, slide_named
from pipeline.errors import InputError
from pipeline.file_access import reason_to_refuse
from pipeline.ingest import checked_field, organ_name
from pipeline.organs import organ_map
from pipeline.permissions import Permission, needs
from pipeline.roi_images import open_added_slide
from pipeline.roi_places import faults_of_place
from pipeline.sampling import MIN_ROI_SIZE
from pipeline.workspace import Workspace, write_atomically

ROI_COLUMNS = (
    "image",
    "slide",
    "x",
    "y",
    "size",
    "resolution",
    "organ",
    "source",
    "licence",
    "species",
    "stain",
    "institution",
    "study",
)

RESOLUTIONS = (0.05, 100.0)
"""Least and most µm per pixel that an image or a field may have."""


@dataclass(frozen=True)
class _Planned:
    """One good row, whose PNG is stored: the ROI and the image-slide that it brings along, if any."""

    roi: Roi
    image_slide: Slide | None


@needs(Permission.CHOOSE_ROIS)
def import_rois(workspace: Workspace, path: Path, *, who: str) -> list[Roi]:
    """Import ROIs from a CSV file; they are selected at once.

    A row has either `image` (a file; a relative path starts at the CSV's folder) with organ, source and
    licence and, if known, resolution; or `slide` (id or name of a slide here) with `x`, `y` (level-0 pixels of
    the top-left corner), `size` (output pixels) and `resolution` (µm per output pixel).

    Raises:
        InputError: a row is wrong; every bad row is listed with its line and nothing is imported.
    """
    rows = read_table(path, required=(), known=ROI_COLUMNS)
    with workspace.reading() as session:
        taken = _taken(session)
    problems: list[str] = []
    planned: list[_Planned] = []
    imported = False
    try:
        for row in rows:
            try:
                planned.append(_plan(workspace, row, path.parent, taken, who))
            except InputError as error:
                problems += [f"line {row.line}: {fault}" for fault in error.problems or (error.message,)]
            except SlideError as error:
                problems.append(f"line {row.line}: {error}")
        if problems:
            raise InputError(f"{path}: {len(problems)} problems, nothing was imported", problems)
        _store(workspace, path, planned, who)
        imported = True
    finally:
        if not imported:
            for plan in planned:
                (workspace.root / (plan.roi.image_path or "")).unlink(missing_ok=True)
    return [plan.roi for plan in planned]


_Place = tuple[str, int, int, int, float | None]


def _place(roi: Roi) -> _Place:
    return (roi.slide_id, roi.x, roi.y, roi.size, roi.mpp)


def _taken(session: Session) -> set[str | _Place]:
    """Return what the workspace holds already: the contents of images, and the places of ROIs."""
    contents = session.exec(select(Slide.content_sha256).where(Slide.kind == "image"))
    return {*contents, *(_place(roi) for roi in session.exec(select(Roi)))}


def _plan(workspace: Workspace, row: TableRow, folder: Path, taken: set[str | _Place], who: str) -> _Planned:
    if row.fault is not None:
        raise InputError(row.fault)
    if bool(row.get("image")) == bool(row.get("slide")):
        raise InputError("give either image or slide")
    if row.get("image"):
        roi, image_slide, png = _plan_image(workspace, row, folder, who)
        if image_slide.content_sha256 in taken:
            raise InputError(f"image {row.get('image')} was imported before")
        taken.add(image_slide.content_sha256)
        plan = _Planned(roi, image_slide)
    else:
        roi, png = _plan_place(workspace, row, who)
        if _place(roi) in taken:
            raise InputError("this place is a ROI or candidate already")
        taken.add(_place(roi))
        plan = _Planned(roi, None)
    write_atomically(workspace.root / (roi.image_path or ""), png)
    return plan


def _store(workspace: Workspace, path: Path, planned: list[_Planned], who: str) -> None:
    with workspace.writing() as session:
        taken = _taken(session)
        for plan in planned:
            if plan.image_slide is not None:
                if plan.image_slide.content_sha256 in taken:
                    raise InputError(f"{path}: {plan.image_slide.name} was imported by somebody else at this moment")
                slide = plan.image_slide
                session.add(slide)
                session.flush()
                record_event(
                    session, who=who, action="import", row=slide, new={"name": slide.name, "organ": slide.organ}
                )
            elif _place(plan.roi) in taken:
                raise InputError(f"{path}: a place was made a ROI by somebody else at this moment; import again")
            session.add(plan.roi)
            record_event(session, who=who, action="import", row=plan.roi, new={"from": path.name})


def _number(row: TableRow, column: str, low: float, high: float) -> float:
    text = row.get(column)
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{column} {text!r} is no number") from None
    if not math.isfinite(value) or not low <= value <= high:
        raise InputError(f"{column} is {text}; it must lie between {low:g} and {high:g}")
    return value


def _whole_number(row: TableRow, column: str) -> int:
    value = _number(row, column, -math.inf, math.inf)
    if not value.is_integer():
        raise InputError(f"{column} {row.get(column)} is no whole number")
    return int(value)


def _plan_image(workspace: Workspace, row: TableRow, folder: Path, who: str) -> tuple[Roi, Slide, bytes]:
    file = folder / Path(row.get("image")).expanduser()
    if (refused := reason_to_refuse(workspace, file)) is not None:
        raise InputError(f"image {refused}")
    if not file.is_file():
        raise InputError(f"image {row.get('image')}: there is no such file")
    try:
        pixels = decode_image(file, max_pixels=workspace.settings.max_image_pixels)
    except ValueError as error:
        raise InputError(str(error)) from None
    mpp = _number(row, "resolution", *RESOLUTIONS) if row.get("resolution") else None
    png = encode_png(pixels)
    height, width = pixels.shape[:2]
    if min(height, width) < MIN_ROI_SIZE:
        raise InputError(f"image {row.get('image')} has {width} × {height} pixels; each side needs {MIN_ROI_SIZE}")
    organ = organ_name(row.get("organ"))
    place = organ_map(workspace).place(organ)
    slide = Slide(
        id=new_id("sld"),
        created_by=who,
        kind="image",
        name=file.name,
        path=str(file.absolute()),
        content_sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
        width=width,
        height=height,
        mpp=mpp,
        mpp_source="table",
        organ=organ,
        organ_system=place.system if place is not None else None,
        structure=place.structure if place is not None else None,
        source=checked_field("source", row.get("source"), required=True) or "",
        licence=checked_field("licence", row.get("licence"), required=True) or "",
        species=checked_field("species", row.get("species")) or workspace.settings.species,
        stain=checked_field("stain", row.get("stain")) or workspace.settings.stain,
        institution=checked_field("institution", row.get("institution")),
        study=checked_field("study", row.get("study")),
    )
    return _imported(slide, 0, 0, width, mpp, png, who), slide, png


def _plan_place(workspace: Workspace, row: TableRow, who: str) -> tuple[Roi, bytes]:
    with workspace.reading() as session:
        slide = slide_named(session, row.get("slide"))
    x, y, size = (_whole_number(row, column) for column in ("x", "y", "size"))
    mpp = _number(row, "resolution", *RESOLUTIONS)
    if faults := faults_of_place(slide, x=x, y=y, size=size, mpp=mpp):
        raise InputError("the field cannot become an ROI", faults)
    with open_added_slide(slide) as opened:
        png = encode_png(opened.read_region(Region(x, y, size, mpp)))
    return _imported(slide, x, y, size, mpp, png, who), png


def _imported(slide: Slide, x: int, y: int, size: int, mpp: float | None, png: bytes, who: str) -> Roi:
    roi = selected_roi(slide, x=x, y=y, size=size, mpp=mpp, png=png, who=who)
    roi.draw = {"imported": True}
    return roi
