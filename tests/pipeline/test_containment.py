"""Containment across magnifications: in micrometres of the slide, with the numbers of the field's own arithmetic."""

from __future__ import annotations

import pytest

from db.tables import Roi, Slide
from pipeline.containment import Held, containment, containment_of


def _slide(identifier: str = "sld_1", mpp: float = 0.25) -> Slide:
    return Slide(
        id=identifier,
        created_by="test",
        name="a.svs",
        path="/a.svs",
        content_sha256=identifier,
        width=100_000,
        height=100_000,
        mpp=mpp,
        organ="liver",
        source="drawn",
        licence="CC0-1.0",
        species="rat",
        stain="H&E",
    )


def _roi(identifier: str, x: float, y: float, mpp: float, size: int = 1024) -> Roi:
    return Roi(
        id=identifier,
        created_by="test",
        slide_id="sld_1",
        organ="liver",
        x=round(x),
        y=round(y),
        size=size,
        mpp=mpp,
        magnification=f"{10 / mpp:g}x",
    )


@pytest.mark.parametrize("own", [0.25, 0.499, 0.2527])
def test_a_field_at_2_5_holds_64_at_20(own: float) -> None:
    """1,024 px are 4,096 µm at 2.5× and 512 µm at 20×: eight by eight, whatever the slide's own resolution."""
    slide = _slide(mpp=own)
    large = _roi("large", 5_003, 7_001, 4.0)
    step = 512 / own
    small = [
        _roi(f"small-{row}-{column}", large.x + column * step, large.y + row * step, 0.5)
        for row in range(8)
        for column in range(8)
    ]
    beside = _roi("beside", large.x + 8 * step, large.y, 0.5)
    across = _roi("across", large.x + 7.5 * step, large.y, 0.5)
    middle = _roi("middle", large.x, large.y, 2.0)
    rows = [(roi, slide) for roi in (*small, large, beside, across, middle)]
    held = containment(rows)
    assert held["large"].holds == (*(roi.id for roi in small), "middle")
    assert len(held["middle"].holds) == 16, "2,048 µm at 5× are four by four"
    assert held["small-0-0"].within == ("large", "middle")
    assert held["small-7-7"].within == ("large",)
    assert held["beside"] == held["across"] == Held()
    for roi, _ in rows:
        one = containment_of((roi, slide), rows)
        assert (sorted(one.within), sorted(one.holds)) == (sorted(held[roi.id].within), sorted(held[roi.id].holds))


def test_the_same_field_at_two_magnifications_holds_neither() -> None:
    slide = _slide()
    held = containment([(_roi("a", 0, 0, 0.5, 1024), slide), (_roi("b", 0, 0, 1.0, 512), slide)])
    assert set(held.values()) == {Held()}


def test_fields_of_different_slides_have_nothing_in_common() -> None:
    one, other = _slide("sld_1"), _slide("sld_2")
    rows = [(_roi("a", 0, 0, 4.0), one), (_roi("b", 0, 0, 0.5), other)]
    assert set(containment(rows).values()) == {Held()}
    assert containment_of(rows[0], rows) == Held()
    assert containment([]) == {}


def test_thousands_are_compared_in_parts() -> None:
    slide = _slide()
    small = [_roi(f"s{n}", (n % 80) * 1000, (n // 80) * 1000, 0.5, 256) for n in range(1_600)]
    large = _roi("large", 0, 0, 20.0, 1024)
    held = containment([(roi, slide) for roi in (*small, large)])
    inside = [roi for roi in small if roi.x + 512 <= 81_921 and roi.y + 512 <= 81_921]
    assert len(held["large"].holds) == len(inside)
    assert all(held[roi.id].within == ("large",) for roi in inside)
