"""The built-in encoder without weights: how an image is stained, and its texture from nuclei to tissue.

Each of six blocks describes one thing a pathologist sees at a glance; a block of n features is divided by √n,
so that no block outweighs the others by its length:

- stain: distribution of haematoxylin, eosin, residual (optical density, about 0 to 1) and brightness
- palette: joint histogram of haematoxylin and eosin (square roots of shares: Hellinger distances)
- scales: energy, edge strength and directedness of each stain at four scales (logarithms, about 0 to 1)
- patterns: local binary patterns of brightness at three scales (square roots of shares)
- granularity: share of stain volume that openings and closings of growing size remove (0 to 1)
- nuclei: number, contrast and unevenness of haematoxylin blobs at three sizes, and unevenness of the field

Turning or mirroring an image by quarter turns barely moves its vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from evaluation.encoders._protocol import EncodedTokens, EncoderError, check_images

INPUT_SIZE = 256

_STAINS = np.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11], [0.27, 0.57, 0.78]], dtype=np.float32)
"""Optical density vectors of haematoxylin, eosin and the residual (Ruifrok and Johnston 2001)."""

_PERCENTILES = (5, 25, 50, 75, 95)
_SCALES = 4
_PALETTE_EDGES = np.array([0.05, 0.15, 0.3, 0.5], dtype=np.float32)
"""Stain amounts that part bare, faint, light, medium and dark."""

_PATTERN_SCALES = 3
_PATTERN_BINS = 10
"""Rotation-invariant uniform patterns of eight neighbours: 0 to 8 bits set, and the rest."""

_GRAIN_REACHES = (1, 1, 2, 4, 8)
"""Steps to squares of side 3, 5, 9, 17, 33 px: at 20× (2 µm a pixel here) 6 µm (a nucleus) to 66 µm."""

_BLOB_SIGMAS = (1.0, 2.0, 4.0)
_BLOB_CONTRAST = 0.04
"""Least band-pass response in optical density of a blob that counts as a nucleus."""

_GRID = 4

Plane = NDArray[np.float32]


class ColourTexture:
    """Stain-separated colour and texture statistics; see the module for what each block holds."""

    name = "colour-texture"
    version = "1"
    dimension = 165
    input_size = INPUT_SIZE
    description = "Stain-separated colour and texture statistics; runs anywhere, knows no diagnosis."
    licence = "Apache-2.0"
    weights = "none"

    def encode(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Return float32 (n, 165); each image is reduced to 256 × 256 px first, whatever its shape.

        Raises:
            EncoderError: an entry is no RGB uint8 image.
        """
        check_images(images)
        rows = np.empty((len(images), self.dimension), dtype=np.float32)
        for row, image in zip(rows, images, strict=True):
            row[:] = _describe(image)
        return rows

    def tokens(self, images: Sequence[NDArray[np.uint8]]) -> EncodedTokens:  # noqa: ARG002
        """Refuse: there are no tokens of parts of an image.

        Raises:
            EncoderError: always.
        """
        raise EncoderError("colour-texture describes an image as a whole and has no tokens: choose another encoder")


