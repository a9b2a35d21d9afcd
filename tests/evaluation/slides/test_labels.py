"""Label and macro images of a slide, which carry names, are nowhere: not in pixels, tiles, overviews nor properties."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import openslide
import pytest
import tifffile
from PIL import Image

from evaluation.slides import Region, find_tissue, open_slide
from tests.evaluation.slides.drawing import disc, glass, stain

_MARKER = (250, 10, 240)
"""A colour that no tissue has."""


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """A drawn Aperio slide with a label and a macro image in a colour of their own."""
    image = stain(glass(512, 640), disc(512, 640, 256, 320, 200), 0.2, 0.3)
    path = tmp_path / "labelled.svs"
    with tifffile.TiffWriter(path) as writer:
        about = "Aperio Image Library v1\n640x512 [0,0 640x512] (240x240)|AppMag = 20|MPP = 0.5"
        writer.write(image, tile=(64, 64), photometric="rgb", description=about, metadata=None)
        writer.write(image[::4, ::4], photometric="rgb", rowsperstrip=16, description="Aperio thumbnail", metadata=None)
        for name, width, height, kind in (("label", 100, 120, 1), ("macro", 160, 90, 9)):
            writer.write(
                np.full((height, width, 3), _MARKER, np.uint8),
                photometric="rgb",
                rowsperstrip=16,
                subfiletype=kind,
                description=f"Aperio Image Library v1\n{name} {width}x{height}",
                metadata=None,
            )
    return path


def _holds_marker(image: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> bool:
    return bool((np.abs(image.astype(int) - _MARKER).max(axis=-1) < 40).any())


def test_openslide_would_give_them(labelled: Path) -> None:
    with openslide.OpenSlide(labelled) as slide:
        assert {"label", "macro"} <= set(slide.associated_images)
        assert _holds_marker(np.asarray(slide.associated_images["label"].convert("RGB")))


def test_nothing_that_is_read_or_shown_holds_them(labelled: Path) -> None:
    with open_slide(labelled) as slide:
        shown = [
            slide.thumbnail(512),
            slide.read_overview(2.0),
            slide.read_region(Region(0, 0, 700, 0.5)),
            *(np.asarray(Image.open(io.BytesIO(slide.tile(level, 0, 0)))) for level in range(11)),
        ]
        assert find_tissue(slide).mask.any()
        given = {name for name in dir(slide) if not name.startswith("_")}
    assert not any(_holds_marker(image) for image in shown)
    assert not [name for name in given if "associated" in name or "label" in name or "macro" in name]
