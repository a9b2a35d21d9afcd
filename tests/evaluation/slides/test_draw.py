"""Draws at several resolutions: shares, equal parts of studies and slides, and reasons."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.slides import DrawShare, SlideDraw, TissueMask, draw_regions
from tests.evaluation.slides.test_sampling import mask_with

SHARES = (DrawShare(0.5, 0.6), DrawShare(2.0, 0.3), DrawShare(4.0, 0.1))
STUDIES = {"a": "one", "b": "two", "c": "two"}


def draw(masks: dict[str, TissueMask], shares: tuple[DrawShare, ...] = SHARES, **changed: object) -> list[SlideDraw]:
    arguments: dict[str, object] = {"count": 100, "size": 128, "min_tissue": 0.3, "max_overlap": 0.5, "seed": 1}
    return draw_regions(masks, shares, **{**arguments, **changed})  # type: ignore[arg-type]


@settings(max_examples=25, deadline=None)
@given(count=st.integers(0, 90), seed=st.integers(-5, 2**33), full=st.lists(st.booleans(), min_size=3, max_size=3))
def test_the_parts_add_up_and_fewer_always_has_a_reason(count: int, seed: int, full: list[bool]) -> None:
    masks = {name: mask_with(0.9 if rich else 0.05) for name, rich in zip("abc", full, strict=True)}
    drawn = draw(masks, count=count, seed=seed, studies=STUDIES)
    assert drawn == draw(dict(reversed(masks.items())), SHARES[::-1], count=count, seed=seed, studies=STUDIES)
    assert sum(part.asked for part in drawn) == count
    for share in SHARES:
        parts = [part for part in drawn if part.mpp == share.mpp]
        asked = sum(part.asked for part in parts)
        assert abs(asked - share.share * count) < 1
        assert sum(len(part.regions) for part in parts) <= asked
        for part in parts:
            assert (part.why is not None) == (len(part.regions) < part.asked)
            assert all(region.mpp == share.mpp for region in part.regions)


def test_studies_have_equal_parts_and_slides_equal_parts_of_those() -> None:
    drawn = draw({name: mask_with(0.9) for name in "abc"}, studies=STUDIES)
    by_slide: Counter[str] = Counter()
    for part in drawn:
        by_slide[part.slide] += len(part.regions)
    assert by_slide == {"a": 50, "b": 25, "c": 25}


def test_a_few_of_each_resolution_do_not_all_come_from_one_slide() -> None:
    shares = tuple(DrawShare(mpp, 1 / 3) for mpp in (0.5, 2.0, 4.0))
    drawn = draw({name: mask_with(0.9) for name in "abc"}, shares, count=3)
    assert sorted(part.slide for part in drawn for _ in part.regions) == ["a", "b", "c"]


def test_what_other_draws_hold_is_said() -> None:
    masks = {name: mask_with(0.9) for name in "ab"}
    first = draw({"a": masks["a"]}, (DrawShare(0.5, 1.0),), count=20)
    drawn = draw(masks, (DrawShare(0.5, 1.0),), count=20, seed=2, taken={0.5: {"a": first[0].regions}})
    assert [(part.slide, len(part.regions)) for part in drawn] == [("a", 0), ("b", 20)]
    assert "other draws already" in str(drawn[0].why)


def test_a_small_field_may_lie_in_a_large_one_even_where_no_overlap_is_allowed() -> None:
    mask = {"a": mask_with(1.0)}
    shares = (DrawShare(0.5, 0.9), DrawShare(4.0, 0.1))
    small, large = (part.regions for part in draw(mask, shares, count=40, max_overlap=0.0))
    assert (len(small), len(large)) == (36, 4)
    inside = [one for one in small for other in large if 0 <= one.x - other.x < 896 and 0 <= one.y - other.y < 896]
    assert inside


@pytest.mark.parametrize(
    ("shares", "said"),
    [((), "at least one"), ((DrawShare(0.5, 0.0),), "share"), ((DrawShare(2, 0.5), DrawShare(2.05, 0.5)), "same")],
)
def test_shares_that_cannot_be_are_refused(shares: tuple[DrawShare, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        draw({"a": mask_with(1.0)}, shares)
