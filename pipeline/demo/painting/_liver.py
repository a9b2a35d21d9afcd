"""Draws liver: lobules of cell plates around central veins, portal triads between them, and their lesions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.demo.painting import _liver_lesions as lesions
from pipeline.demo.painting._canvas import HALF, Ground, mix, scale_by
from pipeline.demo.painting._geometry import Points, blob, hexagonal, inside, mosaic, sample_map
from pipeline.demo.painting._lobules import TEMPLATE_SIDE, sinusoid_template
from pipeline.demo.painting._portal import draw_triad
from pipeline.demo.painting._sites import Commission, Relief, well_inside
from pipeline.demo.painting._textures import noise_tile
from pipeline.demo.painting._vessels import NucleusList

LOBULE_SPACING = 1180.0
"""Level-0 pixels (0.5 µm) from one central vein to the next."""

CELL_SPACING = 41.0
"""Level-0 pixels from one hepatocyte to the next (about 20 µm)."""

ANCHOR_RIM = 500.0
"""Least level-0 pixels from a vein or triad that carries a lesion to the tissue's edge."""

PORTAL_SHARE = 0.7
"""Share of the lobule corners that hold a portal triad."""

CYTOPLASM_E, CYTOPLASM_H = 64, 9
CORD_SCALE = 4
"""The map of sinusoids has pixels of four level-0 pixels."""


@dataclass
class Parenchyma:
    """The liver cells: centre, outline and state of each."""

    points: Points
    outlines: list[Points | None]
    state: NDArray[np.str_]


def paint_liver(work: Commission) -> None:
    """Draw the organ with its lesions on the canvas and record what was drawn."""
    rng, canvas = work.rng, work.canvas
    ground = Ground(canvas.width, canvas.height)
    tissue = work.tissue_mask(ground.layer())
    beyond = 2 * LOBULE_SPACING
    veins = hexagonal(rng, canvas.width + 2 * beyond, canvas.height + 2 * beyond, LOBULE_SPACING, jitter=0.12)
    veins = veins - beyond
    lobules = mosaic(veins)
    corners = _lobule_corners(lobules, canvas.width, canvas.height)
    portals = corners[rng.random(len(corners)) < PORTAL_SHARE]
    veins = veins[_on_canvas(work, veins, 130.0) & (sample_map(tissue, veins, HALF) > 250)]
    portals = portals[sample_map(tissue, portals, HALF) > 250]
    anchors = (veins[well_inside(veins, tissue, ANCHOR_RIM)], portals[well_inside(portals, tissue, ANCHOR_RIM)])
    placed = [lesions.place(site, *anchors, rng) for site in work.sites]

    cords = _cord_map(work, lobules)
    relief = Relief(ground.layer(), ground.layer(), ground.layer())
    nuclei: NucleusList = []
    for vein in veins:
        if not any(lesion.name == lesions.HAEMORRHAGE and inside(lesion.outline, vein[None])[0] for lesion in placed):
            _draw_central_vein(work, relief, vein, nuclei)
    for portal in portals:
        if not any(lesion.replaces_portal and inside(lesion.outline, portal[None])[0] for lesion in placed):
            draw_triad(work, relief, portal, nuclei)
    for lesion in placed:
        lesions.draw_structures(work, relief, lesion, nuclei)

    cover = relief.cover.array(0.8)
    cells = _make_cells(work, tissue, cover, cords, placed)
    eosin, hematoxylin = _draw_cells(work, ground, cells)
    sinusoids = _sinusoids(cords, eosin.shape)
    for lesion in placed:
        lesions.close_sinusoids(sinusoids, lesion)
    mix(eosin, sinusoids, 10)
    mix(hematoxylin, sinusoids, 2)
    lesions.draw_grounds(work, ground, eosin, hematoxylin, cells, placed)
    mix(eosin, cover, relief.e.array(0.6))
    mix(hematoxylin, cover, relief.h.array(0.6))
    for lesion in placed:
        lesions.draw_over(work, eosin, hematoxylin, lesion)
    scale_by(eosin, tissue)
    scale_by(hematoxylin, tissue)
    canvas.lay_ground(hematoxylin, eosin, _grain(rng))
    _stamp_nuclei(work, cells, cords, cover, tissue, placed, nuclei, np.asarray(relief.e.image))


