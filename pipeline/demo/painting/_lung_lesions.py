"""The lung's lesions: what fills the alveoli, what thickens the septa, and what surrounds the airways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.demo.painting._canvas import Ground, Layer, mix, soft_patch
from pipeline.demo.painting._geometry import Points, hexagonal, inside, lattice_in, mosaic, thin
from pipeline.demo.painting._sites import Commission, Site, wavy_fibres
from pipeline.demo.painting._truth import Distribution

HISTIOCYTOSIS = "alveolar histiocytosis"
OEDEMA = "alveolar oedema"
SUPPURATION = "suppurative inflammation"
FIBROSIS = "interstitial fibrosis"
HAEMORRHAGE = "alveolar haemorrhage"
INFILTRATE = "mononuclear cell infiltrate"

LUNG_LESIONS: tuple[str, ...] = (HISTIOCYTOSIS, OEDEMA, SUPPURATION, FIBROSIS, HAEMORRHAGE, INFILTRATE)

FACTS: dict[str, tuple[str, Distribution, str | None]] = {
    HISTIOCYTOSIS: ("alveolus", "focal", "alveolar macrophage"),
    OEDEMA: ("alveolus", "focal", None),
    SUPPURATION: ("alveolus", "focal", "neutrophil"),
    FIBROSIS: ("interstitium", "focal", "fibroblast"),
    HAEMORRHAGE: ("alveolus", "focal", "erythrocyte"),
    INFILTRATE: ("peribronchiolar", "focal", "lymphocyte"),
}
"""Location, distribution and cell type that the record gives."""

AIRWAY_REACH = 420.0
"""Level-0 pixels that a bronchiole and its artery take up around the bronchiole's centre."""

FILLING: dict[str, tuple[int, int]] = {
    OEDEMA: (36, 1),
    SUPPURATION: (24, 4),
    HAEMORRHAGE: (46, 2),
    HISTIOCYTOSIS: (7, 1),
    FIBROSIS: (4, 0),
}
"""Eosin and hematoxylin (amount × 100) of the fluid in the air spaces."""

MACROPHAGE_RADIUS = 14.5
"""Level-0 pixels (a macrophage about 15 µm wide)."""


@dataclass(frozen=True)
class Placed:
    """A lesion with its outline (level-0 pixels)."""

    site: Site
    outline: Points

    @property
    def name(self) -> str:
        """The lesion's name."""
        return self.site.name

    @property
    def septum_factor(self) -> float:
        """How much wider the septa are than normal ones."""
        return {FIBROSIS: 3.8, SUPPURATION: 1.5, HISTIOCYTOSIS: 1.25}.get(self.name, 1.0)


@dataclass(frozen=True)
class Alveoli:
    """The lattice: centres and outlines of the air spaces, and the septa between them (n, 2 ends, x and y)."""

    centres: Points
    outlines: list[Points | None]
    edges: NDArray[np.float64]

    @classmethod
    def lay(cls, work: Commission, spacing: float) -> Alveoli:
        """Lay alveoli over the whole slide."""
        from scipy.spatial import Voronoi

        points = hexagonal(work.rng, work.canvas.width + 400, work.canvas.height + 400, spacing, jitter=0.36) - 200
        diagram = Voronoi(points)
        ridges = np.asarray([ridge for ridge in diagram.ridge_vertices if -1 not in ridge])
        return cls(points, mosaic(points), diagram.vertices[ridges])


def arrange_airways(airways: Points, placed: list[Placed]) -> Points:
    """Keep bronchioles out of lesions, but for the one that an infiltrate surrounds."""
    for lesion in placed:
        centre = np.asarray(lesion.site.centre)
        airways = airways[np.hypot(*(airways - centre).T) > lesion.site.radius + AIRWAY_REACH]
        if lesion.name == INFILTRATE:
            airways = np.vstack([airways, centre])
    return airways


def fill_alveoli(
    work: Commission, alveoli: Alveoli, eosin: Layer, hematoxylin: Layer, placed: list[Placed]
) -> dict[int, list[Points]]:
    """Fill air spaces with what a lesion puts there and record the lesions; return the spaces by lesion."""
    rng = work.rng
    filled: dict[int, list[Points]] = {}
    for number, lesion in enumerate(placed):
        hit = inside(lesion.outline, alveoli.centres) & (rng.random(len(alveoli.centres)) < lesion.site.extent)
        tone_e, tone_h = FILLING.get(lesion.name, (0, 0))
        tone_e = max(0, int(rng.normal(tone_e, tone_e * 0.08)))
        spaces = [alveoli.outlines[index] for index in np.flatnonzero(hit)]
        filled[number] = [space for space in spaces if space is not None]
        for space in filled[number]:
            eosin.polygon(space, tone_e)
            hematoxylin.polygon(space, tone_h)
        location, distribution, cell_type = FACTS[lesion.name]
        work.recorder.add(
            "lesion",
            lesion.name,
            lesion.outline,
            severity=lesion.site.severity,
            distribution=distribution,
            location=location,
            cell_type=cell_type,
        )
    return filled


