"""The drawn slides: files that OpenSlide opens, and pixels that show what the truth records."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import openslide
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from pipeline.demo.painting import (
    DEMO_TERMS,
    PAINTER_VERSION,
    PaintedSlide,
    Record,
    SlideTruth,
    load_nuclei,
    load_truth,
    paint_demo_slides,
)
from pipeline.demo.painting._artefacts import PAINTERS
from pipeline.demo.painting._plan import DEMO_SLIDES, place_sites, tissue_outline

pytestmark = pytest.mark.sqlite("pictures, which no database holds")

MEGAPIXELS_ALLOWED = 250
PYRAMID_OVERHEAD = 1 + 1 / 16 + 1 / 256 + 1 / 4096
FIELD_AT_2_5 = 8192
"""Level-0 pixels of a 1,024-pixel field at 2.5×."""


def _pixels(slide: PaintedSlide) -> NDArray[np.uint8]:
    with openslide.OpenSlide(slide.path) as opened:
        return np.asarray(opened.read_region((0, 0), 0, opened.dimensions).convert("RGB"))


def _mask(truth: SlideTruth, outline: NDArray[np.float64]) -> NDArray[np.bool_]:
    image = Image.new("1", (truth.width, truth.height), 0)
    ImageDraw.Draw(image).polygon(outline.ravel().tolist(), fill=1)
    return np.array(image, dtype=bool)


def test_plan_holds_all_that_the_demo_promises() -> None:
    assert sum(plan.width * plan.height for plan in DEMO_SLIDES) * PYRAMID_OVERHEAD <= MEGAPIXELS_ALLOWED * 1e6
    assert any(min(plan.width, plan.height) >= FIELD_AT_2_5 for plan in DEMO_SLIDES)
    organs = {plan.organ for plan in DEMO_SLIDES}
    assert {"liver", "kidney"} < organs
    for organ in organs:
        plans = [plan for plan in DEMO_SLIDES if plan.organ == organ]
        assert len({plan.institution for plan in plans}) == 2
        assert len({name for plan in plans for name in plan.lesions}) >= 4
        assert len({name for plan in plans for name in plan.artefacts}) >= 2
        for plan in plans:
            assert set(plan.lesions) <= set(DEMO_TERMS[organ]["lesion"])
            assert set(plan.artefacts) <= set(DEMO_TERMS[organ]["artefact"]) & set(PAINTERS)


@pytest.mark.parametrize("plan", DEMO_SLIDES, ids=lambda plan: plan.stem)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_planned_lesion_and_artefact_finds_a_place(plan, seed) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng([seed, *plan.stem.encode()])
    sites = place_sites(plan, tissue_outline(plan, rng), rng)
    assert {site.name for site in sites} == {*plan.lesions, *plan.artefacts}


def test_openslide_opens_with_resolution_and_levels(painted: list[PaintedSlide]) -> None:
    for slide in painted:
        with openslide.OpenSlide(slide.path) as opened:
            assert float(opened.properties["openslide.mpp-x"]) == pytest.approx(0.5, rel=0.01)
            assert float(opened.properties["openslide.mpp-y"]) == pytest.approx(0.5, rel=0.01)
            assert opened.level_count >= 2
            assert opened.level_downsamples[1] == pytest.approx(4.0, rel=0.01)
            truth = load_truth(slide.truth_path)
            assert opened.dimensions == (truth.width, truth.height)


def test_levels_show_the_same_picture(painted: list[PaintedSlide]) -> None:
    with openslide.OpenSlide(painted[0].path) as opened:
        fine = (
            opened.read_region((0, 0), 0, opened.dimensions)
            .convert("RGB")
            .resize(opened.level_dimensions[1], Image.Resampling.BOX)
        )
        coarse = opened.read_region((0, 0), 1, opened.level_dimensions[1]).convert("RGB")
    left, right = np.asarray(fine, dtype=int), np.asarray(coarse, dtype=int)
    difference = np.abs(left - right).mean()
    shifted = [np.abs(np.roll(left, step, axis) - right).mean() for step in (-1, 1) for axis in (0, 1)]
    assert difference < 6
    assert difference < 0.5 * min(shifted)


def test_truth_lies_inside_the_slide_and_the_vocabulary(painted: list[PaintedSlide]) -> None:
    for slide in painted:
        truth = load_truth(slide.truth_path)
        terms, common = DEMO_TERMS[truth.organ], DEMO_TERMS["generic"]
        assert len({record.id for record in truth.records}) == len(truth.records)
        assert any(record.kind == "lesion" for record in truth.records)
        for record in truth.records:
            corners = np.asarray(record.polygon)
            assert corners.min() >= 0
            assert (corners <= (truth.width, truth.height)).all()
            dimension = {"anatomy": "structure", "lesion": "lesion", "artefact": "artefact"}[record.kind]
            assert record.name in {*terms[dimension], *common[dimension]}
            assert record.location is None or record.location in terms["location"]
            assert record.cell_type is None or record.cell_type in {*terms["cell_type"], *common["cell_type"]}


def _stain_histogram(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    histogram, _ = np.histogramdd(pixels.astype(float), bins=8, range=[(0, 256)] * 3)
    return histogram / histogram.sum()


def _contrast(rgb: NDArray[np.uint8], truth: SlideTruth, record: Record) -> tuple[float, float]:
    """Return how much a record differs from the tissue around it, and that tissue's two halves from each other."""
    outline = np.asarray(record.polygon)
    centre = np.asarray(record.centre)
    tissue = _mask(truth, np.asarray(truth.tissue[0]))
    others = np.zeros_like(tissue)
    for other in truth.records:
        if other.kind != "anatomy":
            others |= _mask(truth, np.asarray(other.polygon))
    inside = _mask(truth, centre + (outline - centre) * 0.85) & tissue
    around = _mask(truth, centre + (outline - centre) * 1.7) & tissue & ~others
    left = np.arange(truth.width)[None, :] < centre[0]
    halves = [_stain_histogram(rgb[around & side]) for side in (left, ~left)]
    difference = np.abs(_stain_histogram(rgb[inside]) - _stain_histogram(rgb[around])).sum()
    return float(difference), float(np.abs(halves[0] - halves[1]).sum())


