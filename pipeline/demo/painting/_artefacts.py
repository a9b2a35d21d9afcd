"""Draws the faults of processing, staining and scanning over finished tissue, and records them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.demo.painting._canvas import Canvas, Ink
from pipeline.demo.painting._geometry import Points, blob, inside
from pipeline.demo.painting._sites import Site
from pipeline.demo.painting._textures import noise_tile, tiled
from pipeline.demo.painting._truth import Recorder

PEN_COLOURS: tuple[tuple[float, float, float], ...] = (
    (1.0, 0.52, 0.10),
    (0.85, 0.20, 0.62),
    (1.0, 0.95, 0.85),
)
"""Optical density of blue, green and black marker ink in red, green and blue light."""

PRECIPITATE_COLOUR = (0.95, 1.15, 0.62)
FOLD_WIDTH = 190.0
PEN_WIDTH = 330.0
CHATTER_PERIOD = 84.0
BUBBLE_REACH = 240
"""Level-0 pixels around a large air bubble within which the small ones lie."""

BLUR_SIGMA = 6.5
"""Level-0 pixels (3.2 µm): a field that the scanner missed by several focal planes."""


def paint_artefacts(canvas: Canvas, recorder: Recorder, sites: Sequence[Site], rng: np.random.Generator) -> None:
    """Draw each artefact at its site on the finished canvas and record it."""
    for site in sites:
        outline = PAINTERS[site.name](canvas, site, rng)
        outline = np.clip(outline, 0, (canvas.width, canvas.height))
        recorder.add("artefact", site.name, outline, severity=site.severity, distribution="focal")
        if site.name in HIDES_NUCLEI:
            canvas.drop_nuclei(outline)


class _Window:
    """The part of the canvas around an artefact, with its own coordinate grids (level-0 pixels)."""

    def __init__(self, canvas: Canvas, outline: Points, rim: int) -> None:
        low = np.maximum(np.floor(outline.min(axis=0)).astype(int) - rim, 0)
        high = np.minimum(np.ceil(outline.max(axis=0)).astype(int) + rim, (canvas.width, canvas.height))
        self.left, self.top = int(low[0]), int(low[1])
        self.width, self.height = int(high[0] - low[0]), int(high[1] - low[1])
        here = (slice(self.top, int(high[1])), slice(self.left, int(high[0])))
        self.planes = (canvas.hematoxylin[here], canvas.eosin[here])
        self.x = np.arange(self.left, int(high[0]), dtype=np.float32)[None, :]
        self.y = np.arange(self.top, int(high[1]), dtype=np.float32)[:, None]

    def cover(self, outline: Points, blur: float) -> NDArray[np.float32]:
        """Return the outline as a mask (0 to 1) with an edge blurred by `blur` pixels."""
        from PIL import Image, ImageDraw, ImageFilter

        image = Image.new("L", (self.width, self.height), 0)
        ImageDraw.Draw(image).polygon((outline - (self.left, self.top)).ravel().tolist(), fill=255)
        if blur:
            image = image.filter(ImageFilter.GaussianBlur(blur))
        return np.asarray(image, dtype=np.float32) / 255.0

    def ink(self, amount: NDArray[np.float32], colour: tuple[float, float, float]) -> Ink:
        """Return ink of a colour (optical density per channel) in the given amounts."""
        return Ink(self.left, self.top, amount[..., None] * np.asarray(colour, dtype=np.float32))


def _band(rng: np.random.Generator, site: Site, length: float, width: float, angle: float) -> tuple[Points, Points]:
    """Return a wavy band's outline and its middle line."""
    steps = np.linspace(-0.5, 0.5, 40)
    unit = np.array([np.cos(angle), np.sin(angle)])
    normal = np.array([-unit[1], unit[0]])
    sway = 0.05 * length * np.sin(steps * rng.uniform(4, 7) + rng.uniform(0, 6.3))
    middle = np.asarray(site.centre) + steps[:, None] * length * unit + sway[:, None] * normal
    half = width / 2 * np.clip(1.25 - (2.0 * np.abs(steps)) ** 6, 0.15, 1.0)
    half *= 1 + 0.12 * np.sin(steps * 17 + rng.uniform(0, 6.3))
    outline = np.vstack([middle + half[:, None] * normal, (middle - half[:, None] * normal)[::-1]])
    return outline, middle


