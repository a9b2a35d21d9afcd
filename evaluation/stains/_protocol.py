"""What a stain normalisation is, and which images hold no stain to normalise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]

STAINED_DENSITY = 0.15
"""Least optical density, as the mean of the channels, of a pixel that counts as stained (Macenko et al. 2009, β)."""

LEAST_STAINED_SHARE = 0.01
"""An image with a smaller share of stained pixels is blank: what is estimated from so few is chance."""


class StainError(ValueError):
    """A normalisation is unknown, or its target shows no stain."""


@dataclass(frozen=True, eq=False)
class Normalised:
    """An image after a normalisation; `blank` says that it was left as it was: no stain, or no two."""

    image: Image
    blank: bool = False


class Normaliser(Protocol):
    """Moves an image's colours to a target's."""

    @property
    def version(self) -> str:
        """Changes whenever the same image would come out otherwise; part of file names."""

    def apply(self, image: Image) -> Normalised:
        """Return the RGB uint8 (height, width, 3) image normalised; a blank one unchanged."""


def optical_density(image: Image) -> NDArray[np.float64]:
    """Return −ln(value / 255) of each channel; black counts as 1."""
    return -np.log(np.maximum(image, 1).astype(np.float64) / 255.0)


def is_stained(image: Image) -> NDArray[np.bool_]:
    """Say of each pixel whether it is stained."""
    return np.asarray(optical_density(image).mean(axis=-1) > STAINED_DENSITY)


def is_blank(image: Image) -> bool:
    """Say whether an image holds too little stain to normalise."""
    return float(is_stained(image).mean()) < LEAST_STAINED_SHARE
