"""Many regions read on all cores come in order, few at a time; a drawn grid shows that they cover the right place."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import numpy as np
import pytest

from evaluation.slides import Region, SlideError, mpp_of_magnification, on_all_cores, open_slide, read_regions
from tests.evaluation.slides.drawing import write_tiff

GRID_UM = 40.0
"""Distance of the drawn lines, whatever the slide's resolution."""


@pytest.mark.parametrize("slide_mpp", [0.25, 0.499, 0.88])
def test_reads_cover_the_same_micrometres_at_any_resolution(tmp_path: Path, slide_mpp: float) -> None:
    side = round(1_000 / slide_mpp)
    on_line = (np.arange(side) + 0.5) * slide_mpp % GRID_UM < GRID_UM / 2
    image = np.where(on_line[:, None] ^ on_line[None, :], 230, 40).astype(np.uint8)
    path = write_tiff(tmp_path / "grid.tiff", np.repeat(image[..., None], 3, axis=2), mpp=(slide_mpp,) * 2, levels=4)
    corner_um = 80.0
    with open_slide(path) as slide:
        for magnification, size in ((20.0, 600), (5.0, 150), (2.5, 75)):
            mpp = mpp_of_magnification(magnification)
            corner = round(corner_um / slide_mpp)
            region = Region(corner, corner, size, mpp)
            got = slide.read_region(region, allow_upsampling=True)[..., 0].astype(float)
            # The lines where they must be: 300 µm from the corner on, at the read's own resolution.
            at = corner * slide_mpp + (np.arange(size) + 0.5) * mpp
            inside = (at % GRID_UM) < GRID_UM / 2
            expected = np.where(inside[:, None] ^ inside[None, :], 230, 40)
            # Pixels through which a line's edge runs are mixed; away from them each must be right.
            to_edge = np.abs((at + GRID_UM / 4) % (GRID_UM / 2) - GRID_UM / 4)
            clear = to_edge > 1.5 * max(mpp, slide_mpp)
            clear_pixels = clear[:, None] & clear[None, :]
            assert clear_pixels.sum() > 50
            assert np.abs(got - expected)[clear_pixels].max() < 60


def test_regions_come_in_order(tmp_path: Path) -> None:
    image = np.random.default_rng(0).integers(0, 255, (512, 640, 3), dtype=np.uint8)
    places = [(x, y) for y in range(0, 400, 50) for x in range(0, 500, 50)]
    with open_slide(write_tiff(tmp_path / "noise.tiff", image)) as slide:
        read = read_regions(slide, (Region(x, y, 64, slide.info.mpp) for x, y in places))
        for (x, y), got in zip(places, read, strict=True):
            np.testing.assert_array_equal(got, image[y : y + 64, x : x + 64])
        with pytest.raises(SlideError, match="finer"):
            list(read_regions(slide, [Region(0, 0, 64, 0.5), Region(0, 0, 64, 0.1)]))


def test_only_a_few_are_made_ahead_and_none_after_a_fault() -> None:
    taken: list[int] = []
    lock = threading.Lock()

    def items() -> itertools.count[int]:
        return itertools.count()

    def work(number: int) -> int:
        with lock:
            taken.append(number)
        if number == 20:
            raise ValueError("twenty")
        return number

    made = on_all_cores(work, items(), workers=2)
    assert [next(made) for _ in range(10)] == list(range(10))
    assert max(taken) < 14
    with pytest.raises(ValueError, match="twenty"):
        list(made)
    assert max(taken) < 25
