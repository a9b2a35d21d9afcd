"""Where a slide has stained tissue: coloured in optical density, not ink, not specks, holes closed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evaluation.slides._slide import Slide
from evaluation.slides._tissue import TissueMask

TISSUE_MPP = 8.0
"""Micrometres per pixel at which tissue is looked for: a cell is one pixel, a 20 mm section 2,500."""

COLOUR_FLOOR = 0.035
"""Least optical-density spread between channels that counts as stain; bare glass with JPEG noise is below."""

COLOUR_CEILING = 0.09
"""Otsu's threshold is capped here, so that dark tissue does not hide the pale tissue of the same slide."""

_GLASS_PERCENTILE = 99.0
_GLASS_LEVEL = 200
"""Grey level from which a pixel may be bare glass."""

_CLOSE_UM = 24.0
"""Gaps up to about twice this width (lumina, fat membranes) are bridged."""

_MAX_HOLE_MM2 = 0.015
"""Larger holes are glass: 0.015 mm² is a lumen of 140 µm, a twentieth of an ROI at 20×."""

_MIN_PIECE_MM2 = 0.02
"""Smaller pieces are dust or debris: 0.02 mm² is a field of 140 µm."""

_MIN_INK_MM2 = 0.01
_MIN_INK_SHARE = 0.05
"""Smaller pieces of ink are dark nuclei or dust: 0.01 mm² is a spot of 110 µm; 5 % of a small field."""

_INK_MARGIN_UM = 40.0
_INK_DENSITY = 0.6
"""Optical density (natural logarithm) from which a pixel may be marker ink: 55 % of light passes."""

_BLUE_RATIO = 1.2
"""Red absorbed over green absorbed: haematoxylin reaches about 0.9, blue marker ink 1.3 and more."""

_GREEN_RATIO = 0.85
"""Green absorbed over red absorbed, below which a dark pixel is green ink; H&E absorbs green most."""

_BLACK_DENSITY = 1.2
_BLACK_SPREAD = 0.25
"""Black ink absorbs all channels alike: relative spread of the densities below this."""


def find_tissue(slide: Slide, *, mpp: float = TISSUE_MPP) -> TissueMask:
    """Find the tissue of an open slide.

    Args:
        slide: an open slide.
        mpp: micrometres per mask pixel; a slide coarser than that is looked at in its own resolution.

    Returns:
        A mask that may be empty: a blank slide has no tissue.

    Raises:
        SlideError: the file cannot be read.
    """
    info = slide.info
    mpp = max(mpp, info.mpp)
    return TissueMask(
        mask=tissue_of_image(slide.read_overview(mpp), mpp),
        mpp=mpp,
        slide_width=info.width,
        slide_height=info.height,
        slide_mpp=info.mpp,
    )


def tissue_of_image(image: NDArray[np.uint8], mpp: float) -> NDArray[np.bool_]:
    """Return a bool mask (height, width) of the tissue in an RGB uint8 (height, width, 3) image.

    Stain shows as a spread between the channels' optical densities relative to the slide's own glass. The
    threshold is Otsu's, kept between a floor (no tissue on blank glass) and a ceiling (pale tissue stays).
    Blue, green and black marker ink is taken out with a margin; gaps are closed and holes filled up to
    0.015 mm²; pieces under 0.02 mm² are dropped.
    """
    from scipy import ndimage

    density = optical_density(image)
    smooth = ndimage.gaussian_filter(density, sigma=(0.7, 0.7, 0.0))
    spread = smooth.max(axis=2) - smooth.min(axis=2)
    stained = spread > np.clip(_otsu(spread), COLOUR_FLOOR, COLOUR_CEILING)
    ink = ink_of_density(smooth, mpp, margin_um=_INK_MARGIN_UM)
    closed = _close(stained & ~ink, round(_CLOSE_UM / mpp))
    filled = _fill_holes(closed, _pixels(_MAX_HOLE_MM2, mpp)) & ~ink
    return _drop_small(filled, _pixels(_MIN_PIECE_MM2, mpp))


