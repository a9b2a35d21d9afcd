"""The liver's lesions: which cells they touch, and what they add to the drawing and to the record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pipeline.demo.painting._canvas import HALF, Ground, Ink, Layer, mix, soft_patch
from pipeline.demo.painting._geometry import Points, blob, inside, lattice_in, thin
from pipeline.demo.painting._portal import draw_duct, draw_triad
from pipeline.demo.painting._sites import Commission, Relief, Site
from pipeline.demo.painting._truth import Distribution
from pipeline.demo.painting._vessels import NucleusList, draw_stroma

if TYPE_CHECKING:
    from pipeline.demo.painting._liver import Parenchyma

NECROSIS = "hepatocellular necrosis"
VACUOLATION = "hepatocellular vacuolation"
HYPERTROPHY = "hepatocellular hypertrophy"
INFILTRATE = "mononuclear cell infiltrate"
DUCTS = "bile duct hyperplasia"
PIGMENT = "pigment deposit"
HAEMORRHAGE = "haemorrhage"

LIVER_LESIONS: tuple[str, ...] = (NECROSIS, VACUOLATION, INFILTRATE, DUCTS, HYPERTROPHY, HAEMORRHAGE, PIGMENT)

FACTS: dict[str, tuple[str | None, Distribution, str | None]] = {
    NECROSIS: ("centrilobular", "zonal", "hepatocyte"),
    HYPERTROPHY: ("centrilobular", "zonal", "hepatocyte"),
    VACUOLATION: ("parenchyma", "focal", "hepatocyte"),
    INFILTRATE: ("parenchyma", "focal", "lymphocyte"),
    DUCTS: ("portal tract", "focal", "bile duct epithelial cell"),
    PIGMENT: (None, "multifocal", None),
    HAEMORRHAGE: (None, "focal", "erythrocyte"),
}
"""Location, distribution and cell type that the record gives."""

SNAPPED_TO_VEIN = (NECROSIS, HYPERTROPHY)
"""Lesions that follow a lobule's zone around its central vein."""

HYPERTROPHY_SPACING = 62.0
"""Level-0 pixels between hypertrophic hepatocytes (31 µm; normal cells lie 20 µm apart)."""


@dataclass(frozen=True)
class Placed:
    """A lesion with its final centre and outline (level-0 pixels)."""

    site: Site
    centre: Points
    outline: Points

    @property
    def name(self) -> str:
        """The lesion's name."""
        return self.site.name

    @property
    def replaces_portal(self) -> bool:
        """Whether the lesion draws the portal tract itself, or leaves none."""
        return self.name in (DUCTS, HAEMORRHAGE)


def place(site: Site, veins: Points, portals: Points, rng: np.random.Generator) -> Placed:
    """Move the site to the structure that its lesion belongs to (where one is near) and outline it."""
    centre = np.asarray(site.centre, dtype=np.float64)
    anchors = veins if site.name in SNAPPED_TO_VEIN else portals if site.name == DUCTS else np.zeros((0, 2))
    if len(anchors):
        centre = anchors[np.argmin(np.hypot(*(anchors - centre).T))]
    return Placed(site, centre, site.outline(rng, (float(centre[0]), float(centre[1]))))


def respace(points: Points, placed: list[Placed], rng: np.random.Generator) -> Points:
    """Replace the cells of hypertrophic zones by fewer, larger ones."""
    for lesion in placed:
        if lesion.name != HYPERTROPHY:
            continue
        wide = lattice_in(rng, lesion.outline, HYPERTROPHY_SPACING, jitter=0.15)
        points = np.vstack([points[~inside(lesion.outline, points)], wide])
    return points


def states(points: Points, placed: list[Placed], rng: np.random.Generator) -> NDArray[np.str_]:
    """Return each cell's state: normal, necrotic, vacuolated, hypertrophic, pigmented or lost."""
    state = np.full(len(points), "normal", dtype="<U12")
    named = {NECROSIS: "necrotic", VACUOLATION: "vacuolated", HYPERTROPHY: "hypertrophic"}
    for lesion in placed:
        within = inside(lesion.outline, points)
        reach = np.hypot(*(points - lesion.centre).T) / lesion.site.radius
        if lesion.name in named:
            hit = within & (rng.random(len(points)) < lesion.site.extent + 0.3 * (reach < 0.6))
            state[hit] = named[lesion.name]
        elif lesion.name == INFILTRATE:
            state[within & (rng.random(len(points)) < 1.05 - reach * 0.75)] = "lost"
        elif lesion.name == HAEMORRHAGE:
            state[within & (rng.random(len(points)) < 0.85)] = "lost"
        elif lesion.name == DUCTS:
            state[within & (reach < 0.75)] = "lost"
    return state


