"""Adding slides: each file is opened, read in several places and known again by its content before it counts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path

from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select

from db import id_of, record_event
from db.tables import Slide
from evaluation.items import fault_of_text, normalise_text
from evaluation.slides import ResolutionError, SlideError, SlideInfo, check_slide, encode_png, find_tissue, open_slide
from pipeline.dose_groups import without_hidden
from pipeline.errors import InputError
from pipeline.file_access import reason_to_refuse
from pipeline.organs import OrganMap, OrganPlace, organ_map
from pipeline.permissions import Permission, needs
from pipeline.progress import Progress, silent
from pipeline.tissue_masks import keep_tissue_mask
from pipeline.workspace import Workspace, write_atomically

SLIDE_SUFFIXES = frozenset(
    {".svs", ".tif", ".tiff", ".ndpi", ".vms", ".vmu", ".scn", ".mrxs", ".bif", ".svslide", ".czi", ".dcm"}
)
"""Endings under which OpenSlide's formats are found when a folder is given."""

THUMBNAIL_PX = 512
MAX_FIELD_LENGTH = 200

_log = logging.getLogger(__name__)


SEXES = ("male", "female", "male neutered", "female spayed")
SACRIFICES = ("scheduled", "unscheduled")


@dataclass(frozen=True)
class SlideMetadata:
    """What the files do not say: organ, source and licence are required.

    Organ system and structure come from the organs file (`pipeline.organs`) where they are not given. `age` has its
    unit ("13 weeks"); `sacrifice` is one of SACRIFICES, `sex` one of SEXES, None where nobody knows.
    """

    organ: str
    source: str
    licence: str
    species: str | None = None
    stain: str | None = None
    institution: str | None = None
    study: str | None = None
    organ_system: str | None = None
    structure: str | None = None
    strain: str | None = None
    sex: str | None = None
    age: str | None = None
    subject: str | None = None
    dose_group: str | None = None
    sacrifice: str | None = None
    scanner: str | None = None


REQUIRED_FIELDS = ("organ", "source", "licence")
SLIDE_FIELDS = tuple(field.name for field in fields(SlideMetadata))
"""What can be said of a slide; tables have these columns, and the table of slides too."""


@dataclass(frozen=True)
class SlideToAdd:
    """One file, what is said of it (checked), and its resolution where a person states one.

    `line` is the line of a table that it comes from.
    """

    path: Path
    metadata: SlideMetadata
    mpp: float | None = None
    line: int | None = None


@dataclass(frozen=True)
class MissingResolution:
    """A file whose resolution a person has to say: it states none, or an impossible one (µm per level-0 pixel)."""

    path: Path
    stated: float | None


@dataclass
class AddReport:
    """Which slides were added, and which file could not be and why.

    `known` are rows of a table whose file was added before. A file in `without_resolution` has its line in `problems`.
    """

    added: list[Slide] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    known: list[Slide] = field(default_factory=list)
    without_resolution: list[MissingResolution] = field(default_factory=list)


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


def _is_ngff(path: Path) -> bool:
    return path.suffix.lower() == ".zarr" and path.is_dir()


def checked_metadata(workspace: Workspace, metadata: SlideMetadata) -> SlideMetadata:
    """Return what is said of a slide normalised, with organ system and structure as the organs file has them.

    Raises:
        InputError: with every field that is wrong; nothing was changed.
    """
    organs = organ_map(workspace)
    texts: dict[str, str | None] = {}
    faults: list[str] = []

    def read(name: str, check: Callable[[str | None], str | None]) -> None:
        try:
            texts[name] = check(getattr(metadata, name))
        except InputError as error:
            faults.append(error.message)

    for name in SLIDE_FIELDS:
        read(name, partial(checked_field, name.replace("_", " "), required=name in REQUIRED_FIELDS))
    if texts.get("organ"):
        texts["organ"] = organ_name(texts["organ"])
    for name, words in (("sex", SEXES), ("sacrifice", SACRIFICES)):
        read(name, partial(_one_of, name, words))
    place = organs.place(texts.get("organ") or "")
    read("organ_system", partial(_organ_system, organs, place))
    if faults:
        first, *others = faults
        raise InputError(first) if not others else InputError("The fields are wrong; nothing was changed:", faults)
    if place is not None:
        texts["structure"] = texts["structure"] or place.structure
    return SlideMetadata(**texts)  # type: ignore[arg-type]


