"""Adding slides: each file is opened, read in several places and known again by its content before it counts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select

from db import id_of, record_event
from db.tables import Slide
from evaluation.items import fault_of_text, normalise_text
from evaluation.slides import SlideError, SlideInfo, check_slide, encode_png, find_tissue, open_slide
from pipeline.errors import InputError
from pipeline.file_access import reason_to_refuse
from pipeline.permissions import Permission, needs
from pipeline.progress import Progress, silent
from pipeline.workspace import Workspace, write_atomically

SLIDE_SUFFIXES = frozenset(
    {".svs", ".tif", ".tiff", ".ndpi", ".vms", ".vmu", ".scn", ".mrxs", ".bif", ".svslide", ".czi", ".dcm"}
)
"""Endings under which OpenSlide's formats are found when a folder is given."""

THUMBNAIL_PX = 512
MAX_FIELD_LENGTH = 200

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SlideMetadata:
    """What the files do not say: organ, source and licence are required."""

    organ: str
    source: str
    licence: str
    species: str | None = None
    stain: str | None = None
    institution: str | None = None
    study: str | None = None


@dataclass
class AddReport:
    """Which slides were added, and which file could not be and why."""

    added: list[Slide] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def checked_field(name: str, value: str | None, *, required: bool = False) -> str | None:
    """Return a normalised short text, or raise InputError naming the field."""
    text = normalise_text(value or "")
    if not text:
        if required:
            raise InputError(f"{name} is required and must not be empty; nothing was changed")
        return None
    if len(text) > MAX_FIELD_LENGTH:
        raise InputError(f"{name} has {len(text)} characters; at most {MAX_FIELD_LENGTH} are allowed")
    fault = fault_of_text(text)
    if fault is None and any(mark in text for mark in "\n\r\t"):
        fault = "holds line ends or tabs; remove them"
    if fault is not None:
        raise InputError(f"{name} {fault}")
    return text


def organ_name(value: str | None) -> str:
    """Return an organ as it is stored: lower case, words joined by an underscore, as in VIPER's dataset."""
    text = checked_field("organ", value, required=True) or ""
    return "_".join(text.casefold().split())


def expand_paths(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Replace folders by the slides in them; a folder of DICOM files is one slide.

    Returns:
        the slide paths, and what was wrong with the others.
    """
    found: list[Path] = []
    problems: list[str] = []
    for path in paths:
        if not path.exists():
            problems.append(f"{path}: there is no such file or folder.")
        elif path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.suffix.lower() in SLIDE_SUFFIXES and p.is_file())
            if inside and all(p.suffix.lower() == ".dcm" for p in inside):
                found.append(path)
            elif inside:
                found += [p for p in inside if p.suffix.lower() != ".dcm"]
            else:
                problems.append(f"{path}: the folder holds no slide of a known ending.")
        else:
            found.append(path)
    return found, problems


@needs(Permission.ADD_SLIDES)
def add_slides(
    workspace: Workspace,
    paths: Sequence[Path],
    metadata: SlideMetadata,
    *,
    mpp: float | None = None,
    who: str,
    progress: Progress = silent,
) -> AddReport:
    """Add slides one by one; a bad file is reported and leaves the database as it was for it.

    Args:
        workspace: where to.
        paths: slide files, or folders of them.
        metadata: applies to all of them.
        mpp: micrometres per level-0 pixel for files that do not say.
        who: the account that adds them.
        progress: told after each file.

    Raises:
        InputError: the metadata is wrong; no file was looked at.
    """
    checked = SlideMetadata(
        organ=organ_name(metadata.organ),
        source=checked_field("source", metadata.source, required=True) or "",
        licence=checked_field("licence", metadata.licence, required=True) or "",
        species=checked_field("species", metadata.species),
        stain=checked_field("stain", metadata.stain),
        institution=checked_field("institution", metadata.institution),
        study=checked_field("study", metadata.study),
    )
    allowed, refused = _allowed(workspace, paths)
    found, problems = expand_paths(allowed)
    # Asked of each file as well: a folder may hold links to elsewhere.
    slide_paths, linked = _allowed(workspace, found)
    report = AddReport(problems=[*refused, *problems, *linked])
    for number, path in enumerate(slide_paths, start=1):
        try:
            info = check_slide(path.absolute(), mpp=mpp)
            known = _known_slide(workspace, info.content_sha256)
            if known is not None:
                report.problems.append(f"{path}: was added before as {known.name} ({known.id}).")
            else:
                report.added.append(_store_slide(workspace, info, checked, who))
        except SlideError as error:
            report.problems.append(str(error))
            _log.warning("slide refused: %s", error)
        except IntegrityError:
            report.problems.append(f"{path}: was added by somebody else at the same moment.")
        progress(number, len(slide_paths), path.name)
    return report


def _allowed(workspace: Workspace, paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Return the paths that the actor may use, and why not the others."""
    reasons = {path: reason_to_refuse(workspace, path) for path in paths}
    return [path for path in paths if reasons[path] is None], [reason for reason in reasons.values() if reason]


def _known_slide(workspace: Workspace, content_sha256: str) -> Slide | None:
    with workspace.reading() as session:
        return session.exec(select(Slide).where(Slide.content_sha256 == content_sha256)).first()


def _store_slide(workspace: Workspace, info: SlideInfo, metadata: SlideMetadata, who: str) -> Slide:
    identifier = id_of("sld", info.content_sha256)
    folder = workspace.slides / identifier
    with open_slide(info.path, mpp=info.mpp) as slide:
        mask = find_tissue(slide)
        thumbnail = slide.thumbnail(THUMBNAIL_PX)
    write_atomically(folder / "tissue.png", mask.to_png_bytes())
    write_atomically(folder / "thumbnail.png", encode_png(thumbnail))
    row = Slide(
        id=identifier,
        created_by=who,
        name=info.path.name,
        path=str(info.path),
        content_sha256=info.content_sha256,
        width=info.width,
        height=info.height,
        mpp=info.mpp,
        mpp_source=info.mpp_source,
        level_count=len(info.levels),
        vendor=info.vendor,
        objective_power=info.objective_power,
        organ=metadata.organ,
        source=metadata.source,
        licence=metadata.licence,
        species=metadata.species or workspace.settings.species,
        stain=metadata.stain or workspace.settings.stain,
        institution=metadata.institution,
        study=metadata.study,
        tissue_share=mask.share(0, 0, info.width, info.height),
        reader=info.reader,
    )
    with workspace.writing() as session:
        session.add(row)
        record_event(session, who=who, action="add", row=row, new={"name": row.name, "organ": row.organ})
    return row


@needs(Permission.VIEW_SLIDES)
def list_slides(workspace: Workspace, *, organ: str | None = None) -> list[Slide]:
    """Return the slides that are not withdrawn, by organ and name."""
    query = select(Slide).where(col(Slide.withdrawn_at).is_(None), Slide.kind == "slide")
    if organ is not None:
        query = query.where(Slide.organ == organ_name(organ))
    with workspace.reading() as session:
        return list(session.exec(query.order_by(col(Slide.organ), col(Slide.name))))


@needs(Permission.VIEW_SLIDES)
def list_organs(workspace: Workspace) -> list[str]:
    """Return the organs that slides or imported images of this workspace show."""
    query = select(Slide.organ).where(col(Slide.withdrawn_at).is_(None)).distinct()
    with workspace.reading() as session:
        return sorted(session.exec(query))