def _packed(rng: np.random.Generator, space: Points, spacing: float, share: float, shrink: float) -> Points:
    middle = space.mean(axis=0)
    points = lattice_in(rng, middle + (space - middle) * shrink, spacing, jitter=0.22)
    kept: Points = points[rng.random(len(points)) < share]
    return kept


def draw_cells(
    work: Commission,
    ground: Ground,
    eosin: NDArray[np.uint8],
    hematoxylin: NDArray[np.uint8],
    filled: dict[int, list[Points]],
    placed: list[Placed],
) -> None:
    """Draw the bodies of macrophages and erythrocytes that lie in the air spaces."""
    rng = work.rng
    for number, lesion in enumerate(placed):
        if lesion.name == HAEMORRHAGE:
            layer = ground.layer()
            for space in filled[number]:
                cells = _packed(rng, space, 12.5, 0.88, 0.98)
                layer.discs(cells, rng.uniform(4.8, 6.4, len(cells)), 255)
            mix(eosin, layer.array(0.4), 112)
            mix(hematoxylin, layer.array(0.4), 1)
        elif lesion.name == HISTIOCYTOSIS:
            edge, body = ground.layer(), ground.layer()
            for index, space in enumerate(filled[number]):
                cells = _packed(rng, space, 2.05 * MACROPHAGE_RADIUS, 0.9, 0.86)
                filled[number][index] = cells
                size = MACROPHAGE_RADIUS * rng.uniform(0.85, 1.15, len(cells))
                edge.discs(cells, size, 255)
                body.discs(cells, size - 3.0, 255)
            mix(eosin, edge.array(0.5), 62)
            mix(eosin, body.array(0.8), 36)
            mix(hematoxylin, body.array(0.8), 9)


def thicken(
    work: Commission,
    ground: Ground,
    eosin: NDArray[np.uint8],
    hematoxylin: NDArray[np.uint8],
    placed: list[Placed],
) -> None:
    """Draw collagen where septa are fibrotic, and the ground in which cells gather around an airway."""
    rng = work.rng
    for lesion in placed:
        if lesion.name == FIBROSIS:
            dark, light = ground.layer(), ground.layer()
            for fibre in wavy_fibres(rng, lesion.outline, 1500, 120.0):
                (dark if rng.random() < 0.6 else light).line(fibre, 170, 2)
            in_wall = eosin > 40
            for layer, tone in ((dark, 96), (light, 42)):
                fibres = layer.array(0.5)
                fibres[~in_wall] = 0
                mix(eosin, fibres, tone)
        elif lesion.name == INFILTRATE:
            here, soft = soft_patch(lesion.outline, eosin.shape, 220, 9.0)
            mix(eosin[here], soft, 34)
            mix(hematoxylin[here], soft, 12)


def cells(filled: dict[int, list[Points]], placed: list[Placed], rng: np.random.Generator) -> list[tuple[str, Points]]:
    """Return the nuclei that a lesion brings: type and centres."""
    found: list[tuple[str, Points]] = []
    for number, lesion in enumerate(placed):
        low, high = lesion.outline.min(axis=0), lesion.outline.max(axis=0)
        if lesion.name == SUPPURATION:
            for space in filled[number]:
                found.append(("neutrophil", _packed(rng, space, 18.0, 0.78, 0.95)))
        elif lesion.name == HISTIOCYTOSIS:
            for bodies in filled[number]:
                found.append(("alveolar macrophage", bodies + rng.normal(0, 3.0, bodies.shape)))
        elif lesion.name in (FIBROSIS, INFILTRATE):
            cell_type, spacing = ("fibroblast", 27.0) if lesion.name == FIBROSIS else ("lymphocyte", 13.0)
            points = thin(rng.uniform(low, high, (26_000, 2)), spacing)
            points = points[inside(lesion.outline, points)]
            reach = np.hypot(*(points - lesion.outline.mean(axis=0)).T) / lesion.site.radius
            if lesion.name == INFILTRATE:
                points = points[rng.random(len(points)) < 1.35 - 0.6 * reach]
            else:
                points = points[rng.random(len(points)) < 0.7]
            found.append((cell_type, points))
    return found