def _describe(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    small = _reduce(image)
    stains = _separate(small)
    brightness = np.asarray(small.mean(axis=2) / np.float32(255.0), dtype=np.float32)
    haematoxylin, eosin = stains[0], stains[1]
    pyramids = [_pyramid(plane) for plane in (haematoxylin, eosin, brightness)]
    blocks = (
        _stain_block([*stains, brightness]),
        _palette_block(haematoxylin, eosin),
        _scale_block(pyramids),
        _pattern_block(pyramids[2][:_PATTERN_SCALES]),
        _granularity_block(haematoxylin, brightness),
        _nuclei_block(haematoxylin, eosin, brightness),
    )
    return np.concatenate([block / np.sqrt(len(block)) for block in blocks]).astype(np.float32)


def _reduce(image: NDArray[np.uint8]) -> Plane:
    resized = Image.fromarray(image).resize((INPUT_SIZE, INPUT_SIZE), Image.Resampling.BOX)
    return np.asarray(resized, dtype=np.float32)


def _separate(image: Plane) -> list[Plane]:
    """Return amounts of haematoxylin, eosin and residual, (256, 256) each, clipped at 0."""
    density = -np.log10(np.maximum(image, 1.0) / np.float32(255.0))
    unit = _STAINS / np.linalg.norm(_STAINS, axis=1, keepdims=True)
    amounts = density @ np.linalg.inv(unit).astype(np.float32)
    return [np.ascontiguousarray(np.maximum(amounts[..., stain], 0.0)) for stain in range(3)]


def _pyramid(plane: Plane) -> list[Plane]:
    """Halve a plane three times by averaging 2 × 2 pixels."""
    levels = [plane]
    for _ in range(_SCALES - 1):
        last = levels[-1]
        side = last.shape[0] // 2
        levels.append(last.reshape(side, 2, side, 2).mean(axis=(1, 3), dtype=np.float32))
    return levels


def _stain_block(planes: list[Plane]) -> Plane:
    """Mean, spread, skew and five percentiles of each plane: 8 features a plane."""
    features: list[float] = []
    for plane in planes:
        mean = float(plane.mean())
        centred = plane - np.float32(mean)
        squared = centred * centred
        spread = float(np.sqrt(squared.mean()))
        skew = float((squared * centred).mean()) / (spread**3 + 1e-6)
        features += [mean, spread, float(np.tanh(skew / 4.0))]
        features += [float(value) for value in np.percentile(plane, _PERCENTILES)]
    return np.array(features, dtype=np.float32)


def _palette_block(haematoxylin: Plane, eosin: Plane) -> Plane:
    """Joint histogram of the two stains in five steps each: 25 features."""
    steps = len(_PALETTE_EDGES) + 1
    codes = np.digitize(haematoxylin, _PALETTE_EDGES) * steps + np.digitize(eosin, _PALETTE_EDGES)
    shares = np.bincount(codes.ravel(), minlength=steps * steps) / codes.size
    return np.sqrt(shares).astype(np.float32)


def _scale_block(pyramids: list[list[Plane]]) -> Plane:
    """Band energy, edge strength and directedness of each plane at each scale: 3 features each, 36 in all."""
    features: list[float] = []
    for levels in pyramids:
        for plane in levels:
            inner = plane[1:-1, 1:-1]
            around = (plane[:-2, 1:-1] + plane[2:, 1:-1] + plane[1:-1, :-2] + plane[1:-1, 2:]) / 4
            dx, dy = plane[1:-1, 2:] - plane[1:-1, :-2], plane[2:, 1:-1] - plane[:-2, 1:-1]
            xx, yy, xy = float((dx * dx).mean()), float((dy * dy).mean()), float((dx * dy).mean())
            directed = np.hypot(xx - yy, 2 * xy) / (xx + yy + 1e-6)
            features += [
                _log_unit(float((inner - around).std())),
                _log_unit(float(np.sqrt(xx + yy))),
                float(directed),
            ]
    return np.array(features, dtype=np.float32)


def _log_unit(value: float) -> float:
    """Map 0.001 to 1 logarithmically to 0 to 1."""
    return float(np.log10(max(value, 1e-3)) / 3.0 + 1.0)


def _pattern_block(levels: list[Plane]) -> Plane:
    """Histograms of local binary patterns of brightness: 10 features a scale, 30 in all."""
    return np.concatenate([_pattern_histogram(plane) for plane in levels])


def _pattern_histogram(plane: Plane) -> Plane:
    """Rotation-invariant uniform patterns of the eight neighbours of each pixel (Ojala et al. 2002)."""
    side = plane.shape[0]
    # One grey level of tolerance: compression noise on glass is no texture.
    limit = plane[1:-1, 1:-1] + np.float32(1 / 255)
    offsets = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0))
    bits = [plane[dy : side - 2 + dy, dx : side - 2 + dx] > limit for dy, dx in offsets]
    total = np.zeros(limit.shape, dtype=np.uint8)
    changes = np.zeros(limit.shape, dtype=np.uint8)
    for bit, following in zip(bits, [*bits[1:], bits[0]], strict=True):
        total += bit
        changes += bit != following
    codes = np.where(changes <= 2, total, _PATTERN_BINS - 1)
    shares = np.bincount(codes.ravel(), minlength=_PATTERN_BINS) / codes.size
    return np.sqrt(shares).astype(np.float32)


