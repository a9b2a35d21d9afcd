"""The tissue mask of a slide: how much of any rectangle is tissue, and its storage."""

from __future__ import annotations

import functools
import io
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, PngImagePlugin

_KEY = "histocurator-tissue"
_VERSION = "1"
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class TissueMask:
    """Where a slide has tissue.

    `mask` is bool (rows, columns), `mpp` the micrometres that one mask pixel spans; the slide has
    `slide_width` × `slide_height` level-0 pixels of `slide_mpp` micrometres. Mask pixel (0, 0) starts at
    level-0 pixel (0, 0); the last row and column may reach beyond the slide.
    """

    mask: NDArray[np.bool_]
    mpp: float
    slide_width: int
    slide_height: int
    slide_mpp: float

    def __post_init__(self) -> None:
        if self.mask.ndim != 2 or self.mask.dtype != np.bool_ or self.mask.size == 0:
            raise ValueError(f"a tissue mask must be a bool image, not {self.mask.dtype} {self.mask.shape}")
        numbers = (self.mpp, self.slide_mpp, float(self.slide_width), float(self.slide_height))
        if not all(math.isfinite(number) and number > 0 for number in numbers):
            raise ValueError("a tissue mask needs positive sizes and resolutions")

    @property
    def scale(self) -> float:
        """Level-0 pixels along one side of a mask pixel."""
        return self.mpp / self.slide_mpp

    @property
    def area_mm2(self) -> float:
        """Tissue area in square millimetres."""
        return float(np.count_nonzero(self.mask)) * (self.mpp / 1000.0) ** 2

    @property
    def slide_share(self) -> float:
        """Share (0 to 1) of the slide's area that is tissue."""
        return self.share(0, 0, self.slide_width, self.slide_height)

    def share(self, x: float, y: float, width: float, height: float) -> float:
        """Return the share (0 to 1) of a rectangle, in level-0 pixels, that is tissue.

        Mask pixels that the rectangle cuts count by the part inside; outside the slide nothing is tissue.

        Raises:
            ValueError: the rectangle has no area.
        """
        return float(self.shares([x], [y], width, height)[0])

    def shares(self, x: ArrayLike, y: ArrayLike, width: float, height: float) -> NDArray[np.float64]:
        """Return `share` for n rectangles of one size: `x` and `y` (n,) give (n,).

        Raises:
            ValueError: the rectangles have no area.
        """
        if not (width > 0 and height > 0):
            raise ValueError(f"a rectangle of {width} × {height} has no area")
        left = np.asarray(x, dtype=np.float64) / self.scale
        top = np.asarray(y, dtype=np.float64) / self.scale
        right, bottom = left + width / self.scale, top + height / self.scale
        inside = (
            self._integral_at(bottom, right)
            - self._integral_at(top, right)
            - self._integral_at(bottom, left)
            + self._integral_at(top, left)
        )
        area = (width / self.scale) * (height / self.scale)
        share = inside / area
        # Rounding must not turn no tissue into a trace of it, nor a full field into almost full.
        share = np.where(share < _ROUNDING, 0.0, np.where(share > 1 - _ROUNDING, 1.0, share))
        return np.asarray(share, dtype=np.float64)

    @functools.cached_property
    def _integral(self) -> NDArray[np.float64]:
        table = np.zeros((self.mask.shape[0] + 1, self.mask.shape[1] + 1), dtype=np.float64)
        np.cumsum(np.cumsum(self.mask, axis=0, dtype=np.float64), axis=1, out=table[1:, 1:])
        return table

    def _integral_at(self, row: NDArray[np.float64], column: NDArray[np.float64]) -> NDArray[np.float64]:
        """Tissue pixels above and left of fractional positions: bilinear in the table, hence exact."""
        rows, columns = self.mask.shape
        row, column = np.clip(row, 0, rows), np.clip(column, 0, columns)
        r0 = np.minimum(row.astype(np.int64), rows - 1)
        c0 = np.minimum(column.astype(np.int64), columns - 1)
        fr, fc = row - r0, column - c0
        table = self._integral
        return np.asarray(
            table[r0, c0] * (1 - fr) * (1 - fc)
            + table[r0 + 1, c0] * fr * (1 - fc)
            + table[r0, c0 + 1] * (1 - fr) * fc
            + table[r0 + 1, c0 + 1] * fr * fc
        )

    def to_png_bytes(self) -> bytes:
        """Return the mask as a black-and-white PNG (tissue white) that carries its frame in a text chunk."""
        frame = PngImagePlugin.PngInfo()
        numbers = (self.mpp, self.slide_width, self.slide_height, self.slide_mpp)
        frame.add_text(_KEY, " ".join([_VERSION, *(repr(number) for number in numbers)]))
        buffer = io.BytesIO()
        Image.fromarray(self.mask.astype(np.uint8) * 255).convert("1").save(buffer, "PNG", pnginfo=frame)
        return buffer.getvalue()

    @classmethod
    def from_png_bytes(cls, data: bytes) -> TissueMask:
        """Read what `to_png_bytes` wrote.

        Raises:
            ValueError: the bytes are no such PNG.
        """
        try:
            with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
                image.load()
                text = image.info.get(_KEY)
                mask = np.asarray(image.convert("L")) > 127
        except (OSError, SyntaxError) as error:
            raise ValueError(f"a stored tissue mask is no readable PNG ({error}): find tissue again") from error
        fields = str(text or "").split()
        if len(fields) != 5 or fields[0] != _VERSION:
            raise ValueError("the PNG carries no tissue frame of this version: find tissue again")
        return cls(
            mask=mask,
            mpp=float(fields[1]),
            slide_width=int(fields[2]),
            slide_height=int(fields[3]),
            slide_mpp=float(fields[4]),
        )
