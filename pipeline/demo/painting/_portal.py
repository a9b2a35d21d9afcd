"""Draws portal triads: a tract of connective tissue with portal vein, hepatic artery and bile ducts."""

from __future__ import annotations

import numpy as np

from pipeline.demo.painting._geometry import Points, blob, inside
from pipeline.demo.painting._sites import Commission, Relief
from pipeline.demo.painting._vessels import NucleusList, draw_artery, draw_stroma, draw_vein


def draw_duct(
    work: Commission,
    relief: Relief,
    centre: tuple[float, float],
    radius: float,
    nuclei: NucleusList,
    *,
    record: bool,
) -> None:
    """Draw a bile duct: cuboidal epithelium of pale cells with round nuclei around an open lumen."""
    rng = work.rng
    outer = blob(rng, centre, radius, rough=0.08, n=28)
    inner = centre + (outer - centre) * max(0.22, 1 - 19.0 / radius)
    relief.fill(centre + (outer - centre) * (1 + 3.0 / radius), 6, 78)
    relief.fill(outer, 30, 48)
    relief.fill(inner, 1, 4)
    count = max(6, int(2 * np.pi * (radius - 9) / 15.0))
    turn = np.linspace(0, 2 * np.pi, count, endpoint=False) + rng.normal(0, 0.06, count)
    reach = np.hypot(*(outer - centre).T)
    wave = np.interp(turn % (2 * np.pi), np.linspace(0, 2 * np.pi, len(reach), endpoint=False), reach)
    depth = np.minimum(9.5, wave * 0.42)
    place = centre + (wave - depth)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    nuclei.append(("bile duct epithelial cell", place, turn))
    if record:
        work.recorder.add("anatomy", "bile duct", outer, location="portal tract", cell_type="bile duct epithelial cell")


def draw_triad(work: Commission, relief: Relief, portal: Points, nuclei: NucleusList) -> None:
    """Draw a portal triad around a point and record it and its parts."""
    rng = work.rng
    radius = float(rng.uniform(95, 135))
    tract = blob(rng, (portal[0], portal[1]), radius, rough=0.14, n=48)
    draw_stroma(work, relief, tract, nuclei)
    turn = rng.uniform(0, 2 * np.pi)
    away = np.array([np.cos(turn), np.sin(turn)])
    side = np.array([-away[1], away[0]])
    vein = portal - away * radius * 0.25
    draw_vein(work, relief, (vein[0], vein[1]), radius * 0.46, nuclei, "portal vein")
    duct = portal + away * radius * 0.52 + side * radius * 0.22
    draw_duct(work, relief, (duct[0], duct[1]), float(rng.uniform(27, 36)), nuclei, record=True)
    artery = portal + away * radius * 0.5 - side * radius * 0.38
    draw_artery(work, relief, (artery[0], artery[1]), float(rng.uniform(20, 27)), nuclei, "hepatic artery")
    lymphocytes = portal + rng.normal(0, radius * 0.45, (int(rng.integers(2, 7)), 2))
    nuclei.append(("lymphocyte", lymphocytes[inside(tract, lymphocytes)], None))
    work.recorder.add("anatomy", "portal triad", tract, location="portal tract")
