"""How varied an organ's selected ROIs are, against random picks, in an encoder that did not make the bins."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime

import numpy as np
from pydantic import TypeAdapter
from sqlmodel import col, select

from db import record_event
from db.tables import AuditEvent, Binning
from evaluation.encoders import RANDOM_PICKS, AgainstRandom, diversity_against_random
from pipeline.bins import MAX_SEED
from pipeline.embedding import candidates_of, embed_candidates
from pipeline.encoders import load_encoder
from pipeline.errors import InputError
from pipeline.ingest import organ_name
from pipeline.permissions import Permission, needs
from pipeline.progress import Progress, silent
from pipeline.rois import current_binning
from pipeline.workspace import Workspace

MAX_RANDOM_PICKS = 100_000
_BARS = 30
_MEASURE = "measure"


@dataclass(frozen=True)
class Figure:
    """A figure of the pick, and what random picks have: mean, the middle 95 %, and how many are as varied (`p`)."""

    picked: float
    mean: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Histogram:
    """How many random picks have a figure in each of equal steps from `start` to `stop`."""

    start: float
    stop: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class DiversityReport:
    """How varied `rois` selected ROIs are among `candidates` that could have been picked, by an encoder.

    `vendi` is the Vendi Score, how many quite different pictures the pick is worth; `distance` the mean distance of
    every two of its ROIs. `histogram` counts the random picks by their Vendi Score. `rois_sha256` is the sum of the
    selected ROIs' ids: by it a report is known to be of another pick.
    """

    organ: str
    encoder: str
    encoder_version: str
    bins_encoder: str
    rois: int
    candidates: int
    random_picks: int
    seed: int
    vendi: Figure
    distance: Figure
    histogram: Histogram
    rois_sha256: str


@needs(Permission.CHOOSE_ROIS)
def measure_diversity(
    workspace: Workspace,
    *,
    organ: str,
    encoder: str,
    random_picks: int = RANDOM_PICKS,
    seed: int = 0,
    who: str,
    progress: Progress = silent,
) -> DiversityReport:
    """Compare the organ's selected ROIs with random picks of as many, of each magnification as many.

    Random picks are drawn from the candidates and selected ROIs that are in the organ's bins; rejected ones are not
    among them. The audit trail keeps the figures.

    Args:
        workspace: where.
        organ: whose ROIs.
        encoder: in which they are compared; not the one of the bins, by which the pick would judge itself.
        random_picks: how many.
        seed: makes them repeatable.
        who: the account that measures.
        progress: told after each embedding and random pick.

    Raises:
        InputError: a value is out of range, there are no bins, too few ROIs are selected, or the encoder made the bins.
    """
    if not 1 <= random_picks <= MAX_RANDOM_PICKS:
        raise InputError(f"--random-picks is {random_picks}; it must lie between 1 and {MAX_RANDOM_PICKS:,}.")
    if not 0 <= seed <= MAX_SEED:
        raise InputError(f"--seed is {seed}; it must lie between 0 and {MAX_SEED}.")
    binning = current_binning(workspace, organ)
    if binning is None:
        raise InputError(f"The candidates of {organ_name(organ)} have no bins yet; run 'rois bin' first.")
    chosen = load_encoder(workspace, encoder)
    if chosen.name == binning.encoder:
        raise InputError(
            f"The bins of {binning.organ} were made by {binning.encoder}: a pick across them is varied by that encoder "
            "in any case. Choose another one."
        )
    rows = [row for row in candidates_of(workspace, organ) if row[0].binning_id == binning.id]
    picked = [index for index, (roi, _) in enumerate(rows) if roi.state == "selected"]
    if len(picked) < 2:
        raise InputError(f"{len(picked)} of the ROIs in the bins of {binning.organ} are selected; select two or more.")
    features = embed_candidates(workspace, rows=rows, encoder=chosen, progress=progress)
    try:
        found = diversity_against_random(
            features,
            picked,
            groups=np.array([f"{roi.magnification} {roi.size}" for roi, _ in rows]),
            random_picks=random_picks,
            seed=seed,
            progress=lambda done, total: progress(done, total, "Random picks"),
        )
    except ValueError as error:
        raise InputError(f"The pick cannot be compared by {chosen.name}: {error}.") from error
    counts, edges = np.histogram(found.vendi.values, bins=_BARS)
    report = DiversityReport(
        organ=binning.organ,
        encoder=chosen.name,
        encoder_version=chosen.version,
        bins_encoder=binning.encoder,
        rois=found.size,
        candidates=len(rows),
        random_picks=random_picks,
        seed=seed,
        vendi=_figure(found.vendi),
        distance=_figure(found.distance),
        histogram=Histogram(float(edges[0]), float(edges[-1]), tuple(counts.tolist())),
        rois_sha256=rois_sha256(rows[index][0].id for index in picked),
    )
    with workspace.writing() as session:
        record_event(session, who=who, action=_MEASURE, row=session.get_one(Binning, binning.id), new=asdict(report))
    return report


def rois_sha256(ids: Iterable[str]) -> str:
    """Return the sum by which a pick is known again: of its ROIs' ids, sorted, a line each."""
    return hashlib.sha256("".join(f"{identifier}\n" for identifier in sorted(ids)).encode()).hexdigest()


def _figure(found: AgainstRandom) -> Figure:
    return Figure(picked=found.picked, mean=found.mean, low=found.low, high=found.high, p=found.p)


@dataclass(frozen=True)
class Measured:
    """A report, who asked for it and when."""

    report: DiversityReport
    who: str
    at: datetime


@needs(Permission.VIEW_SLIDES)
def last_diversity(workspace: Workspace, *, organ: str) -> Measured | None:
    """Return what was measured last of a pick from the organ's present bins, or None."""
    query = (
        select(AuditEvent)
        .join(Binning, col(Binning.id) == col(AuditEvent.object_id))
        .where(AuditEvent.action == _MEASURE, Binning.organ == organ_name(organ), col(Binning.current))
        .order_by(col(AuditEvent.sequence).desc())
        .limit(1)
    )
    with workspace.reading() as session:
        event = session.exec(query).first()
    if event is None:
        return None
    return Measured(TypeAdapter(DiversityReport).validate_python(event.new), event.who, event.at)
