"""A slide while it is drawn: how much hematoxylin and eosin lies at each pixel, plus ink that absorbs all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pipeline.demo.painting._geometry import Points
from pipeline.demo.painting._textures import ORIENTATIONS, VARIANTS, NucleusBank

HALF = 2
"""The tissue's ground is drawn at half resolution (1 µm) and enlarged; nuclei and grain come at full."""


@dataclass(frozen=True)
class Ink:
    """Absorbing matter that is neither stain: optical density (h, w, 3) at level-0 pixel (x, y)."""

    x: int
    y: int
    density: NDArray[np.float32]


@dataclass
class Canvas:
    """The stain amounts of a slide (uint8, `STAIN_UNIT` = amount 1.0), its ink and its recorded nuclei."""

    width: int
    height: int
    bank: NucleusBank
    rng: np.random.Generator
    hematoxylin: NDArray[np.uint8] = field(init=False)
    eosin: NDArray[np.uint8] = field(init=False)
    inks: list[Ink] = field(default_factory=list)
    _nuclei: list[tuple[str, Points]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hematoxylin = np.zeros((self.height, self.width), dtype=np.uint8)
        self.eosin = np.zeros((self.height, self.width), dtype=np.uint8)

    def lay_ground(self, hematoxylin: NDArray[np.uint8], eosin: NDArray[np.uint8], grain: NDArray[np.uint8]) -> None:
        """Enlarge the half-resolution ground and multiply it with `grain` (tile, 128 = unchanged)."""
        from PIL import Image

        strip = 1024
        for top in range(0, self.height, strip):
            bottom = min(top + strip, self.height)
            pad_top, pad_bottom = max(top // HALF - 2, 0), min(bottom // HALF + 2, hematoxylin.shape[0])
            for ground, target, shift in ((hematoxylin, self.hematoxylin, 311), (eosin, self.eosin, 0)):
                part = Image.fromarray(ground[pad_top:pad_bottom])
                large = np.asarray(part.resize((self.width, (pad_bottom - pad_top) * HALF), Image.Resampling.BILINEAR))
                offset = top - pad_top * HALF
                rows = large[offset : offset + bottom - top].astype(np.uint16)
                turned = np.roll(grain, (shift - top, shift * 2), axis=(0, 1))
                wide = np.tile(turned, (1, -(-self.width // grain.shape[1])))[: bottom - top, : self.width]
                rows *= wide
                rows >>= 7
                np.minimum(rows, 255, out=rows)
                target[top:bottom] = rows

    def stamp(
        self,
        cell_type: str,
        points: Points,
        angles: NDArray[np.float64] | None = None,
        *,
        record_as: str | None = None,
    ) -> None:
        """Put a nucleus of the type at each point and record it (under `record_as`, or the type itself).

        `angles` are the long axes in radians; without them they are random.
        """
        if len(points) == 0:
            return
        sprites = self.bank.sprites(cell_type)
        if angles is None:
            turns = self.rng.integers(0, ORIENTATIONS, len(points))
        else:
            turns = np.round(np.asarray(angles) / np.pi * ORIENTATIONS).astype(np.int64) % ORIENTATIONS
        variants = self.rng.integers(0, VARIANTS, len(points))
        kept = []
        for (x, y), turn, variant in zip(points.tolist(), turns.tolist(), variants.tolist(), strict=True):
            sprite = sprites[turn][variant]
            side = sprite.hematoxylin.shape[0]
            left, top = round(x) - side // 2, round(y) - side // 2
            if left < 0 or top < 0 or left + side > self.width or top + side > self.height:
                continue
            here = (slice(top, top + side), slice(left, left + side))
            h, e = self.hematoxylin[here], self.eosin[here]
            np.maximum(h, sprite.hematoxylin, out=h)
            np.minimum(e, sprite.eosin_limit, out=e)
            kept.append((x, y))
        if kept:
            self._nuclei.append((record_as or cell_type, np.asarray(kept, dtype=np.float64)))

    def nuclei(self) -> tuple[NDArray[np.float32], NDArray[np.str_]]:
        """Return the recorded nuclei: centres (n, 2) in level-0 pixels and the n type names."""
        if not self._nuclei:
            return np.zeros((0, 2), np.float32), np.zeros(0, dtype=np.str_)
        centres = np.vstack([points for _, points in self._nuclei]).astype(np.float32)
        names = np.concatenate([np.full(len(points), name) for name, points in self._nuclei])
        return centres, names

    def drop_nuclei(self, outline: Points) -> None:
        """Forget the recorded nuclei inside an outline where an artefact hides them."""
        from pipeline.demo.painting._geometry import inside

        self._nuclei = [(name, points[~inside(outline, points)]) for name, points in self._nuclei]


class Ground:
    """The half-resolution drawing: Pillow images that are drawn on with level-0 coordinates."""

    def __init__(self, width: int, height: int) -> None:
        self.width = -(-width // HALF)
        self.height = -(-height // HALF)

    def layer(self, value: int = 0) -> Layer:
        """Return a new layer filled with `value`."""
        return Layer(self.width, self.height, value)


class Layer:
    """One uint8 layer of the ground; all coordinates are level-0 pixels."""

    def __init__(self, width: int, height: int, value: int) -> None:
        from PIL import Image, ImageDraw

        self.image = Image.new("L", (width, height), value)
        self._draw = ImageDraw.Draw(self.image)

    def polygon(self, outline: Points, value: int, *, edge: int | None = None, width: int = 1) -> None:
        """Fill an outline, and draw its edge (width in micrometre pixels)."""
        corners = (outline / HALF).ravel().tolist()
        self._draw.polygon(corners, fill=value, outline=edge, width=width if edge is not None else 0)

    def line(self, points: Points, value: int, width: int) -> None:
        """Draw a polyline."""
        self._draw.line((points / HALF).ravel().tolist(), fill=value, width=width, joint="curve")

    def discs(self, points: Points, radii: Sequence[float] | NDArray[np.float64], value: int) -> None:
        """Fill discs; radii in level-0 pixels."""
        for (x, y), radius in zip((points / HALF).tolist(), radii, strict=True):
            r = float(radius) / HALF
            self._draw.ellipse((x - r, y - r, x + r, y + r), fill=value)

    def array(self, blur: float = 0.0) -> NDArray[np.uint8]:
        """Return a copy of the pixels, blurred by `blur` half-resolution pixels."""
        from PIL import ImageFilter

        image = self.image.filter(ImageFilter.GaussianBlur(blur)) if blur else self.image
        return np.array(image, dtype=np.uint8)


def mix(base: NDArray[np.uint8], mask: NDArray[np.uint8], value: int | NDArray[np.uint8]) -> None:
    """Blend `value` into `base` in place where `mask` (0 to 255) says so."""
    strip = 1024
    for top in range(0, base.shape[0], strip):
        rows = slice(top, top + strip)
        cover = mask[rows].astype(np.uint16)
        if not cover.any():
            continue
        fresh = np.uint16(value) if isinstance(value, int) else value[rows].astype(np.uint16)
        base[rows] = (base[rows].astype(np.uint16) * (255 - cover) + fresh * cover + 127) // 255


def soft_patch(
    outline: Points, shape: tuple[int, ...], strength: int, blur: float
) -> tuple[tuple[slice, slice], NDArray[np.uint8]]:
    """Return where an outline lies on the ground and its mask there (0 to `strength`), with a blurred edge.

    `outline` is in level-0 pixels, `shape` the ground's (rows, columns), `blur` in half-resolution pixels.
    """
    from PIL import Image, ImageDraw, ImageFilter

    rim = int(np.ceil(3 * blur)) + 1
    low = np.maximum(np.floor(outline.min(axis=0) / HALF).astype(int) - rim, 0)
    high = np.minimum(np.ceil(outline.max(axis=0) / HALF).astype(int) + rim, (shape[1], shape[0]))
    image = Image.new("L", (int(high[0] - low[0]), int(high[1] - low[1])), 0)
    ImageDraw.Draw(image).polygon((outline / HALF - low).ravel().tolist(), fill=strength)
    here = (slice(int(low[1]), int(high[1])), slice(int(low[0]), int(high[0])))
    return here, np.array(image.filter(ImageFilter.GaussianBlur(blur)), dtype=np.uint8)


def scale_by(base: NDArray[np.uint8], factor: NDArray[np.uint8]) -> None:
    """Multiply `base` in place with `factor` / 255."""
    mix(base, 255 - factor, 0)
