"""Noise tiles and nucleus sprites: the fine grain of a drawn slide, made once per slide from its seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.demo.painting._geometry import Scalar

TILE = 1024
"""Side of a noise tile in pixels; tiles repeat without a seam."""

STAIN_UNIT = 100
"""Canvas value of a stain amount of 1.0 (the stain vector's own optical density)."""


def noise_tile(
    rng: np.random.Generator, sigma: tuple[float, float] | float, *, size: int = TILE
) -> NDArray[np.float32]:
    """Return seamless Gaussian noise (mean 0, standard deviation 1), smooth over `sigma` (y, x) pixels."""
    from scipy.ndimage import gaussian_filter

    grain = gaussian_filter(rng.standard_normal((size, size)).astype(np.float32), sigma, mode="wrap")
    grain -= grain.mean()
    tile: NDArray[np.float32] = grain / grain.std()
    return tile


def tiled(tile: NDArray[Scalar], height: int, width: int) -> NDArray[Scalar]:
    """Return the tile repeated over height × width."""
    rows = -(-height // tile.shape[0])
    columns = -(-width // tile.shape[1])
    return np.tile(tile, (rows, columns))[:height, :width]


@dataclass(frozen=True)
class NucleusLook:
    """How a nucleus type looks; lengths in micrometres, stains in amounts (1.0 = the stain's own vector).

    `rim` and `core` are hematoxylin at the membrane and in the middle, `clump` the contrast of chromatin
    clumps, `nucleoli` the number of nucleoli.
    """

    length: float
    width: float
    rim: float
    core: float
    clump: float
    nucleoli: int = 0
    vary: float = 0.12
    lobes: int = 1


LOOKS: dict[str, NucleusLook] = {
    "hepatocyte": NucleusLook(8.6, 8.2, 0.95, 0.42, 0.30, nucleoli=2, vary=0.14),
    "endothelial cell": NucleusLook(9.0, 2.8, 1.15, 1.00, 0.15),
    "Kupffer cell": NucleusLook(8.0, 3.6, 1.10, 0.90, 0.20),
    "bile duct epithelial cell": NucleusLook(6.4, 5.4, 1.00, 0.70, 0.20),
    "lymphocyte": NucleusLook(6.2, 5.8, 1.45, 1.25, 0.30, vary=0.08),
    "neutrophil": NucleusLook(7.2, 6.2, 1.50, 1.40, 0.20, lobes=3),
    "macrophage": NucleusLook(7.5, 5.6, 0.95, 0.65, 0.25),
    "alveolar macrophage": NucleusLook(6.8, 5.6, 0.95, 0.70, 0.25),
    "fibroblast": NucleusLook(12.0, 2.8, 1.00, 0.85, 0.15, vary=0.2),
    "smooth muscle cell": NucleusLook(13.0, 2.6, 0.95, 0.80, 0.15),
    "proximal tubular epithelial cell": NucleusLook(6.6, 6.3, 0.95, 0.58, 0.28, nucleoli=1),
    "distal tubular epithelial cell": NucleusLook(5.8, 5.4, 1.05, 0.75, 0.25),
    "glomerular cell": NucleusLook(6.4, 4.8, 1.15, 0.85, 0.25, vary=0.2),
    "pneumocyte": NucleusLook(6.4, 4.2, 1.05, 0.80, 0.25, vary=0.2),
    "bronchiolar epithelial cell": NucleusLook(8.0, 4.6, 1.05, 0.75, 0.25),
    "pyknotic": NucleusLook(4.0, 3.6, 1.75, 1.75, 0.05),
    "mitotic": NucleusLook(9.0, 3.4, 1.75, 1.75, 0.25),
}
"""Nuclei by cell type. Sizes follow rat histology (hepatocyte nucleus about 8 µm, lymphocyte 6 to 7 µm)."""


@dataclass(frozen=True)
class Sprite:
    """A drawn nucleus: hematoxylin to reach and the most eosin that stays, both uint8 of one odd side."""

    hematoxylin: NDArray[np.uint8]
    eosin_limit: NDArray[np.uint8]


ORIENTATIONS = 16
VARIANTS = 4


class NucleusBank:
    """Sprites by cell type in `ORIENTATIONS` directions and `VARIANTS` shapes."""

    def __init__(self, rng: np.random.Generator, mpp: float) -> None:
        self._rng = rng
        self._mpp = mpp
        self._sprites: dict[str, list[list[Sprite]]] = {}

    def sprites(self, cell_type: str) -> list[list[Sprite]]:
        """Return `[orientation][variant]` of the cell type; drawn at first use."""
        if cell_type not in self._sprites:
            look = LOOKS[cell_type]
            self._sprites[cell_type] = [
                [self._draw(look, np.pi * turn / ORIENTATIONS) for _ in range(VARIANTS)] for turn in range(ORIENTATIONS)
            ]
        return self._sprites[cell_type]

    def _draw(self, look: NucleusLook, angle: float) -> Sprite:
        rng = self._rng
        half_length = look.length / 2 / self._mpp * rng.normal(1.0, look.vary)
        half_width = look.width / 2 / self._mpp * rng.normal(1.0, look.vary)
        half_length, half_width = max(half_length, 2.0), max(half_width, 1.6)
        reach = int(np.ceil(max(half_length, half_width))) + 2
        grid = np.arange(-reach, reach + 1, dtype=np.float64)
        x, y = np.meshgrid(grid, grid)
        along = x * np.cos(angle) + y * np.sin(angle)
        across = -x * np.sin(angle) + y * np.cos(angle)
        if look.lobes > 1:
            distance = self._lobed_distance(along, across, half_length, half_width, look.lobes)
        else:
            bend = 1 + 0.045 * np.cos(rng.integers(2, 4) * np.arctan2(across, along) + rng.uniform(0, 6.3))
            distance = np.hypot(along / half_length, across / half_width) * bend
        cover = np.clip((1.0 - distance) * min(half_length, half_width) + 0.5, 0.0, 1.0)
        rim = np.exp(-(((1.0 - distance) * min(half_length, half_width)) ** 2) / 2.4)
        amount = look.core + (look.rim - look.core) * rim
        clumps = self._clumps(x.shape)
        amount = amount * (1.0 + look.clump * clumps)
        for _ in range(look.nucleoli if rng.random() < 0.85 else 0):
            turn, out = rng.uniform(0, 2 * np.pi), rng.uniform(0.0, 0.5)
            nx, ny = out * half_width * np.cos(turn), out * half_width * np.sin(turn)
            spot = np.exp(-((x - nx) ** 2 + (y - ny) ** 2) / (2 * (0.62 / self._mpp) ** 2))
            amount = amount + 0.75 * spot
        amount *= rng.normal(1.0, 0.10)
        hematoxylin = np.clip(amount * cover * STAIN_UNIT, 0, 255).astype(np.uint8)
        eosin_limit = np.clip(255 - cover * (255 - 0.30 * STAIN_UNIT), 0, 255).astype(np.uint8)
        return Sprite(hematoxylin, eosin_limit)

    def _clumps(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        from scipy.ndimage import gaussian_filter

        clumps: NDArray[np.float64] = gaussian_filter(self._rng.standard_normal(shape), 1.1)
        return np.asarray(clumps / (clumps.std() + 1e-9), dtype=np.float64)

    def _lobed_distance(
        self,
        along: NDArray[np.float64],
        across: NDArray[np.float64],
        half_length: float,
        half_width: float,
        lobes: int,
    ) -> NDArray[np.float64]:
        turn = np.linspace(0, 1.25 * np.pi, lobes) + self._rng.normal(0, 0.25, lobes)
        places, lifts = 0.5 * half_length * np.cos(turn), 0.5 * half_width * np.sin(turn)
        parts = [
            np.hypot(along - place, across - lift) / (0.62 * half_width)
            for place, lift in zip(places, lifts, strict=True)
        ]
        return np.asarray(np.minimum.reduce(parts), dtype=np.float64)
