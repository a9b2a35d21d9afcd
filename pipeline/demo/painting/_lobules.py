"""The radial pattern of liver cell plates and sinusoids around a central vein."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TEMPLATE_SIDE = 448
"""Pixels of 2 µm: a template reaches 448 µm to each side, beyond any lobule's corner."""

PLATE_PERIOD = 12.5
"""Pixels of 2 µm from one sinusoid to the next (25 µm: a plate one cell thick and its sinusoid)."""

DIRECTIONS = 12
ROUNDS = 5


def sinusoid_template(rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return a square map (255 = sinusoid, 0 = plate) of plates that run towards the middle and branch.

    Noise is filtered again and again with a line detector turned to the local radial direction; the ridges
    that survive run radially and fork where the circumference grows.
    """
    from scipy import fft
    from scipy.ndimage import gaussian_filter

    side = TEMPLATE_SIDE
    grid = np.arange(side, dtype=np.float32) - side / 2
    x, y = np.meshgrid(grid, grid)
    wobble = gaussian_filter(rng.standard_normal((side, side)).astype(np.float32), 14)
    angle = np.arctan2(y, x) + 0.55 * wobble / wobble.std() * np.clip(np.hypot(x, y) / 80, 0.3, 1.0)
    sector = np.round(angle / np.pi * DIRECTIONS).astype(int) % DIRECTIONS
    filters = [fft.rfft2(fft.ifftshift(_line_detector(x, y, np.pi * k / DIRECTIONS))) for k in range(DIRECTIONS)]
    field = rng.standard_normal((side, side)).astype(np.float32)
    for _ in range(ROUNDS):
        spectrum = fft.rfft2(field)
        fresh = np.empty_like(field)
        for k, line in enumerate(filters):
            here = sector == k
            fresh[here] = fft.irfft2(spectrum * line, s=(side, side))[here]
        field = np.tanh(fresh / fresh.std() * 1.2).astype(np.float32)
    width = gaussian_filter(rng.standard_normal((side, side)).astype(np.float32), 6)
    field += 0.16 * width / width.std()
    sinusoid = np.clip((-field - 0.66) / 0.36 + 0.5, 0.0, 1.0)
    return np.asarray(gaussian_filter(sinusoid, 0.5) * 255, dtype=np.uint8)


def _line_detector(x: NDArray[np.float32], y: NDArray[np.float32], angle: float) -> NDArray[np.float32]:
    along = x * np.cos(angle) + y * np.sin(angle)
    across = -x * np.sin(angle) + y * np.cos(angle)
    envelope = np.exp(-(along**2) / (2 * 9.0**2) - across**2 / (2 * 5.0**2))
    kernel = envelope * np.cos(2 * np.pi * across / PLATE_PERIOD)
    kernel -= envelope * (kernel.sum() / envelope.sum())
    return np.asarray(kernel, dtype=np.float32)
