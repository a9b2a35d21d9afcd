"""Draws kidney: cortex with glomeruli and convoluted tubules over outer medulla with straight tubules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pipeline.demo.painting import _kidney_lesions as lesions
from pipeline.demo.painting._canvas import HALF, Ground, mix, scale_by
from pipeline.demo.painting._geometry import Points, hexagonal, inside, sample_map, thin
from pipeline.demo.painting._glomeruli import draw_glomerulus
from pipeline.demo.painting._plan import CORTEX_SHARE
from pipeline.demo.painting._sites import Commission, Relief, well_inside
from pipeline.demo.painting._textures import noise_tile, tiled
from pipeline.demo.painting._tubules import LOOKS, TubuleMap, lay_tubules
from pipeline.demo.painting._vessels import NucleusList, draw_artery, draw_vein

GLOMERULUS_SPACING = 620.0
ARTERY_SPACING = 1500.0
INTERSTITIUM_H, INTERSTITIUM_E = 4, 22


def paint_kidney(work: Commission) -> None:
    """Draw the organ with its lesions on the canvas and record what was drawn."""
    rng, canvas = work.rng, work.canvas
    ground = Ground(canvas.width, canvas.height)
    tissue = work.tissue_mask(ground.layer())
    junction = _junction(work)
    placed = [lesions.Placed(site, site.outline(rng)) for site in work.sites]
    relief = Relief(ground.layer(), ground.layer(), ground.layer())
    nuclei: NucleusList = []
    _record_zones(work, junction)
    _draw_corpuscles(work, relief, placed, tissue, junction, nuclei)
    cover = relief.cover.array(0.7)
    tubules = lay_tubules(work, junction, placed)
    lesions.change_tubules(tubules, placed, rng)
    eosin, hematoxylin = _shade(work, tubules)
    lesions.fill_interstitium(work, tubules, eosin, placed)
    mix(eosin, cover, relief.e.array(0.5))
    mix(hematoxylin, cover, relief.h.array(0.5))
    scale_by(eosin, tissue)
    scale_by(hematoxylin, tissue)
    canvas.lay_ground(hematoxylin, eosin, _grain(rng))
    _stamp_nuclei(work, tubules, cover, tissue, placed)
    shown = np.asarray(relief.e.image)
    for cell_type, points, angles in nuclei:
        keep = (sample_map(shown, points, HALF) > 12) & (sample_map(tissue, points, HALF) > 250)
        canvas.stamp(cell_type, points[keep], None if angles is None else angles[keep])


def _junction(work: Commission) -> NDArray[np.float64]:
    x = np.arange(work.canvas.width)
    base = CORTEX_SHARE * work.canvas.height
    wave = np.zeros(len(x))
    for order in (1, 2, 3):
        wave += work.rng.uniform(30, 90) / order * np.sin(order * x / 700 + work.rng.uniform(0, 6.3))
    return base + wave


def _record_zones(work: Commission, junction: NDArray[np.float64]) -> None:
    for tissue in work.tissue:
        columns = np.clip(tissue[:, 0].astype(int), 0, len(junction) - 1)
        line = junction[columns]
        cortex = np.column_stack([tissue[:, 0], np.minimum(tissue[:, 1], line)])
        medulla = np.column_stack([tissue[:, 0], np.maximum(tissue[:, 1], line)])
        work.recorder.add("anatomy", "cortex", cortex, location="cortex", is_region=True)
        work.recorder.add("anatomy", "outer medulla", medulla, location="outer medulla", is_region=True)


def _draw_corpuscles(
    work: Commission,
    relief: Relief,
    placed: list[lesions.Placed],
    tissue: NDArray[np.uint8],
    junction: NDArray[np.float64],
    nuclei: NucleusList,
) -> None:
    rng, canvas = work.rng, work.canvas
    vessels = hexagonal(rng, canvas.width, canvas.height, ARTERY_SPACING, jitter=0.3)
    vessels = vessels[_in_cortex(vessels, tissue, junction, 260)]
    vessels = vessels[[not any(inside(lesion.outline, v[None])[0] for lesion in placed) for v in vessels]]
    for place in vessels:
        draw_artery(work, relief, (place[0], place[1]), float(rng.uniform(38, 56)), nuclei, "interlobular artery")
        draw_vein(work, relief, (place[0] + 112, place[1] + 20), float(rng.uniform(34, 50)), nuclei, "vein")
    places = hexagonal(rng, canvas.width, canvas.height, GLOMERULUS_SPACING, jitter=0.24)
    places, sclerotic = lesions.arrange_glomeruli(places, placed, rng)
    usable = _in_cortex(places, tissue, junction, 190)
    for place, is_scarred in zip(places[usable], sclerotic[usable], strict=True):
        if len(vessels) and np.hypot(*(vessels + np.array([56, 10]) - place).T).min() < 270:
            continue
        draw_glomerulus(work, relief, place, nuclei, sclerotic=bool(is_scarred))


def _in_cortex(
    points: Points, tissue: NDArray[np.uint8], junction: NDArray[np.float64], rim: float
) -> NDArray[np.bool_]:
    keep = well_inside(points, tissue, rim)
    columns = np.clip(points[:, 0].astype(int), 0, len(junction) - 1)
    keep &= points[:, 1] < junction[columns] - 140
    return keep


def _shade(work: Commission, tubules: TubuleMap) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Turn depth below the tubule's outline into epithelium, brush border, lumen and its contents."""
    rng = work.rng
    depth, label = tubules.depth, tubules.label
    height, width = depth.shape
    rough = tiled(noise_tile(rng, 1.6, size=512), height, width)
    broad = tiled(noise_tile(rng, 5.0, size=512), height, width)
    wall = tubules.wall[label] + 1.3 * broad
    fuzz = tubules.fuzz[label]
    open_share = np.clip((depth - wall + fuzz * rough) / (1.0 + fuzz) + 0.5, 0.0, 1.0)
    border = np.exp(-(((depth - wall) / 2.4) ** 2)) * tubules.brush[label]
    within = np.clip(depth, 0.0, 1.0)
    membrane = np.exp(-(((depth - 0.8) / 1.0) ** 2)) * tubules.membrane[label]
    cell_e = tubules.eosin[label] * (1 + 0.05 * broad) + border + membrane
    filled = tubules.lumen_e[label] * (1 + tubules.lumen_rough[label] * rough)
    eosin = within * (cell_e * (1 - open_share) + np.clip(filled, 0, 250) * open_share)
    eosin += (1 - within) * INTERSTITIUM_E
    lumen_h = np.clip(tubules.lumen_rough[label] * (rough - 1.0) * 40, 0, 90)
    hematoxylin = within * (tubules.hematoxylin[label] * (1 - open_share) + lumen_h * open_share)
    hematoxylin += (1 - within) * INTERSTITIUM_H
    return np.clip(eosin, 0, 250).astype(np.uint8), np.clip(hematoxylin, 0, 250).astype(np.uint8)


