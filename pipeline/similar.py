"""Searching an organ's candidates by their embeddings: more like one of them, or unlike all that were chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from db.tables import Roi, Slide
from evaluation.encoders import farthest, nearest
from pipeline.embedding import stored_features
from pipeline.errors import InputError, NotFoundError
from pipeline.ingest import organ_name
from pipeline.permissions import Permission, needs
from pipeline.rois import current_binning, list_rois
from pipeline.workspace import Workspace

DEFAULT_FOUND = 24
"""How many candidates a search returns."""


@dataclass(frozen=True)
class _Embedded:
    """ROIs that are candidates or selected, and their embeddings in the same order, shape (n, dimension)."""

    rows: list[tuple[Roi, Slide]]
    features: NDArray[np.float32]


@needs(Permission.VIEW_SLIDES)
def more_like(workspace: Workspace, roi_id: str, *, organ: str, count: int = DEFAULT_FOUND) -> list[tuple[Roi, Slide]]:
    """Return the candidates most like a ROI by the encoder of the organ's bins, the most alike first.

    Raises:
        InputError: the organ has no bins yet.
        NotFoundError: the ROI is not among those that were embedded.
    """
    found = _embedded(workspace, organ)
    place = next((index for index, (roi, _) in enumerate(found.rows) if roi.id == roi_id), None)
    if place is None:
        raise NotFoundError(f"ROI {roi_id} has no embedding; make the bins of {organ_name(organ)} again.")
    order = nearest(found.features, place, len(found.rows))
    return [found.rows[index] for index in order if found.rows[index][0].state == "candidate"][:count]


@needs(Permission.VIEW_SLIDES)
def unlike_chosen(workspace: Workspace, *, organ: str, count: int = DEFAULT_FOUND) -> list[tuple[Roi, Slide]]:
    """Return candidates unlike every selected ROI and unlike each other, the most unlike first.

    Raises:
        InputError: the organ has no bins yet.
    """
    found = _embedded(workspace, organ)
    chosen = [index for index, (roi, _) in enumerate(found.rows) if roi.state == "selected"]
    return [found.rows[index] for index in farthest(found.features, chosen, count)]


def _embedded(workspace: Workspace, organ: str) -> _Embedded:
    binning = current_binning(workspace, organ)
    if binning is None:
        raise InputError(f"The candidates of {organ_name(organ)} have no bins yet; make bins first.")
    rows = [
        row for row in list_rois(workspace, organ=organ, states=("candidate", "selected")) if row[1].kind == "slide"
    ]
    kept, features = stored_features(workspace, rows=rows, binning=binning)
    return _Embedded(kept, features)
