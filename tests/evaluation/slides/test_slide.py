"""Regions, overviews and tiles show the right place at the right resolution."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from evaluation.slides import Region, SlideError, TileNotFoundError, _slide, open_slide
from tests.evaluation.slides.drawing import write_tiff

Picture = NDArray[np.uint8]


@pytest.fixture(scope="module")
def picture() -> Picture:
    """A smooth picture, so that resampling can be compared with averaging."""
    rows, columns = np.mgrid[:512, :640]
    channels = (columns * 255 / 640, rows * 255 / 512, 127 + 100 * np.sin(columns / 40) * np.cos(rows / 30))
    return np.stack(channels, axis=2).astype(np.uint8)


@pytest.fixture(scope="module")
def path(picture: Picture, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiff(tmp_path_factory.mktemp("slides") / "smooth.tiff", picture, levels=3)


def test_the_native_resolution_gives_the_stored_pixels(path: Path, picture: Picture) -> None:
    with open_slide(path) as slide:
        got = slide.read_region(Region(x=101, y=57, size=200, mpp=slide.info.mpp))
    np.testing.assert_array_equal(got, picture[57:257, 101:301])


@pytest.mark.parametrize("factor", [2, 3, 4, 8])
def test_a_coarser_resolution_shows_the_mean_of_the_place(path: Path, picture: Picture, factor: int) -> None:
    size = 40
    with open_slide(path) as slide:
        got = slide.read_region(Region(x=104, y=64, size=size, mpp=slide.info.mpp * factor))
    place = picture[64 : 64 + size * factor, 104 : 104 + size * factor].astype(float)
    expected = place.reshape(size, factor, size, factor, 3).mean(axis=(1, 3))
    assert np.abs(got - expected).max() < 4


def test_positions_between_pixels_of_a_level_are_kept(path: Path, picture: Picture) -> None:
    """A region that starts on an odd pixel reads from the half-size level without moving."""
    with open_slide(path) as slide:
        got = slide.read_region(Region(x=101, y=61, size=60, mpp=slide.info.mpp * 2)).astype(float)
    expected = picture[61:181, 101:221].astype(float).reshape(60, 2, 60, 2, 3).mean(axis=(1, 3))
    assert abs((got - expected).mean()) < 0.3
    assert np.abs(got - expected).max() < 4


def test_reading_in_blocks_gives_the_same_picture(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    region = Region(x=10, y=20, size=150, mpp=1.4)
    with open_slide(path) as slide:
        whole, overview = slide.read_region(region), slide.read_overview(1.3)
        monkeypatch.setattr(_slide, "_BLOCK", 50)
        np.testing.assert_allclose(slide.read_region(region).astype(int), whole, atol=1)
        np.testing.assert_allclose(slide.read_overview(1.3).astype(int), overview, atol=1)


def test_outside_the_slide_is_white(path: Path, picture: Picture) -> None:
    with open_slide(path) as slide:
        got = slide.read_region(Region(x=-50, y=-50, size=100, mpp=slide.info.mpp))
        far = slide.read_region(Region(x=10_000, y=0, size=16, mpp=2.0))
    assert (got[:49, :] == 255).all()
    assert (got[:, :49] == 255).all()
    np.testing.assert_array_equal(got[50:, 50:], picture[:50, :50])
    assert (far == 255).all()


def test_finer_than_the_slide_is_refused_unless_told(path: Path) -> None:
    with open_slide(path) as slide:
        assert slide.read_region(Region(0, 0, 32, slide.info.mpp * 0.96)).shape == (32, 32, 3)
        with pytest.raises(SlideError, match=r"finer than the slide's 0\.5"):
            slide.read_region(Region(0, 0, 32, 0.25))
        assert slide.read_region(Region(0, 0, 32, 0.25), allow_upsampling=True).shape == (32, 32, 3)


@pytest.mark.parametrize("region", [Region(0, 0, 0, 0.5), Region(0, 0, 8, 0.0), Region(0, 0, 8, float("nan"))])
def test_a_region_without_area_is_refused(path: Path, region: Region) -> None:
    with open_slide(path) as slide, pytest.raises(ValueError, match="positive size and resolution"):
        slide.read_region(region)


def test_thumbnails_keep_the_proportions_and_are_never_enlarged(path: Path) -> None:
    with open_slide(path) as slide:
        assert slide.thumbnail(320).shape == (256, 320, 3)
        assert slide.thumbnail(5_000).shape == (512, 640, 3)
        assert slide.thumbnail(1).shape == (1, 1, 3)
        with pytest.raises(ValueError, match="positive side"):
            slide.thumbnail(0)


def test_deep_zoom_tiles_fit_the_descriptor(path: Path, picture: Picture) -> None:
    with open_slide(path) as slide:
        assert 'TileSize="254" Overlap="1" Format="jpeg"' in slide.deepzoom_descriptor
        assert 'Width="640" Height="512"' in slide.deepzoom_descriptor
        tile = Image.open(io.BytesIO(slide.tile(10, 1, 0)))
        for address in ((10, 3, 0), (10, -1, 0), (11, 0, 0), (-1, 0, 0)):
            with pytest.raises(TileNotFoundError):
                slide.tile(*address)
    assert (tile.format, tile.size) == ("JPEG", (256, 255))
    assert "icc_profile" not in tile.info
    assert np.abs(np.asarray(tile).astype(int) - picture[0:255, 253:509]).mean() < 3


def test_many_threads_may_read_at_once(path: Path, picture: Picture) -> None:
    with open_slide(path) as slide, ThreadPoolExecutor(8) as pool:
        places = [(x, y) for x in range(0, 500, 60) for y in range(0, 400, 60)]
        reads = pool.map(lambda p: slide.read_region(Region(p[0], p[1], 64, slide.info.mpp)), places)
        for (x, y), got in zip(places, reads, strict=True):
            np.testing.assert_array_equal(got, picture[y : y + 64, x : x + 64])


def test_a_slide_that_fails_on_reading_says_so(shared_data: Path) -> None:
    path = shared_data / "slides" / "unreadable.svs"
    with open_slide(path) as slide, pytest.raises(SlideError, match="cannot be read"):
        slide.read_region(Region(0, 0, 16, 0.5))
    with open_slide(path) as slide, pytest.raises(SlideError, match="cannot be read"):
        slide.tile(4, 0, 0)
    with open_slide(path) as slide, pytest.raises(SlideError, match="cannot be read"):
        slide.thumbnail(8)


def test_the_real_slide_reads_at_each_magnification(shared_data: Path) -> None:
    with open_slide(shared_data / "slides" / "cmu-1-small-region.svs") as slide:
        for mpp in (0.5, 2.0, 4.0):
            image = slide.read_region(Region(900, 900, 128, mpp))
            assert image.shape == (128, 128, 3)
            assert image.std() > 10
