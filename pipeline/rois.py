"""Regions of interest: candidates are drawn on tissue, a few of them selected, others imported or rejected."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, func, select

from db import new_id
from db.tables import AuditEvent, Binning, Roi, Seed, Slide
from evaluation.slides import (
    Region,
    SlideError,
    TissueMask,
    encode_png,
    explain_no_regions,
    magnification_label,
    mpp_of_magnification,
    sample_regions,
)
from pipeline.errors import ChangedError, InputError, NotFoundError
from pipeline.ingest import list_slides, organ_name
from pipeline.last_change import require_unchanged, said_change
from pipeline.permissions import Permission, needs
from pipeline.progress import Progress, silent
from pipeline.quotas import quotas_of
from pipeline.roi_flags import flags_of
from pipeline.roi_images import open_added_slide, read_roi, thumbnail_region
from pipeline.states import move
from pipeline.workspace import Workspace, write_atomically

MAX_CANDIDATES = 20_000
MIN_ROI_SIZE = 32
MAX_ROI_SIZE = 4_096

MAX_CHOICES = 50
"""So many of a person's last choices are offered to be taken back."""

TAKEN_BACK = "taken back"
"""The audit trail's reason for a state that a ROI went back to."""

ACROSS_BINS = "picked across the bins"
"""The audit trail's reason for a ROI that no person chose one by one."""

_LIVE_SEEDS = select(Seed.roi_id).where(col(Seed.withdrawn_at).is_(None), Seed.state != "dropped")


@dataclass(frozen=True)
class SampleReport:
    """How many candidates were asked for, drawn, and new (drawn before: the same seed gives the same draw)."""

    asked: int
    drawn: int
    added: int
    problems: tuple[str, ...] = ()


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise InputError(f"--{name} is {value}; it must lie between {low} and {high}. Nothing was changed.")


@needs(Permission.CHOOSE_ROIS)
def sample_candidates(
    workspace: Workspace,
    *,
    organ: str,
    count: int,
    size: int = 1024,
    magnification: float = 20.0,
    min_tissue: float = 0.5,
    max_overlap: float = 0.25,
    seed: int = 0,
    who: str,
    progress: Progress = silent,
) -> SampleReport:
    """Draw candidates at random on an organ's tissue, spread over its slides (VIPER section 3.2).

    Args:
        workspace: whose slides.
        organ: which organ's slides.
        count: how many; fewer come out where tissue, overlap or size allow no more.
        size: side in output pixels.
        magnification: 20 for 0.5 µm per output pixel, 5 for 2, 2.5 for 4.
        min_tissue: smallest share of tissue in a candidate, 0 to 1.
        max_overlap: largest shared area of two candidates of one slide, as a share of one, 0 to below 1.
        seed: the same seed gives the same draw on the same slides.
        who: the account that draws.
        progress: told after each candidate.

    Raises:
        InputError: a value is out of range, or the organ has no slide.
    """
    _check_range("count", count, 1, MAX_CANDIDATES)
    _check_range("size", size, MIN_ROI_SIZE, MAX_ROI_SIZE)
    _check_range("magnification", magnification, 0.5, 80)
    _check_range("min-tissue", min_tissue, 0, 1)
    _check_range("max-overlap", max_overlap, 0, 0.99)
    slides = list_slides(workspace, organ=organ)
    if not slides:
        raise InputError(f"There is no slide of {organ_name(organ)}; add one with 'slides add'.")
    mpp = mpp_of_magnification(magnification)
    # By content, not by id: the same slides in another workspace give the same draw.
    masks = {slide.content_sha256: _tissue_mask(workspace, slide) for slide in slides}
    draw = {"seed": seed, "min_tissue": min_tissue, "max_overlap": max_overlap}
    taken = _regions_of_other_draws(workspace, slides, {**draw, "size": size, "mpp": mpp})
    drawn = sample_regions(
        masks,
        count=count,
        size=size,
        mpp=mpp,
        min_tissue=min_tissue,
        max_overlap=max_overlap,
        seed=seed,
        taken=taken,
    )
    total = sum(len(regions) for regions in drawn.values())
    done = added = 0
    problems: list[str] = []
    if not total:
        problems = [
            f"{slide.name}: {why}"
            for slide in slides
            if (why := explain_no_regions(masks[slide.content_sha256], size=size, mpp=mpp, min_tissue=min_tissue))
        ]
    for slide in slides:
        regions = drawn.get(slide.content_sha256, [])
        try:
            added += _store_candidates(workspace, slide, regions, draw, who)
        except SlideError as error:
            problems.append(str(error))
        done += len(regions)
        progress(done, total, slide.name)
    return SampleReport(asked=count, drawn=total, added=added, problems=tuple(problems))


