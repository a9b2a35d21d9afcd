"""What is typed and not saved: kept in the workspace, taken by the route, given up when it ends."""

from __future__ import annotations

import re
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from curator_app.drafts import DraftStore, Unsaved, new_writing
from curator_app.identity import Access
from curator_app.routes import draft_routes
from pipeline.errors import InputError
from pipeline.workspace import DRAFTS, Workspace
from tests.curator_app.visitors import KEY, actor, add_person, browser_of, cookie_of, guarded, opened_session

NAME = "seed_roi_1f"


@pytest.fixture
def store(workspace: Workspace) -> DraftStore:
    return DraftStore(workspace)


@pytest.fixture
def folder(workspace: Workspace) -> Path:
    """Where the drafts of the person who made the workspace are."""
    return workspace.root / DRAFTS / workspace.actor.account_id


@pytest.fixture
def client(workspace: Workspace) -> TestClient:
    """A browser of the person who made the workspace; nobody has to sign in."""
    client = browser_of(guarded(Access(workspace, KEY), draft_routes(workspace)))
    client.get("/")
    return client


def _typed(workspace: Workspace, **fields: str) -> dict[str, object]:
    return {"account": workspace.actor.account_id, "writing": new_writing(), "fields": fields}


def test_what_is_not_given_stays_as_it_was(store: DraftStore) -> None:
    store.write(NAME, {"question": "Was ist das? Ä", "answer": ""}, about={"editing": "seed_2"})
    store.write(NAME, {"answer": "liver"})
    kept = store.read(NAME)
    assert kept.fields == {"question": "Was ist das? Ä", "answer": "liver"}
    assert kept.about == {"editing": "seed_2"}


def test_a_draft_without_a_text_is_none(store: DraftStore, folder: Path) -> None:
    store.write(NAME, {"question": "What?"})
    store.write(NAME, {"question": "  "})
    assert not store.read(NAME).fields
    assert list(folder.iterdir()) == []


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
    assert store.latest("seed") == NAME
    assert store.latest("edit") == "edit_item_1"


def test_what_is_stored_already_is_no_draft(store: DraftStore) -> None:
    store.begin("edit_item_1", {"stem": "What?", "key": "2"}, about={"number": "1"})
    assert not store.read("edit_item_1").is_text
    assert store.latest("edit") is None
    store.write("edit_item_1", {"stem": "What? "})
    assert not store.read("edit_item_1").is_text
    store.write("edit_item_1", {"stem": ""})
    kept = store.read("edit_item_1")
    assert kept.is_text
    assert kept.about == {"number": "1"}
    assert store.latest("edit") == "edit_item_1"


def test_a_text_that_a_newer_one_has_overtaken_is_not_kept(store: DraftStore) -> None:
    writing = new_writing()
    assert store.receive(NAME, writing, {"question": "What is it?"}, number=2)
    assert store.receive(NAME, writing, {"question": "What", "answer": "liver"}, number=1)
    assert store.read(NAME).fields == {"question": "What is it?", "answer": "liver"}


def test_fields_that_come_at_once_are_all_kept(store: DraftStore) -> None:
    names = [f"field_{number}" for number in range(12)]
    with ThreadPoolExecutor(12) as threads:
        list(threads.map(lambda name: store.receive(NAME, "w", {name: f"text of {name}"}), names))
    assert store.read(NAME).fields == {name: f"text of {name}" for name in names}