def _on_canvas(work: Commission, points: Points, rim: float) -> NDArray[np.bool_]:
    size = (work.canvas.width - rim, work.canvas.height - rim)
    within: NDArray[np.bool_] = np.all((points > rim) & (points < size), axis=1)
    return within


def _lobule_corners(lobules: list[Points | None], width: int, height: int) -> Points:
    corners = np.vstack([lobule for lobule in lobules if lobule is not None])
    corners = np.unique(np.round(corners), axis=0)
    keep = (corners > 150).all(axis=1) & (corners < (width - 150, height - 150)).all(axis=1)
    corners = corners[keep]
    order = np.floor(corners / 260.0)
    _, first = np.unique(order, axis=0, return_index=True)
    return corners[np.sort(first)]


def _cord_map(work: Commission, lobules: list[Points | None]) -> NDArray[np.uint8]:
    from PIL import Image, ImageDraw

    rng, canvas = work.rng, work.canvas
    templates = [Image.fromarray(sinusoid_template(rng)) for _ in range(2)]
    size = (-(-canvas.width // CORD_SCALE), -(-canvas.height // CORD_SCALE))
    whole = Image.new("L", size, 0)
    for lobule in lobules:
        if lobule is None:
            continue
        template = templates[int(rng.integers(2))]
        if rng.random() < 0.5:
            template = template.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        turned = template.rotate(float(rng.uniform(0, 360)), Image.Resampling.BILINEAR)
        middle = lobule.mean(axis=0) / CORD_SCALE
        left, top = int(middle[0] - TEMPLATE_SIDE / 2), int(middle[1] - TEMPLATE_SIDE / 2)
        shape = Image.new("L", turned.size, 0)
        local = (lobule / CORD_SCALE - (left, top)).ravel().tolist()
        ImageDraw.Draw(shape).polygon(local, fill=255)
        whole.paste(turned, (left, top), shape)
    return np.array(whole)


def _sinusoids(cords: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    from PIL import Image

    wide = Image.fromarray(cords).resize((shape[1], shape[0]), Image.Resampling.BICUBIC)
    return np.array(wide)


def _draw_central_vein(
    work: Commission,
    relief: Relief,
    vein: Points,
    nuclei: NucleusList,
) -> None:
    rng = work.rng
    radius = float(rng.uniform(62, 108))
    outline = blob(rng, (vein[0], vein[1]), radius, rough=0.07)
    wall = outline + (outline - vein) * (9.0 / radius)
    relief.fill(wall, 10, 62)
    relief.fill(outline, 0, 3)
    count = int(rng.integers(0, 26))
    cells = vein + rng.normal(0, radius * 0.42, (count, 2))
    cells = cells[inside(outline, cells)]
    relief.discs(cells, np.full(len(cells), 6.0), 2, 98)
    turn = rng.uniform(0, 2 * np.pi, int(rng.integers(5, 9)))
    place = vein + (radius + 3) * np.column_stack([np.cos(turn), np.sin(turn)])
    nuclei.append(("endothelial cell", place, turn + np.pi / 2))
    work.recorder.add("anatomy", "central vein", wall, location="centrilobular")


def _make_cells(
    work: Commission,
    tissue: NDArray[np.uint8],
    cover: NDArray[np.uint8],
    cords: NDArray[np.uint8],
    placed: list[lesions.Placed],
) -> Parenchyma:
    from scipy.ndimage import gaussian_filter

    rng, canvas = work.rng, work.canvas
    points = hexagonal(rng, canvas.width, canvas.height, CELL_SPACING, jitter=0.2)
    points = lesions.respace(points, placed, rng)
    smooth = gaussian_filter(cords, 1.5).astype(np.float32)
    for _ in range(2):
        points = points - _uphill(smooth, points) * 5.0
    points = points[_on_canvas(work, points, 4.0)]
    points = points[sample_map(tissue, points, HALF) > 40]
    points = points[sample_map(cover, points, HALF) < 60]
    state = lesions.states(points, placed, rng)
    return Parenchyma(points, mosaic(points), state)


def _uphill(smooth: NDArray[np.float32], points: Points) -> Points:
    reach = 2.0 * CORD_SCALE
    dx = sample_map(smooth, np.add(points, (reach, 0)), CORD_SCALE) - sample_map(
        smooth, points - (reach, 0), CORD_SCALE
    )
    dy = sample_map(smooth, np.add(points, (0, reach)), CORD_SCALE) - sample_map(
        smooth, points - (0, reach), CORD_SCALE
    )
    slope = np.column_stack([dx, dy]).astype(np.float64)
    length = np.linalg.norm(slope, axis=1, keepdims=True)
    direction: Points = slope / np.maximum(length, 12.0)
    return direction


def _draw_cells(work: Commission, ground: Ground, cells: Parenchyma) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    rng = work.rng
    tone_e = np.clip(rng.normal(CYTOPLASM_E, 5, len(cells.points)), 40, 110)
    tone_h = np.full(len(cells.points), float(CYTOPLASM_H))
    lesions.tones(cells.state, tone_e, tone_h, rng)
    eosin, hematoxylin = ground.layer(CYTOPLASM_E - 20), ground.layer(CYTOPLASM_H)
    largest = (CELL_SPACING * 2.2) ** 2
    for outline, state, e, h in zip(
        cells.outlines, cells.state.tolist(), tone_e.tolist(), tone_h.tolist(), strict=True
    ):
        if outline is None or np.prod(np.ptp(outline, axis=0)) > largest:
            continue
        eosin.polygon(outline, int(e), edge=lesions.edge_tone(state, int(e)))
        if h != CYTOPLASM_H:
            hematoxylin.polygon(outline, int(h))
    return eosin.array(0.7), hematoxylin.array(1.0)


def _grain(rng: np.random.Generator) -> NDArray[np.uint8]:
    grain = 0.55 * noise_tile(rng, 0.9) + 0.5 * noise_tile(rng, 2.4) + 0.4 * noise_tile(rng, 40.0)
    return np.asarray(np.clip(128 * (1 + 0.15 * grain), 0, 255), dtype=np.uint8)


def _stamp_nuclei(
    work: Commission,
    cells: Parenchyma,
    cords: NDArray[np.uint8],
    cover: NDArray[np.uint8],
    tissue: NDArray[np.uint8],
    placed: list[lesions.Placed],
    nuclei: NucleusList,
    relief_eosin: NDArray[np.uint8],
) -> None:
    rng, canvas = work.rng, work.canvas
    shown = sample_map(tissue, cells.points, HALF) > 200
    alive = shown & (cells.state != "necrotic") & (cells.state != "lost")
    seen = alive & (rng.random(len(cells.points)) < 0.88)
    middle = cells.points + rng.normal(0, 2.2, cells.points.shape)
    canvas.stamp("hepatocyte", middle[seen])
    double = alive & (rng.random(len(cells.points)) < 0.10)
    canvas.stamp("hepatocyte", middle[double] + rng.normal(0, 1, (int(double.sum()), 2)) + (13.0, 5.0))
    dead = shown & (cells.state == "necrotic") & (rng.random(len(cells.points)) < 0.22)
    canvas.stamp("pyknotic", cells.points[dead], record_as="hepatocyte")

    lining = hexagonal(rng, canvas.width, canvas.height, 34.0, jitter=0.5)
    lining = lining[_on_canvas(work, lining, 12.0)]
    lining = lining[sample_map(cords, lining, CORD_SCALE) > 120]
    lining = lining[sample_map(tissue, lining, HALF) > 250]
    lining = lining[sample_map(cover, lining, HALF) < 60]
    lining = lesions.keep_lining(lining, placed, rng)
    smooth = cords.astype(np.float32)
    slope = _uphill(smooth, lining)
    along = np.arctan2(slope[:, 1], slope[:, 0]) + np.pi / 2
    is_kupffer = rng.random(len(lining)) < 0.35
    canvas.stamp("endothelial cell", lining[~is_kupffer], along[~is_kupffer])
    canvas.stamp("Kupffer cell", lining[is_kupffer], along[is_kupffer])
    for cell_type, points, angles in nuclei:
        seen = (sample_map(relief_eosin, points, HALF) > 12) & (sample_map(tissue, points, HALF) > 250)
        canvas.stamp(cell_type, points[seen], None if angles is None else angles[seen])
    for lesion in placed:
        for cell_type, points in lesions.infiltrating_cells(lesion, rng):
            canvas.stamp(cell_type, points[sample_map(cover, points, HALF) < 60])
