"""What a feature vector belongs to: a slide's content, a place on it, an encoder's version, a normalisation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Frame:
    """A square place on a slide: level-0 pixel of its top-left corner, side in output pixels, µm per such pixel."""

    x: int
    y: int
    size: int
    mpp: float


@dataclass(frozen=True)
class FeatureKey:
    """What all vectors of a feature file have in common: `normalisation` names the step before the encoder."""

    slide_sha256: str
    encoder: str
    encoder_version: str
    normalisation: str = "none"

    def file_below(self, folder: Path) -> Path:
        """Return where the vectors lie: a folder for each encoder and normalisation, a file for each slide."""
        return folder / f"{self.encoder}-{self.encoder_version}-{self.normalisation}" / f"{self.slide_sha256}.h5"
