"""Where lesions and artefacts are put, and what an organ's painter is given to draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.demo.painting._canvas import HALF, Canvas, Layer
from pipeline.demo.painting._geometry import Points, blob, inside, sample_map
from pipeline.demo.painting._truth import Recorder, Severity

GRADE_RADIUS: dict[Severity, float] = {"minimal": 250.0, "slight": 300.0, "moderate": 370.0, "severe": 440.0}
"""Radius of a lesion in level-0 pixels (0.5 µm) by grade: 19 to 58 % of a 1,024-pixel field at 20×."""

GRADE_EXTENT: dict[Severity, float] = {"minimal": 0.55, "slight": 0.7, "moderate": 0.85, "severe": 0.95}
"""Share of the cells (tubules, alveoli) inside a lesion that are affected, by grade."""


@dataclass(frozen=True)
class Site:
    """A lesion or artefact to draw: its name, place (level-0 pixels) and grade."""

    name: str
    centre: tuple[float, float]
    severity: Severity
    is_artefact: bool = False

    @property
    def radius(self) -> float:
        """Radius in level-0 pixels."""
        return GRADE_RADIUS[self.severity]

    @property
    def extent(self) -> float:
        """Share (0 to 1) of the affected units inside."""
        return GRADE_EXTENT[self.severity]

    def outline(self, rng: np.random.Generator, centre: tuple[float, float] | None = None) -> Points:
        """Return a lobed outline of the site's size around `centre` (the site's own unless given)."""
        return blob(rng, centre or self.centre, self.radius, rough=0.10, n=56)


@dataclass(frozen=True)
class Commission:
    """What a painter of an organ works with: the canvas, the tissue outlines and the lesions to draw."""

    canvas: Canvas
    recorder: Recorder
    tissue: tuple[Points, ...]
    sites: tuple[Site, ...]
    rng: np.random.Generator

    def tissue_mask(self, layer: Layer, blur: float = 1.2) -> NDArray[np.uint8]:
        """Return the half-resolution mask of tissue (255 inside)."""
        for outline in self.tissue:
            layer.polygon(outline, 255)
        return layer.array(blur)


class Relief:
    """Structures that lie over the parenchyma: hematoxylin, eosin and cover at half resolution."""

    def __init__(self, h: Layer, e: Layer, cover: Layer) -> None:
        self.h, self.e, self.cover = h, e, cover

    def fill(self, outline: Points, h: int, e: int) -> None:
        """Cover an outline with stain amounts (100 = 1.0)."""
        self.h.polygon(outline, h)
        self.e.polygon(outline, e)
        self.cover.polygon(outline, 255)

    def line(self, points: Points, h: int, e: int, width: int) -> None:
        """Draw a fibre over what is covered."""
        self.h.line(points, h, width)
        self.e.line(points, e, width)

    def strand(self, points: Points, h: int, e: int, width: int) -> None:
        """Draw a fibre that covers what lies under it."""
        self.line(points, h, e, width)
        self.cover.line(points, 255, width)

    def discs(self, points: Points, radii: NDArray[np.float64], h: int, e: int) -> None:
        """Draw discs that cover what lies under them; radii in level-0 pixels."""
        self.h.discs(points, radii, h)
        self.e.discs(points, radii, e)
        self.cover.discs(points, radii, 255)


def well_inside(points: Points, tissue: NDArray[np.uint8], rim: float) -> NDArray[np.bool_]:
    """Return for each point whether tissue (half-resolution mask) also lies `rim` pixels away on four sides."""
    keep = np.ones(len(points), dtype=bool)
    for dx, dy in ((rim, 0), (-rim, 0), (0, rim), (0, -rim)):
        moved = np.add(points, (dx, dy))
        keep &= np.all(moved > 0, axis=1) & (moved[:, 0] < tissue.shape[1] * HALF)
        keep &= (moved[:, 1] < tissue.shape[0] * HALF) & (sample_map(tissue, moved, HALF) > 250)
    return keep


def wavy_fibres(
    rng: np.random.Generator, outline: Points, count: int, length: float, *, direction: float | None = None
) -> list[Points]:
    """Return `count` wavy polylines that begin inside the outline's bounding box and mostly follow it."""
    low, high = outline.min(axis=0), outline.max(axis=0)
    starts = rng.uniform(low, high, (count, 2))
    starts = starts[inside(outline, starts)]
    centre = outline.mean(axis=0)
    fibres = []
    for start in starts:
        around = np.arctan2(*(start - centre)[::-1]) + np.pi / 2
        angle = (around if direction is None else direction) + rng.normal(0, 0.3)
        steps = np.linspace(-0.5, 0.5, 7)[:, None] * length
        sway = np.sin(np.linspace(0, 2 * np.pi, 7) + rng.uniform(0, 6.3))[:, None] * length * 0.06
        unit = np.array([np.cos(angle), np.sin(angle)])
        fibre = start + steps * unit + sway * unit[::-1] * (1, -1)
        if np.all(inside(outline, fibre[[0, 3, 6]])):
            fibres.append(fibre)
    return fibres
