"""Drawing candidates: random fields on tissue, spread over studies and slides, with the artefacts that they show."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlmodel import Session, col, select

from db import id_of, record_event
from db.tables import Roi, Slide
from evaluation.slides import (
    DrawShare,
    Region,
    SlideDraw,
    SlideError,
    TissueMask,
    artefacts_of_region,
    check_shares,
    draw_regions,
    encode_png,
    magnification_label,
    mpp_of_magnification,
    on_all_cores,
    overlap_share,
)
from evaluation.slides import Slide as OpenSlide
from pipeline.errors import InputError, require_range
from pipeline.ingest import list_slides, organ_name
from pipeline.permissions import Permission, needs
from pipeline.progress import Progress, silent
from pipeline.roi_flags import flags_of
from pipeline.roi_images import open_added_slide, thumbnail_region
from pipeline.tissue_masks import mask_path, tissue_mask
from pipeline.workspace import Workspace, write_atomically

MAX_CANDIDATES = 20_000
MIN_ROI_SIZE = 32
MAX_ROI_SIZE = 4_096
MAX_MAGNIFICATIONS = 8

_STORED_AT_ONCE = 64
"""Candidates that are read, then stored together: what a killed draw loses at most."""

_SHARES_ADD_UP = 0.01
"""How far the shares of magnifications may be off 1: three times 0.33 is meant to be all."""


@dataclass(frozen=True)
class SlidePart:
    """What one slide was to give at one magnification and what it gave; `why` where that is fewer."""

    magnification: float
    study: str | None
    slide: str
    asked: int
    drawn: int
    why: str | None


@dataclass(frozen=True)
class SampleReport:
    """How many candidates were asked for, drawn, and new (drawn before: the same seed gives the same draw).

    `parts` is the account by magnification, study and slide, `flagged` how many new ones show an artefact.
    """

    asked: int
    drawn: int
    added: int
    problems: tuple[str, ...] = ()
    flagged: int = 0
    parts: tuple[SlidePart, ...] = ()

    def by_magnification(self) -> list[tuple[float, int, int]]:
        """Return magnification, asked and drawn, the highest magnification first."""
        groups = itertools.groupby(self.parts, key=lambda part: part.magnification)
        totals = []
        for magnification, group in groups:
            parts = list(group)
            totals.append((magnification, sum(part.asked for part in parts), sum(part.drawn for part in parts)))
        return totals


@needs(Permission.CHOOSE_ROIS)
def sample_candidates(
    workspace: Workspace,
    *,
    organ: str,
    count: int,
    size: int = 1024,
    magnifications: Sequence[tuple[float, float]] = ((20.0, 1.0),),
    min_tissue: float = 0.5,
    max_overlap: float = 0.25,
    seed: int = 0,
    who: str,
    progress: Progress = silent,
) -> SampleReport:
    """Draw candidates at random on an organ's tissue, spread over its studies and slides (VIPER section 3.2).

    They are stored in portions; a draw that was interrupted goes on when it is asked for again.

    Args:
        workspace: whose slides.
        organ: which organ's slides.
        count: how many; fewer come out where tissue, overlap or size allow no more.
        size: side in output pixels.
        magnifications: each with its share of the count: 20 for 0.5 µm per output pixel, 5 for 2, 2.5 for 4.
        min_tissue: smallest share of tissue in a candidate, 0 to 1.
        max_overlap: largest shared area of two candidates of one slide and magnification, as a share of one.
        seed: the same seed gives the same draw on the same slides.
        who: the account that draws.
        progress: told after each candidate.

    Raises:
        InputError: a value is out of range, or the organ has no slide.
    """
    require_range("count", count, 1, MAX_CANDIDATES)
    require_range("size", size, MIN_ROI_SIZE, MAX_ROI_SIZE)
    require_range("min-tissue", min_tissue, 0, 1)
    require_range("max-overlap", max_overlap, 0, 0.99)
    shares = _shares(magnifications)
    slides = list_slides(workspace, organ=organ)
    if not slides:
        raise InputError(f"There is no slide of {organ_name(organ)}; add one with 'slides add'.")
    # By content, not by id or name: the same slides in another workspace give the same draw.
    by_content = {slide.content_sha256: slide for slide in slides}
    masks = {content: _needed_mask(workspace, slide) for content, slide in by_content.items()}
    terms = {"seed": seed, "min_tissue": min_tissue, "max_overlap": max_overlap}
    before = _rois_of(workspace, slides)
    drawn = draw_regions(
        masks,
        shares,
        count=count,
        size=size,
        min_tissue=min_tissue,
        max_overlap=max_overlap,
        seed=seed,
        taken={
            share.mpp: _of_other_draws(before, slides, {**terms, "size": size, "mpp": share.mpp}) for share in shares
        },
        studies={content: slide.study for content, slide in by_content.items() if slide.study},
    )
    asked = {"organ": organ_name(organ), "count": count, "size": size, **terms}
    draw = _Draw(workspace, terms, who, frozenset(roi.id for roi in before), _in_trail(asked, drawn))
    regions = {
        content: [region for part in drawn if part.slide == content for region in part.regions]
        for content in by_content
    }
    total, done = sum(map(len, regions.values())), 0
    for content, slide in by_content.items():
        for stored in draw.store(slide, regions[content]):
            done += stored
            progress(done, total, slide.name)
    return SampleReport(
        asked=count,
        drawn=total,
        added=draw.added,
        problems=tuple(draw.problems),
        flagged=draw.flagged,
        parts=_account(drawn, by_content, {mpp_of_magnification(one): one for one, _ in magnifications}),
    )


def _shares(magnifications: Sequence[tuple[float, float]]) -> list[DrawShare]:
    if not 1 <= len(magnifications) <= MAX_MAGNIFICATIONS:
        raise InputError(f"--magnification: give 1 to {MAX_MAGNIFICATIONS} of them. Nothing was changed.")
    for magnification, share in magnifications:
        require_range("magnification", magnification, 0.5, 80)
        if not 0 < share <= 1:
            raise InputError(
                f"--magnification {magnification:g}:{share:g}: the share must lie above 0 and be at most 1. "
                "Nothing was changed."
            )
    total = sum(share for _, share in magnifications)
    if abs(total - 1) > _SHARES_ADD_UP + 1e-9:
        raise InputError(f"The shares of the magnifications add up to {total:g}, not to 1. Nothing was changed.")
    shares = [DrawShare(mpp_of_magnification(magnification), share) for magnification, share in magnifications]
    try:
        check_shares(shares)
    except ValueError as error:
        raise InputError(f"--magnification: {error}. Nothing was changed.") from None
    return shares


def _account(
    drawn: Sequence[SlideDraw], slides: Mapping[str, Slide], magnifications: Mapping[float, float]
) -> tuple[SlidePart, ...]:
    parts = [
        SlidePart(
            magnification=magnifications[part.mpp],
            study=part.study,
            slide=slides[part.slide].name,
            asked=part.asked,
            drawn=len(part.regions),
            why=part.why,
        )
        for part in drawn
    ]
    return tuple(sorted(parts, key=lambda part: (-part.magnification, part.study or "", part.slide)))


def _needed_mask(workspace: Workspace, slide: Slide) -> TissueMask:
    mask = tissue_mask(workspace, slide)
    if mask is None:
        path = mask_path(workspace, slide.id)
        raise InputError(f"{path} is missing: the workspace is damaged. Restore it from a copy.")
    return mask


def _rois_of(workspace: Workspace, slides: Sequence[Slide]) -> list[Roi]:
    """Return all ROIs of slides, rejected ones as well: what somebody rejected is not drawn again beside it."""
    of_slides = select(Roi).where(col(Roi.slide_id).in_([slide.id for slide in slides])).order_by(col(Roi.id))
    with workspace.reading() as session:
        return list(session.exec(of_slides))


def _of_other_draws(rois: Iterable[Roi], slides: Iterable[Slide], draw: Mapping[str, Any]) -> dict[str, list[Region]]:
    """Return the ROIs that a draw must not overlap, by slide content.

    Those that the same draw made before do not count: it then gives the same ROIs again.
    """
    contents = {slide.id: slide.content_sha256 for slide in slides}
    taken: dict[str, list[Region]] = {}
    for roi in rois:
        if (region := _region_of(roi)) is not None and _draw_of(roi) != draw:
            taken.setdefault(contents[roi.slide_id], []).append(region)
    return taken


def _region_of(roi: Roi) -> Region | None:
    return None if roi.mpp is None else Region(roi.x, roi.y, roi.size, roi.mpp, roi.tissue_share or 0.0)


def _draw_of(roi: Roi) -> dict[str, Any]:
    return {**roi.draw, "size": roi.size, "mpp": roi.mpp}


def _in_trail(asked: Mapping[str, Any], drawn: Sequence[SlideDraw]) -> dict[str, Any]:
    by_magnification: dict[str, int] = {}
    for part in drawn:
        label = magnification_label(part.mpp)
        by_magnification[label] = by_magnification.get(label, 0) + len(part.regions)
    return {**asked, "drawn": by_magnification, "slides": len({part.slide for part in drawn})}


class _Draw:
    """Stores what was drawn, portion by portion, and keeps count of it."""

    def __init__(
        self,
        workspace: Workspace,
        terms: Mapping[str, float],
        who: str,
        before: frozenset[str],
        in_trail: Mapping[str, Any],
    ) -> None:
        self._workspace = workspace
        self._terms = dict(terms)
        self._who = who
        self._before = before
        self._in_trail = dict(in_trail)
        self._recorded = False
        self.added = self.flagged = 0
        self.problems: list[str] = []

    def store(self, slide: Slide, regions: Sequence[Region]) -> Iterator[int]:
        """Store a slide's candidates and yield how many were dealt with; what keeps it from that is a problem."""
        with self._workspace.reading() as session:
            known = _known_places(session, slide)
        fresh = [region for region in regions if _place(region) not in known]
        if len(fresh) < len(regions):
            yield len(regions) - len(fresh)
        if not fresh:
            return
        try:
            with (
                open_added_slide(slide) as opened,
                closing(on_all_cores(lambda region: _picture_and_flags(opened, region), fresh)) as made,
            ):
                waiting = iter(fresh)
                while portion := list(itertools.islice(waiting, _STORED_AT_ONCE)):
                    ready = [
                        (_candidate(slide, region, self._terms, flags, self._who), picture)
                        for region, (picture, flags) in zip(portion, made, strict=False)
                    ]
                    if not self._store(slide, ready):
                        return
                    yield len(ready)
        except SlideError as error:
            self.problems.append(str(error))

    def _store(self, slide: Slide, ready: Sequence[tuple[Roi, bytes]]) -> bool:
        """Store a portion: pictures, then rows, so that each row has one. False: the slide is not to be used."""
        paths = {row.id: self._workspace.root / (row.thumbnail_path or "") for row, _ in ready}
        new = [path for path in paths.values() if not path.exists()]
        added: list[tuple[Roi, bytes]] = []
        stored = False
        try:
            for row, picture in ready:
                write_atomically(paths[row.id], picture)
            with self._workspace.writing() as session:
                # Asked again: since the draw began another one may have stored places, or the slide be withdrawn.
                if (gone := _why_not(session, slide)) is not None:
                    self.problems.append(gone)
                    return False
                added = self._still_free(session, slide, ready)
                for row, picture in added:
                    if not paths[row.id].exists():
                        write_atomically(paths[row.id], picture)
                    session.add(row)
                if added:
                    self._record(session, added[0][0])
            stored = True
        finally:
            if not stored or len(added) < len(ready):
                _remove_without_row(self._workspace, paths, new)
        self.added += len(added)
        self.flagged += sum(bool(flags_of(row)) for row, _ in added)
        return True

    def _still_free(
        self, session: Session, slide: Slide, ready: Sequence[tuple[Roi, bytes]]
    ) -> list[tuple[Roi, bytes]]:
        """Return the candidates whose place no other draw took since this one began."""
        there = list(session.exec(select(Roi).where(Roi.slide_id == slide.id)))
        known = {(roi.x, roi.y, roi.size, roi.mpp) for roi in there}
        later = [roi for roi in there if roi.id not in self._before and roi.draw != self._terms]
        free = [(row, picture) for row, picture in ready if (row.x, row.y, row.size, row.mpp) not in known]
        apart = [one for one in free if not any(self._overlaps(one[0], other, slide) for other in later)]
        if len(apart) < len(free):
            self.problems.append(
                f"{slide.name}: {len(free) - len(apart)} candidates overlapped what another draw stored at the same "
                "time and were left out; draw again to fill them up."
            )
        return apart

    def _overlaps(self, row: Roi, other: Roi, slide: Slide) -> bool:
        one, two = _region_of(row), _region_of(other)
        if one is None or two is None or one.mpp != two.mpp or slide.mpp is None:
            return False
        return overlap_share(one, two, slide_mpp=slide.mpp) > self._terms["max_overlap"]

    def _record(self, session: Session, row: Roi) -> None:
        """Note the draw in the audit trail, once, with the first candidate that is stored of it."""
        if self._recorded:
            return
        session.flush()
        record_event(session, who=self._who, action="sample", row=row, new=self._in_trail)
        self._recorded = True


