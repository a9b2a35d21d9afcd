"""Embedding on a Dask cluster: each slide is one task, its vectors go into its own file, and only counts come back.

The machines of the cluster need this program with the `cluster` and the encoder's extra, and must find slides,
checkpoints and the workspace's folder under the same paths.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from db.tables import Slide
from evaluation.encoders import Encoder, EncoderError, get_encoder
from evaluation.extraction import Extracted, FeatureFile, FeatureFileError, FeatureKey, Frame, extract_features
from evaluation.slides import SlideError
from evaluation.stains import StainError, get_normaliser
from pipeline.errors import InputError
from pipeline.progress import Progress
from pipeline.roi_images import open_added_slide

SCHEDULERS = ("local", "slurm", "tcp://ADDRESS:PORT")
_PROTOCOLS = ("tcp://", "tls://")


@dataclass(frozen=True)
class EncoderChoice:
    """An encoder by what another process loads it from; `version` is what must come out."""

    name: str
    version: str
    checkpoint: Path | None
    downloads: bool


@dataclass(frozen=True)
class SlideTask:
    """The places of one slide that have no vector yet, and where vectors are kept."""

    slide: Slide
    features: Path
    key: FeatureKey
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class _Ended:
    """How one slide ended: what was done, or why not, in words, since not every error travels between processes."""

    done: Extracted
    problem: str | None = None


def embed_on_cluster(
    tasks: Sequence[SlideTask],
    encoder: EncoderChoice,
    *,
    normalisation: str,
    stain_target: Path | None,
    scheduler: str,
    jobs: int,
    progress: Progress,
) -> Extracted:
    """Hand slides to a Dask cluster and wait for them.

    Args:
        tasks: the slides.
        encoder: loaded once in each process of the cluster.
        normalisation: the stain normalisation before the encoder, by name.
        stain_target: an image that is its target.
        scheduler: one of SCHEDULERS.
        jobs: most processes on this machine, or jobs that SLURM is asked for.
        progress: told after each slide how many of the places are done.

    Raises:
        InputError: there is no such scheduler or no Dask, or slides failed; what was finished is kept.
    """
    total = sum(len(task.frames) for task in tasks)
    encoded = blank = 0
    problems: list[str] = []
    with _client(scheduler, min(jobs, len(tasks))) as client:
        from distributed import as_completed

        work = partial(_embed_slide, encoder=encoder, normalisation=normalisation, stain_target=stain_target)
        futures = {client.submit(work, task, pure=False): task for task in tasks}
        try:
            for future in as_completed(list(futures)):
                task = futures[future]
                ended = _ended(future)
                encoded, blank = encoded + ended.done.encoded, blank + ended.done.blank
                if ended.problem is not None:
                    problems.append(f"{task.slide.name}: {ended.problem}")
                progress(encoded, total, task.slide.name)
        finally:
            client.cancel(list(futures))
    if problems:
        raise InputError("Not every slide could be embedded; what was finished is kept:", sorted(problems))
    return Extracted(encoded, blank)


def _ended(future: Any) -> _Ended:
    """Return how a task ended; a process that was lost with it is a problem of its slide."""
    from distributed import KilledWorker

    try:
        ended: _Ended = future.result()
    except (KilledWorker, OSError) as error:
        return _Ended(Extracted(), f"its process was lost: {error}")
    return ended


def _embed_slide(task: SlideTask, *, encoder: EncoderChoice, normalisation: str, stain_target: Path | None) -> _Ended:
    """Embed one slide in a process of the cluster."""
    try:
        loaded = _loaded(encoder)
        normaliser = get_normaliser(normalisation, target=stain_target)
        if (loaded.version, normaliser.version) != (encoder.version, task.key.normalisation):
            return _Ended(Extracted(), f"this machine has version {loaded.version} of {encoder.name}")
        return _Ended(
            extract_features(
                FeatureFile.below(task.features, task.key),
                task.frames,
                open_slide=partial(open_added_slide, task.slide),
                encoder=loaded,
                normaliser=normaliser,
            )
        )
    except (SlideError, EncoderError, StainError, FeatureFileError, OSError) as error:
        return _Ended(Extracted(), str(error))


@functools.lru_cache(maxsize=1)
def _loaded(choice: EncoderChoice) -> Encoder:
    return get_encoder(choice.name, checkpoint=choice.checkpoint, downloads=choice.downloads)


@contextmanager
def _client(scheduler: str, processes: int) -> Iterator[Any]:
    """Yield a client of the cluster; one that was started for this run ends with it."""
    known = scheduler in ("local", "slurm") or scheduler.startswith(_PROTOCOLS)
    if not known:
        raise InputError(f"there is no scheduler {scheduler!r}: give {', '.join(SCHEDULERS)}")
    missing = [name for name in ("distributed", "dask_jobqueue") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"The scheduler {scheduler} needs {missing[0]}: pip install -e '.[cluster]' in the checkout. "
            "Nothing was changed."
        )
    from distributed import Client

    if scheduler.startswith(_PROTOCOLS):
        try:
            client = Client(scheduler)
        except OSError as error:
            raise InputError(f"The scheduler {scheduler} does not answer ({error}). Nothing was changed.") from None
        with client:
            yield client
        return
    with _own_cluster(scheduler, processes) as cluster, Client(cluster) as client:
        yield client


def _own_cluster(scheduler: str, processes: int) -> Any:
    if scheduler == "local":
        from distributed import LocalCluster

        workers = min(processes, os.cpu_count() or 1)
        return LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)
    from dask_jobqueue import SLURMCluster

    try:
        # Queue, memory and time are the site's: dask-jobqueue reads them from its configuration.
        cluster = SLURMCluster()
    except (ValueError, RuntimeError) as error:
        raise InputError(
            f"SLURM's jobs are not described: {error} Write cores, memory and queue into ~/.config/dask/jobqueue.yaml "
            "(https://jobqueue.dask.org). Nothing was changed."
        ) from None
    cluster.scale(jobs=processes)
    return cluster