def edge_tone(state: str, eosin: int) -> int:
    """Return the eosin of a cell's border: lost in dead cells, distinct in swollen ones."""
    return eosin if state == "necrotic" else eosin + (44 if state == "hypertrophic" else 26)


def tones(
    state: NDArray[np.str_],
    eosin: NDArray[np.float64],
    hematoxylin: NDArray[np.float64],
    rng: np.random.Generator,
) -> None:
    """Set the cells' stain amounts by state, in place: dead cells are eosinophilic, swollen cells pale."""
    dead = state == "necrotic"
    eosin[dead] = np.clip(rng.normal(100, 12, int(dead.sum())), 70, 150)
    hematoxylin[dead] = 4.0
    swollen = state == "hypertrophic"
    eosin[swollen] = np.clip(rng.normal(58, 4, int(swollen.sum())), 40, 80)
    hematoxylin[swollen] = 8.0
    fatty = state == "vacuolated"
    eosin[fatty] -= 8.0


def close_sinusoids(sinusoids: NDArray[np.uint8], lesion: Placed) -> None:
    """Narrow the sinusoids where swollen or dead cells press on them."""
    strength = {HYPERTROPHY: 210, VACUOLATION: 120, NECROSIS: 110, INFILTRATE: 90}.get(lesion.name)
    if strength is None:
        return
    here, soft = soft_patch(lesion.outline, sinusoids.shape, strength, 6.0)
    mix(sinusoids[here], soft, 0)


def draw_structures(work: Commission, relief: Relief, lesion: Placed, nuclei: NucleusList) -> None:
    """Draw the ducts that a lesion adds, and record the lesion."""
    if lesion.name == DUCTS:
        _proliferated_ducts(work, relief, lesion, nuclei)
    _record(work, lesion)


def infiltrating_cells(lesion: Placed, rng: np.random.Generator) -> list[tuple[str, Points]]:
    """Return the inflammatory cells of a lesion: type and centres, densest in the middle."""
    if lesion.name == INFILTRATE:
        return [
            ("lymphocyte", _cluster(rng, lesion, 0.42, 13.0, 6000)),
            ("macrophage", _cluster(rng, lesion, 0.45, 34.0, 420)),
        ]
    if lesion.name == NECROSIS:
        return [
            ("neutrophil", _cluster(rng, lesion, 0.62, 34.0, 150)),
            ("macrophage", _cluster(rng, lesion, 0.6, 34.0, 60)),
        ]
    return []


def draw_grounds(
    work: Commission,
    ground: Ground,
    eosin: NDArray[np.uint8],
    hematoxylin: NDArray[np.uint8],
    cells: Parenchyma,
    placed: list[Placed],
) -> None:
    """Draw what lies within the cells' layer: fat vacuoles, pale cores of infiltrates, dead-tissue debris."""
    rng = work.rng
    if any(lesion.name == VACUOLATION for lesion in placed):
        holes = ground.layer()
        for x, y in cells.points[cells.state == "vacuolated"]:
            if rng.random() < 0.45:
                holes.discs(np.array([[x, y]]) + rng.normal(0, 3, 2), [float(rng.uniform(11, 16))], 255)
                continue
            count = int(rng.integers(3, 9))
            holes.discs(np.array([[x, y]]) + rng.normal(0, 9.5, (count, 2)), rng.uniform(3.0, 7.5, count), 255)
        clear = holes.array(0.5)
        mix(eosin, clear, 4)
        mix(hematoxylin, clear, 2)
    for lesion in placed:
        if lesion.name != INFILTRATE:
            continue
        inner = lesion.centre + (lesion.outline - lesion.centre) * 0.72
        here, soft = soft_patch(inner, eosin.shape, 190, 14.0)
        mix(eosin[here], soft, 34)
        mix(hematoxylin[here], soft, 14)


def draw_over(work: Commission, eosin: NDArray[np.uint8], hematoxylin: NDArray[np.uint8], lesion: Placed) -> None:
    """Draw what lies over everything: pooled blood and pigment granules."""
    if lesion.name == HAEMORRHAGE:
        _pooled_blood(work, eosin, hematoxylin, lesion)
    elif lesion.name == PIGMENT:
        _pigment(work, lesion)


