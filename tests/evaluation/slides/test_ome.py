"""The resolution that OME metadata states, and what it does not state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tifffile

from evaluation.slides import ResolutionError, open_slide
from evaluation.slides._ome import pixel_of_ngff, pixel_of_ome_xml
from tests.evaluation.slides.drawing import glass

_PIXELS = '<Image><Pixels SizeX="640" SizeY="512" {size}/></Image>'


def _xml(*images: str) -> str:
    return f'<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">{"".join(images)}</OME>'


def _image(size: str) -> str:
    return _PIXELS.format(size=size)


@pytest.mark.parametrize(
    ("text", "pixel"),
    [
        (_xml(_image('PhysicalSizeX="0.5" PhysicalSizeY="0.25"')), (0.5, 0.25)),
        (_xml(_image('PhysicalSizeX="500" PhysicalSizeXUnit="nm"')), (0.5, None)),
        (_xml(_image('PhysicalSizeX="5e-4" PhysicalSizeXUnit="mm"')), (0.5, None)),
        (_xml(_image('PhysicalSizeX="1" PhysicalSizeXUnit="pixel"')), (None, None)),
        (_xml(_image('PhysicalSizeX="wide"')), (None, None)),
        (_xml(_image("")), (None, None)),
        (_xml('<Image><Pixels SizeX="9" SizeY="9" PhysicalSizeX="7"/></Image>'), (None, None)),
        (_xml(_image('PhysicalSizeX="0.5"'), _image('PhysicalSizeX="0.5"')), (0.5, None)),
        (_xml(_image('PhysicalSizeX="0.5"'), _image('PhysicalSizeX="0.7"')), (None, None)),
        ("<OME", (None, None)),
        ("a comment", (None, None)),
    ],
)
def test_what_the_xml_says_of_the_image_of_this_size(text: str, pixel: tuple[float | None, float | None]) -> None:
    assert pixel_of_ome_xml(text, 640, 512) == pytest.approx(pixel)


def _ngff(scale: list[Any], *units: str | None) -> dict[str, Any]:
    axes = [
        {"name": name, **({"unit": unit} if unit else {})} for name, unit in zip("cyx", (None, *units), strict=True)
    ]
    transformations = [{"type": "scale", "scale": scale}]
    return {"multiscales": [{"axes": axes, "datasets": [{"coordinateTransformations": transformations}]}]}


@pytest.mark.parametrize(
    ("attributes", "pixel"),
    [
        (_ngff([1, 0.25, 0.5], "micrometer", "micrometer"), (0.5, 0.25)),
        (_ngff([1, 250, 500], "nanometer", "nanometer"), (0.5, 0.25)),
        (_ngff([1, 1, 1], None, None), (None, None)),
        (_ngff([1, 1], "micrometer", "micrometer"), (None, None)),
        ({}, (None, None)),
        ({"multiscales": []}, (None, None)),
    ],
)
def test_what_a_folder_says_of_its_finest_level(attributes: dict[str, Any], pixel: tuple[float | None, ...]) -> None:
    assert pixel_of_ngff(attributes) == pytest.approx(pixel)


def test_an_ome_tiff_that_openslide_reads_says_its_resolution(tmp_path: Path) -> None:
    for name, metadata in (("stated", {"PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}), ("silent", {})):
        path = tmp_path / f"{name}.ome.tiff"
        tifffile.imwrite(path, glass(256, 320), ome=True, tile=(64, 64), photometric="rgb", metadata=metadata)
    with open_slide(tmp_path / "stated.ome.tiff") as slide:
        assert (slide.info.reader, slide.info.mpp, slide.info.mpp_source) == ("openslide", 0.5, "OME-XML")
    with pytest.raises(ResolutionError):
        open_slide(tmp_path / "silent.ome.tiff")
