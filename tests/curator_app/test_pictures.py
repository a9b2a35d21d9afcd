"""The routes of pictures: what they serve is what the workspace holds, and nothing else is reachable."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from curator_app.identity import Access
from curator_app.routes import OpenSlides, picture_routes
from db.tables import Roi, Slide
from evaluation.slides import Region, open_slide
from pipeline.ingest import list_slides
from pipeline.permissions import GRANTS, Permission, Role
from pipeline.rois import list_rois
from pipeline.workspace import Workspace
from tests.curator_app.visitors import KEY, add_person, browser_of, cookie_of, guarded, opened_session


@pytest.fixture
def client(with_rois: Workspace) -> Iterator[TestClient]:
    slides = OpenSlides()
    client = browser_of(guarded(Access(with_rois, KEY), picture_routes(with_rois, slides)))
    client.get("/")
    yield client
    slides.close()


@pytest.fixture
def slide(with_rois: Workspace) -> Slide:
    return list_slides(with_rois)[0]


@pytest.fixture
def selected(with_rois: Workspace) -> Roi:
    return list_rois(with_rois)[0][0]


def _pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def test_a_selected_rois_image_is_its_region_of_the_slide(
    client: TestClient, with_rois: Workspace, selected: Roi
) -> None:
    answer = client.get(f"/api/rois/{selected.id}/image")
    assert answer.headers["content-type"] == "image/png"
    slide = next(slide for roi, slide in list_rois(with_rois) if roi.id == selected.id)
    with open_slide(Path(slide.path)) as opened:
        region = opened.read_region(Region(selected.x, selected.y, selected.size, selected.mpp or 0))
    assert np.array_equal(_pixels(answer.content), region)


def test_a_known_picture_is_not_sent_twice(client: TestClient, selected: Roi) -> None:
    first = client.get(f"/api/rois/{selected.id}/image")
    assert first.headers["cache-control"].startswith("private")
    assert first.headers["vary"] == "Cookie", "what one person saw is not shown to the next one in this browser"
    again = client.get(f"/api/rois/{selected.id}/image", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    assert not again.content


def test_a_candidate_has_a_thumbnail_but_no_image(client: TestClient, with_rois: Workspace) -> None:
    candidate = list_rois(with_rois, states=("candidate",))[0][0]
    assert client.get(f"/api/rois/{candidate.id}/thumbnail").headers["content-type"] == "image/png"
    answer = client.get(f"/api/rois/{candidate.id}/image")
    assert answer.status_code == 404
    assert candidate.id in answer.json()["error"]


def test_a_tile_is_a_jpeg_of_its_place(client: TestClient, slide: Slide) -> None:
    answer = client.get(f"/api/slides/{slide.id}/tiles/10/1_2.jpeg")
    assert answer.headers["content-type"] == "image/jpeg"
    assert "max-age" in answer.headers["cache-control"]
    with open_slide(Path(slide.path)) as opened:
        expected = opened.read_level(253, 507, 0, 256, 256)
    difference = np.abs(_pixels(answer.content).astype(int) - np.asarray(expected).astype(int))
    assert difference.mean() < 4


def test_the_descriptor_states_the_slides_size(client: TestClient, slide: Slide) -> None:
    root = ElementTree.fromstring(client.get(f"/api/slides/{slide.id}/deepzoom.dzi").text)  # noqa: S314
    size = root[0].attrib
    assert (int(size["Width"]), int(size["Height"])) == (slide.width, slide.height)
    facts = client.get(f"/api/slides/{slide.id}/deepzoom.json").json()
    assert facts == {
        "id": slide.id,
        "name": slide.name,
        "width": slide.width,
        "height": slide.height,
        "mpp": slide.mpp,
    }


def test_the_slides_thumbnail_is_there(client: TestClient, slide: Slide) -> None:
    assert max(_pixels(client.get(f"/api/slides/{slide.id}/thumbnail").content).shape) == 512


@pytest.mark.parametrize(
    "path",
    [
        "/api/rois/roi_none/image",
        "/api/rois/roi_none/thumbnail",
        "/api/rois/..%2F..%2Fsettings.toml/image",
        "/api/slides/sld_none/thumbnail",
        "/api/slides/sld_none/deepzoom.dzi",
        "/api/slides/sld_none/tiles/0/0_0.jpeg",
        "/api/slides/%2e%2e%2f%2e%2e/thumbnail",
        "/api/slides/SLIDE/tiles/0/5_0.jpeg",
        "/api/slides/SLIDE/tiles/99/0_0.jpeg",
        "/api/slides/SLIDE/tiles/-1/0_0.jpeg",
        "/api/slides/SLIDE/label.png",
        "/api/slides/SLIDE/macro.png",
        "/api/slides/SLIDE/associated/label",
    ],
)
def test_what_does_not_exist_is_not_found(client: TestClient, slide: Slide, path: str) -> None:
    answer = client.get(path.replace("SLIDE", slide.id))
    assert answer.status_code == 404
    assert b"[" not in answer.content[:1]


def test_a_slide_that_was_moved_away_is_named(client: TestClient, with_rois: Workspace, slide: Slide) -> None:
    with with_rois.writing() as session:
        session.get_one(Slide, slide.id).path = "/nowhere/moved.svs"
    answer = client.get(f"/api/slides/{slide.id}/tiles/0/0_0.jpeg")
    assert answer.status_code == 503
    assert slide.name in answer.json()["error"]


def test_a_withdrawn_roi_is_not_served(client: TestClient, with_rois: Workspace, selected: Roi) -> None:
    with with_rois.writing() as session:
        row = session.get_one(Roi, selected.id)
        row.withdrawn_at = row.created_at
    assert client.get(f"/api/rois/{selected.id}/image").status_code == 404


def test_a_missing_file_is_said_to_be_missing(client: TestClient, with_rois: Workspace, selected: Roi) -> None:
    (with_rois.root / str(selected.image_path)).unlink()
    answer = client.get(f"/api/rois/{selected.id}/image")
    assert answer.status_code == 404
    assert "missing" in answer.json()["error"]


def test_the_viewers_script_is_served(client: TestClient) -> None:
    answer = client.get("/vendor/openseadragon.min.js")
    if answer.status_code == 404:
        assert "make viewer" in answer.json()["error"]
        pytest.skip("the viewer's script is missing: run 'make viewer'")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert b"OpenSeadragon" in answer.content or b"openseadragon" in answer.content


def test_pictures_are_for_who_may_see_slides(
    client: TestClient, with_rois: Workspace, slide: Slide, selected: Roi
) -> None:
    access = Access(with_rois, KEY)
    paths = [
        f"/api/rois/{selected.id}/image",
        f"/api/rois/{selected.id}/thumbnail",
        f"/api/slides/{slide.id}/thumbnail",
        f"/api/slides/{slide.id}/tissue",
        f"/api/slides/{slide.id}/deepzoom.dzi",
        f"/api/slides/{slide.id}/deepzoom.json",
        f"/api/slides/{slide.id}/tiles/0/0_0.jpeg",
    ]
    cookies = {}
    for role in Role:
        add_person(with_rois, f"one-{role}", role)
        cookies[role] = cookie_of(access, opened_session(with_rois, f"one-{role}"))
    client.cookies.clear()
    for path in paths:
        assert client.get(path).status_code == 401
        for role, cookie in cookies.items():
            allowed = role in GRANTS[Permission.VIEW_SLIDES]
            assert client.get(path, headers={"Cookie": cookie}).status_code == (200 if allowed else 403), (path, role)


@pytest.mark.parametrize("path", ["/etc/hostname", "../secret.png", "session.key", "rois/../session.key", "rois"])
def test_a_row_that_names_a_file_elsewhere_has_no_picture(
    client: TestClient, with_rois: Workspace, selected: Roi, path: str
) -> None:
    (with_rois.root / "session.key").write_text("secret")
    (with_rois.root.parent / "secret.png").write_text("secret")
    with with_rois.writing() as session:
        row = session.get_one(Roi, selected.id)
        row.image_path = row.thumbnail_path = path
        session.add(row)
    for kind in ("image", "thumbnail"):
        answer = client.get(f"/api/rois/{selected.id}/{kind}")
        assert answer.status_code == 404
        assert "folders of pictures" in answer.json()["error"]


def test_a_picture_that_was_replaced_by_a_link_is_not_followed_out(
    client: TestClient, with_rois: Workspace, selected: Roi, slide: Slide
) -> None:
    secret = with_rois.root / "session.key"
    secret.write_text("secret")
    for path, address in (
        (with_rois.root / str(selected.image_path), f"/api/rois/{selected.id}/image"),
        (with_rois.slides / slide.id / "thumbnail.png", f"/api/slides/{slide.id}/thumbnail"),
    ):
        assert client.get(address).status_code == 200
        path.unlink()
        path.symlink_to(secret)
        answer = client.get(address)
        assert (answer.status_code, "secret" in answer.text) == (404, False)


def test_a_folder_of_pictures_may_lie_on_another_disk(
    client: TestClient, with_rois: Workspace, selected: Roi, tmp_path: Path
) -> None:
    with_rois.rois.rename(tmp_path / "other-disk")
    with_rois.rois.symlink_to(tmp_path / "other-disk", target_is_directory=True)
    assert client.get(f"/api/rois/{selected.id}/image").status_code == 200
