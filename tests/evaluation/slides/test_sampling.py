"""Sampled regions lie inside their slide, on tissue, hardly overlap, and one seed gives one draw."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.slides import Region, TissueMask, explain_no_regions, overlap_share
from tests.evaluation.slides.draws import sample_regions


def mask_with(tissue: float, *, side: int = 250, slide_mpp: float = 0.5, seed: int = 0) -> TissueMask:
    """A slide of `side` × `side` mask pixels of 8 µm with blocks of tissue."""
    coarse = np.random.default_rng(seed).random((10, 10)) < tissue
    cell = -(-side // 10)
    mask = np.kron(coarse, np.ones((cell, cell), dtype=bool))[:side, :side]
    level0 = round(side * 8 / slide_mpp)
    return TissueMask(mask=mask, mpp=8.0, slide_width=level0, slide_height=level0, slide_mpp=slide_mpp)


@st.composite
def slides(draw: st.DrawFn) -> dict[str, TissueMask]:
    count = draw(st.integers(1, 4))
    return {
        f"slide-{index}": mask_with(
            draw(st.floats(0, 1)),
            side=draw(st.integers(5, 120)),
            slide_mpp=draw(st.sampled_from([0.25, 0.499, 0.5, 1.0])),
            seed=draw(st.integers(0, 1000)),
        )
        for index in range(count)
    }


@settings(max_examples=60, deadline=None)
@given(
    masks=slides(),
    count=st.integers(0, 40),
    size=st.sampled_from([32, 100, 256]),
    mpp=st.sampled_from([0.5, 1.0, 4.0]),
    min_tissue=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    max_overlap=st.sampled_from([0.0, 0.25, 0.7, 1.0]),
    seed=st.integers(-3, 2**40),
)
def test_every_region_keeps_the_rules(
    masks: dict[str, TissueMask],
    count: int,
    size: int,
    mpp: float,
    min_tissue: float,
    max_overlap: float,
    seed: int,
) -> None:
    def draw(order: list[str]) -> dict[str, list[Region]]:
        return sample_regions(
            {name: masks[name] for name in order},
            count=count,
            size=size,
            mpp=mpp,
            min_tissue=min_tissue,
            max_overlap=max_overlap,
            seed=seed,
        )

    drawn = draw(sorted(masks))
    assert drawn == draw(sorted(masks, reverse=True))
    assert set(drawn) == set(masks)
    assert sum(map(len, drawn.values())) <= count
    for name, regions in drawn.items():
        mask = masks[name]
        side = size * mpp / mask.slide_mpp
        for region in regions:
            assert region.x >= 0
            assert region.x + side <= mask.slide_width
            assert region.y >= 0
            assert region.y + side <= mask.slide_height
            assert region.tissue_share >= max(min_tissue, 1e-12)
            assert region.tissue_share == pytest.approx(mask.share(region.x, region.y, side, side))
        for one, other in itertools.combinations(regions, 2):
            assert overlap_share(one, other, slide_mpp=mask.slide_mpp) <= max_overlap + 1e-12
            assert (one.x, one.y) != (other.x, other.y)


@settings(max_examples=40, deadline=None)
@given(mask=slides(), count=st.integers(1, 40))
def test_fewer_than_asked_only_where_no_more_fit_and_then_a_reason_or_a_full_slide(
    mask: dict[str, TissueMask], count: int
) -> None:
    drawn = sample_regions(mask, count=count, size=128, mpp=1.0)
    for name, regions in drawn.items():
        reason = explain_no_regions(mask[name], size=128, mpp=1.0)
        assert reason is None or not regions
        if sum(map(len, drawn.values())) < count:
            assert bool(regions) == (reason is None)


def test_no_place_is_drawn_twice_even_where_any_overlap_is_allowed() -> None:
    # The last cell before the slide's edge is narrower than the others: its random place may be the edge itself.
    mask = TissueMask(mask=np.ones((8, 8), dtype=bool), mpp=8.0, slide_width=131, slide_height=131, slide_mpp=0.5)
    for seed in range(50):
        first = sample_regions({"slide": mask}, count=500, size=32, mpp=0.5, max_overlap=1.0, seed=seed)["slide"]
        places = [(region.x, region.y) for region in first]
        assert len(places) == len(set(places))
        rest = sample_regions(
            {"slide": mask}, count=500, size=32, mpp=0.5, max_overlap=1.0, seed=seed + 1, taken={"slide": first}
        )["slide"]
        assert not set(places) & {(region.x, region.y) for region in rest}


def test_a_slide_coarser_than_asked_gives_none() -> None:
    masks = {"coarse": mask_with(1.0, slide_mpp=1.0), "fine": mask_with(1.0, slide_mpp=0.52)}
    drawn = sample_regions(masks, count=6, size=128, mpp=0.5)
    assert (len(drawn["coarse"]), len(drawn["fine"])) == (0, 6)


def test_different_seeds_draw_differently() -> None:
    masks = {"a": mask_with(0.8)}
    first, second = (sample_regions(masks, count=5, size=256, seed=seed) for seed in (0, 1))
    assert first != second


def test_slides_are_covered_in_turn_as_far_as_their_tissue_allows() -> None:
    small = mask_with(1.0, side=40)
    masks = {"a": mask_with(1.0), "b": mask_with(1.0, seed=1), "c": small}
    drawn = sample_regions(masks, count=40, size=512, max_overlap=0.0)
    counts = {name: len(regions) for name, regions in drawn.items()}
    assert counts["c"] == 1
    assert sum(counts.values()) == 40
    assert abs(counts["a"] - counts["b"]) <= 1


def test_a_slides_sequence_does_not_depend_on_the_others() -> None:
    alone = sample_regions({"a": mask_with(0.8)}, count=6, size=256)["a"]
    together = sample_regions({"a": mask_with(0.8), "b": mask_with(0.8, seed=2)}, count=12, size=256)["a"]
    assert together == alone


def test_taken_regions_are_kept_clear_and_count_for_the_turn() -> None:
    masks = {"a": mask_with(1.0), "b": mask_with(1.0)}
    first = sample_regions(masks, count=10, size=512)
    second = sample_regions(masks, count=10, size=512, seed=1, taken={"a": first["a"]})
    assert (len(second["a"]), len(second["b"])) == (3, 7) or (len(second["a"]), len(second["b"])) == (2, 8)
    for one, other in itertools.product(first["a"], second["a"]):
        assert overlap_share(one, other, slide_mpp=0.5) <= 0.25


def test_another_magnification_may_show_the_same_place() -> None:
    whole = Region(x=0, y=0, size=512, mpp=3.9)
    mask = mask_with(1.0)
    assert overlap_share(whole, Region(100, 100, 512, 0.5), slide_mpp=0.5) < 0.25
    assert len(sample_regions({"a": mask}, count=5, size=512, taken={"a": [whole]})["a"]) == 5


def test_every_part_of_the_tissue_is_reached() -> None:
    mask = mask_with(1.0)
    drawn = sample_regions({"a": mask}, count=10_000, size=256, max_overlap=0.25)["a"]
    seen = np.zeros((4000, 4000), dtype=bool)
    for region in drawn:
        seen[region.y : region.y + 256, region.x : region.x + 256] = True
    assert seen.mean() > 0.85  # random packing leaves gaps of less than a region


def test_the_reason_for_no_region_is_said() -> None:
    mask = mask_with(1.0, side=50)
    assert "coarser" in str(explain_no_regions(mask, size=64, mpp=0.25))
    assert "smaller than one ROI" in str(explain_no_regions(mask, size=1024, mpp=0.5))
    assert "no tissue" in str(explain_no_regions(mask_with(0.0), size=64))
    assert "50%" in str(explain_no_regions(mask_with(0.02), size=1024, mpp=0.5))
    assert explain_no_regions(mask, size=64) is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"count": -1}, "count"),
        ({"size": 0}, "size"),
        ({"mpp": float("inf")}, "µm/px"),
        ({"min_tissue": 1.1}, "min_tissue"),
        ({"max_overlap": -0.1}, "max_overlap"),
    ],
)
def test_arguments_out_of_range_are_named(wrong: dict[str, float], message: str) -> None:
    arguments = {"count": 1, "size": 64, **wrong}
    with pytest.raises(ValueError, match=message):
        sample_regions({"a": mask_with(1.0)}, **arguments)
