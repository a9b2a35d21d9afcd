"""Random regions of interest on tissue, spread evenly over the slides of an organ (VIPER section 3.1)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.slides._resolution import TOLERANCE
from evaluation.slides._tissue import TissueMask
from evaluation.slides._types import Region

ROI_SIZE = 1024
"""Side of an ROI in pixels (VIPER section 3.1)."""

ROI_MPP = 0.5
"""Micrometres per pixel of an ROI at 20× (VIPER section 3.1)."""

_MAX_POSITIONS = 250_000
"""Random positions tried on one slide: far more than fit, few enough to hold."""


def draw_in_turn(
    masks: Mapping[str, TissueMask],
    *,
    count: int,
    size: int,
    mpp: float,
    min_tissue: float,
    max_overlap: float,
    seed: int,
    taken: Mapping[str, Sequence[Region]],
    studies: Mapping[str, str],
    elsewhere: Mapping[str, int],
) -> tuple[dict[str, list[Region]], set[str]]:
    """Draw regions at random positions on tissue, study by study and within a study slide by slide in turn.

    Each next region comes from the study that has fewest so far, and there from the slide that has fewest, as far
    as their tissue allows: what one cannot give, the others do. Within a slide every position with enough tissue is
    equally likely. One seed gives one draw, whatever the order of `masks`; a slide's own sequence does not depend
    on the other slides. Fewer regions than asked is a result, not an error; `explain_no_regions` says why a slide
    gave none.

    Args:
        masks: tissue by slide id.
        count: regions to draw over all slides.
        size: side in pixels.
        mpp: micrometres per pixel.
        min_tissue: least share (0 to 1) of a region on tissue.
        max_overlap: largest `overlap_share` of two regions of a slide (0 to 1).
        seed: any integer.
        taken: regions that exist already, by slide id; those of the same resolution or field of view count for
            overlap, those of the same field of view also for the turn.
        studies: the study of each slide id; slides that are not named in it make one study of their own.
        elsewhere: how many regions of other fields of view each slide id has: they decide between slides, and
            between studies, that have equally many.

    Returns:
        Regions by slide id, in the order drawn, every id of `masks` as a key and all inside their slide; and the
        slides that could give no more.
    """
    names = turns_of(masks, seed)
    draws = {
        name: _draw(masks[name], size, mpp, min_tissue, max_overlap, _slide_rng(seed, name), taken.get(name, ()))
        for name in names
        if not _too_fine(masks[name], mpp)
    }
    held = {name: sum(_same_field(region, size, mpp) for region in taken.get(name, ())) for name in names}
    drawn: dict[str, list[Region]] = {name: [] for name in sorted(masks)}
    remaining = count
    turns = _turns(draws, names, held, studies, elsewhere)
    while remaining and (name := next(turns, None)) is not None:
        region = next(draws[name], None)
        if region is None:
            del draws[name]
        else:
            drawn[name].append(region)
            held[name] += 1
            remaining -= 1
    return drawn, set(masks) - set(draws)


def turns_of(masks: Mapping[str, TissueMask], seed: int) -> list[str]:
    """Return the slide ids in the order in which they have their first turn, which depends on the seed alone."""
    rng = np.random.default_rng([abs(seed), int(seed < 0)])
    names = sorted(masks)
    places = rng.permutation(len(names))
    return [name for _, name in sorted(zip(places.tolist(), names, strict=True))]


def _turns(
    still: Mapping[str, object],
    names: Sequence[str],
    held: Mapping[str, int],
    studies: Mapping[str, str],
    elsewhere: Mapping[str, int],
) -> Iterator[str]:
    """Yield whose turn it is, as long as any id is in `still`; `held` counts what each slide has by then."""
    members: dict[str | None, list[str]] = {}
    for name in names:
        members.setdefault(studies.get(name), []).append(name)

    def has(slides: Sequence[str]) -> tuple[int, int]:
        return sum(held[name] for name in slides), sum(elsewhere.get(name, 0) for name in slides)

    # Of equals the first counts: studies and slides stand in the order of their first turn.
    while open_studies := [slides for slides in members.values() if any(name in still for name in slides)]:
        study = min(open_studies, key=has)
        yield min((name for name in study if name in still), key=lambda name: has([name]))


def explain_no_regions(
    mask: TissueMask, *, size: int = ROI_SIZE, mpp: float = ROI_MPP, min_tissue: float = 0.5
) -> str | None:
    """Say why no region of this kind can be drawn from a slide, None if one can.

    Raises:
        ValueError: an argument is out of range.
    """
    check_arguments(0, size, mpp, min_tissue, 1.0)
    if _too_fine(mask, mpp):
        return f"its {mask.slide_mpp:.4g} µm/px are coarser than the {mpp:g} µm/px asked for"
    side = _side(size, mpp, mask.slide_mpp)
    if side > min(mask.slide_width, mask.slide_height):
        return (
            f"its {mask.slide_width:,} × {mask.slide_height:,} px are smaller than one ROI of "
            f"{math.ceil(side):,} px at full resolution"
        )
    if not mask.mask.any():
        return "it has no tissue"
    if not _lattice(mask, side, min_tissue)[0].size:
        return f"no ROI of this size lies with {min_tissue:.0%} of its area on tissue"
    return None


def overlap_share(one: Region, other: Region, *, slide_mpp: float) -> float:
    """Return the overlap of two regions of one slide as a share (0 to 1) of the larger one's area.

    The larger one counts, because a small field inside a large one of low magnification shows something else,
    while two fields of about the same size that overlap show the same.

    Args:
        one: a region.
        other: another region of the same slide.
        slide_mpp: micrometres per level-0 pixel of the slide.
    """
    shares = _overlaps(
        np.array([one.x], dtype=np.int64),
        np.array([one.y], dtype=np.int64),
        _side(one.size, one.mpp, slide_mpp),
        other.x,
        other.y,
        _side(other.size, other.mpp, slide_mpp),
    )
    return float(shares[0])


def _overlaps(
    xs: NDArray[np.int64], ys: NDArray[np.int64], side: float, x: int, y: int, other_side: float
) -> NDArray[np.float64]:
    """`overlap_share` of n squares of one side with one other square, all in level-0 pixels."""
    width = np.minimum(xs + side, x + other_side) - np.maximum(xs, x)
    height = np.minimum(ys + side, y + other_side) - np.maximum(ys, y)
    return np.asarray(np.maximum(width, 0.0) * np.maximum(height, 0.0) / max(side, other_side) ** 2)


def _side(size: int, mpp: float, slide_mpp: float) -> float:
    """Side of a region in level-0 pixels."""
    return size * mpp / slide_mpp


def _draw(
    mask: TissueMask,
    size: int,
    mpp: float,
    min_tissue: float,
    max_overlap: float,
    rng: np.random.Generator,
    taken: Sequence[Region],
) -> Iterator[Region]:
    """Yield regions of one slide until no position is left that respects tissue and overlap."""
    side = _side(size, mpp, mask.slide_mpp)
    xs, ys, shares = _random_positions(mask, side, min_tissue, rng)
    free = _FreePositions(xs, ys, side, max_overlap)
    for region in taken:
        if _competes(region, size, mpp):
            free.take(region.x, region.y, _side(region.size, region.mpp, mask.slide_mpp))
    for at in range(xs.size):
        if free.holds(at):
            x, y = int(xs[at]), int(ys[at])
            free.take(x, y, side)
            yield Region(x=x, y=y, size=size, mpp=mpp, tissue_share=float(shares[at]))


class _FreePositions:
    """Which of n squares of one side still keep the limit on overlap with everything that was taken."""

    def __init__(self, xs: NDArray[np.int64], ys: NDArray[np.int64], side: float, max_overlap: float) -> None:
        order = np.argsort(ys, kind="stable")
        # By row, so that only the few that can touch a square at all are compared with it.
        self._xs, self._ys = xs[order], ys[order]
        self._place = np.empty_like(order)
        self._place[order] = np.arange(order.size)
        self._free = np.ones(order.size, dtype=bool)
        self._side = side
        self._max_overlap = max_overlap

    def holds(self, index: int) -> bool:
        """Whether the square of this index is still free."""
        return bool(self._free[self._place[index]])

    def take(self, x: int, y: int, side: float) -> None:
        """Take a square: what overlaps it too much is free no longer."""
        rows = slice(*np.searchsorted(self._ys, (y - self._side, y + side), side="left"))
        self._free[rows] &= _apart(self._xs[rows], self._ys[rows], self._side, x, y, side, self._max_overlap)


def _apart(
    xs: NDArray[np.int64],
    ys: NDArray[np.int64],
    side: float,
    x: int,
    y: int,
    other_side: float,
    max_overlap: float,
) -> NDArray[np.bool_]:
    """Which of n squares keep the limit on overlap with one other; the very same square never does."""
    same = (xs == x) & (ys == y) & (side == other_side)
    return np.asarray((_overlaps(xs, ys, side, x, y, other_side) <= max_overlap) & ~same)


def _random_positions(
    mask: TissueMask, side: float, min_tissue: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return top-left corners on tissue in random order, and their tissue shares.

    One position at random in each lattice cell whose corner has enough tissue: no part of the tissue stays
    untried, which plain random positions do not promise.
    """
    xs, ys, steps = _lattice(mask, side, min_tissue)
    limit_x, limit_y = _last_start(mask.slide_width, side), _last_start(mask.slide_height, side)
    order = rng.permutation(xs.size)
    xs, ys = xs[order], ys[order]
    moved_x = rng.integers(xs, np.minimum(xs + steps, limit_x + 1))
    moved_y = rng.integers(ys, np.minimum(ys + steps, limit_y + 1))
    # At the edge of the tissue the move may lose it: the corner itself has enough.
    kept = _on_tissue(mask.shares(moved_x, moved_y, side, side), min_tissue)
    xs, ys = np.where(kept, moved_x, xs), np.where(kept, moved_y, ys)
    return xs, ys, mask.shares(xs, ys, side, side)


