"""Magnifications and micrometres per pixel translate into each other."""

from __future__ import annotations

import pytest

from evaluation.slides import magnification_label, mpp_of_magnification


@pytest.mark.parametrize(("magnification", "mpp"), [(20, 0.5), (5, 2.0), (2.5, 4.0), (40, 0.25)])
def test_the_papers_magnifications(magnification: float, mpp: float) -> None:
    assert mpp_of_magnification(magnification) == mpp
    assert magnification_label(mpp) == f"{magnification:g}x"


def test_a_scanners_figure_is_named_by_its_nearest_tenth() -> None:
    assert magnification_label(0.499) == "20x"
    assert magnification_label(0.2527) == "39.6x"


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf")])
def test_only_positive_numbers(wrong: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        mpp_of_magnification(wrong)
    with pytest.raises(ValueError, match="positive"):
        magnification_label(wrong)