def _tissue_mask(workspace: Workspace, slide: Slide) -> TissueMask:
    path = workspace.slides / slide.id / "tissue.png"
    if not path.is_file():
        raise InputError(f"{path} is missing: the workspace is damaged. Restore it from a copy.")
    return TissueMask.from_png_bytes(path.read_bytes())


def _regions_of_other_draws(
    workspace: Workspace, slides: Sequence[Slide], draw: dict[str, float]
) -> dict[str, list[Region]]:
    """Return the ROIs that a draw must not overlap, by slide content.

    Those that the same draw made before do not count: it then gives the same ROIs again.
    """
    contents = {slide.id: slide.content_sha256 for slide in slides}
    taken: dict[str, list[Region]] = {}
    with workspace.reading() as session:
        for roi in session.exec(select(Roi).where(col(Roi.slide_id).in_(contents))):
            if roi.mpp is not None and {**roi.draw, "size": roi.size, "mpp": roi.mpp} != draw:
                region = Region(roi.x, roi.y, roi.size, roi.mpp, roi.tissue_share or 0.0)
                taken.setdefault(contents[roi.slide_id], []).append(region)
    return taken


def _store_candidates(
    workspace: Workspace, slide: Slide, regions: Sequence[Region], draw: dict[str, float], who: str
) -> int:
    with workspace.reading() as session:
        known = _known_places(session, slide)
    fresh = [region for region in regions if (region.x, region.y, region.size, region.mpp) not in known]
    if not fresh:
        return 0
    rows: list[Roi] = []
    stored = False
    try:
        with open_added_slide(slide) as opened:
            for region in fresh:
                row = _candidate(slide, region, draw, who)
                thumbnail = encode_png(opened.read_region(thumbnail_region(region)))
                write_atomically(workspace.root / (row.thumbnail_path or ""), thumbnail)
                rows.append(row)
        with workspace.writing() as session:
            # Asked again: another process may have drawn the same places meanwhile.
            known = _known_places(session, slide)
            added = [row for row in rows if (row.x, row.y, row.size, row.mpp) not in known]
            session.add_all(added)
        stored = True
    finally:
        if not stored:
            for row in rows:
                (workspace.root / (row.thumbnail_path or "")).unlink(missing_ok=True)
    return len(added)


def _candidate(slide: Slide, region: Region, draw: dict[str, float], who: str) -> Roi:
    identifier = new_id("roi")
    return Roi(
        id=identifier,
        created_by=who,
        slide_id=slide.id,
        organ=slide.organ,
        x=region.x,
        y=region.y,
        size=region.size,
        mpp=region.mpp,
        magnification=magnification_label(region.mpp),
        tissue_share=region.tissue_share,
        draw=draw,
        thumbnail_path=f"thumbnails/{identifier}.png",
    )


def _known_places(session: Session, slide: Slide) -> set[tuple[int, int, int, float | None]]:
    places = select(Roi.x, Roi.y, Roi.size, Roi.mpp).where(Roi.slide_id == slide.id)
    return {(x, y, size, mpp) for x, y, size, mpp in session.exec(places)}


@needs(Permission.VIEW_SLIDES)
def list_rois(
    workspace: Workspace, *, organ: str | None = None, states: Sequence[str] = ("selected",)
) -> list[tuple[Roi, Slide]]:
    """Return ROIs in given states with their slides, by organ, bin and distance to the bin's centre."""
    query = (
        select(Roi, Slide)
        .where(Roi.slide_id == Slide.id, col(Roi.withdrawn_at).is_(None), col(Roi.state).in_(states))
        .order_by(col(Roi.organ), col(Roi.bin), col(Roi.bin_distance), col(Roi.id))
    )
    if organ is not None:
        query = query.where(Roi.organ == organ_name(organ))
    with workspace.reading() as session:
        return [(roi, slide) for roi, slide in session.exec(query)]


@needs(Permission.VIEW_SLIDES)
def get_roi(workspace: Workspace, roi_id: str) -> tuple[Roi, Slide]:
    """Return one ROI and its slide.

    Raises:
        NotFoundError: there is none of this id.
    """
    with workspace.reading() as session:
        found = session.exec(select(Roi, Slide).where(Roi.slide_id == Slide.id, Roi.id == roi_id)).first()
    if found is None:
        raise NotFoundError(f"There is no ROI {roi_id} in this workspace.")
    return found


