"""Artefacts that a region shows: marker pen, bare glass, lack of focus, the edge of a coverslip.

Each is a share from 0 to 1, and a flag where the share reaches the threshold stated here. A flag is a word to the
person who picks, no verdict: artefacts are a category of questions, so flagged regions are shown last and kept.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from evaluation.slides._find_tissue import COLOUR_FLOOR, ink_of_density, optical_density
from evaluation.slides._resolution import TOLERANCE
from evaluation.slides._slide import Slide
from evaluation.slides._types import Region

FIELD_PX = 256
"""Pen, glass and edges are looked for in the whole field at this side in pixels (2 µm/px for 1,024 px at 20×)."""

FOCUS_MPP = 0.5
"""Micrometres per pixel at which focus is measured, whatever the field's own: coarser pixels hide that it is lost."""

FOCUS_MAX_MPP = 0.75
"""On a slide whose own pixels are coarser than this, focus is not measured: sharp and blurred look the same."""

FOCUS_PX = 256
"""Side of a window in which focus is measured (128 µm). A field that holds two side by side gets two by two."""

PEN_FROM = 0.02
"""Share of the field under marker ink from which it is flagged: a stroke across a field of 512 µm covers more."""

BLANK_FROM = 0.75
"""Share of the field without stain from which it is flagged; fat and lung are below."""

OUT_OF_FOCUS_FROM = 0.5
"""Share of the tissue in the windows that is blurred from which the field is flagged."""

EDGE_FROM = 0.8
"""Share of a straight line across the field that is darker than both its sides from which it is flagged.

A faint edge, or one that bends, is not found."""

SHARPNESS_BLURRED = 0.55
"""Detail of 0.5 to 1 µm over detail of 1 to 2 µm (standard deviations of Gaussians) below which tissue is blurred.

Of the public slide CMU-1 (Aperio, 20×) tissue in focus has 0.77 to 0.97 (5th to 95th percentile), blurred by a
Gaussian of 0.5 µm 0.63 to 0.76, of 0.75 µm 0.54 to 0.63, of 1 µm 0.47 to 0.54.
"""

_FOCUS_BLOCK = 64
_LEAST_CONTRAST = 1.0
"""Grey levels of detail below which a block is too even to say whether it is in focus."""

_LINE_PX = 128
"""Side at which straight lines are looked for: 4 µm/px for 1,024 px at 20×."""

_LINE_ANGLES = 90
_LINE_SHORTEST = 0.75
"""A line counts where it runs through the field for this share of its side: it cuts off more than a corner."""

_LINE_CONTRAST = 0.32
"""Optical density (natural logarithm) by which a line must be darker, in the mean, than what lies beside it; a piece of
it by half of that. The straightest lines of tissue alone reached 0.28 on the public slide CMU-1."""

_LINE_ALONE = 0.6
"""A parallel line that is darker by more than this share of the darkest one makes them fibres."""

_LINE_TO = 1
_BESIDE_FROM = 4
_BESIDE_TO = 8
"""Pixels from a line's middle to its own edge, and to the begin and the end of the strips beside it."""

_PIECE_PX = 8


@dataclass(frozen=True)
class Artefact:
    """The share of a region that shows an artefact (0 to 1; None: not to be measured there), and whether it is much."""

    value: float | None
    flagged: bool


THRESHOLDS: Mapping[str, float] = MappingProxyType(
    {"pen": PEN_FROM, "blank": BLANK_FROM, "out_of_focus": OUT_OF_FOCUS_FROM, "coverslip_edge": EDGE_FROM}
)
"""The artefacts by name, and the share from which each is flagged."""


def artefacts_of_region(slide: Slide, region: Region) -> dict[str, Artefact]:
    """Read a region of an open slide at the resolutions that `artefacts_of_field` asks for, and measure.

    Raises:
        SlideError: the file cannot be read there.
    """
    side = min(region.size, FIELD_PX)
    field_mpp = region.mpp * region.size / side
    field = slide.read_region(Region(region.x, region.y, side, field_mpp), allow_upsampling=True)
    windows = [slide.read_region(window) for window in focus_windows(region, slide.info.mpp)]
    return artefacts_of_field(field, mpp=field_mpp, windows=windows)