def optical_density(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Natural-logarithm optical density (height, width, 3) relative to the slide's bare glass."""
    bright = image.min(axis=2) >= _GLASS_LEVEL
    if bright.any():
        glass = np.maximum(np.percentile(image[bright], _GLASS_PERCENTILE, axis=0), 1.0)
    else:
        glass = np.full(3, 255.0)
    transmitted = np.maximum(image.astype(np.float32), 1.0) / glass.astype(np.float32)
    return np.asarray(-np.log(np.minimum(transmitted, 1.0)), dtype=np.float32)


def _otsu(values: NDArray[np.float32]) -> float:
    """Otsu's threshold; of a flat image, its value."""
    from skimage.filters import threshold_otsu

    return float(threshold_otsu(values)) if values.max() > values.min() else float(values.flat[0])


def ink_of_density(density: NDArray[np.float32], mpp: float, *, margin_um: float) -> NDArray[np.bool_]:
    """Return a bool mask (height, width) of blue, green and black marker ink, grown by a margin.

    Args:
        density: optical density (height, width, 3), a little smoothed.
        mpp: micrometres per pixel.
        margin_um: micrometres by which the ink is grown to all sides.
    """
    red, green, blue = density[..., 0], density[..., 1], density[..., 2]
    darkest = density.max(axis=2)
    dark = darkest > _INK_DENSITY
    blue_ink = dark & (red > _BLUE_RATIO * green) & (red > blue)
    green_ink = dark & (green < _GREEN_RATIO * red) & (green < blue)
    lightest = density.min(axis=2)
    black_ink = (lightest > _BLACK_DENSITY) & (darkest - lightest < _BLACK_SPREAD * darkest)
    least = min(_pixels(_MIN_INK_MM2, mpp), max(1, round(_MIN_INK_SHARE * darkest.size)))
    return _dilate(_drop_small(blue_ink | green_ink | black_ink, least), round(margin_um / mpp))


def _pixels(area_mm2: float, mpp: float) -> int:
    return max(1, round(area_mm2 * 1e6 / mpp**2))


def _dilate(mask: NDArray[np.bool_], radius: int) -> NDArray[np.bool_]:
    """Grow a mask by `radius` pixels to all sides (squares: separable, hence quick on large slides)."""
    from scipy import ndimage

    if radius < 1 or not mask.any():
        return mask
    grown = ndimage.maximum_filter(mask.view(np.uint8), size=2 * radius + 1)
    return np.asarray(grown, dtype=np.bool_)


def _close(mask: NDArray[np.bool_], radius: int) -> NDArray[np.bool_]:
    """Bridge gaps up to twice the radius."""
    if radius < 1 or not mask.any():
        return mask
    # The padding lets the mask grow beyond the border, so that shrinking does not eat into it there.
    grown = _dilate(np.pad(mask, radius), radius)
    shrunk = ~_dilate(~grown, radius)
    return shrunk[radius:-radius, radius:-radius] | mask


def _fill_holes(mask: NDArray[np.bool_], max_pixels: int) -> NDArray[np.bool_]:
    """Fill background pieces that do not touch the border and are not larger than `max_pixels`."""
    from scipy import ndimage

    labels, count = ndimage.label(~mask)
    if count == 0:
        return mask
    sizes = np.bincount(labels.ravel())
    fill = sizes <= max_pixels
    fill[0] = False
    for edge in (labels[0], labels[-1], labels[:, 0], labels[:, -1]):
        fill[edge] = False
    return np.asarray(mask | fill[labels])


def _drop_small(mask: NDArray[np.bool_], min_pixels: int) -> NDArray[np.bool_]:
    """Drop 8-connected pieces with fewer than `min_pixels` pixels."""
    from scipy import ndimage

    labels, _ = ndimage.label(mask, structure=np.ones((3, 3), dtype=bool))
    sizes = np.bincount(labels.ravel())
    keep = sizes >= min_pixels
    keep[0] = False
    return np.asarray(keep[labels])