def _tissue_fold(canvas: Canvas, site: Site, rng: np.random.Generator) -> Points:
    """Lay a second, displaced layer of tissue over a band, with dark creases and a tear beside it."""
    angle = float(rng.uniform(0, np.pi))
    outline, middle = _band(rng, site, 1350.0, FOLD_WIDTH, angle)
    window = _Window(canvas, outline, 60)
    cover = window.cover(outline, 1.5)
    inner = np.vstack([middle + (outline[:40] - middle) * 0.8, (middle + (outline[40:][::-1] - middle) * 0.8)[::-1]])
    crease = np.clip(window.cover(outline, 2.0) - window.cover(inner, 5.0), 0, 1)
    shift = np.array([-np.sin(angle), np.cos(angle)]) * FOLD_WIDTH * 1.3
    tear = window.cover(outline + shift * 0.30, 3.0) * (1 - cover)
    for plane in window.planes:
        below = plane.astype(np.float32)
        above = np.roll(below, (round(shift[1]), round(shift[0])), axis=(0, 1))
        doubled = below + cover * (0.95 * above + 0.15 * below) + crease * 0.5 * below
        doubled *= 1 - 0.94 * np.clip(tear * 1.6, 0, 1)
        plane[:] = np.clip(doubled, 0, 255).astype(np.uint8)
    return outline


def _stain_precipitate(canvas: Canvas, site: Site, rng: np.random.Generator) -> Points:
    """Scatter dark, slightly blurred grains and clumps of undissolved dye over the tissue."""
    from PIL import Image, ImageDraw, ImageFilter

    outline = site.outline(rng)
    window = _Window(canvas, outline, 20)
    image = Image.new("L", (window.width, window.height), 0)
    draw = ImageDraw.Draw(image)
    clumps = np.asarray(site.centre) + rng.normal(0, site.radius * 0.48, (70, 2))
    for clump in clumps[inside(outline, clumps)]:
        spread = float(rng.uniform(8, 44))
        for x, y in clump + rng.normal(0, spread, (int(rng.integers(6, 46)), 2)) - (window.left, window.top):
            r = float(rng.lognormal(1.15, 0.45))
            corners = blob(rng, (x, y), r, rough=0.2, n=9)
            draw.polygon(corners.ravel().tolist(), fill=int(rng.integers(170, 256)))
    amount = np.asarray(image.filter(ImageFilter.GaussianBlur(1.1)), dtype=np.float32) / 255.0
    canvas.inks.append(window.ink(amount * 1.25, PRECIPITATE_COLOUR))
    return outline


def _pen_mark(canvas: Canvas, site: Site, rng: np.random.Generator) -> Points:
    """Draw a broad, translucent stroke of marker on the glass, out of focus, streaked along its length."""
    angle = float(rng.uniform(0, np.pi))
    outline, _ = _band(rng, site, 1700.0, PEN_WIDTH, angle)
    window = _Window(canvas, outline, 40)
    cover = window.cover(outline, 9.0)
    across = window.y * np.cos(angle) - window.x * np.sin(angle)
    along = window.x * np.cos(angle) + window.y * np.sin(angle)
    streak = noise_tile(rng, (1.5, 60.0), size=512)
    rows, columns = across.astype(np.int64) % 512, along.astype(np.int64) // 3 % 512
    amount = cover * np.clip(0.62 + 0.10 * streak[rows, columns], 0.3, 1.0)
    rim = np.clip(cover * (1 - window.cover(outline, 26.0)) * 2.2, 0, 0.35)
    colour = PEN_COLOURS[int(rng.integers(len(PEN_COLOURS)))]
    canvas.inks.append(window.ink((amount + rim).astype(np.float32), colour))
    return outline


