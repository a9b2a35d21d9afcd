"""Draws lung: a lattice of alveolar septa with bronchioles, arteries and veins, and its lesions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pipeline.demo.painting import _lung_lesions as lesions
from pipeline.demo.painting._airways import draw_bronchiole
from pipeline.demo.painting._canvas import HALF, Ground, Layer, mix, scale_by
from pipeline.demo.painting._geometry import Points, hexagonal, inside, sample_map, thin
from pipeline.demo.painting._sites import Commission, Relief, well_inside
from pipeline.demo.painting._textures import noise_tile
from pipeline.demo.painting._vessels import NucleusList, draw_artery, draw_vein

ALVEOLUS_SPACING = 118.0
"""Level-0 pixels between alveoli (about 60 µm)."""

BRONCHIOLE_SPACING = 1700.0
VESSEL_SPACING = 1000.0
VEIN_SHARE = 0.6
"""Share of the vessels apart from airways that are veins; the others are small arteries."""

SEPTUM_WIDTH = (5, 9)
"""Half-resolution pixels (µm) of a normal septum."""

OPEN_SHARE = 0.16
"""Share of the septa that are missing, where alveoli open into a duct."""

SEPTUM_E, SEPTUM_H = 56, 13


def paint_lung(work: Commission) -> None:
    """Draw the organ with its lesions on the canvas and record what was drawn."""
    rng, canvas = work.rng, work.canvas
    ground = Ground(canvas.width, canvas.height)
    tissue = work.tissue_mask(ground.layer())
    relief = Relief(ground.layer(), ground.layer(), ground.layer())
    nuclei: NucleusList = []
    airways = hexagonal(rng, canvas.width, canvas.height, BRONCHIOLE_SPACING, jitter=0.25)
    placed = [lesions.Placed(site, site.outline(rng)) for site in work.sites]
    airways = lesions.arrange_airways(airways[well_inside(airways, tissue, 430)], placed)
    for airway in airways:
        draw_bronchiole(work, relief, airway, nuclei)
    _draw_vessels(work, relief, airways, placed, tissue, nuclei)
    cover = relief.cover.array(0.6)

    alveoli = lesions.Alveoli.lay(work, ALVEOLUS_SPACING)
    eosin_layer, hematoxylin_layer, septa = ground.layer(), ground.layer(), ground.layer()
    filled = lesions.fill_alveoli(work, alveoli, eosin_layer, hematoxylin_layer, placed)
    _draw_septa(work, alveoli, septa, placed)
    _draw_pleura(work, septa)
    wall = septa.array(0.9)
    eosin, hematoxylin = eosin_layer.array(1.2), hematoxylin_layer.array(1.2)
    lesions.draw_cells(work, ground, eosin, hematoxylin, filled, placed)
    mix(eosin, wall, SEPTUM_E)
    mix(hematoxylin, wall, SEPTUM_H)
    _capillaries(work, ground, eosin, wall)
    lesions.thicken(work, ground, eosin, hematoxylin, placed)
    mix(eosin, cover, relief.e.array(0.5))
    mix(hematoxylin, cover, relief.h.array(0.5))
    scale_by(eosin, tissue)
    scale_by(hematoxylin, tissue)
    canvas.lay_ground(hematoxylin, eosin, _grain(rng))

    _stamp_septal_nuclei(work, wall, cover, tissue)
    free = (cover < 60) & (tissue > 250)
    for cell_type, points in lesions.cells(filled, placed, rng):
        seen = sample_map(free, points, HALF).astype(bool)
        if cell_type == "fibroblast":
            seen &= sample_map(wall, points, HALF) > 150
        canvas.stamp(cell_type, points[seen])
    shown = np.asarray(relief.e.image)
    for cell_type, points, angles in nuclei:
        seen = (sample_map(shown, points, HALF) > 12) & (sample_map(tissue, points, HALF) > 250)
        canvas.stamp(cell_type, points[seen], None if angles is None else angles[seen])


def _wider(lesion: lesions.Placed) -> Points:
    centre = lesion.outline.mean(axis=0)
    wider: Points = centre + (lesion.outline - centre) * 1.5
    return wider


def _draw_vessels(
    work: Commission,
    relief: Relief,
    airways: Points,
    placed: list[lesions.Placed],
    tissue: NDArray[np.uint8],
    nuclei: NucleusList,
) -> None:
    """Draw veins and small arteries away from airways, lesions and each other."""
    rng = work.rng
    places = hexagonal(rng, work.canvas.width, work.canvas.height, VESSEL_SPACING, jitter=0.3)
    for place in places[well_inside(places, tissue, 160)]:
        near_airway = len(airways) > 0 and np.hypot(*(airways - place).T).min() < 560
        if near_airway or any(inside(_wider(lesion), place[None])[0] for lesion in placed):
            continue
        centre = (float(place[0]), float(place[1]))
        if rng.random() < VEIN_SHARE:
            draw_vein(work, relief, centre, float(rng.uniform(42, 84)), nuclei, "pulmonary vein")
        else:
            draw_artery(work, relief, centre, float(rng.uniform(32, 48)), nuclei, "pulmonary artery")


def _draw_septa(work: Commission, alveoli: lesions.Alveoli, septa: Layer, placed: list[lesions.Placed]) -> None:
    rng = work.rng
    middles = alveoli.edges.mean(axis=1)
    widths = rng.integers(SEPTUM_WIDTH[0], SEPTUM_WIDTH[1] + 1, len(middles))
    present = rng.random(len(middles)) > OPEN_SHARE
    for lesion in placed:
        within = inside(lesion.outline, middles)
        factor = lesion.septum_factor
        widths[within] = (widths[within] * factor * rng.uniform(0.8, 1.2, int(within.sum()))).astype(int)
        present |= within
    for edge, width in zip(alveoli.edges[present], widths[present].tolist(), strict=True):
        length = float(np.hypot(*(edge[1] - edge[0])))
        if length > ALVEOLUS_SPACING * 2:
            continue
        steps = np.linspace(0, 1, 6)[:, None]
        line = edge[0] + steps * (edge[1] - edge[0])
        normal = np.array([-(edge[1] - edge[0])[1], (edge[1] - edge[0])[0]]) / max(length, 1.0)
        bow = np.sin(np.pi * steps) * rng.normal(0, length * 0.09) + rng.normal(0, 2.0, (6, 1)) * (
            steps * (1 - steps) * 4
        )
        septa.line(line + bow * normal, 255, width)
        septa.discs(edge, [width * 0.9, width * 0.9], 255)


def _draw_pleura(work: Commission, septa: Layer) -> None:
    for outline in work.tissue:
        closed = np.vstack([outline, outline[:1]])
        septa.line(closed, 255, 13)


def _capillaries(work: Commission, ground: Ground, eosin: NDArray[np.uint8], wall: NDArray[np.uint8]) -> None:
    rng = work.rng
    cells = hexagonal(rng, work.canvas.width - 20, work.canvas.height - 20, 15.0, jitter=0.5) + 10
    cells = cells[(sample_map(wall, cells, HALF) > 200) & (rng.random(len(cells)) < 0.36)]
    layer = ground.layer()
    layer.discs(cells, np.full(len(cells), 5.2), 230)
    mix(eosin, layer.array(0.4), 98)


def _grain(rng: np.random.Generator) -> NDArray[np.uint8]:
    grain = 0.6 * noise_tile(rng, 0.9) + 0.5 * noise_tile(rng, 2.2) + 0.3 * noise_tile(rng, 40.0)
    return np.asarray(np.clip(128 * (1 + 0.16 * grain), 0, 255), dtype=np.uint8)


def _stamp_septal_nuclei(
    work: Commission, wall: NDArray[np.uint8], cover: NDArray[np.uint8], tissue: NDArray[np.uint8]
) -> None:
    rng, canvas = work.rng, work.canvas
    cells = thin(
        rng.uniform(14, (canvas.width - 14, canvas.height - 14), (canvas.width * canvas.height // 55, 2)),
        18.5,
    )
    cells = cells[(sample_map(wall, cells, HALF) > 170) & (sample_map(tissue, cells, HALF) > 250)]
    cells = cells[sample_map(cover, cells, HALF) < 60]
    cells = cells[rng.random(len(cells)) < 0.9]
    is_pneumocyte = rng.random(len(cells)) < 0.55
    canvas.stamp("pneumocyte", cells[is_pneumocyte])
    canvas.stamp("endothelial cell", cells[~is_pneumocyte])