def test_lesions_and_artefacts_differ_from_the_tissue_around(painted: list[PaintedSlide]) -> None:
    for slide in painted:
        truth, rgb = load_truth(slide.truth_path), _pixels(slide)
        found = [record for record in truth.records if record.kind != "anatomy"]
        assert found
        for record in found:
            difference, baseline = _contrast(rgb, truth, record)
            assert difference > 1.3 * baseline, (slide.path.name, record.name, difference, baseline)


def test_nuclei_are_where_the_truth_says(painted: list[PaintedSlide]) -> None:
    for slide in painted:
        truth, rgb = load_truth(slide.truth_path), _pixels(slide)
        centres, types = load_nuclei(slide.truth_path)
        assert len(centres) == len(types) == truth.nuclei_count > 1000
        assert (centres >= 0).all()
        assert (centres < (truth.width, truth.height)).all()
        known = {*DEMO_TERMS[truth.organ]["cell_type"], *DEMO_TERMS["generic"]["cell_type"], "smooth muscle cell"}
        assert set(types.tolist()) <= known
        rows, columns = centres[:, 1].astype(int), centres[:, 0].astype(int)
        tissue = _mask(truth, np.asarray(truth.tissue[0]))
        red = rgb[..., 0].astype(float)
        # Hematoxylin absorbs red light, which eosin lets through.
        assert np.median(red[rows, columns]) < np.median(red[tissue]) - 50


def test_institutions_stain_and_scan_differently(painted: list[PaintedSlide]) -> None:
    glass = {slide.institution: _pixels(slide)[:20, :20].reshape(-1, 3).mean(axis=0) for slide in painted}
    first, second = glass.values()
    assert np.abs(first - second).max() > 8


def test_same_seed_paints_the_same_slide(tmp_path: Path) -> None:
    names = ["lung-alder-1", "kidney-alder-1"]
    once = paint_demo_slides(tmp_path / "a", only=names, scale=0.35, processes=1)
    twice = paint_demo_slides(tmp_path / "b", only=names, scale=0.35, processes=2)
    other = paint_demo_slides(tmp_path / "c", only=names[:1], scale=0.35, seed=1)
    for left, right in zip(once, twice, strict=True):
        assert left.path.read_bytes() == right.path.read_bytes()
        assert left.truth_path.read_bytes() == right.truth_path.read_bytes()
    assert other[0].path.read_bytes() not in {slide.path.read_bytes() for slide in once}


def test_painted_slides_are_kept_until_the_painter_changes(painted: list[PaintedSlide], tmp_path: Path) -> None:
    for name in painted[2].path.parent.glob("lung-alder-1.*"):
        shutil.copy(name, tmp_path)
    path = tmp_path / "lung-alder-1.tiff"
    drawn: list[tuple[int, int, str]] = []

    def paint() -> None:
        paint_demo_slides(tmp_path, only=["lung-alder-1"], scale=0.6, progress=lambda *report: drawn.append(report))

    before = path.stat().st_mtime_ns
    paint()
    assert path.stat().st_mtime_ns == before
    assert drawn == []
    truth_path = tmp_path / "lung-alder-1.truth.json"
    old = truth_path.read_text().replace(f'"painter_version":"{PAINTER_VERSION}"', '"painter_version":"0"')
    truth_path.write_text(old)
    paint()
    assert drawn == [(1, 1, "lung-alder-1")]
    assert load_truth(truth_path).painter_version == PAINTER_VERSION


def test_half_written_slides_are_never_left(painted: list[PaintedSlide], painted_folder: Path) -> None:
    assert painted
    assert not list(painted_folder.glob("*.part"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"only": ["liver-oak-9"]}, "no demo slide is called liver-oak-9; there are liver-alder-1"),
        ({"scale": 0.0}, "scale is 0.0"),
        ({"processes": 0}, "processes is 0"),
    ],
)
def test_bad_settings_are_named(tmp_path: Path, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paint_demo_slides(tmp_path, **arguments)  # type: ignore[arg-type]
