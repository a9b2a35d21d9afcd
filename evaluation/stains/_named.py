"""The stain normalisations by name, and the targets that they move images to."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from PIL import Image as PillowImage

from evaluation.stains._macenko import Macenko, StainStatistics
from evaluation.stains._protocol import Image, Normalised, Normaliser, StainError
from evaluation.stains._reinhard import ColourStatistics, Reinhard

NORMALISATIONS = ("none", "macenko", "reinhard")

# Measured by this module on the whole of CMU-1-Small-Region.svs, OpenSlide's test slide (CC0).
_STAINS = StainStatistics(
    haematoxylin=(0.8279, 0.4847, 0.2823), eosin=(0.0755, 0.9176, 0.3903), amounts=(2.3187, 2.1199)
)
_COLOURS = ColourStatistics(means=(80.1605, 9.8492, -3.9413), deviations=(25.2187, 15.1698, 8.2922))


class _Unchanged:
    """Leaves images as they are."""

    version = "none"

    def apply(self, image: Image) -> Normalised:
        """Return the image itself."""
        return Normalised(image)


def get_normaliser(name: str, *, target: Path | None = None) -> Normaliser:
    """Return a normalisation by name.

    Args:
        name: one of NORMALISATIONS.
        target: an image whose stains are the target; the built-in reference where there is none.

    Raises:
        StainError: the name is unknown, or the target cannot be read or shows no stain.
    """
    if name not in NORMALISATIONS:
        raise StainError(f"there is no stain normalisation {name!r}: choose one of {', '.join(NORMALISATIONS)}")
    if name == "none":
        return _Unchanged()
    if target is None:
        return Macenko(_STAINS, "macenko") if name == "macenko" else Reinhard(_COLOURS, "reinhard")
    image, digest = _read(target)
    version = f"{name}-{digest[:12]}"
    try:
        if name == "macenko":
            return Macenko(StainStatistics.of(image), version)
        return Reinhard(ColourStatistics.of(image), version)
    except StainError as error:
        raise StainError(f"{target}: {error}; choose an image of stained tissue as the target") from None


def _read(path: Path) -> tuple[Image, str]:
    try:
        data = path.read_bytes()
        with PillowImage.open(path) as opened:
            image = np.asarray(opened.convert("RGB"), dtype=np.uint8)
    except (OSError, SyntaxError, ValueError) as error:
        raise StainError(f"{path}: the target of the stain normalisation cannot be read ({error})") from None
    return image, hashlib.sha256(data).hexdigest()
