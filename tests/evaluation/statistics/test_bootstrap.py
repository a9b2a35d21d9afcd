"""The bootstrap against scipy's, and what any interval must satisfy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaluation.statistics import _bootstrap, bootstrap_group_means_interval, bootstrap_mean_interval

SCORES = st.lists(st.floats(0, 1), min_size=2, max_size=40)


@pytest.mark.parametrize("size", [5, 60, 400])
def test_agrees_with_scipy(size: int) -> None:
    values = np.random.default_rng(size).beta(2, 3, size)
    ours = bootstrap_mean_interval(values, seed=1)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    # Three standard errors of the difference of two 2.5 % quantiles from 10,000 draws each.
    monte_carlo_error = 0.12 * values.std() / np.sqrt(size)
    assert ours.low == pytest.approx(theirs.low, abs=monte_carlo_error)
    assert ours.high == pytest.approx(theirs.high, abs=monte_carlo_error)


def test_group_means_weigh_equally_whatever_their_sizes() -> None:
    rng = np.random.default_rng(0)
    large, small = rng.normal(0.2, 0.1, 2000), rng.normal(0.8, 0.1, 20)
    interval = bootstrap_group_means_interval([large, small], seed=3)
    middle = (large.mean() + small.mean()) / 2
    # Variance of a mean of two independent means.
    spread = 1.96 * np.sqrt(large.var() / 2000 + small.var() / 20) / 2
    assert interval.low == pytest.approx(middle - spread, abs=0.003)
    assert interval.high == pytest.approx(middle + spread, abs=0.003)


@given(SCORES)
@settings(max_examples=25, deadline=None)
def test_lies_within_the_values_and_around_the_mean(values: list[float]) -> None:
    interval = bootstrap_mean_interval(values, resamples=500)
    tolerance = 1e-12
    assert min(values) - tolerance <= interval.low <= interval.high <= max(values) + tolerance


@given(SCORES, st.integers(0, 5))
@settings(max_examples=20, deadline=None)
def test_the_same_seed_gives_the_same_interval(values: list[float], seed: int) -> None:
    assert bootstrap_mean_interval(values, resamples=200, seed=seed) == bootstrap_mean_interval(
        values, resamples=200, seed=seed
    )


def test_a_large_sample_is_resampled_in_parts_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(5).random(50)
    at_once = bootstrap_mean_interval(values, resamples=1000, seed=4)
    monkeypatch.setattr(_bootstrap, "_DRAWS_AT_ONCE", 50 * 7)
    assert bootstrap_mean_interval(values, resamples=1000, seed=4) == pytest.approx(at_once)


@pytest.mark.parametrize(
    ("values", "message"),
    [([0.5], "at least two"), ([[0.1, 0.2]], "one dimension"), ([0.1, float("nan")], "finite")],
)
def test_refuses_what_has_no_interval(values: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bootstrap_mean_interval(values)


def test_refuses_no_group() -> None:
    with pytest.raises(ValueError, match="at least one group"):
        bootstrap_group_means_interval([])