def keep_lining(points: Points, placed: list[Placed], rng: np.random.Generator) -> Points:
    """Drop sinusoidal cells where a lesion leaves none."""
    for lesion in placed:
        share = {NECROSIS: 0.45, INFILTRATE: 0.5, HAEMORRHAGE: 0.1, HYPERTROPHY: 0.5, DUCTS: 0.6}.get(lesion.name)
        if share is not None:
            points = points[~inside(lesion.outline, points) | (rng.random(len(points)) < share)]
    return points


def _record(work: Commission, lesion: Placed) -> None:
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


def _cluster(rng: np.random.Generator, lesion: Placed, spread: float, spacing: float, most: int) -> Points:
    count = int(most * lesion.site.extent)
    points = lesion.centre + rng.normal(0, lesion.site.radius * spread, (count, 2))
    return thin(points[inside(lesion.outline, points)], spacing)


def _proliferated_ducts(work: Commission, relief: Relief, lesion: Placed, nuclei: NucleusList) -> None:
    rng = work.rng
    tract = lesion.centre + (lesion.outline - lesion.centre) * 0.8
    draw_stroma(work, relief, tract, nuclei)
    lymphocytes = lesion.centre + rng.normal(0, lesion.site.radius * 0.4, (140, 2))
    nuclei.append(("lymphocyte", thin(lymphocytes[inside(tract, lymphocytes)], 22), None))
    radii_taken: list[tuple[Points, float]] = []
    for place in lesion.centre + rng.uniform(-1, 1, (500, 2)) * lesion.site.radius * 0.8:
        radius = float(rng.uniform(23, 38))
        rim = blob(rng, (place[0], place[1]), radius * 1.15, rough=0.0, n=8)
        if not np.all(inside(tract, rim)) or np.hypot(*(place - lesion.centre)) < 130:
            continue
        if all(np.hypot(*(place - other)) > radius + size + 9 for other, size in radii_taken):
            radii_taken.append((place, radius))
            draw_duct(work, relief, (place[0], place[1]), radius, nuclei, record=True)
    draw_triad(work, relief, lesion.centre, nuclei)


def _pooled_blood(work: Commission, eosin: NDArray[np.uint8], hematoxylin: NDArray[np.uint8], lesion: Placed) -> None:
    rng = work.rng
    here, soft = soft_patch(lesion.outline, eosin.shape, 205, 7.0)
    cells = lattice_in(rng, lesion.outline, 12.0, jitter=0.3)
    corner = np.array([here[1].start, here[0].start]) * float(HALF)
    blood = Layer(soft.shape[1], soft.shape[0], 62)
    for tone in (104, 118, 132):
        some = cells[rng.random(len(cells)) < 0.6]
        blood.discs(some - corner, rng.uniform(5.0, 7.0, len(some)), tone)
    mix(eosin[here], soft, blood.array(0.4))
    mix(hematoxylin[here], soft, 3)


def _pigment(work: Commission, lesion: Placed) -> None:
    rng = work.rng
    low = np.floor(lesion.outline.min(axis=0)).astype(int)
    side = (np.ceil(lesion.outline.max(axis=0)).astype(int) - low).tolist()
    amount = np.zeros((side[1], side[0]), dtype=np.float32)
    clumps = thin(rng.uniform(low, low + side, (2200, 2)), 58)
    clumps = clumps[inside(lesion.outline, clumps)]
    clumps = clumps[rng.random(len(clumps)) < lesion.site.extent]
    grid = np.arange(-5, 6)
    for x, y in clumps - low:
        for gx, gy in (x, y) + rng.normal(0, 8, (int(rng.integers(10, 34)), 2)) * (1.3, 0.7):
            column, row = int(gx), int(gy)
            if not (6 <= column < side[0] - 6 and 6 <= row < side[1] - 6):
                continue
            size = float(rng.uniform(1.2, 3.0))
            spot = np.clip(size + 0.5 - np.hypot(grid[None, :] - (gx - column), grid[:, None] - (gy - row)), 0, 1)
            here = amount[row - 5 : row + 6, column - 5 : column + 6]
            np.maximum(here, spot, out=here)
    brown = np.array([0.34, 0.58, 0.95], dtype=np.float32)
    work.canvas.inks.append(Ink(int(low[0]), int(low[1]), amount[..., None] * brown))