def test_a_writing_that_ends_while_its_text_arrives_stays_ended(
    store: DraftStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saving and the last sending of the browser come at the same moment."""
    writing, read = new_writing(), DraftStore.read
    threads = ThreadPoolExecutor(1)
    ends: list[Future[None]] = []

    def read_and_end(self: DraftStore, name: str) -> Unsaved:
        if not ends:
            ends.append(threads.submit(store.drop, NAME, writing=writing))
            time.sleep(0.2)
        return read(self, name)

    monkeypatch.setattr(DraftStore, "read", read_and_end)
    store.receive(NAME, writing, {"question": "What is it?"})
    ends[0].result(10)
    assert not read(store, NAME).fields
    assert not store.receive(NAME, writing, {"question": "What is it"})


def test_a_damaged_file_is_no_draft(store: DraftStore, folder: Path) -> None:
    store.write(NAME, {"question": "What?"})
    for text in ("", "[1]", '{"fields": 3, "about": {}}', "\x00"):
        (folder / f"{NAME}.json").write_text(text)
        assert not store.read(NAME).fields


@pytest.mark.parametrize("name", ["", "seed", "../x_y", "seed_../../x", "seed_a/b", "Seed_x", "seed_" + "x" * 61])
def test_a_name_is_no_path(store: DraftStore, name: str) -> None:
    with pytest.raises(InputError):
        store.write(name, {"question": "What?"})


def test_the_route_keeps_what_the_browser_sends(client: TestClient, workspace: Workspace, store: DraftStore) -> None:
    answer = client.post(f"/api/drafts/{NAME}", json=_typed(workspace, question="What?"))
    assert answer.status_code == 200
    assert answer.json()["kept"] is True
    assert re.fullmatch(r"\d\d:\d\d:\d\d", answer.json()["at"])
    assert store.read(NAME).fields == {"question": "What?"}


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        '{"writing": "w", "fields": {"question": "What?"}}',
        '{"account": "ACCOUNT", "writing": "w", "fields": {"question": 3}}',
        '{"account": "ACCOUNT", "writing": "w", "fields": {"../x": "What?"}}',
        '{"account": "ACCOUNT", "writing": "w", "fields": {"question": "What?"}, "more": 1}',
    ],
)
def test_the_route_refuses_what_is_no_draft(
    client: TestClient, workspace: Workspace, store: DraftStore, body: str
) -> None:
    body = body.replace("ACCOUNT", workspace.actor.account_id)
    answer = client.post(f"/api/drafts/{NAME}", content=body)
    assert answer.status_code == 422
    assert answer.json()["error"]
    assert not store.read(NAME).fields


def test_the_route_refuses_what_is_far_too_long(client: TestClient, workspace: Workspace) -> None:
    long = "x" * (4 * workspace.settings.max_text_length + 1)
    assert client.post(f"/api/drafts/{NAME}", json=_typed(workspace, question=long)).status_code == 422
    assert client.post(f"/api/drafts/{NAME}", content="x" * 200_001).status_code == 413
    assert client.post("/api/drafts/no-name", json=_typed(workspace, a="x")).status_code == 422


class TestPeople:
    """Two people with one browser, one after the other."""

    @pytest.fixture
    def access(self, workspace: Workspace) -> Access:
        for name in ("ada", "bob"):
            add_person(workspace, name, "author" if name == "bob" else "admin")
        return Access(workspace, KEY)

    def test_each_has_their_own(self, workspace: Workspace, access: Access) -> None:
        client = browser_of(guarded(access, draft_routes(workspace)))
        for name in ("ada", "bob"):
            own = workspace.acting_as(actor(workspace, name))
            cookie = cookie_of(access, opened_session(workspace, name))
            sent = client.post(f"/api/drafts/{NAME}", json=_typed(own, question=name), headers={"Cookie": cookie})
            assert sent.status_code == 200
        for name in ("ada", "bob"):
            assert DraftStore(workspace.acting_as(actor(workspace, name))).read(NAME).fields == {"question": name}

    def test_what_somebody_else_typed_before_is_not_taken(self, workspace: Workspace, access: Access) -> None:
        client = browser_of(guarded(access, draft_routes(workspace)))
        ada, bob = (workspace.acting_as(actor(workspace, name)) for name in ("ada", "bob"))
        cookie = cookie_of(access, opened_session(workspace, "bob"))
        answer = client.post(f"/api/drafts/{NAME}", json=_typed(ada, question="Ada's"), headers={"Cookie": cookie})
        assert answer.status_code == 401
        assert not DraftStore(ada).read(NAME).fields
        assert not DraftStore(bob).read(NAME).fields

    def test_without_a_session_nothing_is_kept(self, workspace: Workspace, access: Access) -> None:
        client = browser_of(guarded(access, draft_routes(workspace)))
        ada = workspace.acting_as(actor(workspace, "ada"))
        assert client.post(f"/api/drafts/{NAME}", json=_typed(ada, question="What?")).status_code == 401
        assert not DraftStore(ada).read(NAME).fields
