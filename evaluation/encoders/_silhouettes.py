"""How well each bin is parted from the others: the mean silhouette of its rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MAX_SILHOUETTE_ROWS = 5_000
"""A silhouette asks for the distances of every two rows; of more rows than this, so many are drawn at random."""


def bin_silhouettes(
    points: NDArray[np.float64], labels: NDArray[np.int64], *, seed: int = 0
) -> tuple[float | None, ...]:
    """Return each bin's mean silhouette, from -1 (nearer to another bin) to 1 (far from every other one).

    The only row of a bin counts 0, as its author defines it. A bin has None where no row of it was drawn, or where
    there is no other bin to be parted from.

    Args:
        points: (n, p), in the space in which the bins were made.
        labels: bin of each row, from 0.
        seed: draws the rows where there are more than `MAX_SILHOUETTE_ROWS`.

    Source: Rousseeuw 1987, "Silhouettes: a graphical aid to the interpretation and validation of cluster analysis".
    """
    from sklearn.metrics import silhouette_samples
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    count = int(labels.max()) + 1
    rows = np.arange(len(labels))
    if len(rows) > MAX_SILHOUETTE_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(len(rows), MAX_SILHOUETTE_ROWS, replace=False))
    drawn = labels[rows]
    if not 1 < len(np.unique(drawn)) < len(drawn):
        # With one bin nothing is beside it; where each row is a bin of its own, each counts 0.
        alone = 0.0 if len(np.unique(drawn)) > 1 else None
        return tuple(alone if (drawn == bin_).any() else None for bin_ in range(count))
    with threadpool_limits(limits=1):
        values = silhouette_samples(points[rows], drawn)
    return tuple(float(values[drawn == bin_].mean()) if (drawn == bin_).any() else None for bin_ in range(count))
