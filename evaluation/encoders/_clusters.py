"""Bins of similar ROIs within an organ, and picks from them (VIPER section 3.1: k-means, 20 bins)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 20
"""Bins within each organ (VIPER section 3.1)."""

_MAX_COMPONENTS = 64
"""Principal components kept before k-means: beyond that, distances mostly measure noise."""

_STARTS = 10
_DECIMALS = 9
"""Rows that agree to this many decimals after standardisation are the same image content."""


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of n rows.

    `labels` int64 (n,) number each row's bin from 0, the largest bin first; `distances` float64 (n,) are
    Euclidean distances to the centre of the row's own bin; `centres` float64 (bins, p) and `points` float64 (n, p),
    the rows themselves, lie in the standardised, reduced space in which the distances are measured.
    """

    labels: NDArray[np.int64]
    distances: NDArray[np.float64]
    centres: NDArray[np.float64]
    points: NDArray[np.float64]

    @property
    def count(self) -> int:
        """Number of bins."""
        return int(self.centres.shape[0])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows in each bin, never growing."""
        return tuple(np.bincount(self.labels, minlength=self.count).tolist())


def assign_bins(features: NDArray[np.float32], *, bins: int = BINS, seed: int = 0) -> Bins:
    """Part rows into bins: standardise, reduce to at most 64 principal components, k-means with 10 starts.

    The same rows, bins and seed give the same bins. There are fewer bins than asked where there are fewer
    distinct rows.

    Args:
        features: (n, d), at least one row, finite.
        bins: number of bins, at least 1.
        seed: 0 to 2³² − 1.

    Raises:
        ValueError: an argument is out of range.
    """
    if bins < 1:
        raise ValueError(f"bins {bins} must be at least 1")
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed {seed} must lie between 0 and {2**32 - 1}")
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # With several threads the order of summation varies, and with it the last bits and rarely a label.
    with threadpool_limits(limits=1):
        points = _reduce(standardise(features))
        distinct = len(np.unique(points.round(_DECIMALS), axis=0))
        raw = _k_means(points, min(bins, distinct), seed)
    found, first, inverse, sizes = np.unique(raw, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -sizes))  # largest first, ties by first row
    number = np.empty(len(found), dtype=np.int64)
    number[order] = np.arange(len(found))
    labels = number[inverse]
    centres = np.stack([points[labels == bin_].mean(axis=0) for bin_ in range(len(found))])
    distances = np.linalg.norm(points - centres[labels], axis=1)
    return Bins(labels=labels, distances=distances, centres=centres, points=points)


def nearest(features: NDArray[np.float32], index: int, k: int) -> list[int]:
    """Return the `k` rows most like row `index` (all others if there are fewer), the most alike first.

    Distances are Euclidean after standardisation.

    Raises:
        ValueError: there is no such row, or `k` is negative.
    """
    points = standardise(features)
    _check_rows([index], len(points), k)
    distances = np.linalg.norm(points - points[index], axis=1)
    order = np.lexsort((np.arange(len(points)), distances))
    return [row for row in order.tolist() if row != index][:k]


def farthest(features: NDArray[np.float32], chosen: Sequence[int], k: int) -> list[int]:
    """Return `k` rows that are unlike all chosen ones and unlike each other, the most unlike first.

    Each pick is the row whose nearest chosen or picked row is farthest (Gonzalez's greedy k-centre). With
    nothing chosen the first pick is the row farthest from the mean.

    Raises:
        ValueError: a chosen row does not exist, or `k` is negative.
    """
    points = standardise(features)
    _check_rows(chosen, len(points), k)
    taken = set(chosen)
    if chosen:
        gaps = np.min([np.linalg.norm(points - points[row], axis=1) for row in taken], axis=0)
    else:
        gaps = np.linalg.norm(points, axis=1)
    picked: list[int] = []
    while len(picked) < k and len(taken) < len(points):
        free = [row for row in range(len(points)) if row not in taken]
        row = max(free, key=lambda row: (gaps[row], -row))
        reached = np.linalg.norm(points - points[row], axis=1)
        gaps = np.minimum(gaps, reached) if taken else reached
        picked.append(row)
        taken.add(row)
    return picked


def _check_rows(rows: Sequence[int], count: int, k: int) -> None:
    outside = [row for row in rows if not 0 <= row < count]
    if outside:
        raise ValueError(f"there is no row {outside[0]} among {count}")
    if k < 0:
        raise ValueError(f"k {k} must not be negative")


def standardise(features: NDArray[np.float32]) -> NDArray[np.float64]:
    """Shift and scale each column to mean 0 and standard deviation 1; constant columns become 0."""
    if features.ndim != 2 or features.shape[0] == 0 or features.shape[1] == 0:
        raise ValueError(f"features must be (n, d) with at least one row, not {features.shape}")
    points = features.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if bad.size:
        raise ValueError(f"row {int(bad[0])} of the features holds values that are not finite")
    points -= points.mean(axis=0)
    spread = points.std(axis=0)
    # A column whose spread is rounding noise says nothing and must not be blown up to unit variance.
    constant = spread <= 1e-7 * np.maximum(1.0, np.abs(features).max(axis=0))
    return np.asarray(np.where(constant, 0.0, points / np.where(constant, 1.0, spread)))


def _reduce(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Project standardised points on their first principal components."""
    components = min(_MAX_COMPONENTS, *points.shape)
    if components == points.shape[1]:
        return points
    _, axes = np.linalg.eigh(points.T @ points)  # ascending
    return np.asarray(points @ axes[:, : -components - 1 : -1])


def _k_means(points: NDArray[np.float64], bins: int, seed: int) -> NDArray[np.int64]:
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(bins, n_init=_STARTS, random_state=seed).fit_predict(points), dtype=np.int64)
