"""A map of rows: two coordinates for each, so that what is alike lies close together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FEW_ROWS = 30
"""Up to so many rows are laid out by their first two principal components; t-SNE has nothing to arrange there."""

MAX_TSNE_ROWS = 5_000
"""Of more rows than this, so many are arranged by t-SNE; each other one lies among those that it is most like."""

_PERPLEXITY = 30.0
_AMONG = 3
"""A row that t-SNE did not arrange lies at the weighted mean of so many that it did."""


def place_on_map(points: NDArray[np.float64], *, seed: int = 0) -> NDArray[np.float64]:
    """Return the place of each row on a map, (n, 2), each coordinate from 0 to 1.

    The same rows and seed give the same map on the same machine. Near means alike; far apart, distances and the
    sizes of groups mean little (as in every t-SNE).

    Args:
        points: (n, p), at least one row, standardised and reduced to principal components.
        seed: 0 to 2³² − 1.

    Source: van der Maaten and Hinton 2008, "Visualizing data using t-SNE"; started from the principal components.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # With several threads the order of summation varies, and the map with it.
    with threadpool_limits(limits=1):
        if len(points) <= FEW_ROWS:
            return _to_unit(_first_two(points))
        rows = np.arange(len(points))
        if len(rows) > MAX_TSNE_ROWS:
            rows = np.sort(np.random.default_rng(seed).choice(len(rows), MAX_TSNE_ROWS, replace=False))
        places = np.empty((len(points), 2))
        places[rows] = _t_sne(points[rows], seed)
        others = np.setdiff1d(np.arange(len(points)), rows)
        if others.size:
            places[others] = _among(points[others], points[rows], places[rows])
    return _to_unit(places)


def _first_two(points: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    places = np.zeros((len(points), 2))
    kept = min(2, len(axes))
    places[:, :kept] = centred @ axes[:kept].T
    return places


def _t_sne(points: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    from sklearn.manifold import TSNE

    # Its own start takes a scale from the data that is nothing where all rows are the same.
    start = _first_two(points)
    spread = start[:, 0].std()
    start = start / spread * 1e-4 if spread > 0 else start
    perplexity = min(_PERPLEXITY, (len(points) - 1) / 3)
    arranged = TSNE(2, perplexity=perplexity, init=start, random_state=seed, n_jobs=1).fit_transform(points)
    return np.asarray(arranged, dtype=np.float64)


def _among(points: NDArray[np.float64], known: NDArray[np.float64], places: NDArray[np.float64]) -> NDArray[np.float64]:
    from sklearn.neighbors import NearestNeighbors

    gaps, nearest = NearestNeighbors(n_neighbors=_AMONG, n_jobs=1).fit(known).kneighbors(points)
    weights = 1 / np.maximum(gaps, 1e-9)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray((places[nearest] * weights[:, :, None]).sum(axis=1))


def _to_unit(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring both coordinates to 0 to 1; where all are equal, they lie in the middle."""
    low, high = places.min(axis=0), places.max(axis=0)
    wide = high > low
    return np.asarray(np.where(wide, (places - low) / np.where(wide, high - low, 1.0), 0.5))