def _grain(rng: np.random.Generator) -> NDArray[np.uint8]:
    grain = 0.6 * noise_tile(rng, 0.9) + 0.5 * noise_tile(rng, 2.0) + 0.35 * noise_tile(rng, 40.0)
    return np.asarray(np.clip(128 * (1 + 0.15 * grain), 0, 255), dtype=np.uint8)


def _stamp_nuclei(
    work: Commission,
    tubules: TubuleMap,
    cover: NDArray[np.uint8],
    tissue: NDArray[np.uint8],
    placed: list[lesions.Placed],
) -> None:
    rng, canvas = work.rng, work.canvas
    visible = (cover < 90) & (tissue > 250)
    for look in LOOKS:
        chosen = tubules.look == LOOKS.index(look)
        band = np.abs(tubules.depth - look.nucleus_depth) < 0.8
        rows, columns = np.nonzero(band & visible & chosen[tubules.label])
        order = rng.permutation(len(rows))
        points = np.column_stack([columns[order], rows[order]]).astype(np.float64) * HALF + 0.5
        points = thin(points, look.nucleus_spacing)
        points = points[rng.random(len(points)) < look.nucleated]
        canvas.stamp(look.nucleus, points, record_as=look.recorded_nucleus)
    between = hexagonal(rng, canvas.width - 30, canvas.height - 30, 26.0, jitter=0.5) + 15
    between = between[(sample_map(tubules.depth, between, HALF) < 0.5) & (sample_map(visible, between, HALF))]
    between = between[rng.random(len(between)) < 0.45]
    canvas.stamp("endothelial cell", between, tubules.directions(between))
    for cell_type, points in lesions.infiltrating_cells(tubules, placed, rng):
        canvas.stamp(cell_type, points[sample_map(visible, points, HALF).astype(bool)])
