"""Two laboratories that stain and scan differently, and how their slides turn stain amounts into colour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.demo.painting._canvas import Canvas
from pipeline.demo.painting._textures import STAIN_UNIT


@dataclass(frozen=True)
class Institution:
    """A laboratory: optical density of stain amount 1.0 in red, green and blue light, and its scanner.

    `strength` multiplies hematoxylin and eosin, `white` is the colour of empty glass (grey levels), `softness`
    is how often a 3 × 3 binomial blur is applied, `noise` the standard deviation of sensor noise in grey levels.
    """

    name: str
    hematoxylin: tuple[float, float, float]
    eosin: tuple[float, float, float]
    strength: tuple[float, float]
    white: tuple[float, float, float]
    softness: int
    noise: float
    jpeg_quality: int


INSTITUTIONS: dict[str, Institution] = {
    "Alder": Institution(
        name="Alder Institute (drawn)",
        hematoxylin=(0.66, 0.70, 0.29),
        eosin=(0.09, 0.72, 0.36),
        strength=(0.98, 0.64),
        white=(245.0, 243.0, 244.0),
        softness=0,
        noise=2.0,
        jpeg_quality=88,
    ),
    "Birch": Institution(
        name="Birch Laboratory (drawn)",
        hematoxylin=(0.74, 0.66, 0.20),
        eosin=(0.06, 0.56, 0.44),
        strength=(0.84, 0.80),
        white=(240.0, 236.0, 226.0),
        softness=1,
        noise=3.2,
        jpeg_quality=84,
    ),
}
"""Both are inventions; the stain vectors lie within the spread that is seen between laboratories."""


def soften(plane: NDArray[np.uint8], times: int) -> NDArray[np.uint8]:
    """Return the plane after `times` passes of the 3 × 3 binomial blur (the optics of a softer scanner)."""
    for _ in range(times):
        wide = np.pad(plane, 1, mode="edge").astype(np.uint16)
        rows = wide[:-2] + 2 * wide[1:-1] + wide[2:]
        plane = ((rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:] + 8) >> 4).astype(np.uint8)
    return plane


def colour_strips(canvas: Canvas, institution: Institution, strip: int) -> Iterator[NDArray[np.uint8]]:
    """Yield the slide as RGB strips of `strip` rows (the last may be shorter), top to bottom."""
    rng = np.random.default_rng(canvas.rng.integers(2**32))
    amount = np.arange(256, dtype=np.float32) / STAIN_UNIT
    tables = []
    for channel in range(3):
        absorbed_h = institution.hematoxylin[channel] * institution.strength[0]
        absorbed_e = institution.eosin[channel] * institution.strength[1]
        tables.append(
            (
                (institution.white[channel] * 10 ** (-absorbed_h * amount)).astype(np.float32),
                (10 ** (-absorbed_e * amount)).astype(np.float32),
            )
        )
    sensor = (rng.standard_normal((strip, canvas.width + 997)) * institution.noise).astype(np.float32)
    for top in range(0, canvas.height, strip):
        rows = slice(top, min(top + strip, canvas.height))
        h = soften(canvas.hematoxylin[rows], institution.softness)
        e = soften(canvas.eosin[rows], institution.softness)
        out = np.empty((*h.shape, 3), dtype=np.uint8)
        inks = [ink for ink in canvas.inks if ink.y < rows.stop and ink.y + ink.density.shape[0] > top]
        for channel, (table_h, table_e) in enumerate(tables):
            light = table_h[h]
            light *= table_e[e]
            for ink in inks:
                first, last = max(top, ink.y), min(rows.stop, ink.y + ink.density.shape[0])
                part = ink.density[first - ink.y : last - ink.y, :, channel]
                light[first - top : last - top, ink.x : ink.x + part.shape[1]] *= 10**-part
            shift = int(rng.integers(0, 997))
            light += sensor[: h.shape[0], shift : shift + canvas.width]
            np.clip(light, 0, 255, out=light)
            out[..., channel] = light
        yield out
