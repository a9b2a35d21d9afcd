"""Embedding: what an encoder makes of candidates, made once for each place on a slide and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from db.tables import Binning, Roi, Slide
from evaluation.encoders import Encoder
from evaluation.extraction import FeatureFile, FeatureKey, Frame, extract_features
from evaluation.stains import Normaliser, get_normaliser
from pipeline.errors import InputError
from pipeline.ingest import organ_name
from pipeline.progress import Progress, silent
from pipeline.roi_images import open_added_slide
from pipeline.rois import list_rois
from pipeline.workspace import Workspace

Rows = Sequence[tuple[Roi, Slide]]


@dataclass(frozen=True)
class _SlideRows:
    """The rows of one slide, and their places among all rows."""

    slide: Slide
    frames: tuple[Frame, ...]
    places: tuple[int, ...]


def candidates_of(workspace: Workspace, organ: str) -> list[tuple[Roi, Slide]]:
    """Return an organ's candidates and selected ROIs that were drawn on slides, ordered by what they show.

    By content, not by id or former bin: k-means depends on the order, and the same seed gives the same bins.

    Raises:
        InputError: there are none.
    """
    rows = [
        (roi, slide)
        for roi, slide in list_rois(workspace, organ=organ, states=("candidate", "selected"))
        if slide.kind == "slide"
    ]
    if not rows:
        raise InputError(f"There are no candidates of {organ_name(organ)}; run 'rois sample' first.")
    rows.sort(key=lambda row: (row[1].content_sha256, row[0].x, row[0].y, row[0].size, row[0].mpp or 0.0))
    return rows


def embed_candidates(
    workspace: Workspace,
    *,
    rows: Rows,
    encoder: Encoder,
    normalisation: str = "none",
    progress: Progress = silent,
) -> NDArray[np.float32]:
    """Return the embeddings of ROIs in their order, shape (n, encoder.dimension); only missing ones are made.

    Args:
        workspace: where they are kept.
        rows: the ROIs and their slides.
        encoder: makes the embeddings.
        normalisation: the stain normalisation before the encoder, by name.
        progress: told after each batch.

    Raises:
        SlideError: a slide cannot be read.
        EncoderError: the encoder fails.
        FeatureFileError: a file of features is damaged.
    """
    features = np.empty((len(rows), encoder.dimension), dtype=np.float32)
    normaliser = get_normaliser(normalisation, target=workspace.settings.stain_target)
    groups = [(group, _file(workspace, group.slide, encoder, normaliser)) for group in _by_slide(rows)]
    missing = sum(len(file.missing(group.frames)) for group, file in groups)
    before = 0
    for group, file in groups:

        def report(done: int, _of_slide: int, before: int = before, name: str = group.slide.name) -> None:
            progress(before + done, missing, name)

        before += extract_features(
            file,
            group.frames,
            open_slide=partial(open_added_slide, group.slide),
            encoder=encoder,
            normaliser=normaliser,
            progress=report,
        ).encoded
        features[list(group.places)] = file.read(group.frames)
    return features


def stored_features(
    workspace: Workspace, *, rows: Rows, binning: Binning
) -> tuple[list[tuple[Roi, Slide]], NDArray[np.float32]]:
    """Return those rows whose embeddings a binning's encoder has made, and the embeddings in the same order.

    Nothing is read from slides and no encoder is loaded.

    Raises:
        InputError: there are none: another version of the program made the bins, or the files are gone.
        FeatureFileError: a file of features is damaged.
    """
    normaliser = get_normaliser(binning.normalisation, target=workspace.settings.stain_target)
    kept: list[int] = []
    found: list[NDArray[np.float32]] = []
    for group in _by_slide(rows):
        key = FeatureKey(group.slide.content_sha256, binning.encoder, binning.encoder_version, normaliser.version)
        file = FeatureFile.below(workspace.features, key)
        known = set(file.frames())
        here = [number for number, frame in enumerate(group.frames) if frame in known]
        if here:
            kept += [group.places[number] for number in here]
            found.append(file.read([group.frames[number] for number in here]))
    if not found:
        raise InputError(f"The embeddings of {binning.organ} are not there any more; make its bins again.")
    features = np.concatenate(found)
    order = np.argsort(kept)
    return [rows[kept[place]] for place in order], features[order]


def _file(workspace: Workspace, slide: Slide, encoder: Encoder, normaliser: Normaliser) -> FeatureFile:
    key = FeatureKey(slide.content_sha256, encoder.name, encoder.version, normaliser.version)
    return FeatureFile.below(workspace.features, key)


def _by_slide(rows: Rows) -> list[_SlideRows]:
    """Part rows by slide, in the order of their first rows."""
    places: dict[str, list[int]] = {}
    for place, (_, slide) in enumerate(rows):
        places.setdefault(slide.id, []).append(place)
    return [
        _SlideRows(rows[of_slide[0]][1], tuple(_frame(rows[place][0]) for place in of_slide), tuple(of_slide))
        for of_slide in places.values()
    ]


def _frame(roi: Roi) -> Frame:
    if roi.mpp is None:
        raise InputError(f"ROI {roi.id} has no resolution and cannot be embedded.")
    return Frame(roi.x, roi.y, roi.size, roi.mpp)