def artefacts_of_field(
    field: NDArray[np.uint8], *, mpp: float, windows: Sequence[NDArray[np.uint8]]
) -> dict[str, Artefact]:
    """Measure the artefacts of a field of view.

    Args:
        field: all of it, RGB uint8 (height, width, 3), some 256 px wide.
        mpp: micrometres per pixel of `field`.
        windows: parts of it as RGB uint8 at 0.5 µm/px (`FOCUS_MPP`) for the focus; none: it cannot be measured.

    Returns:
        By name: `pen`, the share under marker ink; `blank`, the share without stain; `out_of_focus`, the share of
        the windows' tissue that is blurred; `coverslip_edge`, how much of one straight line through the
        field is darker than both its sides (the shadow of the glass's edge).
    """
    density = _smooth_density(field)
    shares = {
        "pen": float(ink_of_density(density, mpp, margin_um=0.0).mean()),
        "blank": float(_without_stain(density).mean()),
        "out_of_focus": _out_of_focus(windows),
        "coverslip_edge": _straight_line(field),
    }
    return {
        name: Artefact(None if share is None else round(share, 4), share is not None and share >= THRESHOLDS[name])
        for name, share in shares.items()
    }


def focus_windows(region: Region, slide_mpp: float) -> list[Region]:
    """Return the regions at 0.5 µm/px in which the focus of a region is measured; none on a slide too coarse for it.

    One in the middle of each quarter of the field; a field too small for four windows has one, in its middle.
    """
    if slide_mpp > FOCUS_MAX_MPP:
        return []
    mpp = max(FOCUS_MPP, slide_mpp)
    side = region.size * region.mpp
    window = min(FOCUS_PX, math.floor(side / mpp))
    if window < _FOCUS_BLOCK:
        return []
    quarters = (0.25, 0.75) if 2 * window * mpp <= side * (1 + TOLERANCE) else (0.5,)

    def start(origin: int, middle: float) -> int:
        return origin + max(0, math.floor((side * middle - window * mpp / 2) / slide_mpp))

    return [Region(start(region.x, x), start(region.y, y), window, mpp) for y in quarters for x in quarters]


