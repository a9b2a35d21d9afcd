"""What the truth says of a field of view, against geometry that can be worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.demo.painting import PaintedSlide, Record, SlideTruth, TruthError, load_nuclei, load_truth
from pipeline.demo.painting._geometry import blob, inside
from pipeline.demo.painting._truth import RecordKind, clip_to_square, polygon_area, polygon_centroid


def square(name: str, x: float, y: float, side: float, kind: RecordKind = "lesion", **facts: object) -> Record:
    corners = ((x, y), (x + side, y), (x + side, y + side), (x, y + side))
    return Record.model_validate(
        {
            "id": f"{kind}-{name}-{x}-{y}",
            "kind": kind,
            "name": name,
            "organ": "liver",
            "polygon": corners,
            "centre": (x + side / 2, y + side / 2),
            "area": side * side,
            **facts,
        }
    )


def truth_of(*records: Record, organ: str = "liver") -> SlideTruth:
    return SlideTruth(
        painter_version="test",
        seed=0,
        scale=1.0,
        slide="test.tiff",
        organ=organ,
        institution="test",
        width=4000,
        height=4000,
        mpp=0.5,
        tissue=(((0, 0), (4000, 0), (4000, 4000), (0, 4000)),),
        records=records,
        nuclei_file="test.nuclei.npz",
        nuclei_count=0,
    )


def test_a_square_half_inside_the_field() -> None:
    truth = truth_of(square("haemorrhage", 900, 100, 200))
    (seen,) = truth.within(0, 0, 1000)
    assert seen.share == pytest.approx(100 * 200 / 1000**2)
    assert seen.shown == pytest.approx(0.5)
    assert seen.centroid == pytest.approx((0.95, 0.2))


def test_a_record_around_the_field_covers_it_all() -> None:
    (seen,) = truth_of(square("haemorrhage", 0, 0, 3000)).within(1000, 1000, 500)
    assert seen.share == pytest.approx(1.0)
    assert seen.centroid == pytest.approx((0.5, 0.5))


def test_largest_share_comes_first_and_what_lies_outside_is_left_out() -> None:
    truth = truth_of(square("a", 10, 10, 50), square("b", 200, 200, 300), square("c", 2000, 2000, 300))
    assert [seen.record.name for seen in truth.within(0, 0, 1000)] == ["b", "a"]


def test_field_without_a_width_is_refused() -> None:
    with pytest.raises(ValueError, match="width is 0"):
        truth_of().within(0, 0, 0)


@given(
    st.integers(0, 2**32 - 1),
    st.floats(-300, 300),
    st.floats(-300, 300),
    st.floats(20, 400),
    st.floats(50, 600),
)
def test_clipping_keeps_exactly_what_is_in_the_square(
    seed: int, x: float, y: float, radius: float, width: float
) -> None:
    rng = np.random.default_rng(seed)
    outline = blob(rng, (0.0, 0.0), radius, rough=0.1)
    clipped = clip_to_square(outline, x, y, width)
    area = polygon_area(clipped)
    assert area <= min(polygon_area(outline), width**2) * (1 + 1e-6)
    probes = rng.uniform((x, y), (x + width, y + width), (400, 2))
    assert area / width**2 == pytest.approx(inside(outline, probes).mean(), abs=0.13)
    if area > 1:
        cx, cy = polygon_centroid(clipped)
        assert x - 1e-6 <= cx <= x + width + 1e-6
        assert y - 1e-6 <= cy <= y + width + 1e-6


def test_missing_and_broken_truth_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(TruthError, match=r"absent\.truth\.json: no such truth file"):
        load_truth(tmp_path / "absent.truth.json")
    broken = tmp_path / "broken.truth.json"
    broken.write_text('{"painter_version": "1"}')
    with pytest.raises(TruthError, match=r"broken\.truth\.json: not a truth file"):
        load_truth(broken)


def test_missing_nuclei_are_named(tmp_path: Path) -> None:
    path = tmp_path / "test.truth.json"
    path.write_text(truth_of().model_dump_json())
    with pytest.raises(TruthError, match=r"test\.nuclei\.npz: nuclei cannot be read"):
        load_nuclei(path)


def test_truth_survives_its_file(painted: list[PaintedSlide]) -> None:
    truth = load_truth(painted[0].truth_path)
    assert SlideTruth.model_validate_json(truth.model_dump_json()) == truth
