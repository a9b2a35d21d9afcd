"""Packs kidney tubules: which tubule each pixel belongs to, how deep it lies, and how each tubule looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.demo.painting._canvas import HALF
from pipeline.demo.painting._geometry import Points, hexagonal, inside, lattice_in, mosaic, sample_map
from pipeline.demo.painting._sites import Commission

CORTEX_SPACING = 96.0
"""Level-0 pixels between tubule cross-sections (a rat's proximal tubule is about 50 µm wide)."""

MEDULLA_SPACING = 62.0
MEDULLA_STRETCH = 10.0
"""Straight tubules are cells of a mosaic that is drawn out along the medullary axis."""

GAP = 1.6
"""Half the interstitium between two tubules, in half-resolution pixels (micrometres)."""

ROUNDING = 4.5
"""Blur (half-resolution pixels) that rounds a tubule's corners."""

ROUND_AT = 0.70
"""Share at which the blurred cover still counts as tubule; above 0.5, so that narrow gaps stay open."""


@dataclass(frozen=True)
class TubuleLook:
    """How a kind of tubule looks: lengths in µm, stains in amounts × 100."""

    name: str
    wall: float
    fuzz: float
    brush: float
    eosin: float
    hematoxylin: float
    membrane: float
    lumen_e: float
    lumen_rough: float
    nucleus: str
    recorded_nucleus: str
    nucleus_depth: float
    nucleus_spacing: float
    nucleated: float


PROXIMAL_CELL, DISTAL_CELL = "proximal tubular epithelial cell", "distal tubular epithelial cell"

LOOKS: tuple[TubuleLook, ...] = (
    TubuleLook("proximal", 14.5, 2.2, 14, 66, 9, 8, 5, 0.3, PROXIMAL_CELL, PROXIMAL_CELL, 5.8, 23, 0.8),
    TubuleLook("distal", 8.5, 0.5, 0, 44, 9, 8, 3, 0.1, DISTAL_CELL, DISTAL_CELL, 4.6, 18, 0.85),
    TubuleLook("straight", 11.0, 1.2, 8, 66, 9, 8, 4, 0.2, PROXIMAL_CELL, PROXIMAL_CELL, 5.2, 24, 0.75),
    TubuleLook("thick limb", 8.0, 0.4, 0, 52, 9, 6, 3, 0.1, DISTAL_CELL, DISTAL_CELL, 4.4, 20, 0.8),
    TubuleLook("collecting duct", 8.5, 0.3, 0, 26, 6, 12, 2, 0.1, DISTAL_CELL, DISTAL_CELL, 4.6, 17, 0.85),
    TubuleLook("blood vessel", 1.5, 0.4, 0, 50, 6, 6, 100, 0.25, "endothelial cell", "endothelial cell", 1.0, 30, 0.6),
    TubuleLook("necrotic", 15.0, 3.6, 0, 108, 3, 0, 52, 0.75, "pyknotic", PROXIMAL_CELL, 6.5, 24, 0.28),
    TubuleLook("cast", 5.0, 0.6, 0, 50, 12, 14, 94, 0.03, DISTAL_CELL, DISTAL_CELL, 2.8, 24, 0.75),
    TubuleLook("dilated", 4.4, 0.3, 0, 52, 12, 14, 2, 0.1, DISTAL_CELL, DISTAL_CELL, 2.4, 26, 0.75),
    TubuleLook("basophilic", 12.5, 0.5, 0, 26, 46, 26, 3, 0.1, PROXIMAL_CELL, PROXIMAL_CELL, 5.6, 15, 0.95),
)
"""Normal tubules of cortex and outer medulla, then the changed ones."""

KIND: dict[str, int] = {look.name: index for index, look in enumerate(LOOKS)}

CORTEX_MIX: tuple[tuple[str, float], ...] = (("proximal", 0.70), ("distal", 0.30))
MEDULLA_MIX: tuple[tuple[str, float], ...] = (
    ("straight", 0.32),
    ("thick limb", 0.32),
    ("collecting duct", 0.18),
    ("blood vessel", 0.18),
)


class PlacedLesion(Protocol):
    """What the packing needs to know of a lesion."""

    @property
    def outline(self) -> Points:
        """The lesion's outline in level-0 pixels."""

    @property
    def tubule_spacing(self) -> float | None:
        """Distance between its tubules where they are wider than normal."""

    @property
    def gap(self) -> float:
        """Half the interstitium between its tubules in half-resolution pixels."""


@dataclass
class TubuleMap:
    """Tubules by pixel at half resolution: `label` (0 = none), `depth` below the outline in µm.

    `look` is each tubule's index into `LOOKS`, `centres` its centre in level-0 pixels.
    """

    label: NDArray[np.int32]
    depth: NDArray[np.float32]
    look: NDArray[np.int64]
    centres: Points
    spread: NDArray[np.float64]

    def _of(self, values: Sequence[float]) -> NDArray[np.float32]:
        return np.asarray(values, dtype=np.float32)[self.look]

    @property
    def wall(self) -> NDArray[np.float32]:
        """Height of the epithelium by tubule, in µm, with each tubule's own variation."""
        return (self._of([look.wall for look in LOOKS]) * self.spread).astype(np.float32)

    @property
    def fuzz(self) -> NDArray[np.float32]:
        """How ragged the luminal edge is, by tubule."""
        return self._of([look.fuzz for look in LOOKS])

    @property
    def brush(self) -> NDArray[np.float32]:
        """Extra eosin at the luminal edge, by tubule."""
        return self._of([look.brush for look in LOOKS])

    @property
    def membrane(self) -> NDArray[np.float32]:
        """Extra eosin at the basement membrane, by tubule."""
        return self._of([look.membrane for look in LOOKS])

    @property
    def eosin(self) -> NDArray[np.float32]:
        """Eosin of the epithelium, by tubule, with each tubule's own variation."""
        return (self._of([look.eosin for look in LOOKS]) * (0.5 + 0.5 * self.spread)).astype(np.float32)

    @property
    def hematoxylin(self) -> NDArray[np.float32]:
        """Hematoxylin of the epithelium's cytoplasm, by tubule."""
        return self._of([look.hematoxylin for look in LOOKS])

    @property
    def lumen_e(self) -> NDArray[np.float32]:
        """Eosin of what fills the lumen, by tubule."""
        return self._of([look.lumen_e for look in LOOKS])

    @property
    def lumen_rough(self) -> NDArray[np.float32]:
        """How granular the lumen's content is, by tubule."""
        return self._of([look.lumen_rough for look in LOOKS])

    def directions(self, points: Points) -> NDArray[np.float64]:
        """Return the direction (radians) along the tubule walls at the points."""
        step = 3.0 * HALF
        dx = sample_map(self.depth, np.add(points, (step, 0)), HALF) - sample_map(self.depth, points - (step, 0), HALF)
        dy = sample_map(self.depth, np.add(points, (0, step)), HALF) - sample_map(self.depth, points - (0, step), HALF)
        angles: NDArray[np.float64] = np.arctan2(dy, dx).astype(np.float64) + np.pi / 2
        return angles


def lay_tubules(work: Commission, junction: NDArray[np.float64], placed: Sequence[PlacedLesion]) -> TubuleMap:
    """Pack tubules over the whole slide: convoluted above the corticomedullary junction, straight below."""
    rng, canvas = work.rng, work.canvas
    shape = (-(-canvas.height // HALF), -(-canvas.width // HALF))
    cortex, groups = _cortex_cells(work, placed)
    medulla = _medulla_points(work)
    label = np.zeros(shape, dtype=np.int32)
    upper = _draw_labels(shape, mosaic(cortex), groups + 1)
    first = int(groups.max()) + 2
    stretched = [
        None if cell is None else cell * (1.0, MEDULLA_STRETCH) for cell in mosaic(medulla / (1.0, MEDULLA_STRETCH))
    ]
    lower = _draw_labels(shape, stretched, first + np.arange(len(medulla)))
    below = (np.arange(shape[0])[:, None] * HALF) > junction[::HALF][: shape[1]][None, :]
    label = np.where(below, lower, upper).astype(np.int32)
    count = int(label.max()) + 1
    look = np.zeros(count, dtype=np.int64)
    look[1:first] = _draw_kinds(rng, CORTEX_MIX, first - 1)
    look[first:] = _draw_kinds(rng, MEDULLA_MIX, count - first)
    centres = np.zeros((count, 2))
    members = np.bincount(groups + 1, minlength=first)[1:first]
    for axis in (0, 1):
        centres[1:first, axis] = np.bincount(groups, weights=cortex[:, axis]) / np.maximum(members, 1)
    centres[first:] = medulla[: count - first]
    depth = _depths(label, placed)
    spread = np.clip(rng.normal(1.0, 0.13, count), 0.7, 1.35)
    return TubuleMap(label, depth, look, centres, spread)


def _cortex_cells(work: Commission, placed: Sequence[PlacedLesion]) -> tuple[Points, NDArray[np.int64]]:
    rng, canvas = work.rng, work.canvas
    points = hexagonal(rng, canvas.width + 400, canvas.height + 400, CORTEX_SPACING, jitter=0.22) - 200
    single = np.zeros(len(points), dtype=bool)
    for lesion in placed:
        if lesion.tubule_spacing is None:
            continue
        wide = lattice_in(rng, lesion.outline, lesion.tubule_spacing, jitter=0.26)
        outside = ~inside(lesion.outline, points)
        points = np.vstack([points[outside], wide])
        single = np.concatenate([single[outside], np.ones(len(wide), dtype=bool)])
    return points, _joined(rng, points, single)


def _joined(rng: np.random.Generator, points: Points, single: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Join some neighbouring cells into winding tubules; return each cell's tubule number."""
    from scipy.spatial import cKDTree

    _, near = cKDTree(points).query(points, k=5)
    group = np.full(len(points), -1, dtype=np.int64)
    number = 0
    for index in rng.permutation(len(points)).tolist():
        if group[index] >= 0:
            continue
        group[index] = number
        length = 1 if single[index] else int(rng.choice([1, 2, 3], p=[0.5, 0.32, 0.18]))
        here = index
        for _ in range(length - 1):
            free = [int(other) for other in near[here][1:] if group[other] < 0 and not single[other]]
            if not free:
                break
            here = free[int(rng.integers(len(free)))]
            group[here] = number
        number += 1
    return group


def _medulla_points(work: Commission) -> Points:
    squeezed = hexagonal(
        work.rng,
        work.canvas.width + 300,
        (work.canvas.height + 1600) / MEDULLA_STRETCH,
        MEDULLA_SPACING,
        jitter=0.28,
    )
    column = np.round(squeezed[:, 0] / (MEDULLA_SPACING / 2)).astype(np.int64)
    squeezed[:, 1] += (
        work.rng.uniform(-0.5, 0.5, int(column.max() - column.min()) + 1)[column - column.min()] * MEDULLA_SPACING
    )
    return (squeezed - (150, 800 / MEDULLA_STRETCH)) * (1.0, MEDULLA_STRETCH)


def _draw_labels(
    shape: tuple[int, int], cells: Sequence[Points | None], labels: NDArray[np.int64]
) -> NDArray[np.int32]:
    from PIL import Image, ImageDraw

    image = Image.new("I", (shape[1], shape[0]), 0)
    draw = ImageDraw.Draw(image)
    for cell, label in zip(cells, labels.tolist(), strict=True):
        if cell is not None:
            draw.polygon((np.clip(cell, -1e5, 1e5) / HALF).ravel().tolist(), fill=label)
    return np.array(image, dtype=np.int32)


def _draw_kinds(rng: np.random.Generator, mix: Sequence[tuple[str, float]], count: int) -> NDArray[np.int64]:
    kinds = np.array([KIND[name] for name, _ in mix])
    return kinds[rng.choice(len(kinds), max(count, 0), p=[share for _, share in mix])]


def _depths(label: NDArray[np.int32], placed: Sequence[PlacedLesion]) -> NDArray[np.float32]:
    from scipy.ndimage import distance_transform_edt, gaussian_filter

    same = np.ones(label.shape, dtype=bool)
    same[:, 1:] &= label[:, 1:] == label[:, :-1]
    same[1:, :] &= label[1:, :] == label[:-1, :]
    gap = _gap_map(label.shape, placed)
    body = (distance_transform_edt(same) > gap).astype(np.float32)
    rounded = gaussian_filter(body, ROUNDING) > ROUND_AT
    rounded &= body > 0
    depth: NDArray[np.float32] = distance_transform_edt(rounded).astype(np.float32)
    return depth


def _gap_map(shape: tuple[int, ...], placed: Sequence[PlacedLesion]) -> NDArray[np.float32]:
    from PIL import Image, ImageDraw

    image = Image.new("F", (shape[1], shape[0]), GAP)
    draw = ImageDraw.Draw(image)
    for lesion in placed:
        draw.polygon((lesion.outline / HALF).ravel().tolist(), fill=lesion.gap)
    return np.array(image, dtype=np.float32)