def _lattice(mask: TissueMask, side: float, min_tissue: float) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the lattice corners with enough tissue and the lattice's step in level-0 pixels.

    A cell is one mask pixel wide, wider on slides where that would be too many.
    """
    limit_x, limit_y = _last_start(mask.slide_width, side), _last_start(mask.slide_height, side)
    if limit_x < 0 or limit_y < 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), 1
    positions = (limit_x + 1) * (limit_y + 1)
    step = max(1, math.floor(mask.scale), math.ceil(math.sqrt(positions / _MAX_POSITIONS)))
    starts_x = np.union1d(np.arange(0, limit_x + 1, step), limit_x).astype(np.int64)
    starts_y = np.union1d(np.arange(0, limit_y + 1, step), limit_y).astype(np.int64)
    xs, ys = (grid.ravel() for grid in np.meshgrid(starts_x, starts_y))
    kept = _on_tissue(mask.shares(xs, ys, side, side), min_tissue)
    return xs[kept], ys[kept], step


def _on_tissue(shares: NDArray[np.float64], min_tissue: float) -> NDArray[np.bool_]:
    """A region without any tissue is never wanted, however low the limit."""
    return (shares >= min_tissue) & (shares > 0)


def _last_start(length: int, side: float) -> int:
    """Last level-0 pixel at which a region may start to end inside the slide; negative if it does not fit."""
    return math.floor(length - side)


def _slide_rng(seed: int, name: str) -> np.random.Generator:
    """A generator that depends on the seed and the slide alone."""
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def _too_fine(mask: TissueMask, mpp: float) -> bool:
    return mpp < mask.slide_mpp * (1 - TOLERANCE)


def _competes(region: Region, size: int, mpp: float) -> bool:
    """Whether a region counts for overlap: a field of low magnification may lie over one of high magnification."""
    return _same_field(region, size, mpp) or abs(region.mpp - mpp) <= TOLERANCE * mpp


def _same_field(region: Region, size: int, mpp: float) -> bool:
    """Whether a region shows a field of view of about the same width."""
    wanted = size * mpp
    return abs(region.size * region.mpp - wanted) <= TOLERANCE * wanted


def check_arguments(count: int, size: int, mpp: float, min_tissue: float, max_overlap: float) -> None:
    """Refuse what no draw can be made of.

    Raises:
        ValueError: an argument is out of range.
    """
    if count < 0:
        raise ValueError(f"count {count} must not be negative")
    if size < 1:
        raise ValueError(f"size {size} must be at least 1 px")
    if not (math.isfinite(mpp) and mpp > 0):
        raise ValueError(f"{mpp} µm/px must be a positive number, such as 0.5 for 20×")
    if not 0 <= min_tissue <= 1:
        raise ValueError(f"min_tissue {min_tissue} must lie between 0 and 1")
    if not 0 <= max_overlap <= 1:
        raise ValueError(f"max_overlap {max_overlap} must lie between 0 and 1")
