"""Draws bronchioles: a folded ciliated epithelium on smooth muscle, with the artery that runs beside."""

from __future__ import annotations

import numpy as np

from pipeline.demo.painting._geometry import Points, blob, inside
from pipeline.demo.painting._sites import Commission, Relief
from pipeline.demo.painting._vessels import NucleusList, draw_artery

EPITHELIUM = 32.0
"""Height of the epithelium in level-0 pixels (16 µm)."""


def draw_bronchiole(work: Commission, relief: Relief, centre: Points, nuclei: NucleusList) -> None:
    """Draw a bronchiole with its artery around a point and record both."""
    rng = work.rng
    radius = float(rng.uniform(150, 225))
    count = 150
    turn = np.linspace(0, 2 * np.pi, count, endpoint=False)
    base = np.hypot(*(blob(rng, (0.0, 0.0), radius, rough=0.06, n=count)).T)
    folds = int(rng.integers(9, 14))
    fold = 7.0 * np.sin(folds * turn + rng.uniform(0, 6.3)) + 4.0 * np.sin((folds + 5) * turn + rng.uniform(0, 6.3))
    unit = np.column_stack([np.cos(turn), np.sin(turn)])
    artery_turn = rng.uniform(0, 2 * np.pi)
    artery_radius = radius * float(rng.uniform(0.36, 0.48))
    artery = centre + (radius + artery_radius + 34) * np.array([np.cos(artery_turn), np.sin(artery_turn)])
    relief.fill(blob(rng, (artery[0], artery[1]), artery_radius + 24, rough=0.08), 6, 30)
    relief.fill(centre + (base + 34)[:, None] * unit, 6, 30)
    muscle = centre + (base + 18)[:, None] * unit
    relief.fill(muscle, 14, 84)
    relief.fill(centre + (base + 4)[:, None] * unit, 5, 34)
    relief.fill(centre + (base + fold)[:, None] * unit, 20, 66)
    lumen = centre + (base + fold - EPITHELIUM)[:, None] * unit
    relief.line(np.vstack([lumen, lumen[:1]]), 20, 88, 4)
    relief.fill(lumen, 0, 2)
    steps = max(12, int(2 * np.pi * radius / 10.5))
    around = np.linspace(0, 2 * np.pi, steps, endpoint=False) + rng.normal(0, 0.01, steps)
    reach = np.interp(around % (2 * np.pi), turn, base + fold, period=2 * np.pi)
    depth = rng.normal(EPITHELIUM * 0.40, 3.0, steps)
    place = centre + (reach - depth)[:, None] * np.column_stack([np.cos(around), np.sin(around)])
    nuclei.append(("bronchiolar epithelial cell", place, around))
    steps = max(8, int(2 * np.pi * radius / 46))
    around = rng.uniform(0, 2 * np.pi, steps)
    reach = np.interp(around, turn, base + 12, period=2 * np.pi)
    place = centre + reach[:, None] * np.column_stack([np.cos(around), np.sin(around)])
    nuclei.append(("smooth muscle cell", place, around + np.pi / 2))
    cells = centre + rng.normal(0, radius + 28, (60, 2))
    away = np.hypot(*(cells - centre).T)
    cells = cells[(away > radius + 20) & (away < radius + 40) & ~inside(muscle, cells)]
    nuclei.append(("fibroblast", cells, None))
    draw_artery(work, relief, (artery[0], artery[1]), artery_radius, nuclei, "pulmonary artery")
    work.recorder.add(
        "anatomy", "bronchiole", muscle, location="peribronchiolar", cell_type="bronchiolar epithelial cell"
    )