def _smooth_density(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    from scipy import ndimage

    return np.asarray(ndimage.gaussian_filter(optical_density(image), sigma=(0.7, 0.7, 0.0)), dtype=np.float32)


def _without_stain(density: NDArray[np.float32]) -> NDArray[np.bool_]:
    return np.asarray(density.max(axis=2) - density.min(axis=2) < COLOUR_FLOOR)


def _grey(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.asarray(image.astype(np.float32) @ np.array([0.299, 0.587, 0.114], dtype=np.float32), dtype=np.float32)


def _out_of_focus(windows: Sequence[NDArray[np.uint8]]) -> float | None:
    """Share of the blocks with tissue that are blurred; None where there is none to tell by."""
    blurred = [share for window in windows for share in _blurred_blocks(window)]
    return sum(blurred) / len(blurred) if blurred else None


def _blurred_blocks(window: NDArray[np.uint8]) -> list[bool]:
    """Say of each block with tissue and some detail whether the finest detail is missing."""
    from scipy import ndimage

    finest, fine, coarse = (ndimage.gaussian_filter(_grey(window), sigma, truncate=2.5) for sigma in (1.0, 2.0, 4.0))
    small = _of_blocks((finest - fine) ** 2)
    large = _of_blocks((fine - coarse) ** 2)
    tissue = _of_blocks((~_without_stain(optical_density(window))).astype(np.float32))
    measurable = (tissue >= 0.5) & (large >= _LEAST_CONTRAST**2)
    return [bool(one) for one in (np.sqrt(small[measurable] / large[measurable]) < SHARPNESS_BLURRED)]


def _of_blocks(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the means of the whole blocks of an image."""
    rows, columns = values.shape[0] // _FOCUS_BLOCK, values.shape[1] // _FOCUS_BLOCK
    whole = values[: rows * _FOCUS_BLOCK, : columns * _FOCUS_BLOCK]
    return np.asarray(whole.reshape(rows, _FOCUS_BLOCK, columns, _FOCUS_BLOCK).mean(axis=(1, 3)), dtype=np.float32)


def _straight_line(field: NDArray[np.uint8]) -> float:
    """Return over which share of its length the darkest straight line through the field is darker than its sides.

    Means along a line are compared with means beside it, in which texture averages out; then the line is cut into
    pieces, and those count that are darker by enough. With a second, parallel line nearly as dark there is none:
    fibres have many lines, a coverslip one edge.
    """
    side = min(_LINE_PX, *field.shape[:2])
    if side < _LINE_PX // 2:
        return 0.0
    small = np.asarray(Image.fromarray(field).resize((side, side), Image.Resampling.BOX), dtype=np.uint8)
    # What all channels absorb: of stain little, of a shadow everything.
    shade = optical_density(small).min(axis=2)
    lines = _lines_through(side)
    contrast = _contrast_across(lines, shade)
    angle, line = np.unravel_index(int(contrast.argmax()), contrast.shape)
    parallel = contrast[angle].copy()
    parallel[max(0, int(line) - _BESIDE_FROM) : int(line) + _BESIDE_FROM + 1] = 0.0
    clearest = contrast[angle, line]
    if clearest < _LINE_CONTRAST or parallel.max() > _LINE_ALONE * clearest:
        return 0.0
    return _share_of_pieces(shade, lines, int(angle), int(line))


@dataclass(frozen=True)
class _Lines:
    """All lines through a square field: for each direction the number of the line that each pixel lies on.

    `number` is (angles, pixels), `pixels` (angles, lines) counts what lies on each line, `along` (angles, pixels)
    is the place along the line in pixels.
    """

    number: NDArray[np.int32]
    pixels: NDArray[np.float64]
    along: NDArray[np.float32]


@functools.lru_cache(maxsize=4)
def _lines_through(side: int) -> _Lines:
    y, x = (grid.ravel() - (side - 1) / 2 for grid in np.indices((side, side)))
    radians = (np.arange(_LINE_ANGLES) * math.pi / _LINE_ANGLES)[:, None]
    across = x * np.cos(radians) + y * np.sin(radians)
    along = y * np.cos(radians) - x * np.sin(radians)
    number = np.floor(across + 0.5).astype(np.int32)
    number -= number.min()
    count = int(number.max()) + 1
    pixels = np.stack([np.bincount(row, minlength=count) for row in number]).astype(np.float64)
    return _Lines(number, pixels, along.astype(np.float32))


def _contrast_across(lines: _Lines, shade: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return (angles, lines): mean shade of each line three pixels wide, less that of the strips beside it.

    Zero for lines that cut off only a corner.
    """
    values = shade.ravel()
    sums = np.stack([np.bincount(row, weights=values, minlength=lines.pixels.shape[1]) for row in lines.number]).astype(
        np.float64
    )
    middle, beside = (_kernel(0, _LINE_TO), _kernel(_BESIDE_FROM, _BESIDE_TO))

    def mean(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
        weight = _spread(lines.pixels, kernel)
        return np.asarray(_spread(sums, kernel) / np.maximum(weight, 1.0))

    long_enough = lines.pixels >= _LINE_SHORTEST * shade.shape[0]
    inside = _spread(long_enough.astype(np.float64), np.ones(2 * _BESIDE_TO + 1)) >= 2 * _BESIDE_TO + 1
    return np.where(inside, mean(middle) - mean(beside), 0.0)


def _kernel(first: int, last: int) -> NDArray[np.float64]:
    """Return ones at the distances from `first` to `last` to both sides of the middle."""
    distance = np.abs(np.arange(-_BESIDE_TO, _BESIDE_TO + 1))
    return np.asarray((distance >= first) & (distance <= last), dtype=np.float64)


def _spread(values: NDArray[np.float64], kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy import ndimage

    return np.asarray(ndimage.correlate1d(values, kernel, axis=1, mode="constant"))


def _share_of_pieces(shade: NDArray[np.float32], lines: _Lines, angle: int, line: int) -> float:
    """Return the share of a line's pieces that are darker than their sides, by enough."""
    values, away = shade.ravel(), np.abs(lines.number[angle] - line)
    piece = np.floor(lines.along[angle] / _PIECE_PX).astype(np.int64)
    on = away <= _LINE_TO
    beside = (away >= _BESIDE_FROM) & (away <= _BESIDE_TO)
    darker = []
    for number in np.unique(piece[away == 0]):
        here = piece == number
        if (here & on).any() and (here & beside).any():
            darker.append(values[here & on].mean() - values[here & beside].mean() >= _LINE_CONTRAST / 2)
    return float(np.mean(darker))
