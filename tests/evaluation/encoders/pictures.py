"""Pictures for encoder tests: tissue of chosen stain and grain, drawn by optical density."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

_STAINS = np.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11]])


def tissue(
    seed: int, *, nuclei: int = 150, radius: float = 6.0, eosin: float = 0.25, size: int = 512
) -> NDArray[np.uint8]:
    """Round nuclei at random places on an eosinophilic ground."""
    rng = np.random.default_rng(seed)
    seeds = np.zeros((size, size))
    seeds[rng.integers(0, size, nuclei), rng.integers(0, size, nuclei)] = 1
    haematoxylin = 0.05 + 0.6 * (ndimage.distance_transform_edt(seeds == 0) < radius)
    ground = eosin * (1 + 0.2 * ndimage.gaussian_filter(rng.normal(size=(size, size)), 3))
    density = haematoxylin[..., None] * _STAINS[0] + ground[..., None] * _STAINS[1]
    return np.clip(245 * 10.0**-density, 0, 255).astype(np.uint8)
