"""ROIs that a person draws: exactly the field they said, refused in words elsewhere, taken back and brought back."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlmodel import select

from db.tables import AuditEvent, Roi
from evaluation.slides import Region, SlideError, decode_image, open_slide
from pipeline.acts import once
from pipeline.drawn_rois import draw_roi, withdraw_drawn_roi
from pipeline.errors import ChangedError, InputError, NotFoundError
from pipeline.ingest import list_slides
from pipeline.rois import list_rois, reject_roi, select_roi
from pipeline.seeds import SeedText, save_seed
from pipeline.workspace import Workspace

SEED = SeedText("Which zone of the liver lobule is shown?", "centrilobular", "identify_anatomy")


def _draw(workspace: Workspace, **changed: Any) -> Roi:
    field: dict[str, Any] = {"x": 301, "y": 207, "magnification": 20.0, "size": 128, "who": "test"}
    return draw_roi(workspace, list_slides(workspace)[0].id, **{**field, **changed})


def _events(workspace: Workspace, roi_id: str) -> list[tuple[str, str | None]]:
    with workspace.reading() as session:
        events = session.exec(select(AuditEvent).where(AuditEvent.object_id == roi_id).order_by(AuditEvent.sequence))  # type: ignore[arg-type]
        return [(event.action, event.reason) for event in events]


def _images(workspace: Workspace) -> list[Path]:
    return sorted(workspace.rois.glob("*.png"))


def test_the_field_is_the_one_that_was_said(with_slides: Workspace) -> None:
    roi = _draw(with_slides, magnification=5.0, size=64)
    assert (roi.x, roi.y, roi.size, roi.mpp, roi.magnification, roi.state) == (301, 207, 64, 2.0, "5x", "selected")
    assert [(one.id, slide.id) for one, slide in list_rois(with_slides)] == [(roi.id, roi.slide_id)]
    path = with_slides.root / (roi.image_path or "")
    slide = list_slides(with_slides)[0]
    with open_slide(Path(slide.path)) as opened:
        assert np.array_equal(decode_image(path, max_pixels=10**6), opened.read_region(Region(301, 207, 64, 2.0)))
    assert roi.image_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert roi.tissue_share == pytest.approx(1.0), "it lies on the drawn tissue"
    assert _events(with_slides, roi.id) == [("draw", None)]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"x": -1}, "beyond the slide: it spans 128 level-0 pixels from (-1, 207), the slide has 1,024 × 1,024"),
        ({"y": 897}, "beyond the slide"),
        ({"x": 10**9}, "beyond the slide"),
        ({"magnification": 40.0}, "40x (0.25 µm/px) is finer than the slide, which has 0.5 µm/px"),
        ({"magnification": float("nan")}, "between 0.5 and 80"),
        ({"magnification": 0.0}, "between 0.5 and 80"),
        ({"size": 31}, "between 32 and 4,096"),
        ({"size": 5000}, "between 32 and 4,096"),
    ],
)
def test_what_cannot_be_a_field_is_refused_in_words(with_slides: Workspace, changed: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as refused:
        _draw(with_slides, **changed)
    assert says in str(refused.value)
    assert "nothing was changed" in str(refused.value).lower()
    assert (list_rois(with_slides), _images(with_slides)) == ([], [])


def test_a_field_may_touch_the_edges(with_slides: Workspace) -> None:
    for x, y in ((0, 0), (1024 - 128, 1024 - 128)):
        assert (_draw(with_slides, x=x, y=y).x, y) == (x, y)


def test_a_slide_is_named_by_its_id_or_name(with_slides: Workspace) -> None:
    slide = list_slides(with_slides)[1]
    assert draw_roi(with_slides, slide.name, x=0, y=0, magnification=20, size=64, who="test").slide_id == slide.id
    with pytest.raises(NotFoundError, match="no slide nowhere"):
        draw_roi(with_slides, "nowhere", x=0, y=0, magnification=20, size=64, who="test")


def test_a_field_that_is_a_roi_already_is_named(with_rois: Workspace) -> None:
    roi = next(roi for roi, _ in list_rois(with_rois, states=("candidate",)))
    images = _images(with_rois)
    with pytest.raises(InputError, match=f"the candidate ROI {roi.id} already"):
        draw_roi(with_rois, roi.slide_id, x=roi.x, y=roi.y, magnification=20, size=roi.size, who="test")
    assert _images(with_rois) == images


def test_asked_again_it_is_drawn_once(with_slides: Workspace) -> None:
    act = "a" * 32
    first = once(with_slides, act, _draw)
    again = once(with_slides, act, _draw)
    assert (again.object_id, again.again) == (first.object_id, True)
    assert (len(list_rois(with_slides)), len(_images(with_slides))) == (1, 1)


def test_taken_back_it_is_withdrawn_and_drawn_again_it_is_the_same(with_slides: Workspace) -> None:
    roi = _draw(with_slides)
    withdraw_drawn_roi(with_slides, roi.id, who="test", reason="beside the lesion", expected_version=1)
    assert list_rois(with_slides) == []
    for change in (select_roi, reject_roi):
        with pytest.raises(InputError, match="is withdrawn: beside the lesion"):
            change(with_slides, roi.id, who="test")
    with pytest.raises(InputError, match="is withdrawn"):
        save_seed(with_slides, SEED, roi_id=roi.id, who="test")
    with pytest.raises(InputError, match="withdrawn already"):
        withdraw_drawn_roi(with_slides, roi.id, who="test", reason="again")
    assert _draw(with_slides).id == roi.id
    assert [one.id for one, _ in list_rois(with_slides)] == [roi.id]
    assert _events(with_slides, roi.id) == [("draw", None), ("withdraw", "beside the lesion"), ("draw", None)]
    assert _images(with_slides) == [with_slides.root / (roi.image_path or "")]


def test_what_is_not_taken_back(with_rois: Workspace) -> None:
    sampled = list_rois(with_rois)[0][0]
    with pytest.raises(InputError, match="was not drawn by hand"):
        withdraw_drawn_roi(with_rois, sampled.id, who="test", reason="x")
    drawn = _draw(with_rois)
    with pytest.raises(InputError, match="Say why"):
        withdraw_drawn_roi(with_rois, drawn.id, who="test", reason=" ")
    with pytest.raises(ChangedError, match="drew it"):
        withdraw_drawn_roi(with_rois, drawn.id, who="test", reason="x", expected_version=7)
    with pytest.raises(NotFoundError):
        withdraw_drawn_roi(with_rois, "roi_none", who="test", reason="x")
    save_seed(with_rois, SEED, roi_id=drawn.id, who="test")
    with pytest.raises(InputError, match="drop the seed first"):
        withdraw_drawn_roi(with_rois, drawn.id, who="test", reason="x")


def test_a_slide_that_is_gone_leaves_nothing(with_slides: Workspace, tmp_path: Path) -> None:
    with with_slides.writing() as session:
        for slide in list_slides(with_slides):
            slide.path = str(tmp_path / "gone.tiff")
            session.add(slide)
    with pytest.raises(SlideError):
        _draw(with_slides)
    assert (list_rois(with_slides), _images(with_slides)) == ([], [])