def _air_bubble(canvas: Canvas, site: Site, rng: np.random.Generator) -> Points:
    """Draw bubbles under the coverslip: a dark, bright-lined rim around paler, blurred tissue."""
    from scipy.ndimage import gaussian_filter

    radius = site.radius * 1.05
    outline = blob(rng, site.centre, radius, rough=0.02, n=72)
    window = _Window(canvas, outline, BUBBLE_REACH)
    discs = [(site.centre, radius)]
    for _ in range(3):
        turn, size = rng.uniform(0, 2 * np.pi), float(rng.uniform(34, 80))
        reach = radius + size + 24
        discs.append(((site.centre[0] + reach * np.cos(turn), site.centre[1] + reach * np.sin(turn)), size))
    soft = [gaussian_filter(plane.astype(np.float32), 2.6) for plane in window.planes]
    dark = np.zeros((window.height, window.width), dtype=np.float32)
    for (cx, cy), size in discs:
        away = np.hypot(window.x - cx, window.y - cy) - size
        within = np.clip(0.5 - away / 3.0, 0, 1)
        gleam = np.exp(-(((away + 24.0) / 9.0) ** 2))
        dark += 1.05 * np.exp(-((away / 8.0) ** 2)) + 0.45 * np.exp(-(((away + 44.0) / 5.0) ** 2))
        dark += 0.20 * np.exp(-np.clip(-away, 0, None) / 90.0) * within
        for plane, blurred in zip(window.planes, soft, strict=True):
            inner = blurred * 0.62 * (1 - 0.85 * gleam)
            plane[:] = np.clip(plane * (1 - within) + inner * within, 0, 255).astype(np.uint8)
    canvas.inks.append(window.ink(dark, (0.85, 0.82, 0.78)))
    return outline


def _out_of_focus(canvas: Canvas, site: Site, rng: np.random.Generator) -> Points:
    """Blur a field as a scanner does that focused on the wrong plane."""
    from scipy.ndimage import gaussian_filter

    outline = site.outline(rng)
    window = _Window(canvas, outline, 60)
    cover = window.cover(outline, 16.0)
    for plane in window.planes:
        sharp = plane.astype(np.float32)
        plane[:] = np.clip(sharp + cover * (gaussian_filter(sharp, BLUR_SIGMA) - sharp), 0, 255).astype(np.uint8)
    return outline


def _knife_chatter(canvas: Canvas, site: Site, rng: np.random.Generator) -> Points:
    """Cut parallel thick and thin bands, the thinnest of them through to the glass."""
    outline = blob(rng, site.centre, site.radius * 1.15, rough=0.08, n=56)
    window = _Window(canvas, outline, 40)
    cover = window.cover(outline, 12.0)
    angle = float(rng.uniform(0, np.pi))
    wobble = tiled(noise_tile(rng, 40.0, size=512), window.height, window.width)
    phase = (window.y * np.cos(angle) - window.x * np.sin(angle) + 5.0 * wobble) / CHATTER_PERIOD * 2 * np.pi
    wave = np.cos(phase)
    thickness = 1.0 + 0.55 * wave
    thickness = np.where(wave < -0.62, thickness * np.clip((wave + 0.98) / 0.36, 0.06, 1.0), thickness)
    for plane in window.planes:
        even = plane.astype(np.float32)
        plane[:] = np.clip(even * (1 + cover * (thickness - 1)), 0, 255).astype(np.uint8)
    return outline


PAINTERS: dict[str, Callable[[Canvas, Site, np.random.Generator], Points]] = {
    "tissue fold": _tissue_fold,
    "stain precipitate": _stain_precipitate,
    "pen mark": _pen_mark,
    "air bubble": _air_bubble,
    "out-of-focus area": _out_of_focus,
    "knife chatter": _knife_chatter,
}
"""How each artefact is drawn; each returns the outline of what it touched."""

HIDES_NUCLEI = ("tissue fold", "pen mark", "air bubble", "out-of-focus area")
"""Artefacts under which a nucleus cannot be judged: its record is dropped."""
