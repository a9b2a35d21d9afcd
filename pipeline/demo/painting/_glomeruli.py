"""Draws renal corpuscles: a tuft of capillary loops in Bowman's space, or a scarred tuft."""

from __future__ import annotations

import numpy as np

from pipeline.demo.painting._geometry import Points, blob, inside, lattice_in, thin
from pipeline.demo.painting._sites import Commission, Relief, wavy_fibres
from pipeline.demo.painting._vessels import NucleusList


def draw_glomerulus(work: Commission, relief: Relief, centre: Points, nuclei: NucleusList, *, sclerotic: bool) -> None:
    """Draw a glomerulus (about 120 µm wide) and record it."""
    rng = work.rng
    radius = float(rng.uniform(104, 128))
    capsule = blob(rng, (centre[0], centre[1]), radius, rough=0.04, n=40)
    rim = centre + (capsule - centre) * (1 + (16.0 if sclerotic else 5.0) / radius)
    relief.fill(rim, 8, 78 if sclerotic else 58)
    relief.fill(capsule, 0, 3)
    if sclerotic:
        _draw_scar(work, relief, centre, radius, nuclei)
    else:
        _draw_tuft(work, relief, centre, radius, nuclei)
    turn = np.linspace(0, 2 * np.pi, 10, endpoint=False) + rng.normal(0, 0.12, 10)
    parietal = centre + (radius + 1.0) * np.column_stack([np.cos(turn), np.sin(turn)])
    nuclei.append(("endothelial cell", parietal, turn + np.pi / 2))
    work.recorder.add("anatomy", "glomerulus", rim, location="cortex", cell_type="glomerular cell")


def _draw_tuft(work: Commission, relief: Relief, centre: Points, radius: float, nuclei: NucleusList) -> None:
    rng = work.rng
    turn = rng.uniform(0, 2 * np.pi)
    pole = centre + 0.10 * radius * np.array([np.cos(turn), np.sin(turn)])
    tuft = blob(rng, (pole[0], pole[1]), radius * 0.80, rough=0.09, n=40)
    relief.fill(tuft, 14, 46)
    low, high = tuft.min(axis=0), tuft.max(axis=0)
    loops = lattice_in(rng, pole + (tuft - pole) * 0.97, 25.0, jitter=0.3)
    size = rng.uniform(8.5, 12.5, len(loops))
    relief.discs(loops, size + 2.5, 10, 66)
    is_filled = rng.random(len(loops)) < 0.35
    relief.discs(loops[~is_filled], size[~is_filled], 2, 14)
    relief.discs(loops[is_filled], size[is_filled], 3, 96)
    cells = rng.uniform(low, high, (330, 2))
    nuclei.append(("glomerular cell", thin(cells[inside(tuft, cells)], 19.5), None))


def _draw_scar(work: Commission, relief: Relief, centre: Points, radius: float, nuclei: NucleusList) -> None:
    rng = work.rng
    tuft = blob(rng, (centre[0], centre[1]), radius * 0.93, rough=0.07, n=40)
    relief.fill(tuft, 5, 92)
    for fibre in wavy_fibres(rng, tuft, 46, radius * 0.7):
        relief.line(fibre, 5, int(rng.choice([70, 112])), 2)
    cells = rng.uniform(tuft.min(axis=0), tuft.max(axis=0), (16, 2))
    nuclei.append(("fibroblast", thin(cells[inside(tuft, cells)], 34), None))
