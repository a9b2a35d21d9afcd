"""Tiles that are decoded straight give OpenSlide's pixels to the last bit, or else OpenSlide reads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import openslide
import pytest
import tifffile
from numpy.typing import NDArray

from evaluation.slides import Region, _tiff_tiles, open_slide
from evaluation.slides._backend import OpenSlideBackend
from evaluation.slides._tiff_tiles import TiffTilesBackend, read_straight

Picture = NDArray[np.uint8]

KINDS = {
    "jpeg-ycbcr": {"photometric": "ycbcr", "compression": "jpeg", "subsampling": (2, 2)},
    "jpeg-444": {"photometric": "ycbcr", "compression": "jpeg", "subsampling": (1, 1)},
    "jpeg-rgb": {"photometric": "rgb", "compression": "jpeg", "compressionargs": {"outcolorspace": "rgb"}},
    "lzw": {"photometric": "rgb", "compression": "lzw"},
    "deflate": {"photometric": "rgb", "compression": "zlib", "predictor": True},
    "plain": {"photometric": "rgb"},
}


def picture(height: int = 700, width: int = 915) -> Picture:
    rows, columns = np.mgrid[:height, :width]
    smooth = np.stack((columns * 255 / width, rows * 255 / height, 127 + 100 * np.sin(columns / 9)), axis=2)
    noise = np.random.default_rng(1).normal(0, 20, smooth.shape)
    return np.clip(smooth + noise, 0, 255).astype(np.uint8)


def write(path: Path, kind: str, image: Picture | None = None) -> Path:
    """A slide of two levels whose sides are no whole number of tiles."""
    image = picture() if image is None else image
    with tifffile.TiffWriter(path) as writer:
        for level, factor in enumerate((1, 2)):
            half = np.ascontiguousarray(image[: 700 // factor * factor : factor, :914:factor] if level else image)
            resolution = (20_000 / factor, 20_000 / factor)
            writer.write(
                half,
                tile=(128, 128),
                subfiletype=1 if level else 0,
                metadata=None,
                resolution=resolution,
                resolutionunit="CENTIMETER",
                **KINDS[kind],
            )
    return path


def assert_equal_everywhere(path: Path, *, reads: int = 60) -> TiffTilesBackend:
    rng = np.random.default_rng(2)
    with openslide.OpenSlide(path) as theirs:
        straight = read_straight(OpenSlideBackend(openslide.OpenSlide(path)), path)
        assert isinstance(straight, TiffTilesBackend)
        for _ in range(reads):
            level = int(rng.integers(theirs.level_count))
            width, height = theirs.level_dimensions[level]
            downsample = theirs.level_downsamples[level]
            # Also beyond all four sides, and between the pixels of a level.
            x, y = (int(rng.integers(-60, side * downsample)) for side in (width, height))
            size = (int(rng.integers(1, 400)), int(rng.integers(1, 400)))
            expected = np.asarray(theirs.read_region((x, y), level, size))
            got = np.asarray(straight.read_region((x, y), level, size).convert("RGBA"))
            np.testing.assert_array_equal(got, expected)
    return straight


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_slides_are_equal_to_the_last_bit(tmp_path: Path, kind: str) -> None:
    straight = assert_equal_everywhere(write(tmp_path / f"{kind}.tiff", kind))
    assert straight.levels_read_straight == 2
    straight.close()


def test_the_real_slide_is_equal_to_the_last_bit(shared_data: Path) -> None:
    straight = assert_equal_everywhere(shared_data / "slides" / "cmu-1-small-region.svs", reads=150)
    assert straight.levels_read_straight == 1
    straight.close()


def test_a_level_that_is_not_equal_is_left_to_openslide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "unequal.tiff", "jpeg-444")
    found = _tiff_tiles._TiledLevel.tile

    def one_grey_level_off(level: _tiff_tiles._TiledLevel, file: int, index: int) -> Picture:
        tile = found(level, file, index).copy()
        if level.width == 915 and index == 0:
            tile[0, 0, 0] ^= 1
        return tile

    monkeypatch.setattr(_tiff_tiles._TiledLevel, "tile", one_grey_level_off)
    straight = read_straight(OpenSlideBackend(openslide.OpenSlide(path)), path)
    assert isinstance(straight, TiffTilesBackend)
    assert straight.levels_read_straight == 1
    with openslide.OpenSlide(path) as theirs:
        expected = np.asarray(theirs.read_region((0, 0), 0, (200, 200)))
    np.testing.assert_array_equal(np.asarray(straight.read_region((0, 0), 0, (200, 200)).convert("RGBA")), expected)
    straight.close()


def test_the_proof_is_made_once_for_a_file_and_again_for_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proofs: list[Path] = []
    prove = _tiff_tiles._prove

    def counted(found: object, path: Path, file: int) -> object:
        proofs.append(path)
        return prove(found, path, file)  # type: ignore[arg-type]

    monkeypatch.setattr(_tiff_tiles, "_prove", counted)
    path = write(tmp_path / "slide.tiff", "lzw")
    for _ in range(3):
        open_slide(path).close()
    assert len(proofs) == 1
    other = picture()[::-1]
    write(path, "lzw", other)
    with open_slide(path) as slide:
        got = slide.read_region(Region(10, 20, 100, slide.info.mpp))
    assert len(proofs) == 2
    np.testing.assert_array_equal(got, other[20:120, 10:110])


def test_many_threads_may_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tiff_tiles, "_CACHED_BYTES", 200_000)
    image = picture()
    places = [(x, y) for x in range(0, 800, 37) for y in range(0, 600, 41)]
    with open_slide(write(tmp_path / "slide.tiff", "deflate")) as slide, ThreadPoolExecutor(8) as pool:
        reads = pool.map(lambda place: slide.read_region(Region(*place, 64, slide.info.mpp)), places)
        for (x, y), got in zip(places, reads, strict=True):
            np.testing.assert_array_equal(got, image[y : y + 64, x : x + 64])


def test_a_tile_that_is_damaged_afterwards_is_what_openslide_makes_of_it(tmp_path: Path) -> None:
    path = write(tmp_path / "slide.tiff", "jpeg-ycbcr")
    open_slide(path).close()
    with tifffile.TiffFile(path) as tiff:
        offset, count = tiff.pages[0].dataoffsets[20], tiff.pages[0].databytecounts[20]
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"\0" * count)
    straight = read_straight(OpenSlideBackend(openslide.OpenSlide(path)), path)
    x, y = 20 % 8 * 128, 20 // 8 * 128
    with pytest.raises(_tiff_tiles.ReadError):
        straight.read_region((x, y), 0, (64, 64))
    straight.close()


def test_without_the_libraries_openslide_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "slide.tiff", "lzw")
    monkeypatch.setitem(__import__("sys").modules, "imagecodecs", None)
    backend = OpenSlideBackend(openslide.OpenSlide(path))
    assert read_straight(backend, path) is backend
    backend.close()
