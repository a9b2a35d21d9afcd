"""Sampling and reading 2,000 ROIs of 1,024 px, as ratios to peers that read the same regions in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import openslide
import pytest
import tifffile

from evaluation.slides import Region, TissueMask, open_slide, read_regions
from evaluation.slides._reading import cores
from tests.evaluation.slides.draws import sample_regions

ROIS = 2_000
SIZE = 1_024
SIDE = 30_000
ROUNDS = 3


@pytest.fixture(scope="module")
def large_slide(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A slide of 30,000 × 30,000 px in JPEG tiles, laid with the tissue of the real one."""
    with openslide.OpenSlide(shared_data / "slides" / "cmu-1-small-region.svs") as real:
        patch = np.asarray(real.read_region((150, 400), 0, (2_048, 2_304)).convert("RGB"))
    path = tmp_path_factory.mktemp("slides") / "large.tiff"

    def tiles(side: int, step: int) -> object:
        for y in range(0, side, 256):
            for x in range(0, side, 256):
                rows = np.arange(y * step, (y + 256) * step, step) % patch.shape[0]
                columns = np.arange(x * step, (x + 256) * step, step) % patch.shape[1]
                yield patch[rows[:, None], columns]

    with tifffile.TiffWriter(path, bigtiff=True) as writer:
        for level, step in enumerate((1, 4, 16)):
            side = SIDE // step
            writer.write(
                tiles(side, step),
                shape=(side, side, 3),
                dtype=np.uint8,
                tile=(256, 256),
                photometric="ycbcr",
                subsampling=(2, 2),
                compression="jpeg",
                compressionargs={"level": 80},
                subfiletype=1 if level else 0,
                metadata=None,
                resolution=(20_000 / step, 20_000 / step),
                resolutionunit="CENTIMETER",
            )
    return path


def _sampled() -> list[Region]:
    mask = TissueMask(np.ones((1_875, 1_875), dtype=bool), 8.0, SIDE, SIDE, 0.5)
    return sample_regions({"large": mask}, count=ROIS, size=SIZE, mpp=0.5, max_overlap=0.5, seed=0)["large"]


def _ours(path: Path, workers: int) -> list[Region]:
    regions = _sampled()
    with open_slide(path) as slide:
        for _ in read_regions(slide, regions, workers=workers):
            pass
    return regions


def _openslide(path: Path, regions: Sequence[Region], workers: int) -> None:
    with openslide.OpenSlide(path) as slide, ThreadPoolExecutor(workers) as pool:
        # In portions: all regions at once would be 6 GB.
        for start in range(0, len(regions), 64):
            portion = regions[start : start + 64]
            for _ in pool.map(lambda region: slide.read_region((region.x, region.y), 0, (SIZE, SIZE)), portion):
                pass


def _tiatoolbox(path: Path, regions: Sequence[Region]) -> None:
    from tiatoolbox.tools.patchextraction import PointsPatchExtractor

    centres = np.array([(region.x + SIZE // 2, region.y + SIZE // 2) for region in regions])
    for _ in PointsPatchExtractor(str(path), centres, (SIZE, SIZE), resolution=0, units="level"):
        pass


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def test_sampling_and_reading_against_openslide(large_slide: Path) -> None:
    regions = _sampled()
    print(f"\n{len(regions)} ROIs of {SIZE} px; sampling alone {_seconds(_sampled):.2f} s")
    for workers in sorted({1, cores()}):
        ratios = []
        for _ in range(ROUNDS):
            ours = _seconds(lambda workers=workers: _ours(large_slide, workers))
            bare = _seconds(lambda workers=workers: _openslide(large_slide, regions, workers))
            ratios.append(bare / ours)
        ratios.sort()
        print(
            f"sampling and reading / bare OpenSlide, {workers} cores: {ratios[len(ratios) // 2]:.2f}× its speed "
            f"(min {ratios[0]:.2f}, max {ratios[-1]:.2f}), {len(regions) / ours:.0f} ROIs/s"
        )


@pytest.mark.models
def test_sampling_and_reading_against_tiatoolbox(large_slide: Path) -> None:
    pytest.importorskip("tiatoolbox", reason="the tiatoolbox extra brings the peer")
    some = _sampled()[: ROIS // 10]
    theirs = _seconds(lambda: _tiatoolbox(large_slide, some)) / len(some)
    ours = _seconds(lambda: _ours(large_slide, cores())) / ROIS
    print(f"\nsampling and reading / TIAToolbox's patch extractor: {theirs / ours:.1f}× its speed ({1 / theirs:.0f}/s)")
