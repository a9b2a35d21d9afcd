"""Which ROIs lie within which others, across magnifications, in level-0 micrometres of their slide."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from db.tables import Roi, Slide
from pipeline.roi_places import side_on_slide

ROUNDING_PX = 1.0
"""Corners are whole level-0 pixels: so much may a field stick out of the one that holds it."""

_ROWS = 512
"""Fields that are compared with all others of their slide at a time, so that memory stays small."""


@dataclass(frozen=True)
class Held:
    """The ids of the ROIs that a ROI lies within, and of those that it holds; ids in the order given."""

    within: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()


def containment(rows: Iterable[tuple[Roi, Slide]]) -> dict[str, Held]:
    """Return for each ROI which of the others it lies within, and which it holds.

    One holds another where the whole field of the other lies in its own and is smaller; the same field at two
    magnifications holds neither. Images without a resolution lie on no slide with others.
    """
    by_slide: dict[str, list[tuple[Roi, Slide]]] = defaultdict(list)
    for row in rows:
        by_slide[row[1].id].append(row)
    found: dict[str, Held] = {}
    for several in by_slide.values():
        found.update(_on_one_slide(_Fields.of(several)))
    return found


def containment_of(row: tuple[Roi, Slide], others: Sequence[tuple[Roi, Slide]]) -> Held:
    """Return which of the others on its slide one ROI lies within, and which it holds."""
    one, all_ = _Fields.of([row]), _Fields.of([other for other in others if other[1].id == row[1].id])
    if not all_.ids:
        return Held()
    return Held(within=all_.named(_holds(all_, one)[:, 0]), holds=all_.named(_holds(one, all_)[0]))


@dataclass(frozen=True)
class _Fields:
    """Fields of one slide: ids, top-left corners (n, 2), sides (n,) and the rounding of corners, in micrometres."""

    ids: tuple[str, ...]
    corners: NDArray[np.float64]
    sides: NDArray[np.float64]
    slack: float

    @classmethod
    def of(cls, rows: Sequence[tuple[Roi, Slide]]) -> _Fields:
        mpp = (rows[0][1].mpp if rows else None) or 1.0
        corners = np.array([(roi.x, roi.y) for roi, _ in rows], dtype=np.float64).reshape(-1, 2)
        sides = np.array([side_on_slide(slide, size=roi.size, mpp=roi.mpp) for roi, slide in rows], dtype=np.float64)
        return cls(tuple(roi.id for roi, _ in rows), corners * mpp, sides * mpp, ROUNDING_PX * mpp)

    def part(self, rows: slice) -> _Fields:
        return _Fields(self.ids[rows], self.corners[rows], self.sides[rows], self.slack)

    def named(self, chosen: NDArray[np.bool_]) -> tuple[str, ...]:
        return tuple(self.ids[index] for index in np.flatnonzero(chosen))


def _on_one_slide(fields: _Fields) -> dict[str, Held]:
    within: dict[int, list[str]] = defaultdict(list)
    holds: list[tuple[str, ...]] = []
    for first in range(0, len(fields.ids), _ROWS):
        for outer, held in enumerate(_holds(fields.part(slice(first, first + _ROWS)), fields), start=first):
            holds.append(fields.named(held))
            for inner in np.flatnonzero(held):
                within[int(inner)].append(fields.ids[outer])
    return {name: Held(tuple(within[index]), holds[index]) for index, name in enumerate(fields.ids)}


def _holds(outer: _Fields, inner: _Fields) -> NDArray[np.bool_]:
    """Return bool (n outer, m inner): whether the outer field holds the inner one."""
    low, high = outer.corners[:, None], (outer.corners + outer.sides[:, None])[:, None]
    starts = (inner.corners[None] >= low - outer.slack).all(axis=2)
    ends = ((inner.corners + inner.sides[:, None])[None] <= high + outer.slack).all(axis=2)
    return np.asarray(starts & ends & (inner.sides[None] < outer.sides[:, None] - outer.slack))
