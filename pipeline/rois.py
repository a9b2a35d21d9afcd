"""Regions of interest: candidates that were drawn on tissue are listed, selected or rejected."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, func, select

from db.tables import AuditEvent, Binning, Roi, Seed, Slide
from evaluation.slides import SlideError
from pipeline.errors import ChangedError, InputError, NotFoundError, require_range
from pipeline.ingest import organ_name
from pipeline.last_change import require_unchanged, said_change
from pipeline.permissions import Permission, needs
from pipeline.progress import Progress, silent
from pipeline.quotas import quotas_of
from pipeline.roi_flags import flags_of
from pipeline.roi_images import read_roi
from pipeline.states import move
from pipeline.workspace import Workspace, write_atomically

MAX_CHOICES = 50
"""So many of a person's last choices are offered to be taken back."""

TAKEN_BACK = "taken back"
"""The audit trail's reason for a state that a ROI went back to."""

ACROSS_BINS = "picked across the bins"
"""The audit trail's reason for a ROI that no person chose one by one."""

_LIVE_SEEDS = select(Seed.roi_id).where(col(Seed.withdrawn_at).is_(None), Seed.state != "dropped")


@needs(Permission.VIEW_SLIDES)
def list_rois(
    workspace: Workspace, *, organ: str | None = None, states: Sequence[str] = ("selected",)
) -> list[tuple[Roi, Slide]]:
    """Return ROIs in given states with their slides, by organ, bin and distance to the bin's centre.

    Within a bin those that show an artefact come last; what has no bin comes first.
    """
    query = select(Roi, Slide).where(
        Roi.slide_id == Slide.id, col(Roi.withdrawn_at).is_(None), col(Roi.state).in_(states)
    )
    if organ is not None:
        query = query.where(Roi.organ == organ_name(organ))
    with workspace.reading() as session:
        rows = [(roi, slide) for roi, slide in session.exec(query)]
    return sorted(rows, key=_place_in_list)


def _place_in_list(row: tuple[Roi, Slide]) -> tuple[str, int, bool, float, str]:
    roi, _ = row
    return (
        roi.organ,
        -1 if roi.bin is None else roi.bin,
        bool(flags_of(roi)),
        -1.0 if roi.bin_distance is None else roi.bin_distance,
        roi.id,
    )


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
        require_range("per-bin", per_bin, 1, 1_000)
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