def _why_not(session: Session, slide: Slide) -> str | None:
    """Say why nothing is to be stored on a slide any more, None if it is as it was when the draw began."""
    now = session.get(Slide, slide.id)
    if now is None or now.withdrawn_at is not None:
        return f"{slide.name}: was withdrawn meanwhile; nothing more was stored on it."
    if now.organ != slide.organ:
        return f"{slide.name}: became a slide of {now.organ} meanwhile; nothing more was stored on it."
    return None


def _remove_without_row(workspace: Workspace, paths: Mapping[str, Path], new: Sequence[Path]) -> None:
    """Take away the pictures that were new and that no row names: another draw may have stored the same place."""
    with workspace.writing() as session:
        kept = set(session.exec(select(Roi.id).where(col(Roi.id).in_(paths))))
        for identifier, path in paths.items():
            if path in new and identifier not in kept:
                path.unlink(missing_ok=True)


def _picture_and_flags(opened: OpenSlide, region: Region) -> tuple[bytes, dict[str, Any]]:
    picture = encode_png(opened.read_region(thumbnail_region(region)))
    return picture, {name: asdict(artefact) for name, artefact in artefacts_of_region(opened, region).items()}


def _candidate(slide: Slide, region: Region, draw: dict[str, float], flags: dict[str, Any], who: str) -> Roi:
    # By what it shows: the same draw of the same slides is listed in the same words everywhere.
    identifier = id_of("roi", slide.content_sha256, *_place(region))
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
        flags=flags,
        thumbnail_path=f"thumbnails/{identifier}.png",
    )


def _place(region: Region) -> tuple[int, int, int, float | None]:
    return region.x, region.y, region.size, region.mpp


def _known_places(session: Session, slide: Slide) -> set[tuple[int, int, int, float | None]]:
    places = select(Roi.x, Roi.y, Roi.size, Roi.mpp).where(Roi.slide_id == slide.id)
    return {(x, y, size, mpp) for x, y, size, mpp in session.exec(places)}
