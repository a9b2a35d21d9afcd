"""Stain normalisation after Macenko et al. 2009 ("A method for normalizing histology slides", ISBI, section 2).

The two stains' directions are found in optical density: the plane of the two largest principal components of the
stained pixels holds them, and they are the robust extremes of the angles in it. Amounts of both stains are scaled to
the target's and put together with the target's directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.stains._protocol import Image, Normalised, StainError, is_blank, is_stained, optical_density

_ANGLE_PERCENTILES = (1.0, 99.0)
"""Robust extremes of the angles (α = 1 in the paper)."""

_AMOUNT_PERCENTILE = 99.0
"""The robust maximum of a stain's amount, to which amounts are scaled."""


_SAME_STAIN = 0.99
"""Cosine of the angle (8°) below which two directions are one stain; haematoxylin and eosin lie 30° to 60° apart."""


@dataclass(frozen=True)
class StainStatistics:
    """Directions of haematoxylin and eosin in optical density (RGB, unit length), and their robust largest amounts."""

    haematoxylin: tuple[float, float, float]
    eosin: tuple[float, float, float]
    amounts: tuple[float, float]

    @property
    def directions(self) -> NDArray[np.float64]:
        """Both directions, (2, 3)."""
        return np.array([self.haematoxylin, self.eosin])

    @classmethod
    def of(cls, image: Image) -> StainStatistics:
        """Measure an image.

        Raises:
            StainError: it holds too little stain, or one only.
        """
        if is_blank(image):
            raise StainError("the image shows no stain to measure")
        directions = _directions(image)
        if not _are_two(directions):
            raise StainError("the image shows one stain only, not two to measure")
        amounts = np.percentile(_amounts(image, directions), _AMOUNT_PERCENTILE, axis=0)
        haematoxylin, eosin = (tuple(float(value) for value in row) for row in directions)
        return cls(haematoxylin, eosin, (float(amounts[0]), float(amounts[1])))  # type: ignore[arg-type]


class Macenko:
    """Normalises to a target's stains."""

    def __init__(self, target: StainStatistics, version: str) -> None:
        self._target = target
        self.version = version

    def apply(self, image: Image) -> Normalised:
        """Return the image with the target's stains; one that holds no two stains unchanged."""
        if is_blank(image):
            return Normalised(image, blank=True)
        directions = _directions(image)
        if not _are_two(directions):
            return Normalised(image, blank=True)
        amounts = _amounts(image, directions)
        largest = np.percentile(amounts, _AMOUNT_PERCENTILE, axis=0)
        if not (largest > 0).all():
            return Normalised(image, blank=True)
        density = (amounts * (np.array(self._target.amounts) / largest)) @ self._target.directions
        values = np.clip(255.0 * np.exp(-density), 0, 255)
        return Normalised(values.reshape(image.shape).astype(np.uint8))


def _directions(image: Image) -> NDArray[np.float64]:
    density = optical_density(image)[is_stained(image)]
    _, axes = np.linalg.eigh(np.cov(density, rowvar=False))  # ascending
    plane = axes[:, [2, 1]]
    # An axis has no sign of its own: both point to where there is stain.
    plane = plane * np.where(plane[0] < 0, -1.0, 1.0)
    projected = density @ plane
    angles = np.arctan2(projected[:, 1], projected[:, 0])
    low, high = np.percentile(angles, _ANGLE_PERCENTILES)
    first, second = (plane @ np.array([np.cos(angle), np.sin(angle)]) for angle in (low, high))
    # Haematoxylin takes more of the red light than eosin does.
    pair = (first, second) if first[0] > second[0] else (second, first)
    directions = np.stack(pair)
    return np.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))


def _are_two(directions: NDArray[np.float64]) -> bool:
    """Say whether two stains were found; amounts of one that is taken for two have no bounds."""
    return bool(np.isfinite(directions).all() and directions[0] @ directions[1] < _SAME_STAIN)


def _amounts(image: Image, directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much of each stain each pixel holds, (pixels, 2), by least squares."""
    density = optical_density(image).reshape(-1, 3)
    return np.asarray(density @ np.linalg.pinv(directions))
