"""What was selected of an organ, in the numbers and the sentences that a methods section needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import col, select

from db.tables import AuditEvent, Binning, Roi, Slide
from pipeline.bin_sheets import BinSheet, sheets_of
from pipeline.diversity import DiversityReport, Measured, last_diversity, rois_sha256
from pipeline.errors import InputError
from pipeline.ingest import organ_name
from pipeline.permissions import Permission, needs
from pipeline.rejections import OTHER
from pipeline.rois import current_binning, list_rois
from pipeline.workspace import Workspace

UNSAID = "no reason given"
_IDS_AT_ONCE = 500


@dataclass(frozen=True)
class SelectionNumbers:
    """What was selected of an organ.

    `candidates` counts all that are in the bins, with the selected and the rejected ones; `slides` and `studies` those
    that the selected ROIs come from, of `all_slides` and `all_studies` that the candidates come from. `rejected`
    counts rejected ROIs by reason, other reasons as "other". `diversity` is the last figure that was measured, and
    `same_pick` whether the selection is still the one that it was measured of.
    """

    organ: str
    binning: Binning
    bins: Sequence[BinSheet]
    candidates: int
    selected: int
    slides: int
    all_slides: int
    studies: int
    all_studies: int
    by_magnification: Mapping[str, int]
    rejected: Mapping[str, int]
    diversity: Measured | None
    same_pick: bool

    @property
    def bins_covered(self) -> int:
        """Bins of which a ROI is selected."""
        return sum(sheet.covered for sheet in self.bins)

    @property
    def quotas_filled(self) -> int:
        """Bins whose quota asks for no more ROIs."""
        return sum(not sheet.open for sheet in self.bins)


@needs(Permission.VIEW_SLIDES)
def selection_numbers(workspace: Workspace, *, organ: str) -> SelectionNumbers:
    """Count what is selected of an organ.

    Raises:
        InputError: the organ has no bins yet.
    """
    binning = current_binning(workspace, organ)
    if binning is None:
        raise InputError(f"The candidates of {organ_name(organ)} have no bins yet; run 'rois bin' first.")
    rows = [
        row
        for row in list_rois(workspace, organ=organ, states=("candidate", "selected", "rejected"))
        if row[0].binning_id == binning.id
    ]
    selected = [(roi, slide) for roi, slide in rows if roi.state == "selected"]
    measured = last_diversity(workspace, organ=organ)
    sum_now = rois_sha256(roi.id for roi, _ in selected)
    return SelectionNumbers(
        organ=binning.organ,
        binning=binning,
        bins=sheets_of(binning, rows),
        candidates=len(rows),
        selected=len(selected),
        slides=len({slide.id for _, slide in selected}),
        all_slides=len({slide.id for _, slide in rows}),
        studies=len(_studies(selected)),
        all_studies=len(_studies(rows)),
        by_magnification=Counter(roi.magnification for roi, _ in selected),
        rejected=_rejected(workspace, {roi.id for roi, _ in rows if roi.state == "rejected"}),
        diversity=measured,
        same_pick=measured is not None and measured.report.rois_sha256 == sum_now,
    )


def _studies(rows: Collection[tuple[Roi, Slide]]) -> set[str]:
    return {slide.study for _, slide in rows if slide.study}


def _rejected(workspace: Workspace, ids: Collection[str]) -> dict[str, int]:
    """Count rejected ROIs by the reason of their last change of state."""
    reasons: dict[str, str] = {}
    listed = sorted(ids)
    with workspace.reading() as session:
        for start in range(0, len(listed), _IDS_AT_ONCE):
            changes = (
                select(AuditEvent.object_id, AuditEvent.reason)
                .where(
                    col(AuditEvent.object_id).in_(listed[start : start + _IDS_AT_ONCE]),
                    AuditEvent.object_type == "roi",
                    AuditEvent.action == "state",
                )
                .order_by(col(AuditEvent.sequence))
            )
            reasons.update({roi_id: reason or UNSAID for roi_id, reason in session.exec(changes)})
    named = ("other" if reason.startswith(OTHER) else reason for reason in reasons.values())
    return dict(Counter(named).most_common())


def methods_text(numbers: SelectionNumbers) -> str:
    """Return the numbers as sentences for a methods section; what is not known is left out."""
    organ, binning = numbers.organ.replace("_", " "), numbers.binning
    of_studies = f" from {_many(numbers.all_studies, 'study', 'studies')}" if numbers.all_studies else ""
    sentences = [
        f"{numbers.candidates:,} candidate regions of {organ} on {_many(numbers.all_slides, 'slide', 'slides')}"
        f"{of_studies} were embedded with {binning.encoder} (version {binning.encoder_version}{_stain(binning)}) and "
        f"clustered into {binning.bins} bins by k-means (random seed {binning.seed}).",
        f"{_many(numbers.selected, 'region', 'regions')} of interest{_by_magnification(numbers)} "
        f"{'was' if numbers.selected == 1 else 'were'} selected, "
        f"from {_spread(numbers)}.",
    ]
    if numbers.rejected:
        counted = ", ".join(f"{count} {reason}" for reason, count in numbers.rejected.items())
        total = sum(numbers.rejected.values())
        sentences.append(f"{_many(total, 'candidate', 'candidates')} {_were(total)} rejected ({counted}).")
    if numbers.diversity is not None and numbers.same_pick:
        sentences.append(diversity_text(numbers.diversity.report))
    return " ".join(sentences)


def diversity_text(report: DiversityReport) -> str:
    """Return a diversity report as sentences."""
    vendi, distance = report.vendi, report.distance
    return (
        f"In the embedding of {report.encoder} (version {report.encoder_version}), which was not used for the bins, "
        f"the {report.rois} selected regions had a Vendi Score of {vendi.picked:.2f}; "
        f"{report.random_picks:,} random picks of as many regions of the same magnifications from the same "
        f"{report.candidates:,} candidates had {vendi.mean:.2f} on average (95 % of them {vendi.low:.2f} to "
        f"{vendi.high:.2f}; one-sided p = {_p(vendi.p)}). Their mean pairwise distance was {distance.picked:.2f}, that "
        f"of random picks {distance.mean:.2f} ({distance.low:.2f} to {distance.high:.2f}; p = {_p(distance.p)})."
    )


def _p(value: float) -> str:
    return f"{value:.2g}" if value < 0.01 else f"{value:.2f}"


def _stain(binning: Binning) -> str:
    return "" if binning.normalisation == "none" else f", stains normalised after {binning.normalisation.capitalize()}"


def _by_magnification(numbers: SelectionNumbers) -> str:
    if not numbers.by_magnification:
        return ""
    return f" ({', '.join(f'{count} at {name}' for name, count in sorted(numbers.by_magnification.items()))})"


def _spread(numbers: SelectionNumbers) -> str:
    """Return over how many bins, slides and studies the selection is spread."""
    parts = [f"{numbers.bins_covered} of {len(numbers.bins)} bins", _many(numbers.slides, "slide", "slides")]
    if numbers.studies:
        parts.append(_many(numbers.studies, "study", "studies"))
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _many(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