@needs(Permission.VIEW_SLIDES)
def current_binning(workspace: Workspace, organ: str) -> Binning | None:
    """Return the organ's latest clustering, or None before `rois bin`."""
    query = select(Binning).where(Binning.organ == organ_name(organ), col(Binning.current))
    with workspace.reading() as session:
        return session.exec(query).first()


@needs(Permission.CHOOSE_ROIS)
def select_roi(
    workspace: Workspace, roi_id: str, *, who: str, reason: str | None = None, expected_version: int | None = None
) -> Roi:
    """Select a ROI: its image is read at full size, stored as PNG, and it joins the seed queue.

    Args:
        workspace: where.
        roi_id: which one.
        who: the account that selects it.
        reason: for the audit trail.
        expected_version: the row version that the person saw.

    Raises:
        SlideError: the slide cannot be read any more.
        InputError: the ROI is selected already.
        ChangedError: the ROI was changed since `expected_version` was seen.
    """
    roi, slide = get_roi(workspace, roi_id)
    if roi.image_path is None and roi.state != "selected":
        data = read_roi(workspace, roi, slide)
        image_path = f"rois/{roi.id}.png"
        write_atomically(workspace.root / image_path, data)
        image_sha256: str | None = hashlib.sha256(data).hexdigest()
    else:
        image_path, image_sha256 = roi.image_path or "", roi.image_sha256
    with workspace.writing() as session:
        row = _row(session, roi_id)
        require_unchanged(session, row, expected_version, who=who)
        move(session, row, "selected", who=who, reason=reason)
        row.image_path, row.image_sha256 = image_path, image_sha256
    return row


@needs(Permission.CHOOSE_ROIS)
def reject_roi(
    workspace: Workspace, roi_id: str, *, who: str, reason: str | None = None, expected_version: int | None = None
) -> Roi:
    """Take a ROI out of the candidates; it can come back with `return_roi`.

    Raises:
        InputError: the ROI is rejected already, or has seeds, which would lose their image.
        ChangedError: the ROI was changed since `expected_version` was seen.
    """
    with workspace.writing() as session:
        row = _row(session, roi_id)
        require_unchanged(session, row, expected_version, who=who)
        keep_image_of_seeds(session, row)
        move(session, row, "rejected", who=who, reason=reason)
    return row


@needs(Permission.CHOOSE_ROIS)
def return_roi(workspace: Workspace, roi_id: str, *, who: str, expected_version: int | None = None) -> Roi:
    """Take back the person's own last selection or rejection of a ROI: it returns to the state before that.

    Raises:
        InputError: the person has chosen nothing about it, or it has seeds, which would lose their image.
        ChangedError: somebody else chose since, or the ROI was changed since `expected_version` was seen.
    """
    with workspace.writing() as session:
        row = _row(session, roi_id)
        require_unchanged(session, row, expected_version, who=who)
        standing = _state_changes(session, [roi_id]).get(roi_id)
        if not standing:
            raise InputError(f"ROI {roi_id} is {row.state}: there is no choice to take back")
        if standing[-1].who != who:
            raise ChangedError(f"{said_change(session, row, who=who)} Only your own choice can be taken back.")
        keep_image_of_seeds(session, row)
        move(session, row, str((standing[-1].old or {})["state"]), who=who, reason=TAKEN_BACK)
    return row


def _row(session: Session, roi_id: str) -> Roi:
    row = session.get(Roi, roi_id)
    if row is None:
        raise NotFoundError(f"There is no ROI {roi_id} in this workspace.")
    if row.withdrawn_at is not None:
        raise InputError(f"ROI {roi_id} is withdrawn: {row.withdrawn_reason}")
    return row


def keep_image_of_seeds(session: Session, row: Roi) -> None:
    """Refuse to change a selected ROI that a seed question is about."""
    if row.state == "selected" and session.exec(_LIVE_SEEDS.where(Seed.roi_id == row.id).limit(1)).first() is not None:
        raise InputError(f"ROI {row.id} has a seed question; drop the seed first")


