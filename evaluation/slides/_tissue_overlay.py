"""A tissue mask as a picture to lay over its slide: translucent, with an outline that is seen from afar."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image, ImageFilter

from evaluation.slides._tissue import TissueMask

_COLOUR = (11, 107, 107)
_INSIDE, _OUTLINE = 46, 230
"""Opacity, 0 to 255."""

_OUTLINES_ACROSS = 500
"""The outline is this part of the picture's longer side wide: about two pixels of a screen when all of it is seen."""

_WIDEST = 4


def tissue_overlay(mask: TissueMask) -> bytes:
    """Return a PNG with one pixel for each of the mask's; where there is no tissue it is transparent."""
    rows, columns = mask.mask.shape
    width = min(_WIDEST, max(1, round(max(rows, columns) / _OUTLINES_ACROSS)))
    tissue = Image.fromarray(mask.mask.astype(np.uint8) * 255)
    inner = np.asarray(tissue.filter(ImageFilter.MinFilter(2 * width + 1))) > 0
    pixels = np.zeros((rows, columns, 4), dtype=np.uint8)
    pixels[..., :3] = _COLOUR
    pixels[..., 3] = np.where(mask.mask, np.where(inner, _INSIDE, _OUTLINE), 0)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()
