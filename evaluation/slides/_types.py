"""The named types that slides cross module boundaries with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evaluation.slides._backend import OPENSLIDE


class SlideError(Exception):
    """A slide cannot be used: which file, why, and what to do about it."""

    def __init__(self, path: Path, reason: str, remedy: str) -> None:
        super().__init__(f"{path}: {reason} {remedy}")
        self.path = path
        self.reason = reason
        self.remedy = remedy


@dataclass(frozen=True)
class Level:
    """One pyramid level: its size in pixels and how many level-0 pixels one of its pixels spans."""

    width: int
    height: int
    downsample: float


@dataclass(frozen=True)
class SlideInfo:
    """What a slide file says of itself.

    `width` and `height` are level-0 pixels, `mpp` micrometres per level-0 pixel, `content_sha256` a digest of
    the bytes of all files of the slide (the same slide under two names has one digest); it is empty where the
    slide was only opened (`open_slide`) and not checked (`check_slide`), because it reads the whole slide.
    """

    path: Path
    width: int
    height: int
    mpp: float
    mpp_source: str
    levels: tuple[Level, ...]
    vendor: str | None
    objective_power: float | None
    content_sha256: str
    reader: str = OPENSLIDE


@dataclass(frozen=True)
class Region:
    """A square field of view on a slide.

    `x`, `y` are level-0 pixels of its top-left corner, `size` its side in output pixels, `mpp` the
    micrometres per output pixel, `tissue_share` the share (0 to 1) of its area on tissue.
    """

    x: int
    y: int
    size: int
    mpp: float
    tissue_share: float = 1.0
