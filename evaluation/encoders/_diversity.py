"""How varied a pick is, against random picks of the same size: the Vendi Score and the mean pairwise distance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.encoders._clusters import standardise

RANDOM_PICKS = 1_000
"""Random picks that a pick is compared with."""

_TAIL = 0.025
"""The interval holds 95 % of the random picks."""


@dataclass(frozen=True)
class AgainstRandom:
    """One figure of a pick, and the same figure of random picks of its size.

    `low` and `high` hold the middle 95 % of the random picks, `p` is the one-sided probability that a random pick is
    at least as varied. `values` are those of the random picks.
    """

    picked: float
    mean: float
    low: float
    high: float
    p: float
    values: tuple[float, ...]


@dataclass(frozen=True)
class Diversity:
    """How varied a pick of `size` rows is.

    `vendi` is the Vendi Score: how many quite different pictures the pick is worth, 1 to `size`. `distance` is the mean
    Euclidean distance of every two of its rows, after each feature was standardised over all rows.
    """

    size: int
    vendi: AgainstRandom
    distance: AgainstRandom


def vendi_score(features: NDArray[np.float64]) -> float:
    """Return how many quite different rows the rows are worth: 1 where all are alike, n where no two are.

    It is exp of the entropy of the eigenvalues of K / n, with K the cosine similarities of the rows.

    Args:
        features: (n, d), at least one row, no row without length.

    Source: Friedman and Dieng 2023, "The Vendi Score: a diversity evaluation metric for machine learning", Eq. 1.
    """
    directions = features / np.linalg.norm(features, axis=1, keepdims=True)
    shares = np.linalg.eigvalsh(directions @ directions.T / len(directions))
    shares = shares[shares > 1e-12]
    return float(np.exp(-(shares * np.log(shares)).sum()))


def mean_pairwise_distance(features: NDArray[np.float64]) -> float:
    """Return the mean Euclidean distance of every two rows of (n, d), n at least 2."""
    lengths = (features**2).sum(axis=1)
    squares = np.maximum(lengths[:, None] + lengths[None, :] - 2 * features @ features.T, 0.0)
    n = len(features)
    return float(np.sqrt(squares).sum() / (n * (n - 1)))


def diversity_against_random(
    features: NDArray[np.float32],
    picked: Sequence[int],
    *,
    groups: ArrayLike | None = None,
    random_picks: int = RANDOM_PICKS,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Diversity:
    """Compare a pick with random picks from the same rows, drawn without replacement.

    Args:
        features: (n, d) of all rows that could have been picked.
        picked: at least two of the rows.
        groups: a group for each row, such as its magnification: a random pick has as many rows of each group as the
            pick has, so that a mixture alone makes no difference.
        random_picks: how many, at least 1.
        seed: makes the random picks repeatable.
        progress: told how many random picks are done, of how many.

    Raises:
        ValueError: fewer than two rows were picked, a row does not exist or occurs twice, or all rows are the same.

    The p-value counts the pick itself (Phipson and Smyth 2010), so it is never 0: (1 + random picks at least as
    varied) / (1 + random picks).
    """
    rows = sorted(set(picked))
    if len(rows) != len(picked) or len(rows) < 2:
        raise ValueError(f"a pick needs at least two different rows, not {len(rows)} of {len(picked)}")
    if rows[0] < 0 or rows[-1] >= len(features):
        raise ValueError(f"a picked row is not among the {len(features)} rows")
    if random_picks < 1:
        raise ValueError(f"random_picks is {random_picks}; it must be at least 1")
    points = standardise(features)
    if not points.any():
        raise ValueError("all rows are the same: no pick can be more varied than another")
    rng = np.random.default_rng(seed)
    of_groups = _members(len(points), rows, groups)
    vendi, distance = np.empty(random_picks), np.empty(random_picks)
    for number in range(random_picks):
        drawn = np.concatenate([rng.choice(members, count, replace=False) for members, count in of_groups])
        vendi[number], distance[number] = _figures(points[drawn])
        progress(number + 1, random_picks)
    own_vendi, own_distance = _figures(points[rows])
    return Diversity(len(rows), _against(own_vendi, vendi), _against(own_distance, distance))


def _figures(points: NDArray[np.float64]) -> tuple[float, float]:
    # A row that is the mean in every feature has no direction.
    with_length = points[np.linalg.norm(points, axis=1) > 0]
    return (vendi_score(with_length) if len(with_length) else 1.0), mean_pairwise_distance(points)


def _members(n: int, rows: Sequence[int], groups: ArrayLike | None) -> list[tuple[NDArray[np.int64], int]]:
    """Return the rows of each group and how many of them are picked, of groups that have any."""
    of_row = np.zeros(n, dtype=np.int64) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    if of_row.shape != (n,):
        raise ValueError(f"groups has {of_row.shape} entries for {n} rows")
    counts = np.bincount(of_row[list(rows)])
    return [(np.flatnonzero(of_row == group), int(count)) for group, count in enumerate(counts) if count]


def _against(picked: float, values: NDArray[np.float64]) -> AgainstRandom:
    low, high = np.quantile(values, [_TAIL, 1 - _TAIL])
    # Two ways to sum the same rows differ in the last bits: as varied as the pick is what agrees but for those.
    reached = int((values >= picked - 1e-9).sum())
    return AgainstRandom(
        picked=picked,
        mean=float(values.mean()),
        low=float(low),
        high=float(high),
        p=(1 + reached) / (1 + len(values)),
        values=tuple(values.tolist()),
    )
