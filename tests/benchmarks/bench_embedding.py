"""How time and peak memory of embedding and clustering grow with the number of candidates: the exponent, and the bytes.

Each size runs in a process of its own, so that its peak memory is its own. An exponent of 1 is work that grows with the
number; memory that does not grow is flat.
"""

from __future__ import annotations

import math
import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.encoders import assign_bins, get_encoder
from evaluation.extraction import FeatureFile, FeatureKey, Frame, extract_features
from evaluation.slides import open_slide
from evaluation.stains import get_normaliser
from tests.evaluation.slides.drawing import glass, stain, write_tiff

SIDE = 4_000
ROI_SIDE = 512
CANDIDATES = (1_000, 5_000)
VECTORS = (5_000, 50_000)
DIMENSION = 165
KIBIBYTES_PER_MEBIBYTE = 1024


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drawn slide whose texture differs from place to place."""
    rows = np.arange(SIDE)[:, None] // 24
    columns = np.arange(SIDE)[None, :] // 24
    image = stain(glass(SIDE, SIDE, seed=0), (rows * columns) % 7 < 3, 0.3, 0.2)
    return write_tiff(tmp_path_factory.mktemp("slide") / "drawn.tiff", image, levels=3)


def embed(slide: Path, folder: Path, count: int) -> None:
    """Read and encode so many candidates."""
    rng = np.random.default_rng(0)
    places = rng.choice((SIDE - ROI_SIDE) ** 2, count, replace=False).tolist()
    frames = [Frame(place % (SIDE - ROI_SIDE), place // (SIDE - ROI_SIDE), ROI_SIDE, 0.5) for place in places]
    encoder = get_encoder("colour-texture")
    key = FeatureKey(f"{count:064x}", encoder.name, encoder.version)
    extract_features(
        FeatureFile.below(folder, key),
        frames,
        open_slide=partial(open_slide, slide),
        encoder=encoder,
        normaliser=get_normaliser("none"),
    )


def cluster(count: int) -> None:
    """Cluster so many vectors into 20 bins."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(40, DIMENSION))
    vectors = centres[rng.integers(0, len(centres), count)] + rng.normal(size=(count, DIMENSION))
    assign_bins(vectors.astype(np.float32))


def measured(work: Callable[..., None], *arguments: Any) -> tuple[float, float]:
    """Seconds, and peak memory in MiB of a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_measure, args=(theirs, work, arguments))
    process.start()
    theirs.close()
    seconds, peak = ours.recv()
    process.join()
    return seconds, peak


def _measure(pipe: Any, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    start = time.perf_counter()
    work(*arguments)
    seconds = time.perf_counter() - start
    # Not ru_maxrss: on Linux that is never below what the process held that started this one.
    status = Path("/proc/self/status").read_text()
    pipe.send((seconds, int(status.split("VmHWM:")[1].split()[0]) / KIBIBYTES_PER_MEBIBYTE))


def report(what: str, sizes: tuple[int, int], results: list[tuple[float, float]]) -> None:
    (first, first_peak), (second, second_peak) = results
    exponent = math.log(second / first) / math.log(sizes[1] / sizes[0])
    print(
        f"\n{what}: {sizes[0]:,} in {first:.1f} s, {sizes[1]:,} in {second:.1f} s: exponent {exponent:.2f}; "
        f"peak memory {first_peak:.0f} and {second_peak:.0f} MiB, ratio {second_peak / first_peak:.2f}"
    )


@pytest.mark.timeout(3_600)
def test_reading_and_encoding(slide: Path, tmp_path: Path) -> None:
    results = [measured(embed, slide, tmp_path, count) for count in CANDIDATES]
    report("reading and encoding candidates", CANDIDATES, results)


@pytest.mark.timeout(3_600)
def test_clustering() -> None:
    report("clustering vectors", VECTORS, [measured(cluster, count) for count in VECTORS])
