"""How long our region reader takes, as a ratio to plain OpenSlide with a Pillow resize, in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import openslide
from PIL import Image

from evaluation.slides import Region, open_slide

ROUNDS = 7
SIZE = 512
MPP = 1.0


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def test_read_region_against_openslide(shared_data: Path) -> None:
    path = shared_data / "slides" / "cmu-1-small-region.svs"
    places = [(x, y) for x in (0, 400, 900) for y in (0, 700, 1_400)]
    with open_slide(path) as ours, openslide.OpenSlide(path) as plain:
        side = round(SIZE * MPP / ours.info.mpp)

        def read_ours() -> None:
            for x, y in places:
                ours.read_region(Region(x, y, SIZE, MPP))

        def read_plain() -> None:
            for x, y in places:
                plain.read_region((x, y), 0, (side, side)).convert("RGB").resize((SIZE, SIZE), Image.Resampling.LANCZOS)

        read_ours()
        read_plain()
        ratios = sorted(_seconds(read_ours) / _seconds(read_plain) for _ in range(ROUNDS))
    print(
        f"\nread_region / OpenSlide + Pillow: median {median(ratios):.2f} (min {ratios[0]:.2f}, max {ratios[-1]:.2f})"
    )
