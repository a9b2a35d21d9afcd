"""Bins: an organ's candidates are embedded and clustered, so that a pathologist samples across morphologies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlmodel import col, select

from db import new_id, record_event
from db.tables import Binning, Roi
from evaluation.encoders import assign_bins
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
    clusters = assign_bins(features, bins=bins, seed=seed)
    binning = Binning(
        id=new_id("bin"),
        created_by=who,
        organ=organ_name(organ),
        encoder=chosen.name,
        encoder_version=chosen.version,
        normalisation=normalisation,
        seed=seed,
        bins=len(clusters.centres),
        sizes=[int((clusters.labels == number).sum()) for number in range(len(clusters.centres))],
    )
    with workspace.writing() as session:
        former = select(Binning).where(Binning.organ == binning.organ, col(Binning.current))
        for old in session.exec(former):
            old.current = False
            record_event(session, who=who, action="replace", row=old, old={"current": True}, new={"current": False})
        session.add(binning)
        session.flush()
        record_event(session, who=who, action="bin", row=binning, new=_in_trail(binning))
        for (roi, _), label, distance in zip(rows, clusters.labels, clusters.distances, strict=True):
            row = session.get_one(Roi, roi.id)
            before = _bin_in_trail(row)
            row.binning_id, row.bin, row.bin_distance = binning.id, int(label), float(distance)
            record_event(session, who=who, action="bin", row=row, old=before, new=_bin_in_trail(row))
    return binning


def _in_trail(binning: Binning) -> dict[str, Any]:
    return binning.model_dump(include={"organ", "encoder", "encoder_version", "normalisation", "seed", "bins", "sizes"})


def _bin_in_trail(roi: Roi) -> dict[str, Any]:
    return {"binning": roi.binning_id, "bin": roi.bin, "distance": roi.bin_distance}
