"""Bins: an organ's candidates are embedded and clustered, so that a pathologist samples across morphologies."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlmodel import Session, col, select

from db import new_id, record_event
from db.tables import Binning, Roi, Slide
from evaluation.encoders import (
    Encoder,
    FeatureRows,
    append_features,
    assign_bins,
    bin_silhouettes,
    get_encoder,
    place_on_map,
    read_features,
    spread_quota,
)
from evaluation.slides import Region
from pipeline.errors import InputError
from pipeline.ingest import organ_name
from pipeline.permissions import Permission, needs
from pipeline.progress import Progress, silent
from pipeline.roi_images import open_added_slide
from pipeline.rois import list_rois
from pipeline.workspace import Workspace

BATCH_SIZE = 16
ROWS_PER_WRITE = 256
"""Each write replaces the feature file as a whole, so that a crash never leaves half of one."""
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
    chosen = get_encoder(encoder or workspace.settings.encoder)
    rows = [
        (roi, slide)
        for roi, slide in list_rois(workspace, organ=organ, states=("candidate", "selected"))
        if slide.kind == "slide"
    ]
    # By what they show, not by id or former bin: k-means depends on the order, and the same seed gives the same bins.
    rows.sort(key=lambda row: (row[1].content_sha256, row[0].x, row[0].y, row[0].size, row[0].mpp or 0.0))
    if not rows:
        raise InputError(f"There are no candidates of {organ_name(organ)}; run 'rois sample' first.")
    features = embed_candidates(workspace, organ=organ, encoder=chosen, rows=rows, progress=progress)
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
    facts = binning.model_dump(include={"organ", "encoder", "encoder_version", "seed", "bins", "sizes"})
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


def features_path(workspace: Workspace, organ: str, encoder: Encoder) -> Path:
    """Return where an organ's embeddings by an encoder are kept."""
    return workspace.features / f"{organ_name(organ)}-{encoder.name}-{encoder.version}.h5"


def embed_candidates(
    workspace: Workspace,
    *,
    organ: str,
    encoder: Encoder,
    rows: Sequence[tuple[Roi, Slide]],
    progress: Progress = silent,
) -> NDArray[np.float32]:
    """Return the embeddings of ROIs in their order, shape (n, encoder.dimension); only missing ones are made."""
    path = features_path(workspace, organ, encoder)
    known = read_features(path) if path.exists() else None
    have = set(known.ids) if known is not None else set()
    missing = [(roi, slide) for roi, slide in rows if roi.id not in have]
    done = 0
    by_slide: dict[str, list[tuple[Roi, Slide]]] = {}
    for roi, slide in missing:
        by_slide.setdefault(slide.id, []).append((roi, slide))
    unwritten = _Unwritten(path, encoder)
    for group in by_slide.values():
        slide = group[0][1]
        with open_added_slide(slide) as opened:
            for start in range(0, len(group), BATCH_SIZE):
                batch = [roi for roi, _ in group[start : start + BATCH_SIZE]]
                images = [opened.read_region(_encoder_region(roi, encoder)) for roi in batch]
                unwritten.add(batch, slide, encoder.encode(images))
                done += len(batch)
                progress(done, len(missing), slide.name)
    unwritten.write()
    stored = read_features(path)
    place = {identifier: index for index, identifier in enumerate(stored.ids)}
    return stored.features[[place[roi.id] for roi, _ in rows]]


def _encoder_region(roi: Roi, encoder: Encoder) -> Region:
    """The candidate's field at the encoder's input size, never finer than the candidate itself."""
    size = min(roi.size, encoder.input_size)
    return Region(roi.x, roi.y, size, (roi.mpp or 0.0) * roi.size / size)


class _Unwritten:
    """Embeddings that wait until there are enough of them to write the file."""

    def __init__(self, path: Path, encoder: Encoder) -> None:
        self._path = path
        self._encoder = encoder
        self._rois: list[tuple[Roi, Slide]] = []
        self._features: list[NDArray[np.float32]] = []

    def add(self, rois: Sequence[Roi], slide: Slide, features: NDArray[np.float32]) -> None:
        self._rois += [(roi, slide) for roi in rois]
        self._features.append(features)
        if len(self._rois) >= ROWS_PER_WRITE:
            self.write()

    def write(self) -> None:
        if not self._rois:
            return
        rois = self._rois
        rows = FeatureRows(
            ids=tuple(roi.id for roi, _ in rois),
            features=np.concatenate(self._features),
            coords=np.array([(roi.x, roi.y) for roi, _ in rois], dtype=np.int64),
            mpp=np.array([roi.mpp or 0.0 for roi, _ in rois], dtype=np.float64),
            size=np.array([roi.size for roi, _ in rois], dtype=np.int64),
            slide_ids=tuple(slide.id for _, slide in rois),
            patch_level0=np.array(
                [roi.size * (roi.mpp or 0.0) / (slide.mpp or 1.0) for roi, slide in rois], dtype=np.float64
            ),
        )
        # One process at a time reads the file, adds to it and puts it back: another's rows would be lost.
        with self._path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            append_features(self._path, encoder=self._encoder, rows=rows)
        self._rois, self._features = [], []
