"""Silhouettes, the map, quotas and the diversity of a pick."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import silhouette_score

from evaluation.encoders import (
    _map,
    _silhouettes,
    assign_bins,
    bin_silhouettes,
    diversity_against_random,
    mean_pairwise_distance,
    place_on_map,
    spread_quota,
    vendi_score,
)
from tests.evaluation.encoders.test_clusters import groups


def test_a_silhouette_says_how_far_a_bin_is_from_the_others() -> None:
    features, _ = groups(30, 20, 10)
    bins = assign_bins(features, bins=3)
    values = bin_silhouettes(bins.points, bins.labels)
    assert all(value is not None and value > 0.8 for value in values)
    weighted = sum((value or 0.0) * size for value, size in zip(values, bins.sizes, strict=True)) / 60
    assert weighted == pytest.approx(silhouette_score(bins.points, bins.labels))
    too_many = assign_bins(features, bins=12)
    assert min(value or 0.0 for value in bin_silhouettes(too_many.points, too_many.labels)) < 0.5


def test_a_bin_that_has_nothing_beside_it_has_no_silhouette(monkeypatch: pytest.MonkeyPatch) -> None:
    features, _ = groups(6, 4)
    one = assign_bins(features, bins=1)
    assert bin_silhouettes(one.points, one.labels) == (None,)
    each = assign_bins(features, bins=10)
    assert bin_silhouettes(each.points, each.labels) == (0.0,) * 10
    many, _ = groups(200, 200, 1)
    bins = assign_bins(many, bins=3)
    monkeypatch.setattr(_silhouettes, "MAX_SILHOUETTE_ROWS", 20)
    drawn = bin_silhouettes(bins.points, bins.labels, seed=3)
    assert drawn == bin_silhouettes(bins.points, bins.labels, seed=3)
    assert drawn[2] is None, "its only row was not drawn"


@pytest.mark.parametrize(("rows", "most"), [(1, 5_000), (2, 5_000), (25, 5_000), (120, 5_000), (120, 60)])
def test_a_map_keeps_groups_together_and_repeats(rows: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_map, "MAX_TSNE_ROWS", most)
    features, group = groups(*([rows // 2, rows - rows // 2] if rows > 1 else [1]))
    points = assign_bins(features, bins=min(2, rows)).points
    places = place_on_map(points, seed=5)
    assert places.shape == (rows, 2)
    assert ((places >= 0) & (places <= 1)).all()
    np.testing.assert_array_equal(places, place_on_map(points, seed=5))
    if rows > 2:
        apart = np.linalg.norm(places[group == 0].mean(axis=0) - places[group == 1].mean(axis=0))
        wide = np.linalg.norm(places[group == 0] - places[group == 0].mean(axis=0), axis=1).mean()
        assert apart > 2 * wide


def test_rows_that_are_all_the_same_have_a_map() -> None:
    for rows in (3, 40):
        assert np.isfinite(place_on_map(np.zeros((rows, 4)))).all()


@given(total=st.integers(0, 400), sizes=st.lists(st.integers(0, 60), max_size=30))
def test_a_quota_is_spread_as_evenly_as_the_bins_allow(total: int, sizes: list[int]) -> None:
    quotas = spread_quota(total, sizes)
    assert sum(quotas) == min(total, sum(sizes))
    assert all(quota <= size for quota, size in zip(quotas, sizes, strict=True))
    not_full = [quota for quota, size in zip(quotas, sizes, strict=True) if quota < size]
    if not_full:
        assert max(not_full) - min(not_full) <= 1
        assert max(quotas) <= max(not_full) + 1


def test_a_quota_refuses_what_is_negative() -> None:
    with pytest.raises(ValueError, match="negative"):
        spread_quota(-1, [3])


def test_the_vendi_score_counts_what_differs() -> None:
    one = np.tile([1.0, 2.0, 3.0], (5, 1))
    assert vendi_score(one) == pytest.approx(1.0)
    assert vendi_score(np.eye(7)) == pytest.approx(7.0)
    assert vendi_score(np.repeat(np.eye(3), 4, axis=0)) == pytest.approx(3.0)
    # Two directions at 60 degrees: the eigenvalues of K / n are 3/4 and 1/4.
    pair = np.array([[1.0, 0.0], [0.5, np.sqrt(0.75)]])
    assert vendi_score(pair) == pytest.approx(np.exp(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25))))


def test_the_mean_distance_is_that_of_every_two_rows() -> None:
    assert mean_pairwise_distance(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])) == pytest.approx(10 / 3)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**30))
def test_a_random_pick_is_no_more_varied_than_random_picks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(60, 6)).astype(np.float32)
    picked = rng.choice(60, 8, replace=False).tolist()
    found = diversity_against_random(features, picked, random_picks=99, seed=1)
    for figure in (found.vendi, found.distance):
        assert figure.low <= figure.mean <= figure.high
        assert figure.p == (1 + sum(value >= figure.picked - 1e-9 for value in figure.values)) / 100
        assert 0 < figure.p <= 1
    assert 1 <= found.vendi.picked <= 8


def test_a_pick_across_the_bins_is_more_varied_than_random_picks() -> None:
    """Most rows look alike, as on a slide: random picks see mostly them."""
    features, group = groups(200, 12, 10, 8, 6, 4)
    bins = assign_bins(features, bins=6)
    members = [np.flatnonzero(bins.labels == bin_) for bin_ in range(6)]
    picked = [int(rows[np.argmin(bins.distances[rows])]) for rows in members]
    found = diversity_against_random(features, picked, random_picks=200)
    assert found.vendi.picked > found.vendi.high
    assert found.distance.picked > found.distance.high
    assert found.vendi.p == found.distance.p == 1 / 201
    alike = np.flatnonzero(group == 0)[:6].tolist()
    assert diversity_against_random(features, alike, random_picks=200).distance.p > 0.5


def test_random_picks_keep_the_mixture_of_magnifications() -> None:
    """Rows of two magnifications differ by nothing else: who picks half and half is no more varied than chance."""
    rng = np.random.default_rng(0)
    group: NDArray[np.int64] = np.repeat([0, 1], [190, 10])
    features = (rng.normal(size=(200, 5)) * 0.2 + 8 * group[:, None]).astype(np.float32)
    picked = [*range(5), *range(190, 195)]
    assert diversity_against_random(features, picked, random_picks=300).distance.p < 0.01
    assert diversity_against_random(features, picked, groups=group, random_picks=300).distance.p > 0.05


@pytest.mark.parametrize(
    ("picked", "said"),
    [([3], "at least two"), ([3, 3], "at least two"), ([1, 99], "not among"), ([-1, 2], "not among")],
)
def test_a_pick_that_cannot_be_measured_is_refused(picked: list[int], said: str) -> None:
    features = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
    with pytest.raises(ValueError, match=said):
        diversity_against_random(features, picked)


def test_pictures_that_are_all_the_same_have_no_diversity() -> None:
    with pytest.raises(ValueError, match="all rows are the same"):
        diversity_against_random(np.ones((10, 3), dtype=np.float32), [1, 2])