def _granularity_block(haematoxylin: Plane, brightness: Plane) -> Plane:
    """What each step of opening and closing removes of two planes: 2 × 2 × 5 features."""
    features: list[float] = []
    for plane in (haematoxylin, brightness):
        eight_bit = np.asarray(np.clip(plane, 0.0, 1.0) * 255, dtype=np.uint8)
        for sign in (1, -1):
            features += _granulometry(eight_bit if sign > 0 else 255 - eight_bit)
    return np.array(features, dtype=np.float32)


def _granulometry(plane: NDArray[np.uint8]) -> list[float]:
    """Mean grey (0 to 1) that openings by squares of growing side remove, step by step, times four."""
    removed: list[float] = []
    last = float(plane.mean())
    eroded = plane
    for step in range(len(_GRAIN_REACHES)):
        eroded = _spread(eroded, _GRAIN_REACHES[step], np.minimum)
        opened = eroded
        for reach in _GRAIN_REACHES[: step + 1]:
            opened = _spread(opened, reach, np.maximum)
        mean = float(opened.mean())
        removed.append(max(0.0, last - mean) / 255 * 4)
        last = mean
    return removed


def _spread(plane: NDArray[Any], reach: int, extreme: np.ufunc) -> NDArray[Any]:
    """Take the extreme of each pixel and the ones `reach` away along both axes, within the plane.

    On a plane that is already the extreme over squares of side s ≥ 2·reach − 1 this gives those of side
    s + 2·reach, at a fraction of the cost of a filter of that size.
    """
    for axis in (0, 1):
        source = plane.swapaxes(0, axis)
        result = source.copy(order="K")  # keeps the layout: transposing costs more than comparing
        extreme(result[reach:], source[:-reach], out=result[reach:])
        extreme(result[:-reach], source[reach:], out=result[:-reach])
        plane = result.swapaxes(0, axis)
    return plane


def _nuclei_block(haematoxylin: Plane, eosin: Plane, brightness: Plane) -> Plane:
    """Blobs at three sizes (number, contrast, unevenness), evenness of the field: 9 + 12 + 1 features."""
    from scipy import ndimage

    features: list[float] = []
    blurred = [ndimage.gaussian_filter(haematoxylin, sigma) for sigma in _BLOB_SIGMAS]
    for sigma, inner in zip(_BLOB_SIGMAS, blurred, strict=True):
        response = inner - ndimage.gaussian_filter(inner, sigma * 1.25)
        peaks = (_spread(response, 1, np.maximum) == response) & (response > _BLOB_CONTRAST)
        counts = _cells(peaks.astype(np.float32)).sum(axis=(1, 3))
        found = float(counts.sum())
        features += [
            float(np.log1p(found) / np.log1p(2000.0)),
            float(response[peaks].mean()) * 4 if found else 0.0,
            float(np.tanh(counts.std() / (counts.mean() + 1.0))),
        ]
    for plane in (haematoxylin, eosin, brightness):
        means = np.sort(_cells(plane).mean(axis=(1, 3)).ravel())
        features += [
            float(means.std()),
            float(means[-1] - means[0]),
            float(means[-2:].mean()),
            float(means[:2].mean()),
        ]
    features.append(float((brightness > 0.9).mean()))
    return np.array(features, dtype=np.float32)


def _cells(plane: Plane) -> Plane:
    """View a plane as a 4 × 4 grid of fields: (4, height, 4, width)."""
    side = INPUT_SIZE // _GRID
    return plane.reshape(_GRID, side, _GRID, side)
