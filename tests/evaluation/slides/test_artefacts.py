"""Artefacts are measured where they are, on drawn fields and on a real one that is inked, blurred or crossed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy import ndimage

from evaluation.slides import (
    ARTEFACT_THRESHOLDS,
    Artefact,
    Region,
    artefacts_of_field,
    artefacts_of_region,
    focus_windows,
    open_slide,
)
from tests.evaluation.slides.drawing import glass, stain, write_tiff

Picture = NDArray[np.uint8]

PLACES = [(866, 1648), (575, 1199), (435, 1857)]
"""Level-0 corners of fields that are mostly tissue."""


@pytest.fixture(scope="module")
def fields(shared_data: Path) -> list[Picture]:
    with open_slide(shared_data / "slides" / "cmu-1-small-region.svs") as slide:
        return [slide.read_region(Region(x, y, 1_024, 0.5)) for x, y in PLACES]


def measured(image: Picture) -> dict[str, Artefact]:
    """The artefacts of a field of 1,024 px at 0.5 µm/px."""
    small = np.asarray(Image.fromarray(image).resize((256, 256), Image.Resampling.BICUBIC))
    windows = [image[y : y + 256, x : x + 256] for y in (128, 640) for x in (128, 640)]
    return artefacts_of_field(small, mpp=2.0, windows=windows)


def flagged(image: Picture) -> set[str]:
    return {name for name, artefact in measured(image).items() if artefact.flagged}


def crossed(image: Picture, colour: tuple[int, int, int], width: int) -> Picture:
    drawn = Image.fromarray(image).copy()
    ImageDraw.Draw(drawn).line([(0, 300), (1_024, 700)], fill=colour, width=width)
    return np.asarray(drawn)


def test_a_real_field_in_focus_shows_none(fields: list[Picture]) -> None:
    for field in fields:
        assert flagged(field) == set()
        assert set(measured(field)) == set(ARTEFACT_THRESHOLDS)


@pytest.mark.parametrize("colour", [(20, 40, 160), (20, 110, 60), (15, 15, 15)])
def test_blue_green_and_black_pen(fields: list[Picture], colour: tuple[int, int, int]) -> None:
    for field in fields:
        pen = measured(crossed(field, colour, 120))["pen"]
        assert pen.flagged
        assert pen.value == pytest.approx(0.12, abs=0.04)


def test_a_blurred_field_is_out_of_focus(fields: list[Picture]) -> None:
    for field in fields:
        shares = []
        for sigma in (0.0, 1.0, 3.0):
            blurred = ndimage.gaussian_filter(field.astype(np.float32), (sigma, sigma, 0)).round().astype(np.uint8)
            shares.append(measured(blurred)["out_of_focus"].value or 0.0)
            assert ("out_of_focus" in flagged(blurred)) == (sigma == 3.0)
        assert shares[2] > 0.9


def test_a_dark_straight_line_is_a_coverslips_edge(fields: list[Picture]) -> None:
    for field in fields:
        assert flagged(crossed(field, (60, 60, 60), 16)) == {"coverslip_edge"}
    many = stain(glass(1_024, 1_024), np.ones((1_024, 1_024), dtype=bool), 0.1, 0.2).astype(np.float64)
    many[(np.arange(1_024) // 24) % 4 == 0] *= 0.4
    assert "coverslip_edge" not in flagged(many.astype(np.uint8)), "fibres have many lines"


def test_glass_is_blank_and_has_no_focus() -> None:
    found = measured(glass(1_024, 1_024))
    assert found["blank"] == Artefact(1.0, True)
    assert found["out_of_focus"] == Artefact(None, False)


def test_focus_is_measured_at_half_a_micrometre_at_any_magnification() -> None:
    large = focus_windows(Region(1_000, 2_000, 1_024, 4.0), 0.25)
    assert [(window.size, window.mpp) for window in large] == [(256, 0.5)] * 4
    side = 1_024 * 4.0 / 0.25
    for window in large:
        assert 1_000 <= window.x <= 1_000 + side - 512
        assert 2_000 <= window.y <= 2_000 + side - 512
    (small,) = focus_windows(Region(0, 0, 256, 0.5), 0.5)
    assert (small.x, small.y, small.size) == (0, 0, 256)
    assert focus_windows(Region(0, 0, 32, 0.5), 0.5) == []
    assert focus_windows(Region(0, 0, 1_024, 2.0), 1.0) == [], "a slide this coarse says nothing about focus"


def test_artefacts_of_a_region_of_a_slide(fields: list[Picture], tmp_path: Path) -> None:
    image = np.concatenate([fields[0], np.full((1_024, 1_024, 3), (20, 40, 160), dtype=np.uint8)], axis=1)
    with open_slide(write_tiff(tmp_path / "half.tiff", image, levels=3)) as slide:
        clean = artefacts_of_region(slide, Region(0, 0, 1_024, 0.5))
        inked = artefacts_of_region(slide, Region(1_024, 0, 1_024, 0.5))
        both = artefacts_of_region(slide, Region(0, 0, 512, 2.0))
    assert [clean["pen"].flagged, inked["pen"].flagged] == [False, True]
    assert both["pen"].value == pytest.approx(0.25, abs=0.02), "below the slide is nothing"
