"""Files that OpenSlide does not read: OME-TIFF and OME-NGFF, read in another process, with the pixels they hold."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import openslide
import pytest
import tifffile
from numpy.typing import NDArray

from evaluation.slides import (
    Region,
    ResolutionError,
    SlideError,
    _opening,
    _tiatoolbox,
    check_slide,
    open_slide,
)
from tests.evaluation.slides.drawing import disc, glass, stain


def _picture(seed: int = 0) -> NDArray[np.uint8]:
    image = stain(glass(512, 640, seed=seed), disc(512, 640, 256, 300, 180), 0.2, 0.3)
    return stain(image, disc(512, 640, 120, 160, 30), 0.9, 0.0)


def _halved(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width = image.shape[0] // 2, image.shape[1] // 2
    return image.reshape(height, 2, width, 2, 3).mean(axis=(1, 3)).round().astype(np.uint8)


def write_ome_tiff(
    path: Path, image: NDArray[np.uint8], *, pixel: dict[str, Any] | None = None, tiled: bool = False
) -> Path:
    """An OME-TIFF: planes of one colour each, the smaller level in a sub-directory. OpenSlide reads it where tiled."""
    if pixel is None:
        pixel = {"PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5, "PhysicalSizeXUnit": "µm", "PhysicalSizeYUnit": "µm"}
    options: dict[str, Any] = {"photometric": "rgb", "planarconfig": "separate"}
    if tiled:
        options["tile"] = (64, 64)
    with tifffile.TiffWriter(path, ome=True) as writer:
        planes = np.moveaxis(image, 2, 0)
        writer.write(planes, subifds=1, metadata={"axes": "SYX", **pixel}, **options)
        writer.write(np.moveaxis(_halved(image), 2, 0), subfiletype=1, **options)
    return path


def write_ngff(path: Path, image: NDArray[np.uint8], *, unit: str | None = "micrometer", size: float = 0.5) -> Path:
    """An OME-NGFF 0.4 folder of two levels."""
    import zarr  # Comes with TIAToolbox.

    group = zarr.open_group(path, mode="w", zarr_format=2)
    datasets = []
    for number, level in enumerate((image, _halved(image))):
        planes = np.moveaxis(level, 2, 0)
        array = group.create_array(str(number), shape=planes.shape, chunks=(3, 128, 128), dtype="uint8")
        array[:] = planes
        scale = [1.0, size * 2**number, size * 2**number]
        transformations = [{"type": "scale", "scale": scale}]
        datasets.append({"path": str(number), "coordinateTransformations": transformations})
    space = {"type": "space", **({"unit": unit} if unit is not None else {})}
    axes = [{"name": "c", "type": "channel"}, {"name": "y", **space}, {"name": "x", **space}]
    channels = [
        {
            "label": name,
            "color": "FFFFFF",
            "active": True,
            "coefficient": 1,
            "family": "linear",
            "inverted": False,
            "window": {"start": 0, "end": 255, "min": 0, "max": 255},
        }
        for name in "RGB"
    ]
    rdefs = {"defaultT": 0, "defaultZ": 0, "model": "color"}
    group.attrs["multiscales"] = [{"version": "0.4", "axes": axes, "datasets": datasets, "name": "drawn"}]
    group.attrs["omero"] = {"name": "drawn", "id": 1, "version": "0.4", "channels": channels, "rdefs": rdefs}
    return path


pytestmark = pytest.mark.models
"""The drawn files themselves need zarr, which comes with TIAToolbox."""


@pytest.fixture(params=["ome-tiff", "ome-ngff"])
def drawn(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "ome-tiff":
        return write_ome_tiff(tmp_path / "drawn.ome.tiff", _picture())
    return write_ngff(tmp_path / "drawn.zarr", _picture())


def test_openslide_does_not_read_them(drawn: Path) -> None:
    """Else these tests would be of OpenSlide."""
    with pytest.raises(openslide.OpenSlideError):
        openslide.OpenSlide(drawn)


def test_pixels_and_facts_are_those_of_the_file(drawn: Path) -> None:
    image = _picture()
    info = check_slide(drawn)
    assert (info.reader, info.width, info.height, info.mpp) == ("tiatoolbox", 640, 512, 0.5)
    assert [level.downsample for level in info.levels] == [1.0, 2.0]
    assert info.objective_power is None, "none is stated, and none is inferred"
    assert len(info.content_sha256) == 64
    with open_slide(drawn) as slide:
        inside = slide.read_region(Region(100, 60, 128, 0.5))
        assert np.array_equal(inside, image[60:188, 100:228])
        coarse = slide.read_region(Region(200, 100, 64, 1.0))
        assert np.array_equal(coarse, _halved(image)[50:114, 100:164])
        beyond = slide.read_region(Region(600, 480, 64, 0.5))
        assert np.array_equal(beyond[:32, :40], image[480:, 600:])
        assert (beyond[32:] == 255).all()
        assert (beyond[:, 40:] == 255).all()
        before = slide.read_region(Region(-16, -16, 64, 0.5))
        assert np.array_equal(before[16:, 16:], image[:48, :48])
        assert slide.tile(10, 1, 1)[:2] == b"\xff\xd8"


def test_of_a_large_one_the_smaller_levels_are_read_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_ome_tiff(tmp_path / "tiled.ome.tiff", _picture(), tiled=True)
    monkeypatch.setattr(_opening, "_FEW_PIXELS", 100_000)
    with open_slide(path) as slide:
        assert (slide.info.reader, len(slide.info.levels), slide.info.mpp) == ("tiatoolbox", 2, 0.5)
        assert np.array_equal(slide.read_region(Region(0, 0, 64, 1.0)), _halved(_picture())[:64, :64])
    single = tmp_path / "single.ome.tiff"
    tifffile.imwrite(single, _picture(), ome=True, tile=(64, 64), photometric="rgb", metadata={"PhysicalSizeX": 0.5})
    with open_slide(single) as slide:
        assert slide.info.reader == "openslide", "there is nothing to be won"


def test_nothing_of_it_is_imported_here(drawn: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from evaluation.slides import open_slide, Region\n"
        f"with open_slide(Path({str(drawn)!r})) as slide: slide.read_region(Region(0, 0, 32, 0.5))\n"
        "print(sorted(name for name in ('tiatoolbox', 'torch', 'zarr') if name in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.stdout.strip(), ran.returncode) == ("[]", 0), ran.stderr


def test_an_open_slide_goes_on_with_another_process_when_its_own_ended(
    drawn: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_slide(drawn) as slide:
        before = slide.read_region(Region(0, 0, 32, 0.5))
        _tiatoolbox._child().end()
        assert np.array_equal(slide.read_region(Region(0, 0, 32, 0.5)), before)
        monkeypatch.setattr(_tiatoolbox, "_READ_S", 0.0)
        with pytest.raises(SlideError, match="did not answer in time"):
            slide.read_region(Region(0, 0, 32, 0.5))


def test_the_same_folder_under_another_name_has_the_same_content(tmp_path: Path) -> None:
    first = write_ngff(tmp_path / "one.zarr", _picture())
    copy = Path(shutil.copytree(first, tmp_path / "two.zarr"))
    assert check_slide(first).content_sha256 == check_slide(copy).content_sha256


def test_a_resolution_that_is_not_stated_is_asked_for(tmp_path: Path) -> None:
    silent = [
        write_ome_tiff(tmp_path / "silent.ome.tiff", _picture(), pixel={}),
        write_ngff(tmp_path / "silent.zarr", _picture(), unit=None),
    ]
    for path in silent:
        with pytest.raises(ResolutionError, match="states no resolution"):
            open_slide(path)
        with open_slide(path, mpp=0.25) as slide:
            assert slide.info.mpp == 0.25


def test_units_are_read(tmp_path: Path) -> None:
    pixel = {"PhysicalSizeX": 250, "PhysicalSizeY": 250, "PhysicalSizeXUnit": "nm", "PhysicalSizeYUnit": "nm"}
    for path in (
        write_ome_tiff(tmp_path / "nm.ome.tiff", _picture(), pixel=pixel),
        write_ngff(tmp_path / "nm.zarr", _picture(), unit="nanometer", size=250),
    ):
        with open_slide(path) as slide:
            assert slide.info.mpp == pytest.approx(0.25)


def test_what_is_no_rgb_image_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fluorescence.ome.tiff"
    tifffile.imwrite(path, np.zeros((5, 256, 256), np.uint16), ome=True, metadata={"axes": "CYX"})
    broken = tmp_path / "broken.zarr"
    broken.mkdir()
    for file in (path, broken):
        with pytest.raises(SlideError, match="neither OpenSlide nor TIAToolbox opens this"):
            open_slide(file)


def test_without_the_extra_its_name_is_said(drawn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_opening, "is_installed", lambda: False)
    with pytest.raises(SlideError, match="Install the extra tiatoolbox"):
        open_slide(drawn)
