"""Tissue is found by its stain; glass, ink, dust and noise are not tissue."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from evaluation.slides import TissueMask, encode_png, find_tissue, open_slide, tissue_of_image
from tests.evaluation.slides.drawing import disc, glass, stain, write_tiff

MPP = 8.0


def mask_of(mask: NDArray[np.bool_], *, slide_mpp: float = 0.5) -> TissueMask:
    scale = round(MPP / slide_mpp)
    return TissueMask(
        mask=mask,
        mpp=MPP,
        slide_width=mask.shape[1] * scale,
        slide_height=mask.shape[0] * scale,
        slide_mpp=slide_mpp,
    )


def agreement(found: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    """Intersection over union."""
    return float((found & truth).sum() / (found | truth).sum())


@pytest.mark.parametrize(("haematoxylin", "eosin"), [(0.05, 0.3), (0.6, 0.2), (0.3, 0.02), (0.02, 0.06)], ids=str)
def test_stained_tissue_is_found_strong_or_pale(haematoxylin: float, eosin: float) -> None:
    truth = disc(300, 300, 150, 140, 90)
    image = stain(glass(300, 300), truth, haematoxylin, eosin)
    assert agreement(tissue_of_image(image, MPP), truth) > 0.95


def test_pale_tissue_beside_dark_tissue_is_kept() -> None:
    dark, pale = disc(300, 300, 80, 80, 50), disc(300, 300, 210, 210, 60)
    image = stain(stain(glass(300, 300), dark, 0.9, 0.4), pale, 0.02, 0.06)
    assert agreement(tissue_of_image(image, MPP), dark | pale) > 0.95


@pytest.mark.parametrize("noise", [0.0, 1.5, 4.0])
@pytest.mark.parametrize("tint", [(255, 255, 255), (238, 232, 240), (225, 235, 228)])
def test_a_blank_slide_has_no_tissue(noise: float, tint: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(1)
    image = np.clip(rng.normal(tint, noise, (250, 250, 3)), 0, 255).astype(np.uint8)
    assert not tissue_of_image(image, MPP).any()


@pytest.mark.parametrize("ink", [(30, 50, 170), (20, 110, 60), (25, 25, 30)], ids=["blue", "green", "black"])
def test_marker_ink_is_not_tissue(ink: tuple[int, int, int]) -> None:
    tissue = disc(300, 300, 150, 100, 70)
    stroke = np.zeros((300, 300), dtype=bool)
    stroke[40:260, 220:245] = True
    image = stain(glass(300, 300), tissue, 0.3, 0.3)
    image[stroke] = ink
    found = tissue_of_image(image, MPP)
    assert not (found & stroke).any()
    assert agreement(found, tissue) > 0.95


def test_dense_nuclei_are_not_taken_for_ink() -> None:
    truth = disc(300, 300, 150, 150, 90)
    assert agreement(tissue_of_image(stain(glass(300, 300), truth, 1.6, 0.3), MPP), truth) > 0.95


def test_lumina_are_filled_large_gaps_and_specks_are_not_tissue() -> None:
    organ, lumen = disc(400, 400, 200, 200, 150), disc(400, 400, 200, 120, 5)
    gap, speck = disc(400, 400, 200, 240, 40), disc(400, 400, 20, 20, 5)
    image = stain(glass(400, 400), (organ & ~lumen & ~gap) | speck, 0.2, 0.3)
    found = tissue_of_image(image, MPP)
    assert found[lumen].all()
    assert not found[disc(400, 400, 200, 240, 30)].any()
    assert not found[:60, :60].any()


def test_the_real_slide_has_its_tissue_and_not_the_glass(shared_data: Path) -> None:
    with open_slide(shared_data / "slides" / "cmu-1-small-region.svs") as slide:
        mask = find_tissue(slide)
    assert 0.28 < mask.slide_share < 0.45
    assert mask.area_mm2 == pytest.approx(mask.slide_share * 2220 * 2967 * 0.499e-3**2, rel=0.02)
    assert mask.share(1200, 1800, 300, 300) == 1.0
    assert mask.share(100, 1500, 300, 600) == 0.0


def test_find_tissue_frames_the_mask_by_the_slide(tmp_path: Path) -> None:
    truth = disc(400, 600, 200, 300, 150)
    path = write_tiff(tmp_path / "disc.tiff", stain(glass(400, 600), truth, 0.2, 0.3), mpp=(4.0, 4.0))
    with open_slide(path) as slide:
        mask = find_tissue(slide)
        assert mask.mask.shape == (200, 300)
        assert find_tissue(slide, mpp=1.0).mpp == slide.info.mpp
    assert mask.share(150, 50, 300, 300) == pytest.approx(np.pi / 4, abs=0.02)


@given(
    mask=st.integers(0, 2**30).map(lambda s: np.random.default_rng(s).random((7, 9)) < 0.5),
    x=st.floats(-40, 180),
    y=st.floats(-40, 150),
    width=st.floats(0.5, 200),
    height=st.floats(0.5, 200),
)
def test_the_share_is_the_exact_area(mask: NDArray[np.bool_], x: float, y: float, width: float, height: float) -> None:
    area = 0.0
    for row, column in zip(*np.nonzero(mask), strict=True):
        across = min(x + width, (column + 1) * 16) - max(x, column * 16)
        down = min(y + height, (row + 1) * 16) - max(y, row * 16)
        area += max(0.0, across) * max(0.0, down)
    assert mask_of(mask).share(x, y, width, height) == pytest.approx(area / (width * height), abs=1e-9)


@given(seed=st.integers(0, 2**30), height=st.integers(1, 30), width=st.integers(1, 30))
def test_a_mask_survives_its_storage(seed: int, height: int, width: int) -> None:
    before = mask_of(np.random.default_rng(seed).random((height, width)) < 0.3, slide_mpp=0.4991234567)
    after = TissueMask.from_png_bytes(before.to_png_bytes())
    np.testing.assert_array_equal(after.mask, before.mask)
    assert (after.mpp, after.slide_mpp) == (before.mpp, before.slide_mpp)
    assert (after.slide_width, after.slide_height) == (before.slide_width, before.slide_height)


@pytest.mark.parametrize("data", [b"", b"no png", encode_png(np.zeros((4, 4), dtype=np.uint8))])
def test_a_foreign_png_is_no_mask(data: bytes) -> None:
    with pytest.raises(ValueError, match="find tissue again"):
        TissueMask.from_png_bytes(data)


def test_a_rectangle_needs_an_area() -> None:
    with pytest.raises(ValueError, match="no area"):
        mask_of(np.ones((3, 3), dtype=bool)).share(0, 0, 0, 5)
