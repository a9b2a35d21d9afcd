"""Stain normalisation: an image's colours are moved to those of a target before it is encoded."""

from evaluation.stains._macenko import Macenko, StainStatistics
from evaluation.stains._named import NORMALISATIONS, get_normaliser
from evaluation.stains._protocol import Normalised, Normaliser, StainError
from evaluation.stains._reinhard import ColourStatistics, Reinhard

__all__ = [
    "NORMALISATIONS",
    "ColourStatistics",
    "Macenko",
    "Normalised",
    "Normaliser",
    "Reinhard",
    "StainError",
    "StainStatistics",
    "get_normaliser",
]
