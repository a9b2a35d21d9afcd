"""What the components are given: frames in level-0 pixels, cards in the units that people read."""

from __future__ import annotations

import pytest

from curator_app.components import RoiBox, SlideCard, ViewedSlide
from db.tables import Roi, Slide


def _slide(**changed: object) -> Slide:
    values: dict[str, object] = {
        "id": "sld_1",
        "created_by": "test",
        "name": "a.svs",
        "path": "/data/a.svs",
        "content_sha256": "0",
        "width": 40_000,
        "height": 20_000,
        "mpp": 0.25,
        "level_count": 3,
        "organ": "soft_tissue",
        "source": "Institute",
        "licence": "CC0-1.0",
        "species": "rat",
        "stain": "H&E",
        "tissue_share": 0.631,
    }
    return Slide(**{**values, **changed})


@pytest.mark.parametrize(("mpp", "side"), [(0.5, 2048), (2.0, 8192), (4.0, 16_384), (0.25, 1024)])
def test_a_frame_is_as_large_as_its_resolution_says(mpp: float, side: float) -> None:
    roi = Roi(
        id="roi_1",
        created_by="test",
        slide_id="sld_1",
        organ="liver",
        x=5,
        y=7,
        size=1024,
        mpp=mpp,
        magnification="20x",
    )
    box = RoiBox.of(roi, _slide())
    assert (box.x, box.y, box.side, box.state) == (5, 7, side, "candidate")


def test_a_card_says_size_and_origin() -> None:
    lines = SlideCard.of(_slide()).lines
    assert lines == (
        "Soft tissue",
        "rat · H&E",
        "10.0 × 5.0 mm · 0.8 Gpx",
        "0.25 µm/px · 3 levels · 63% tissue",
        "Institute · CC0-1.0",
    )


def test_a_card_says_what_people_said_of_subject_and_study() -> None:
    said = {
        "organ_system": "Urinary",
        "structure": "renal papilla",
        "strain": "Wistar",
        "sex": "female",
        "age": "13 weeks",
        "subject": "17",
        "study": "TG-1",
        "dose_group": "high",
        "sacrifice": "unscheduled",
        "scanner": "AT2",
    }
    assert SlideCard.of(_slide(organ="kidney", **said)).lines[:4] == (
        "Kidney · Urinary · renal papilla",
        "rat · Wistar · female · 13 weeks · subject 17 · H&E",
        "TG-1 · dose group high · unscheduled sacrifice",
        "AT2",
    )


def test_a_card_of_an_image_without_resolution_invents_none() -> None:
    lines = SlideCard.of(_slide(mpp=None, level_count=1, tissue_share=None)).lines
    assert lines[2:4] == ("0.8 Gpx", "resolution unknown · 1 level")


def test_what_goes_to_the_browser_holds_no_path() -> None:
    data = ViewedSlide.of(_slide()).as_data()
    assert data["tiles"] == "/api/slides/sld_1/tiles/"
    assert "/data/a.svs" not in str(data)
