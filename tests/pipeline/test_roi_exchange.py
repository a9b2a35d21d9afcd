"""ROIs out to QuPath's GeoJSON and in again: the same fields, every fault named, nothing imported by halves."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.tables import Roi, Slide
from pipeline.drawn_rois import draw_roi
from pipeline.errors import InputError, NotFoundError
from pipeline.ingest import add_slides, list_slides
from pipeline.roi_exchange import export_geojson, import_geojson, read_file
from pipeline.roi_geojson import as_geojson, read_geojson
from pipeline.rois import list_rois, reject_roi
from pipeline.sampling import sample_candidates
from pipeline.workspace import Workspace
from tests.databases import new_workspace
from tests.pipeline.conftest import METADATA

STATES = ("selected", "candidate", "rejected")


def _fields(workspace: Workspace) -> set[tuple[str, int, int, int, float | None, str]]:
    return {
        (slide.content_sha256, roi.x, roi.y, roi.size, roi.mpp, roi.state)
        for roi, slide in list_rois(workspace, states=STATES)
    }


def _square(x: float, y: float, side: float, **properties: Any) -> dict[str, Any]:
    ring = [[x, y], [x + side, y], [x + side, y + side], [x, y + side], [x, y]]
    return {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}, "properties": properties}


def _data(*features: Any) -> bytes:
    return json.dumps({"type": "FeatureCollection", "features": list(features)}).encode()


def _take(workspace: Workspace, data: bytes, **more: Any) -> Any:
    return import_geojson(workspace, list_slides(workspace)[0].id, data, name="squares.geojson", who="test", **more)


def test_out_and_in_again_is_the_same(with_rois: Workspace, drawn_slides: list[Path], tmp_path: Path) -> None:
    sample_candidates(with_rois, organ="liver", count=4, size=40, magnifications=[(7.3, 1.0)], who="test")
    candidate = list_rois(with_rois, states=("candidate",))[0][0]
    reject_roi(with_rois, candidate.id, who="test")
    other = new_workspace(tmp_path / "other")
    add_slides(other, drawn_slides, METADATA, who="test")
    for slide in list_slides(with_rois):
        data = export_geojson(with_rois, slide.id, states=STATES)
        there = next(one for one in list_slides(other) if one.content_sha256 == slide.content_sha256)
        done = import_geojson(other, there.id, data, name="a.geojson", who="test")
        assert done.skipped == ()
        again = import_geojson(other, there.id, data, name="a.geojson", who="test")
        assert (again.added, len(again.skipped)) == ((), len(done.added)), "what exists already is said"
    assert _fields(other) == _fields(with_rois)
    pictures = {(roi.image_path is None, roi.thumbnail_path is None) for roi, _ in list_rois(other)}
    assert pictures == {(False, True)}, "a selected ROI has its image at once"
    for roi, _ in list_rois(other, states=("candidate", "rejected")):
        assert (other.root / (roi.thumbnail_path or "")).is_file()
    other.engine.dispose()


def test_it_is_what_qupath_reads(with_rois: Workspace) -> None:
    roi, slide = list_rois(with_rois)[0]
    features = json.loads(export_geojson(with_rois, slide.id))["features"]
    feature = next(one for one in features if one["properties"]["name"] == roi.id)
    assert uuid.UUID(feature["id"])
    assert feature["geometry"]["coordinates"][0][0] == [roi.x, roi.y]
    assert feature["geometry"]["coordinates"][0][2] == [roi.x + roi.size, roi.y + roi.size]
    assert feature["geometry"]["coordinates"][0][0] == feature["geometry"]["coordinates"][0][-1]
    properties = feature["properties"]
    assert properties["objectType"] == "annotation"
    assert properties["classification"]["name"] == "selected 20x"
    assert all(0 <= part <= 255 for part in properties["classification"]["color"])
    assert all(isinstance(value, str) for value in properties["metadata"].values()), "QuPath keeps texts"
    assert properties["metadata"]["mpp"] == "0.5"
    assert features == json.loads(export_geojson(with_rois, slide.name))["features"], "the same in every export"


@given(
    x=st.integers(0, 40_000),
    y=st.integers(0, 40_000),
    size=st.integers(32, 4_096),
    mpp=st.sampled_from([0.25, 0.5, 0.505, 1.0, 2.0, 4.0]),
    own=st.floats(0.1, 0.26),
    state=st.sampled_from(STATES),
)
def test_every_field_comes_back(x: int, y: int, size: int, mpp: float, own: float, state: str) -> None:
    slide = Slide(id="sld_1", name="a", width=300_000, height=300_000, mpp=own, content_sha256="c")
    roi = Roi(id="roi_1", slide_id="sld_1", x=x, y=y, size=size, mpp=mpp, magnification=f"{10 / mpp:g}x", state=state)
    found, faults = read_geojson(json.dumps(as_geojson(slide, [roi])).encode(), slide)
    assert faults == []
    (field,) = found
    assert (field.x, field.y, field.size, field.mpp, field.state) == (x, y, size, mpp, state)


def test_a_square_drawn_in_qupath_becomes_a_selected_roi(with_slides: Workspace) -> None:
    data = _data(_square(100.4, 200.6, 300.2, objectType="annotation", name="mine"))
    with pytest.raises(InputError, match="feature 1: it states no resolution"):
        _take(with_slides, data)
    (roi,) = _take(with_slides, data, magnification=10.0).added
    assert (roi.x, roi.y, roi.size, roi.mpp, roi.state) == (100, 201, 150, 1.0, "selected")
    assert (with_slides.root / roi.image_path).is_file()


@pytest.mark.parametrize("wrap", [lambda one: [one], lambda one: one], ids=["a list", "one feature"])
def test_older_shapes_of_the_file_are_read(with_slides: Workspace, wrap: Any) -> None:
    data = json.dumps(wrap(_square(100, 100, 128))).encode()
    assert len(_take(with_slides, data, magnification=20.0).added) == 1


FAULTY: dict[str, tuple[Any, str]] = {
    "rotated": (
        {
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[200, 100], [300, 200], [200, 300], [100, 200], [200, 100]]],
            }
        },
        "rotated, or no rectangle",
    ),
    "no square": (
        {"geometry": {"type": "Polygon", "coordinates": [[[0, 0], [200, 0], [200, 100], [0, 100], [0, 0]]]}},
        "no square: 200.0 × 100.0 level-0 pixels",
    ),
    "outside": (_square(1_000, 10, 128), "reaches beyond the slide"),
    "before the edge": (_square(-5, 10, 128), "reaches beyond the slide"),
    "too small": (_square(10, 10, 20), "its side is 20 px"),
    "a point": (_square(10, 10, 0), "no rectangle"),
    "five corners": (
        {"geometry": {"type": "Polygon", "coordinates": [[[0, 0], [9, 0], [9, 5], [9, 9], [0, 9], [0, 0]]]}},
        "5 corners, not 4",
    ),
    "a hole": ({"geometry": {"type": "Polygon", "coordinates": [[], []]}}, "has a hole"),
    "several": ({"geometry": {"type": "MultiPolygon", "coordinates": []}}, "it is a MultiPolygon"),
    "no geometry": ({"geometry": None}, "no geometry"),
    "no object": (7, "no geometry"),
    "no coordinates": ({"geometry": {"type": "Polygon", "coordinates": []}}, "no coordinates"),
    "words": ({"geometry": {"type": "Polygon", "coordinates": [[["a", "b"]]]}}, "no pair of coordinates"),
    "endless": (_square(1e30, 10, 128), "lies on no slide"),
    "not a number": (_square(float("nan"), 10, 128), "lies on no slide"),
    "another state": (_square(1, 1, 128, metadata={"state": "loved"}), "the state 'loved'"),
    "another size": (_square(1, 1, 128, metadata={"size": "64"}), "64 px at 20x are 64.0"),
    "a size that is none": (_square(1, 1, 128, metadata={"size": "x"}), "is no number"),
    "a resolution that is none": (_square(1, 1, 128, metadata={"mpp": "1e-300"}), "between 0.05 and 100"),
    "finer than the slide": (_square(1, 1, 128, metadata={"mpp": "0.25"}), "finer than the slide"),
    "another slide": (_square(1, 1, 128, metadata={"content_sha256": "x", "slide": "b.svs"}), "another slide, b.svs"),
}


def test_every_fault_is_named_with_its_feature_and_nothing_imported(with_slides: Workspace) -> None:
    features = [_square(10, 10, 128), *(feature for feature, _ in FAULTY.values())]
    with pytest.raises(InputError) as refused:
        _take(with_slides, _data(*features), magnification=20.0)
    assert "nothing was imported" in refused.value.message
    for number, (name, (_, says)) in enumerate(FAULTY.items(), start=2):
        said = [problem for problem in refused.value.problems if problem.startswith(f"feature {number}: ")]
        assert said, name
        assert says in said[0], (name, said)
    assert not any(problem.startswith("feature 1:") for problem in refused.value.problems)
    assert (list_rois(with_slides), list(with_slides.rois.glob("*.png"))) == ([], [])


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no JSON"),
        (b"\xff\xfe\x00", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b'{"type": "Topology"}', "no GeoJSON"),
        (b'{"type": "FeatureCollection", "features": {}}', "no GeoJSON"),
        (b"[]", "holds no feature"),
    ],
)
def test_what_is_no_geojson_is_said(with_slides: Workspace, data: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        _take(with_slides, data)
    assert "squares.geojson" in refused.value.message


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=5)
            | st.dictionaries(st.sampled_from(["type", "geometry", "coordinates", "properties", "metadata"]), inner)
        ),
        max_leaves=20,
    )
)
def test_no_file_makes_it_fail_otherwise(document: Any) -> None:
    slide = Slide(id="sld_1", name="a", width=1_000, height=1_000, mpp=0.5, content_sha256="c")
    for whole in (document, [document], {"type": "FeatureCollection", "features": [document]}):
        try:
            found, faults = read_geojson(json.dumps(whole).encode(), slide, mpp=0.5)
        except InputError:
            continue
        assert found or faults


def test_the_same_field_twice_and_a_roi_that_is_there_are_skipped(with_slides: Workspace) -> None:
    slide = list_slides(with_slides)[0]
    drawn = draw_roi(with_slides, slide.id, x=100, y=100, magnification=20, size=128, who="test")
    done = _take(
        with_slides,
        _data(_square(100, 100, 128), _square(300, 300, 128), _square(300, 300, 128)),
        magnification=20.0,
    )
    assert [roi.x for roi in done.added] == [300]
    assert done.skipped == (
        f"feature 1 is the selected ROI {drawn.id} already",
        "feature 3 is the same field as feature 2",
    )


def test_files_that_cannot_be_read_are_named(with_slides: Workspace, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_file(with_slides, tmp_path / "none.geojson")
    with pytest.raises(NotFoundError):
        export_geojson(with_slides, "sld_none")