def _one_of(name: str, words: Sequence[str], value: str | None) -> str | None:
    text = normalise_text(value or "").casefold()
    if text and text not in words:
        raise InputError(f"{name} {value!r} is unknown (known: {', '.join(words)})")
    return text or None


def _organ_system(organs: OrganMap, place: OrganPlace | None, value: str | None) -> str | None:
    """Return the organ system that is stated or known; a statement may not contradict the file."""
    text = normalise_text(value or "")
    if not text:
        return place.system if place is not None else None
    system = organs.system_named(text)
    if place is not None and system != place.system:
        raise InputError(
            f"organ system {system!r} contradicts the organs file, which puts {place.structure} into {place.system!r}; "
            "leave it out, or change the file (setting organs_file)"
        )
    return system


def expand_paths(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Replace folders by the slides in them; a folder of DICOM files and one of OME-NGFF (.zarr) are one slide,
    also within a folder.

    Returns:
        the slide paths, and what was wrong with the others.
    """
    found: list[Path] = []
    problems: list[str] = []
    for path in paths:
        if not path.exists():
            problems.append(f"{path}: there is no such file or folder.")
        elif not path.is_dir() or _is_ngff(path) or _is_dicom_folder(path):
            found.append(path)
        else:
            inside = [p for p in sorted(_entries(path)) if _is_ngff(p) or _is_dicom_folder(p) or _is_slide_file(p)]
            single = [p for p in inside if not _is_dicom_file(p)]
            found += single
            if not inside:
                problems.append(f"{path}: the folder holds no slide of a known ending.")
            elif len(single) < len(inside):
                problems.append(
                    f"{path}: DICOM files ({len(inside) - len(single)} .dcm) lie among other slides and were left "
                    "out. Put each DICOM slide into a folder of its own, or name one of its files."
                )
    return found, problems


def _is_slide_file(path: Path) -> bool:
    return path.suffix.lower() in SLIDE_SUFFIXES and path.is_file()


def _is_dicom_file(path: Path) -> bool:
    return path.suffix.lower() == ".dcm" and path.is_file()


def _is_dicom_folder(path: Path, *, may_hold_others: bool = True) -> bool:
    """Say whether of the slides in a folder all are DICOM files, which OpenSlide opens as one.

    One that `may_hold_others` is none where folders of that kind lie in it: these are the slides then.
    """
    if not path.is_dir() or _is_ngff(path):
        return False
    slides = [
        p
        for p in _entries(path)
        if _is_ngff(p) or _is_slide_file(p) or (may_hold_others and _is_dicom_folder(p, may_hold_others=False))
    ]
    return bool(slides) and all(_is_dicom_file(p) for p in slides)


def _entries(folder: Path) -> list[Path]:
    """Return what lies in a folder; nothing where it may not be read, so that it holds no slide."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


@needs(Permission.ADD_SLIDES)
def add_slides(
    workspace: Workspace,
    paths: Sequence[Path],
    metadata: SlideMetadata,
    *,
    mpp: float | None = None,
    mpps: Mapping[str, float] | None = None,
    who: str,
    progress: Progress = silent,
) -> AddReport:
    """Add slides one by one; a bad file is reported and leaves the database as it was for it.

    Args:
        workspace: where to.
        paths: slide files, or folders of them.
        metadata: applies to all of them.
        mpp: micrometres per level-0 pixel for files that do not say.
        mpps: the same by path, for single files.
        who: the account that adds them.
        progress: told after each file.

    Raises:
        InputError: the metadata is wrong; no file was looked at.
    """
    checked = checked_metadata(workspace, metadata)
    allowed, refused = allowed_paths(workspace, paths)
    found, problems = expand_paths(allowed)
    # Asked of each file as well: a folder may hold links to elsewhere.
    slide_paths, linked = allowed_paths(workspace, found)
    report = AddReport(problems=[*refused, *problems, *linked])
    planned = [SlideToAdd(path, checked, (mpps or {}).get(str(path), mpp)) for path in slide_paths]
    add_each(workspace, planned, report, who=who, progress=progress)
    return report


def allowed_paths(workspace: Workspace, paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Return the paths that the actor may use, and why not the others."""
    reasons = {path: reason_to_refuse(workspace, path) for path in paths}
    return [path for path in paths if reasons[path] is None], [reason for reason in reasons.values() if reason]


@needs(Permission.ADD_SLIDES)
def add_each(
    workspace: Workspace, planned: Sequence[SlideToAdd], report: AddReport, *, who: str, progress: Progress = silent
) -> None:
    """Open, check and store one slide after the other; what came of each goes into the report.

    A row of a table whose file was added before is no problem, so that a table can be added again.
    """
    for number, slide in enumerate(planned, start=1):
        where = f"line {slide.line}: " if slide.line is not None else ""
        try:
            info = check_slide(slide.path.absolute(), mpp=slide.mpp)
            known = _known_slide(workspace, info.content_sha256)
            if known is None:
                report.added.append(_store_slide(workspace, info, slide.metadata, who))
            elif slide.line is not None and known.withdrawn_at is None and Path(known.path) == info.path:
                report.known.append(known)
            else:
                report.problems.append(f"{where}{slide.path}: {_added_before(known)}")
        except SlideError as error:
            report.problems.append(f"{where}{error}")
            if isinstance(error, ResolutionError):
                report.without_resolution.append(MissingResolution(slide.path, error.stated))
            _log.warning("slide refused: %s", error)
        except IntegrityError:
            report.problems.append(f"{where}{slide.path}: was added by somebody else at the same moment.")
        progress(number, len(planned), slide.path.name)


def _known_slide(workspace: Workspace, content_sha256: str) -> Slide | None:
    with workspace.reading() as session:
        return session.exec(select(Slide).where(Slide.content_sha256 == content_sha256)).first()


def _added_before(known: Slide) -> str:
    if known.withdrawn_at is None:
        return f"was added before as {known.name} ({known.id})."
    return f"was added before as {known.name} ({known.id}) and withdrawn; 'slides restore {known.id}' brings it back."


def _store_slide(workspace: Workspace, info: SlideInfo, metadata: SlideMetadata, who: str) -> Slide:
    identifier = id_of("sld", info.content_sha256)
    folder = workspace.slides / identifier
    with open_slide(info.path, mpp=info.mpp) as slide:
        mask = find_tissue(slide)
        thumbnail = slide.thumbnail(THUMBNAIL_PX)
    keep_tissue_mask(workspace, identifier, mask)
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
        **{
            **asdict(metadata),
            "species": metadata.species or workspace.settings.species,
            "stain": metadata.stain or workspace.settings.stain,
        },
        tissue_share=mask.share(0, 0, info.width, info.height),
        reader=info.reader,
    )
    with workspace.writing() as session:
        session.add(row)
        record_event(session, who=who, action="add", row=row, new={"name": row.name, "organ": row.organ})
    return row


@needs(Permission.VIEW_SLIDES)
def list_slides(workspace: Workspace, *, organ: str | None = None) -> list[Slide]:
    """Return the slides that are not withdrawn, by organ and name; without dose groups that the actor may not see."""
    query = select(Slide).where(col(Slide.withdrawn_at).is_(None), Slide.kind == "slide")
    if organ is not None:
        query = query.where(Slide.organ == organ_name(organ))
    with workspace.reading() as session:
        slides = list(session.exec(query.order_by(col(Slide.organ), col(Slide.name))))
    return [without_hidden(workspace, slide) for slide in slides]


@needs(Permission.VIEW_SLIDES)
def list_organs(workspace: Workspace) -> list[str]:
    """Return the organs that slides or imported images of this workspace show."""
    query = select(Slide.organ).where(col(Slide.withdrawn_at).is_(None)).distinct()
    with workspace.reading() as session:
        return sorted(session.exec(query))
