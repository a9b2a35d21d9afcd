"""What is typed and not saved: kept in the workspace, taken by the route, given up when it ends."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from curator_app.drafts import FOLDER, DraftStore, new_writing
from curator_app.routes import draft_routes
from pipeline.errors import InputError
from pipeline.workspace import Workspace

NAME = "seed_roi_1f"


@pytest.fixture
def store(workspace: Workspace) -> DraftStore:
    return DraftStore(workspace)


@pytest.fixture
def client(workspace: Workspace) -> TestClient:
    return TestClient(Starlette(routes=draft_routes(workspace)))


def test_what_is_not_given_stays_as_it_was(store: DraftStore) -> None:
    store.write(NAME, {"question": "Was ist das? Ä", "answer": ""}, about={"editing": "seed_2"})
    store.write(NAME, {"answer": "liver"})
    kept = store.read(NAME)
    assert kept.fields == {"question": "Was ist das? Ä", "answer": "liver"}
    assert kept.about == {"editing": "seed_2"}


def test_a_draft_without_a_text_is_none(store: DraftStore, workspace: Workspace) -> None:
    store.write(NAME, {"question": "What?"})
    store.write(NAME, {"question": "  "})
    assert not store.read(NAME).fields
    assert list((workspace.root / FOLDER).iterdir()) == []


def test_what_comes_after_the_end_of_a_writing_is_not_kept(store: DraftStore) -> None:
    writing = new_writing()
    store.receive(NAME, writing, {"question": "What?"})
    store.drop(NAME, writing=writing)
    store.receive(NAME, writing, {"question": "What is"})
    assert not store.read(NAME).fields
    store.receive(NAME, new_writing(), {"question": "Another"})
    assert store.read(NAME).fields == {"question": "Another"}


def test_the_latest_of_a_kind_is_found(store: DraftStore) -> None:
    assert store.latest("seed") is None
    store.write("edit_item_1", {"stem": "What?"})
    store.write(NAME, {"question": "What?"})
    assert store.latest("seed") == "roi_1f"
    assert store.latest("edit") == "item_1"


def test_a_damaged_file_is_no_draft(store: DraftStore, workspace: Workspace) -> None:
    store.write(NAME, {"question": "What?"})
    for text in ("", "[1]", '{"fields": 3, "about": {}}', "\x00"):
        (workspace.root / FOLDER / f"{NAME}.json").write_text(text)
        assert not store.read(NAME).fields


@pytest.mark.parametrize("name", ["", "seed", "../x_y", "seed_../../x", "seed_a/b", "Seed_x", "seed_" + "x" * 61])
def test_a_name_is_no_path(store: DraftStore, name: str) -> None:
    with pytest.raises(InputError):
        store.write(name, {"question": "What?"})


def test_the_route_keeps_what_the_browser_sends(client: TestClient, store: DraftStore) -> None:
    answer = client.post(f"/api/drafts/{NAME}", json={"writing": new_writing(), "fields": {"question": "What?"}})
    assert answer.status_code == 204
    assert store.read(NAME).fields == {"question": "What?"}


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        '{"writing": "w", "fields": {"question": 3}}',
        '{"writing": "w", "fields": {"../x": "What?"}}',
        '{"writing": "w", "fields": {"question": "What?"}, "more": 1}',
    ],
)
def test_the_route_refuses_what_is_no_draft(client: TestClient, store: DraftStore, body: str) -> None:
    answer = client.post(f"/api/drafts/{NAME}", content=body)
    assert answer.status_code == 422
    assert answer.json()["error"]
    assert not store.read(NAME).fields


def test_the_route_refuses_what_is_far_too_long(client: TestClient, workspace: Workspace) -> None:
    long = "x" * (4 * workspace.settings.max_text_length + 1)
    body = {"writing": "w", "fields": {"question": long}}
    assert client.post(f"/api/drafts/{NAME}", json=body).status_code == 422
    assert client.post(f"/api/drafts/{NAME}", content="x" * 200_001).status_code == 413
    assert client.post("/api/drafts/no-name", json={"writing": "w", "fields": {"a": "x"}}).status_code == 422
