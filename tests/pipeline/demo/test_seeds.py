"""Seeds from the truth: each answer follows from what is recorded, and doubtful questions are not asked."""

from __future__ import annotations

import random

import numpy as np
import pytest

from evaluation.items import CATEGORIES
from pipeline.demo.painting import DEMO_TERMS, IMAGE_ZONES, PaintedSlide, Record, SlideTruth, load_truth
from pipeline.demo.seeds import COUNTED, DemoSeed, seeds_from_truth, zone_of
from tests.pipeline.demo.test_truth import square, truth_of

pytestmark = pytest.mark.sqlite("pictures, which no database holds")

NECROSIS = "hepatocellular necrosis"


def ask(truth: SlideTruth, x: int = 0, y: int = 0, width: int = 1000, mpp: float = 0.5) -> list[DemoSeed]:
    return seeds_from_truth(truth, x, y, width, mpp, rng=random.Random(4))


def of(seeds: list[DemoSeed], category: str) -> list[DemoSeed]:
    return [seed for seed in seeds if seed.category == category]


@pytest.mark.parametrize("column", range(3))
@pytest.mark.parametrize("row", range(3))
def test_zone_names_column_and_row(row: int, column: int) -> None:
    assert zone_of(((column + 0.5) / 3, (row + 0.5) / 3)) == IMAGE_ZONES[3 * row + column]


@pytest.mark.parametrize("centroid", [(1 / 3, 0.5), (0.5, 0.65), (0.36, 0.9)])
def test_a_centroid_between_zones_has_no_zone(centroid: tuple[float, float]) -> None:
    assert zone_of(centroid) is None


def test_lesion_is_named_placed_and_described() -> None:
    lesion = square(
        NECROSIS,
        40,
        40,
        420,
        severity="moderate",
        distribution="zonal",
        location="centrilobular",
        cell_type="hepatocyte",
    )
    seeds = ask(truth_of(lesion))
    assert [seed.answer for seed in of(seeds, "identify_pathology")] == [NECROSIS]
    assert [seed.answer for seed in of(seeds, "localize_in_image")] == ["upper left"]
    answers = {seed.answer for seed in of(seeds, "characterize_feature")}
    assert answers == {"moderate", "zonal", "centrilobular", "hepatocyte"}
    assert [seed.answer for seed in of(seeds, "quantify_feature")] == ["about 20 %"]
    assert of(seeds, "probe_over_reading") == []


def test_a_lesion_everywhere_is_not_placed() -> None:
    assert of(ask(truth_of(square(NECROSIS, 0, 0, 900))), "localize_in_image") == []


def test_two_lesions_have_no_main_change_but_each_its_zone() -> None:
    truth = truth_of(square(NECROSIS, 20, 20, 280), square("haemorrhage", 700, 700, 280))
    named = {(seed.question, seed.answer) for seed in of(ask(truth), "identify_pathology")}
    assert named == {
        ("Which lesion lies in the upper left of the image?", NECROSIS),
        ("Which lesion lies in the lower right of the image?", "haemorrhage"),
    }
    assert of(ask(truth), "characterize_feature") == []


def test_two_foci_of_one_lesion_are_not_called_focal() -> None:
    facts = {"distribution": "focal", "severity": "slight"}
    truth = truth_of(
        square(NECROSIS, 20, 20, 300, "lesion", **facts), square(NECROSIS, 600, 600, 300, "lesion", **facts)
    )
    assert [seed.answer for seed in of(ask(truth), "identify_pathology")] == [NECROSIS]
    assert of(ask(truth), "characterize_feature") == []
    assert of(ask(truth), "localize_in_image") == []


def test_normal_tissue_gives_over_reading_probes_only_true_or_false() -> None:
    probes = of(ask(truth_of()), "probe_over_reading")
    assert [(seed.answer, seed.is_true) for seed in probes] == [("true", True), ("false", False)]
    assert not any(seed.question.endswith("?") for seed in probes)
    assert any(name in probes[1].question.lower() for name in DEMO_TERMS["liver"]["lesion"])


def test_a_barely_visible_lesion_is_neither_claimed_nor_denied() -> None:
    seeds = ask(truth_of(square(NECROSIS, 0, 0, 60)))
    assert of(seeds, "probe_over_reading") == []
    assert of(seeds, "identify_pathology") == []


def test_structures_are_counted_whole() -> None:
    veins = [square("central vein", 100 + 250 * index, 300, 100, "anatomy") for index in range(3)]
    assert [seed.answer for seed in of(ask(truth_of(*veins)), "quantify_feature")] == ["3"]


