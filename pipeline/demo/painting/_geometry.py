"""Points, outlines and cell mosaics from which tissue is drawn; all coordinates are pixels, x before y."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

Points = NDArray[np.float64]
"""An array of shape (n, 2): x, y."""

BLOCK = 4096
"""Points that are tested against an outline at a time, so that the tables stay in the processor's cache."""


def blob(
    rng: np.random.Generator, centre: tuple[float, float], radius: float, *, rough: float = 0.12, n: int = 48
) -> Points:
    """Return a closed, wavy outline of `n` points around `centre`.

    `rough` is the amplitude of the waves as a share of `radius`; low waves are stronger than high ones, so
    that the outline is lobed rather than ragged.
    """
    angle = np.linspace(0.0, 2 * np.pi, n, endpoint=False)
    wave = np.zeros(n)
    for order in range(2, 8):
        wave += rng.normal() / order * np.cos(order * angle + rng.uniform(0, 2 * np.pi))
    reach = radius * (1.0 + rough * 1.6 * wave)
    return np.column_stack([centre[0] + reach * np.cos(angle), centre[1] + reach * np.sin(angle)])


def hexagonal(rng: np.random.Generator, width: float, height: float, spacing: float, *, jitter: float = 0.25) -> Points:
    """Return points on a hexagonal lattice over width × height, each moved by up to `jitter` × spacing."""
    step_y = spacing * np.sqrt(3) / 2
    rows = np.arange(0.0, height + step_y, step_y)
    columns = np.arange(0.0, width + spacing, spacing)
    x = columns[None, :] + (np.arange(len(rows)) % 2)[:, None] * spacing / 2
    y = np.repeat(rows[:, None], len(columns), axis=1)
    points = np.column_stack([x.ravel(), y.ravel()])
    moved: Points = points + rng.uniform(-jitter, jitter, points.shape) * spacing
    return moved


def lattice_in(rng: np.random.Generator, outline: Points, spacing: float, *, jitter: float = 0.25) -> Points:
    """Return the points of a hexagonal lattice (see `hexagonal`) that lie inside a closed outline."""
    low, high = outline.min(axis=0), outline.max(axis=0)
    points = hexagonal(rng, float(high[0] - low[0]), float(high[1] - low[1]), spacing, jitter=jitter) + low
    kept: Points = points[inside(outline, points)]
    return kept


def thin(points: Points, spacing: float) -> Points:
    """Keep at most one point in each square of side `spacing` (the first one that falls into it)."""
    cells = np.floor(points / spacing).astype(np.int64)
    _, first = np.unique(cells[:, 0] * 1_000_003 + cells[:, 1], return_index=True)
    kept: Points = points[np.sort(first)]
    return kept


def mosaic(points: Points) -> list[Points | None]:
    """Return each point's Voronoi cell as an outline, None where the cell is open at the rim."""
    from scipy.spatial import Voronoi

    diagram = Voronoi(points)
    cells: list[Points | None] = []
    for region in diagram.point_region:
        corners = diagram.regions[region]
        cells.append(diagram.vertices[corners] if corners and -1 not in corners else None)
    return cells


def sample_map(values: NDArray[Scalar], points: Points, scale: float) -> NDArray[Scalar]:
    """Return the values of a map that is `scale` times coarser than the points' pixels, at the points."""
    rows = np.clip((points[:, 1] / scale).astype(np.int64), 0, values.shape[0] - 1)
    columns = np.clip((points[:, 0] / scale).astype(np.int64), 0, values.shape[1] - 1)
    return values[rows, columns]


def inside(outline: Points, points: Points) -> NDArray[np.bool_]:
    """Return for each point whether it lies within the closed outline (even-odd rule)."""
    within = np.zeros(len(points), dtype=bool)
    low, high = outline.min(axis=0), outline.max(axis=0)
    near = np.flatnonzero(np.all((points >= low) & (points <= high), axis=1))
    x0, y0 = outline[:, :1], outline[:, 1:]
    x1, y1 = np.roll(x0, -1), np.roll(y0, -1)
    slope = (x1 - x0) / np.where(y1 == y0, 1.0, y1 - y0)
    for first in range(0, len(near), BLOCK):
        part = near[first : first + BLOCK]
        x, y = points[part, 0], points[part, 1]
        crosses = ((y0 > y) != (y1 > y)) & (x < slope * (y - y0) + x0)
        within[part] = np.count_nonzero(crosses, axis=0) % 2 == 1
    return within
