"""Bins part what differs, are numbered by size and repeat with their seed; picks follow the distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from evaluation.encoders import assign_bins, farthest, nearest

Features = NDArray[np.float32]


@st.composite
def feature_rows(draw: st.DrawFn) -> Features:
    rng = np.random.default_rng(draw(st.integers(0, 2**30)))
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 90))
    rows = rng.normal(size=(draw(st.integers(1, 12)), d)) * draw(st.sampled_from([1e-3, 1.0, 1e4]))
    return rows[rng.integers(0, len(rows), n)].astype(np.float32)


def groups(*sizes: int, d: int = 20, seed: int = 0) -> tuple[Features, NDArray[np.int64]]:
    """Well-parted groups of rows in mixed order, and the group of each row."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    centres = rng.normal(size=(len(sizes), d)) * 10
    return (centres[group] + rng.normal(size=(len(group), d)) * 0.3).astype(np.float32), group


@settings(max_examples=40, deadline=None)
@given(features=feature_rows(), bins=st.integers(1, 25), seed=st.integers(0, 2**32 - 1))
def test_bins_keep_their_promises(features: Features, bins: int, seed: int) -> None:
    result = assign_bins(features, bins=bins, seed=seed)
    distinct = len(np.unique(features, axis=0))
    assert result.labels.shape == result.distances.shape == (len(features),)
    assert result.count == min(bins, distinct)
    assert sorted(set(result.labels.tolist())) == list(range(result.count))
    assert list(result.sizes) == sorted(result.sizes, reverse=True)
    assert sum(result.sizes) == len(features)
    assert (result.distances >= 0).all()
    again = assign_bins(features, bins=bins, seed=seed)
    np.testing.assert_array_equal(again.labels, result.labels)
    np.testing.assert_array_equal(again.distances, result.distances)


@settings(max_examples=20, deadline=None)
@given(features=feature_rows())
def test_equal_rows_share_a_bin(features: Features) -> None:
    labels = assign_bins(features, bins=5).labels
    for row in np.unique(features, axis=0):
        assert len(set(labels[(features == row).all(axis=1)].tolist())) == 1


def test_parted_groups_become_bins_numbered_by_size() -> None:
    features, group = groups(8, 30, 15)
    result = assign_bins(features, bins=3)
    assert result.sizes == (30, 15, 8)
    assert [set(group[result.labels == bin_].tolist()) for bin_ in range(3)] == [{1}, {2}, {0}]


def test_the_scale_of_a_column_does_not_matter() -> None:
    features, _ = groups(10, 20)
    scaled = features * np.logspace(-3, 3, features.shape[1]).astype(np.float32)
    np.testing.assert_array_equal(assign_bins(features, bins=2).labels, assign_bins(scaled, bins=2).labels)


def test_the_distance_is_that_to_the_own_centre() -> None:
    features, _ = groups(10, 20)
    result = assign_bins(features, bins=2)
    for bin_ in range(2):
        assert result.distances[result.labels == bin_].mean() < np.linalg.norm(result.centres[0] - result.centres[1])


def test_more_like_this_finds_the_group_and_leaves_out_itself() -> None:
    features, group = groups(10, 10)
    alike = nearest(features, 0, 9)
    assert 0 not in alike
    assert {int(group[row]) for row in alike} == {int(group[0])}
    assert len(nearest(features, 0, 100)) == 19


def test_unlike_all_chosen_visits_the_groups_not_seen() -> None:
    features, group = groups(10, 10, 10, 10)
    picks = farthest(features, [0], 3)
    assert {int(group[row]) for row in [0, *picks]} == {0, 1, 2, 3}
    everything = farthest(features, [0, 1], 100)
    assert sorted([*everything, 0, 1]) == list(range(40))
    assert len(farthest(features, [], 4)) == 4
    assert {int(group[row]) for row in farthest(features, [], 4)} == {0, 1, 2, 3}


def test_wrong_arguments_are_named() -> None:
    features, _ = groups(5)
    broken = features.copy()
    broken[3, 1] = np.nan
    for call, message in (
        (lambda: assign_bins(features, bins=0), "bins 0"),
        (lambda: assign_bins(features, seed=-1), "seed -1"),
        (lambda: assign_bins(broken), "row 3"),
        (lambda: assign_bins(features[:0]), "at least one row"),
        (lambda: nearest(features, 5, 1), "no row 5 among 5"),
        (lambda: farthest(features, [-1], 1), "no row -1"),
        (lambda: farthest(features, [], -1), "k -1"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
