"""Bins: an organ's candidates are embedded and clustered, so that a pathologist samples across morphologies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlmodel import Session, col, select

from db import new_id, record_event
from db.tables import Binning, Roi
from evaluation.encoders import assign_bins, bin_silhouettes, place_on_map, spread_quota
from pipeline.embedding import candidates_of, embed_candidates
from pipeline.encoders import load_encoder
from pipeline.errors import InputError
from pipeline.ingest import organ_name
from pipeline.permissions import Permission, needs
from pipeline.progress import Progress, silent
from pipeline.workspace import Workspace

MAX_SEED = 2**32 - 1
"""What k-means takes as its random seed."""
DEFAULT_BINS = 20
"""Bins per organ (VIPER section 3.2)."""

_ROWS_AT_ONCE = 500
"""ROIs asked for in one query: a database takes so many values, not any number."""


@needs(Permission.CHOOSE_ROIS)
def bin_candidates(
    workspace: Workspace,
    *,
    organ: str,
    bins: int = DEFAULT_BINS,
    encoder: str | None = None,
    checkpoint: Path | None = None,
    normalisation: str = "none",
    scheduler: str | None = None,
    seed: int = 0,
    who: str,
    progress: Progress = silent,
) -> Binning:
    """Embed an organ's candidates and put each into a k-means bin; embeddings that exist are not made again.

    Returns:
        the new clustering, which replaces the organ's former one.

    Raises:
        InputError: no candidates, or a value is out of range.
    """
    if not 1 <= bins <= 500:
        raise InputError(f"--bins is {bins}; it must lie between 1 and 500. Nothing was changed.")
    if not 0 <= seed <= MAX_SEED:
        raise InputError(f"--seed is {seed}; it must lie between 0 and {MAX_SEED}. Nothing was changed.")
    chosen = load_encoder(workspace, encoder or workspace.settings.encoder, checkpoint=checkpoint)
    rows = candidates_of(workspace, organ)
    features = embed_candidates(
        workspace,
        rows=rows,
        encoder=chosen,
        checkpoint=checkpoint,
        normalisation=normalisation,
        scheduler=scheduler,
        progress=progress,
    )
    progress(len(rows), len(rows), "Clustering and drawing the map")
    clusters = assign_bins(features, bins=bins, seed=seed)
    places = place_on_map(clusters.points, seed=seed)
    assigned = {
        roi.id: _Place(int(label), float(distance), float(x), float(y))
        for (roi, _), label, distance, (x, y) in zip(rows, clusters.labels, clusters.distances, places, strict=True)
    }
    binning = Binning(
        id=new_id("bin"),
        created_by=who,
        organ=organ_name(organ),
        encoder=chosen.name,
        encoder_version=chosen.version,
        normalisation=normalisation,
        seed=seed,
        bins=clusters.count,
        sizes=list(clusters.sizes),
        silhouettes=list(bin_silhouettes(clusters.points, clusters.labels, seed=seed)),
    )
    with workspace.writing() as session:
        former = select(Binning).where(Binning.organ == binning.organ, col(Binning.current))
        for old in session.exec(former):
            old.current = False
            record_event(session, who=who, action="replace", row=old, old={"current": True}, new={"current": False})
            # What is wanted in all outlives the bins; how it is spread over them does not.
            binning.quotas = spread_quota(sum(old.quotas), binning.sizes) if old.quotas else []
        session.add(binning)
        session.flush()
        record_event(session, who=who, action="bin", row=binning, new=_in_trail(binning, assigned))
        for row in _rows(session, list(assigned)):
            place = assigned[row.id]
            row.binning_id, row.bin, row.bin_distance = binning.id, place.bin, place.distance
            row.map_x, row.map_y = place.x, place.y
    return binning


class _Place(NamedTuple):
    """Where a clustering puts a ROI: its bin from 0, the distance to the bin's centre, and its place on the map."""

    bin: int
    distance: float
    x: float
    y: float


def _rows(session: Session, ids: Sequence[str]) -> Iterator[Roi]:
    for start in range(0, len(ids), _ROWS_AT_ONCE):
        yield from session.exec(select(Roi).where(col(Roi.id).in_(ids[start : start + _ROWS_AT_ONCE])))


def _in_trail(binning: Binning, assigned: Mapping[str, _Place]) -> dict[str, Any]:
    facts = binning.model_dump(
        include={"organ", "encoder", "encoder_version", "normalisation", "seed", "bins", "sizes"}
    )
    return {
        **facts,
        "rois": len(assigned),
        "assignment_sha256": assignment_sha256((i, p.bin) for i, p in assigned.items()),
    }


def assignment_sha256(assigned: Iterable[tuple[str, int]]) -> str:
    """Return the sum under which the trail keeps which ROI went into which bin: of `id bin` lines, sorted.

    The trail has one row for a clustering, not one for each ROI; with this sum it still shows whether the bins that
    the database holds are those that were made.
    """
    lines = sorted(f"{identifier} {bin_}\n" for identifier, bin_ in assigned)
    return hashlib.sha256("".join(lines).encode()).hexdigest()