def test_a_structure_that_is_cut_off_makes_the_count_doubtful() -> None:
    veins = [square("central vein", 100, 300, 100, "anatomy"), square("central vein", 980, 300, 100, "anatomy")]
    assert of(ask(truth_of(*veins)), "quantify_feature") == []


def test_a_structure_under_an_artefact_is_not_counted_or_named() -> None:
    truth = truth_of(square("central vein", 300, 300, 100, "anatomy"), square("pen mark", 200, 200, 350, "artefact"))
    seeds = ask(truth)
    assert [seed.answer for seed in of(seeds, "identify_artifact")] == ["pen mark"]
    assert all("central vein" not in (seed.answer, seed.question) for seed in seeds)
    assert [seed.answer for seed in of(seeds, "quantify_feature")] == []


def test_a_structure_too_small_for_the_magnification_is_not_counted() -> None:
    vein = square("central vein", 1500, 1500, 100, "anatomy")
    assert of(ask(truth_of(vein), width=4000, mpp=2.0), "quantify_feature") == []


def test_resolution_must_be_positive() -> None:
    with pytest.raises(ValueError, match="resolution is 0"):
        ask(truth_of(), mpp=0)


def _fields(truth: SlideTruth) -> list[tuple[int, int]]:
    steps = range(0, min(truth.width, truth.height) - 1024, 150)
    return [(x, y) for x in steps for y in steps if truth.tissue_share(x, y, 1024) > 0.6]


def _mentioned(truth: SlideTruth, x: int, y: int, question: str) -> list[Record]:
    return [seen.record for seen in truth.within(x, y, 1024) if seen.record.name in question]


def test_every_seed_of_a_drawn_slide_agrees_with_its_truth(painted: list[PaintedSlide]) -> None:
    categories: set[str] = set()
    for slide in painted:
        truth = load_truth(slide.truth_path)
        terms = {word for organ in (truth.organ, "generic") for words in DEMO_TERMS[organ].values() for word in words}
        for x, y in _fields(truth):
            for seed in seeds_from_truth(truth, x, y, 1024, 0.5, rng=random.Random(x + y)):
                categories.add(seed.category)
                assert (seed.is_true is None) == seed.question.endswith("?")
                if seed.category == "localize_in_image":
                    _check_place(truth, x, y, seed)
                elif seed.category == "quantify_feature":
                    _check_quantity(truth, x, y, seed)
                elif seed.category == "probe_over_reading":
                    assert seed.answer == str(seed.is_true).lower()
                    assert not [
                        one for one in truth.within(x, y, 1024) if one.record.kind == "lesion" and one.share > 0.01
                    ]
                else:
                    assert seed.answer in terms
    assert categories == set(CATEGORIES)


def _check_place(truth: SlideTruth, x: int, y: int, seed: DemoSeed) -> None:
    (record,) = _mentioned(truth, x, y, seed.question)
    corners = np.clip(np.asarray(record.polygon) - (x, y), 0, 1024) / 1024
    column = ("left", "centre", "right")[int(np.clip(corners[:, 0].mean() * 3, 0, 2))]
    row = ("upper", "centre", "lower")[int(np.clip(corners[:, 1].mean() * 3, 0, 2))]
    expected = "centre" if row == column == "centre" else f"{row} {column}"
    assert seed.answer in IMAGE_ZONES
    # The mean of the corners is a coarser centre than the centre of mass: one step beside is allowed for it.
    difference = np.subtract(divmod(IMAGE_ZONES.index(seed.answer), 3), divmod(IMAGE_ZONES.index(expected), 3))
    assert np.abs(difference).sum() <= 1


def _check_quantity(truth: SlideTruth, x: int, y: int, seed: DemoSeed) -> None:
    if seed.answer.startswith("about"):
        (seen,) = [one for one in truth.within(x, y, 1024) if one.record.name in seed.question]
        assert int(seed.answer.split()[1]) == pytest.approx(100 * seen.share, abs=5)
        return
    name = next(name for name, plural in COUNTED.items() if plural in seed.question)
    low, high = np.array([x, y]), np.array([x, y]) + 1024
    centres = [np.asarray(record.centre) for record in truth.records if record.name == name]
    assert int(seed.answer) >= sum(bool(((low < centre) & (centre < high)).all()) for centre in centres)
    shown = [one for one in truth.within(x, y, 1024) if one.record.name == name and one.shown > 0.01]
    assert int(seed.answer) == len(shown)
