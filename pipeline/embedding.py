"""Embedding: what an encoder makes of candidates, made once for each place on a slide and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from db.tables import Binning, Roi, Slide
from evaluation.encoders import Encoder
from evaluation.extraction import Extracted, FeatureFile, FeatureKey, Frame, extract_features
from evaluation.stains import Normaliser, get_normaliser
from pipeline.cluster import EncoderChoice, SlideTask, embed_on_cluster
from pipeline.encoders import load_encoder
from pipeline.errors import InputError
from pipeline.ingest import organ_name
from pipeline.permissions import Permission, needs
from pipeline.progress import Progress, silent
from pipeline.roi_images import open_added_slide
from pipeline.rois import list_rois
from pipeline.workspace import Workspace

Rows = Sequence[tuple[Roi, Slide]]


@dataclass(frozen=True)
class EmbedReport:
    """What `embed_organ` did: candidates in all, embedded now, and of these shown no stain and left unnormalised."""

    candidates: int
    embedded: int
    blank: int
    encoder: str
    encoder_version: str
    normalisation: str


@dataclass(frozen=True)
class _SlideRows:
    """The rows of one slide: their frames, and their places among all rows."""

    slide: Slide
    frames: tuple[Frame, ...]
    places: tuple[int, ...]


@needs(Permission.CHOOSE_ROIS)
def embed_organ(
    workspace: Workspace,
    *,
    organ: str,
    encoder: str | None = None,
    checkpoint: Path | None = None,
    normalisation: str = "none",
    scheduler: str | None = None,
    progress: Progress = silent,
) -> EmbedReport:
    """Embed an organ's candidates; what exists already is not made again, and a killed run goes on where it stopped.

    Args:
        workspace: whose candidates.
        organ: which organ's.
        encoder: by name; the settings' where not given.
        checkpoint: file of the encoder's weights; the settings' where not given.
        normalisation: the stain normalisation before the encoder, by name.
        scheduler: who works, see `embed_candidates`.
        progress: told after each batch, or each slide of a cluster.

    Raises:
        InputError: no candidates, or slides that a cluster could not embed.
        EncoderError, StainError, SlideError, FeatureFileError: what is at fault.
    """
    chosen = load_encoder(workspace, encoder or workspace.settings.encoder, checkpoint=checkpoint)
    rows = candidates_of(workspace, organ)
    done = _embed(
        workspace,
        rows,
        encoder=chosen,
        checkpoint=checkpoint,
        normalisation=normalisation,
        scheduler=scheduler,
        progress=progress,
    )
    return EmbedReport(len(rows), done.encoded, done.blank, chosen.name, chosen.version, normalisation)


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
    checkpoint: Path | None = None,
    normalisation: str = "none",
    scheduler: str | None = None,
    progress: Progress = silent,
) -> NDArray[np.float32]:
    """Return the embeddings of ROIs in their order, shape (n, encoder.dimension); only missing ones are made.

    Args:
        workspace: where they are kept.
        rows: the ROIs and their slides.
        encoder: makes the embeddings.
        checkpoint: the file that the encoder was loaded from where the settings do not name it.
        normalisation: the stain normalisation before the encoder, by name.
        scheduler: None for this process, `local` for a Dask cluster on this machine, `slurm` for one that SLURM runs,
            or the address of one (tcp://…).
        progress: told after each batch, or each slide of a cluster.

    Raises:
        InputError: slides that a cluster could not embed, or no such scheduler.
        SlideError: a slide cannot be read.
        EncoderError: the encoder fails.
        FeatureFileError: a file of features is damaged.
    """
    _embed(
        workspace,
        rows,
        encoder=encoder,
        checkpoint=checkpoint,
        normalisation=normalisation,
        scheduler=scheduler,
        progress=progress,
    )
    normaliser = get_normaliser(normalisation, target=workspace.settings.stain_target)
    features = np.empty((len(rows), encoder.dimension), dtype=np.float32)
    for group in _by_slide(rows):
        key = _key(group.slide, encoder, normaliser)
        features[list(group.places)] = FeatureFile.below(workspace.features, key).read(group.frames)
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
        missing = set(file.missing(group.frames))
        here = [number for number, frame in enumerate(group.frames) if frame not in missing]
        if here:
            kept += [group.places[number] for number in here]
            found.append(file.read([group.frames[number] for number in here]))
    if not found:
        raise InputError(f"The embeddings of {binning.organ} are not there any more; make its bins again.")
    features = np.concatenate(found)
    order = np.argsort(kept)
    return [rows[kept[place]] for place in order], features[order]


def _embed(
    workspace: Workspace,
    rows: Rows,
    *,
    encoder: Encoder,
    checkpoint: Path | None,
    normalisation: str,
    scheduler: str | None,
    progress: Progress,
) -> Extracted:
    normaliser = get_normaliser(normalisation, target=workspace.settings.stain_target)
    tasks: list[SlideTask] = []
    for group in _by_slide(rows):
        key = _key(group.slide, encoder, normaliser)
        if missing := FeatureFile.below(workspace.features, key).missing(group.frames):
            tasks.append(SlideTask(group.slide, workspace.features, key, tuple(missing)))
    if scheduler is not None and tasks:
        settings = workspace.settings
        choice = EncoderChoice(
            encoder.name,
            encoder.version,
            checkpoint or settings.encoder_checkpoints.get(encoder.name),
            settings.encoder_downloads,
        )
        return embed_on_cluster(
            tasks,
            choice,
            normalisation=normalisation,
            stain_target=settings.stain_target,
            scheduler=scheduler,
            jobs=settings.cluster_jobs,
            progress=progress,
        )
    return _embed_here(tasks, encoder, normaliser, progress)


def _embed_here(tasks: Sequence[SlideTask], encoder: Encoder, normaliser: Normaliser, progress: Progress) -> Extracted:
    total = sum(len(task.frames) for task in tasks)
    encoded = blank = 0
    for task in tasks:

        def report(done: int, _of_slide: int, before: int = encoded, name: str = task.slide.name) -> None:
            progress(before + done, total, name)

        done = extract_features(
            FeatureFile.below(task.features, task.key),
            task.frames,
            open_slide=partial(open_added_slide, task.slide),
            encoder=encoder,
            normaliser=normaliser,
            progress=report,
        )
        encoded, blank = encoded + done.encoded, blank + done.blank
    return Extracted(encoded, blank)


def _key(slide: Slide, encoder: Encoder, normaliser: Normaliser) -> FeatureKey:
    return FeatureKey(slide.content_sha256, encoder.name, encoder.version, normaliser.version)


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
