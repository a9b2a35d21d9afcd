"""Stain normalisation after Reinhard et al. 2001 ("Color transfer between images", IEEE CG&A 21(5)).

Mean and standard deviation of each channel of a decorrelated colour space are moved to the target's. The space here is
CIE L*a*b*, as pathology's tools have it, where the paper uses lαβ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.stains._protocol import Image, Normalised, StainError, is_blank

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class ColourStatistics:
    """Mean and standard deviation of L*, a* and b* over an image."""

    means: Triple
    deviations: Triple

    @classmethod
    def of(cls, image: Image) -> ColourStatistics:
        """Measure an image.

        Raises:
            StainError: it holds too little stain.
        """
        if is_blank(image):
            raise StainError("the image shows no stain to measure")
        lab = _lab(image)
        return cls(_triple(lab.mean(axis=(0, 1))), _triple(lab.std(axis=(0, 1))))


class Reinhard:
    """Normalises to a target's colour statistics."""

    def __init__(self, target: ColourStatistics, version: str) -> None:
        self._target = target
        self.version = version

    def apply(self, image: Image) -> Normalised:
        """Return the image with the target's colour statistics; a blank one unchanged."""
        if is_blank(image):
            return Normalised(image, blank=True)
        from skimage.color import lab2rgb

        lab = _lab(image)
        spread = lab.std(axis=(0, 1))
        # A channel that does not vary is moved and not stretched.
        factor = np.array(self._target.deviations) / np.where(spread > 0, spread, 1.0)
        moved = (lab - lab.mean(axis=(0, 1))) * factor + np.array(self._target.means)
        moved[..., 0] = np.clip(moved[..., 0], 0, 100)
        values = np.clip(lab2rgb(moved), 0, 1) * 255
        return Normalised(values.round().astype(np.uint8))


def _lab(image: Image) -> NDArray[np.float64]:
    from skimage.color import rgb2lab

    return np.asarray(rgb2lab(image), dtype=np.float64)


def _triple(values: NDArray[np.float64]) -> Triple:
    return float(values[0]), float(values[1]), float(values[2])
