"""Draws blood vessels and connective tissue, which all organs share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pipeline.demo.painting._geometry import Points, blob, inside
from pipeline.demo.painting._sites import Commission, Relief, wavy_fibres

NucleusList = list[tuple[str, Points, NDArray[np.float64] | None]]
"""Nuclei to stamp once the ground lies: cell type, centres, long axes (None = random)."""

STROMA_H, STROMA_E = 9, 40


def draw_stroma(work: Commission, relief: Relief, outline: Points, nuclei: NucleusList) -> None:
    """Fill an outline with loose connective tissue and its fibroblasts."""
    rng = work.rng
    relief.fill(outline, STROMA_H, STROMA_E)
    reach = float(np.ptp(outline, axis=0).mean())
    for fibre in wavy_fibres(rng, outline, int(reach / 2.2), reach * 0.35):
        relief.line(fibre, STROMA_H, int(rng.choice([18, 26, 62, 70])), 2)
    count = max(3, int(reach**2 / 1500))
    low, high = outline.min(axis=0), outline.max(axis=0)
    place = rng.uniform(low, high, (count, 2))
    place = place[inside(outline, place)]
    nuclei.append(("fibroblast", place, None))


def draw_artery(
    work: Commission,
    relief: Relief,
    centre: tuple[float, float],
    radius: float,
    nuclei: NucleusList,
    name: str,
) -> None:
    """Draw an artery: a thick ring of smooth muscle around a small lumen with a wavy inner coat."""
    rng = work.rng
    outer = blob(rng, centre, radius, rough=0.05, n=32)
    inner = centre + (outer - centre) * rng.uniform(0.38, 0.5)
    relief.fill(centre + (outer - centre) * (1 + 5.0 / radius), 8, 38)
    relief.fill(outer, 14, 86)
    for ring in np.linspace(0.55, 0.95, max(2, int(radius / 12))):
        relief.line(centre + (outer - centre) * ring, 14, 66, 1)
    relief.fill(centre + (inner - centre) * (1 + 4.0 / radius), 10, 112)
    relief.fill(inner, 0, 5)
    for ring in np.arange(0.62, 0.96, 18.0 / radius):
        count = max(4, int(2 * np.pi * radius * ring / 34))
        turn = np.linspace(0, 2 * np.pi, count, endpoint=False) + rng.uniform(0, 6.3)
        place = centre + radius * ring * np.column_stack([np.cos(turn), np.sin(turn)])
        nuclei.append(("smooth muscle cell", place, turn + np.pi / 2))
    cells = centre + rng.normal(0, radius * 0.14, (int(radius / 4), 2))
    cells = cells[inside(inner, cells)]
    relief.discs(cells, np.full(len(cells), 6.0), 2, 100)
    work.recorder.add("anatomy", name, outer)


def draw_vein(
    work: Commission,
    relief: Relief,
    centre: tuple[float, float],
    radius: float,
    nuclei: NucleusList,
    name: str,
) -> None:
    """Draw a vein: a wide, slightly flattened lumen with a thin wall and some erythrocytes."""
    rng = work.rng
    outline = blob(rng, centre, radius, rough=0.14, n=36)
    wall = centre + (outline - centre) * (1 + 8.0 / radius)
    relief.fill(wall, 10, 66)
    relief.fill(outline, 0, 3)
    count = int(rng.integers(0, 30) * (radius / 60) ** 2)
    cells = centre + rng.normal(0, radius * 0.35, (count, 2))
    cells = cells[inside(outline, cells)]
    relief.discs(cells, np.full(len(cells), 6.0), 2, 98)
    turn = rng.uniform(0, 2 * np.pi, max(4, int(radius / 12)))
    reach = np.interp(turn, np.linspace(0, 2 * np.pi, 36, endpoint=False), np.hypot(*(outline - centre).T))
    place = centre + (reach + 3)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    nuclei.append(("endothelial cell", place, turn + np.pi / 2))
    work.recorder.add("anatomy", name, wall)
