"""The routes of a slide's ROIs: frames that come once, fields that are drawn once, every fault in words."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from curator_app.identity import Access
from curator_app.routes import OpenSlides, geojson_address, picture_routes, slide_roi_routes
from db.tables import Slide
from evaluation.slides import TissueMask
from pipeline.ingest import list_slides
from pipeline.rois import list_rois, reject_roi
from pipeline.workspace import Workspace
from tests.curator_app.visitors import KEY, browser_of, guarded

ACT, OTHER_ACT = "0" * 32, "1" * 32


@pytest.fixture
def client(with_rois: Workspace) -> TestClient:
    routes = [*slide_roi_routes(with_rois), *picture_routes(with_rois, OpenSlides())]
    client = browser_of(guarded(Access(with_rois, KEY), routes))
    client.get("/")
    return client


@pytest.fixture
def slide(with_rois: Workspace) -> Slide:
    return list_slides(with_rois)[0]


def _field(workspace: Workspace, slide: Slide, **more: Any) -> dict[str, Any]:
    place = {"slide": slide.id, "x": 301, "y": 207, "size": 64, "magnification": 20}
    return {"account": workspace.actor.account_id, "act": ACT, **place, **more}


class TestFrames:
    def test_all_rois_of_the_slide_in_level_0_pixels(
        self, client: TestClient, with_rois: Workspace, slide: Slide
    ) -> None:
        rows = [roi for roi, on in list_rois(with_rois, states=("selected", "candidate")) if on.id == slide.id]
        reject_roi(with_rois, rows[0].id, who="test")
        frames = client.get(f"/api/slides/{slide.id}/frames").json()["frames"]
        assert {frame[0]: tuple(frame[1:4]) for frame in frames} == {roi.id: (roi.x, roi.y, 128) for roi in rows}
        assert {frame[4] for frame in frames if frame[0] == rows[0].id} == {"rejected"}

    def test_they_are_not_sent_twice_and_anew_after_any_change(
        self, client: TestClient, with_rois: Workspace, slide: Slide
    ) -> None:
        address = f"/api/slides/{slide.id}/frames"
        first = client.get(address)
        assert first.headers["cache-control"] == "private, no-cache"
        known = {"If-None-Match": first.headers["etag"]}
        again = client.get(address, headers=known)
        assert (again.status_code, again.content) == (304, b"")
        drawn = client.post("/api/rois", json=_field(with_rois, slide)).json()
        second = client.get(address, headers=known)
        assert len(second.json()["frames"]) == len(first.json()["frames"]) + 1
        body = {"account": with_rois.actor.account_id, "act": OTHER_ACT, "version": 1}
        assert client.post(f"/api/rois/{drawn['roi']}/withdrawal", json=body).status_code == 200
        third = client.get(address, headers={"If-None-Match": second.headers["etag"]})
        assert third.json() == first.json()

    def test_what_is_not_there(self, client: TestClient) -> None:
        for address in ("/api/slides/sld_none/frames", "/api/rois/roi_none/around", geojson_address("sld_none")):
            assert client.get(address).status_code == 404


class TestDrawing:
    def test_a_field_is_drawn_once_however_often_it_is_asked_for(
        self, client: TestClient, with_rois: Workspace, slide: Slide
    ) -> None:
        first = client.post("/api/rois", json=_field(with_rois, slide))
        assert first.status_code == 200
        again = client.post("/api/rois", json=_field(with_rois, slide))
        assert again.json() == first.json()
        (roi,) = [roi for roi, _ in list_rois(with_rois) if roi.draw.get("drawn")]
        assert first.json()["roi"] == roi.id
        assert (roi.x, roi.y, roi.size, roi.mpp, roi.slide_id) == (301, 207, 64, 0.5, slide.id)

    @pytest.mark.parametrize(
        ("change", "status", "says"),
        [
            ({"x": -1}, 422, "beyond the slide"),
            ({"x": 1.5}, 422, "no save"),
            ({"x": "301"}, 422, "no save"),
            ({"y": 10**12}, 422, "no save"),
            ({"magnification": 40}, 422, "finer than the slide"),
            ({"magnification": 1e9}, 422, "between 0.5 and 80"),
            ({"size": 8}, 422, "between 32 and 4,096"),
            ({"slide": "sld_none"}, 404, "no slide sld_none"),
            ({"slide": "../x"}, 422, "no save"),
            ({"act": "x"}, 422, "no save"),
            ({"account": "acc_x"}, 401, "somebody else"),
            ({"state": "selected"}, 422, "no save"),
        ],
        ids=str,
    )
    def test_what_is_wrong_is_said_and_nothing_stored(
        self,
        client: TestClient,
        with_rois: Workspace,
        slide: Slide,
        change: dict[str, Any],
        status: int,
        says: str,
    ) -> None:
        before = len(list_rois(with_rois))
        answer = client.post("/api/rois", json={**_field(with_rois, slide), **change})
        assert answer.status_code == status
        assert says in json.dumps(answer.json(), ensure_ascii=False)
        assert len(list_rois(with_rois)) == before

    def test_a_slide_that_is_gone_is_no_reason_to_ask_again(
        self, client: TestClient, with_rois: Workspace, slide: Slide
    ) -> None:
        with with_rois.writing() as session:
            session.get_one(Slide, slide.id).path = "/nowhere/moved.svs"
        answer = client.post("/api/rois", json=_field(with_rois, slide))
        assert (answer.status_code, "cannot be read" in answer.json()["error"]) == (422, True)


class TestTissue:
    def test_it_is_the_mask_and_says_what_its_pixels_span(
        self, client: TestClient, with_rois: Workspace, slide: Slide
    ) -> None:
        answer = client.get(f"/api/slides/{slide.id}/tissue")
        mask = TissueMask.from_png_bytes((with_rois.slides / slide.id / "tissue.png").read_bytes())
        pixels = np.asarray(Image.open(io.BytesIO(answer.content)))
        assert float(answer.headers["level-0-pixels"]) == pytest.approx(mask.scale)
        assert np.array_equal(pixels[..., 3] > 0, mask.mask)
        assert len(np.unique(pixels[..., 3])) == 3, "glass, tissue and its outline"
        again = client.get(f"/api/slides/{slide.id}/tissue", headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304

    @pytest.mark.parametrize("data", [None, b"", b"no picture"])
    def test_one_that_is_lost_or_damaged_is_said(
        self, client: TestClient, with_rois: Workspace, slide: Slide, data: bytes | None
    ) -> None:
        path = with_rois.slides / slide.id / "tissue.png"
        path.unlink() if data is None else path.write_bytes(data)
        answer = client.get(f"/api/slides/{slide.id}/tissue")
        assert (answer.status_code, "missing from the workspace or damaged" in answer.json()["error"]) == (404, True)


def test_geojson_is_downloaded_as_a_file(client: TestClient, with_rois: Workspace, slide: Slide) -> None:
    answer = client.get(geojson_address(slide.id, states=("selected", "candidate")))
    assert answer.headers["content-disposition"].endswith(f"{slide.id}.geojson")
    here = [roi.id for roi, on in list_rois(with_rois, states=("selected", "candidate")) if on.id == slide.id]
    assert {feature["properties"]["name"] for feature in answer.json()["features"]} == set(here)
    assert client.get(f"/api/slides/{slide.id}/rois.geojson?states=loved").status_code == 400