def _state_changes(session: Session, roi_ids: Collection[str]) -> dict[str, list[AuditEvent]]:
    """Return the changes of ROIs' states, by ROI, that were not taken back; the last one of each stands."""
    changes = (
        select(AuditEvent)
        .where(col(AuditEvent.object_id).in_(roi_ids), AuditEvent.object_type == "roi", AuditEvent.action == "state")
        .order_by(col(AuditEvent.sequence))
    )
    standing: dict[str, list[AuditEvent]] = {}
    for change in session.exec(changes):
        of_roi = standing.setdefault(change.object_id, [])
        if change.reason == TAKEN_BACK and of_roi:
            of_roi.pop()
        else:
            of_roi.append(change)
    return standing


@dataclass(frozen=True)
class Choice:
    """A person's selection or rejection of a ROI that still stands, and the state that it would return to.

    `roi` is how the ROI stands now.
    """

    roi: Roi
    before: str
    at: datetime


@needs(Permission.CHOOSE_ROIS)
def own_choices(workspace: Workspace, *, organ: str) -> list[Choice]:
    """Return the actor's last choices about an organ's ROIs that `return_roi` can take back, the last one at the end.

    Each ROI is there once, for its last choice. What somebody else has changed since is not in it, nor what was
    picked across the bins, nor a ROI that has a seed by now.
    """
    name = workspace.actor.name
    touched = (
        select(Roi)
        .join(AuditEvent, col(AuditEvent.object_id) == Roi.id)
        .where(
            AuditEvent.who == name,
            AuditEvent.object_type == "roi",
            AuditEvent.action == "state",
            col(AuditEvent.reason).is_(None) | (col(AuditEvent.reason) != ACROSS_BINS),
            Roi.organ == organ_name(organ),
            col(Roi.withdrawn_at).is_(None),
            col(Roi.id).not_in(_LIVE_SEEDS),
        )
        .group_by(col(Roi.id))
        .order_by(func.max(AuditEvent.sequence).desc())
        .limit(MAX_CHOICES)
    )
    with workspace.reading() as session:
        rois = {roi.id: roi for roi in session.exec(touched)}
        last = [changes[-1] for changes in _state_changes(session, rois).values() if changes]
    own = [change for change in last if change.who == name and change.reason != ACROSS_BINS]
    return [
        Choice(rois[change.object_id], str((change.old or {})["state"]), change.at)
        for change in sorted(own, key=lambda change: change.sequence)
    ]


@needs(Permission.CHOOSE_ROIS)
def select_across_bins(
    workspace: Workspace, *, organ: str, per_bin: int | None = None, who: str, progress: Progress = silent
) -> list[Roi]:
    """Select candidates of every bin, the most typical first (VIPER section 3.2), those with an artefact last.

    ROIs that are selected already count, so that a second call selects nothing more.

    Args:
        workspace: where.
        organ: of which organ.
        per_bin: how many of each bin; None fills the bins' quotas.
        who: the account that selects.
        progress: told after each ROI.

    Raises:
        InputError: the organ has no bins yet, or a slide cannot be read (what can be read was selected).
    """
    if per_bin is not None:
        _check_range("per-bin", per_bin, 1, 1_000)
    binning = current_binning(workspace, organ)
    if binning is None:
        raise InputError(f"The candidates of {organ_name(organ)} have no bins yet; run 'rois bin' first.")
    wanted = quotas_of(binning) if per_bin is None else [per_bin] * binning.bins
    rows = [roi for roi, _ in list_rois(workspace, organ=organ, states=("candidate", "selected"))]
    binned = [roi for roi in rows if roi.binning_id == binning.id]
    taken = Counter(roi.bin for roi in binned if roi.state == "selected")
    chosen: list[Roi] = []
    for roi in sorted(binned, key=lambda roi: (roi.bin, bool(flags_of(roi)), roi.bin_distance, roi.id)):
        if roi.state == "candidate" and roi.bin is not None and taken[roi.bin] < wanted[roi.bin]:
            taken[roi.bin] += 1
            chosen.append(roi)
    selected: list[Roi] = []
    unreadable: dict[str, str] = {}
    for number, roi in enumerate(chosen, start=1):
        try:
            selected.append(select_roi(workspace, roi.id, who=who, reason=ACROSS_BINS))
        except SlideError as error:
            unreadable.setdefault(roi.slide_id, str(error))
        except InputError:
            # Somebody else selected or rejected it at the same moment: that stands.
            if get_roi(workspace, roi.id)[0].state == "candidate":
                raise
        progress(number, len(chosen), roi.id)
    if unreadable:
        raise InputError(
            f"{len(selected)} ROIs were selected; others are on slides that cannot be read:", list(unreadable.values())
        )
    return selected
