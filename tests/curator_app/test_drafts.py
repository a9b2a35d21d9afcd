"""What is typed and not saved: kept in the workspace, taken by the route, given up when it ends."""

from __future__ import annotations

import json
import os
import re
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from curator_app.drafts import DraftStore, Unsaved, new_writing
from curator_app.identity import Access
from curator_app.routes import draft_routes
from pipeline.audit import verify_trail
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


def test_a_writing_stays_ended_when_the_server_is_started_again(
    store: DraftStore, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = new_writing()
    store.receive(NAME, writing, {"question": "What?"})
    store.drop(NAME, writing=writing)
    for number in range(3):
        monkeypatch.setattr("curator_app.drafts._ended", {})
        again = DraftStore(workspace)
        assert not again.receive(NAME, writing, {"question": "What is"})
        assert not again.read(NAME).fields
        again.drop(NAME, writing=f"another {number}")


def test_not_every_writing_that_ever_ended_is_remembered(
    store: DraftStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curator_app.drafts._KEPT_ENDED", 3)
    monkeypatch.setattr("curator_app.drafts._ended", {})
    for number in range(5):
        store.drop(NAME, writing=f"w{number}")
    assert json.loads((folder / "ended.json").read_text()) == ["w2", "w3", "w4"]
    (folder / "ended.json").write_text("{damaged")
    monkeypatch.setattr("curator_app.drafts._ended", {})
    assert store.receive(NAME, "w4", {"question": "What?"}), "a damaged file ends nothing"


def test_a_draft_is_on_the_disk_before_it_counts_as_kept(
    client: TestClient, workspace: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text before the file has its name, and the name before the answer."""
    folder.mkdir(parents=True)
    said: list[str] = []
    sync, replace = os.fsync, Path.replace

    def note_sync(handle: int) -> None:
        said.append(f"sync {Path(f'/proc/self/fd/{handle}').readlink().name.partition('.')[0]}")
        sync(handle)

    def note_name(path: Path, target: Path) -> Path:
        said.append(f"name {target.name}")
        return replace(path, target)

    monkeypatch.setattr("pipeline.stored_files.os.fsync", note_sync)
    monkeypatch.setattr(Path, "replace", note_name)
    assert client.post(f"/api/drafts/{NAME}", json=_typed(workspace, question="What?")).json()["kept"] is True
    assert said == [f"sync {NAME}", f"name {NAME}.json", f"sync {folder.name}"]


def test_drafts_leave_no_row_in_the_audit_trail(client: TestClient, workspace: Workspace, store: DraftStore) -> None:
    before = verify_trail(workspace).head
    for text in ("What", "What is", "What is it?"):
        assert client.post(f"/api/drafts/{NAME}", json=_typed(workspace, question=text)).json()["kept"] is True
    store.drop(NAME, writing=new_writing())
    after = verify_trail(workspace)
    assert (after.head, after.faults) == (before, [])


class TestTwoTabs:
    """One person writes the same draft in two tabs, or comes back with a text that an offline tab left."""

    def test_neither_text_is_written_over(self, store: DraftStore) -> None:
        store.receive(NAME, "a", {"question": "Which cell is it?"}, number=1)
        store.receive(NAME, "b", {"question": "How many mitoses?"}, number=2)
        assert self._texts(store) == ("How many mitoses?", ["Which cell is it?"])
        store.receive(NAME, "a", {"question": "Which cell is it here?"}, number=3)
        assert self._texts(store) == ("Which cell is it here?", ["How many mitoses?"])
        store.receive(NAME, "b", {"question": "How many mitoses there?"}, number=4)
        assert self._texts(store) == ("How many mitoses there?", ["Which cell is it here?"]), "one for each tab"

    def test_an_older_text_that_comes_late_does_not_push_out_the_newer_one(self, store: DraftStore) -> None:
        store.receive(NAME, "desk", {"question": "How many mitoses?"}, number=200)
        store.receive(NAME, "train", {"question": "Which cell is it?"}, number=100)
        assert self._texts(store) == ("How many mitoses?", ["Which cell is it?"])

    def test_what_is_in_the_other_text_already_is_not_offered(self, store: DraftStore) -> None:
        store.receive(NAME, "a", {"question": "Which cell"}, number=1)
        store.receive(NAME, "b", {"question": "Which cell is it?"}, number=2)
        assert self._texts(store) == ("Which cell is it?", [])
        store.receive(NAME, "c", {"question": "How many?"}, number=3)
        store.receive(NAME, "d", {"question": "Which cell is it? How many?"}, number=4)
        assert self._texts(store) == ("Which cell is it? How many?", [])

    def test_a_tab_that_opened_with_the_text_goes_on_with_it(self, store: DraftStore) -> None:
        store.receive(NAME, "a", {"question": "Which cell is it?"}, number=10**15)
        store.take_over(NAME, "question", "b")
        store.receive(NAME, "b", {"question": "How many?"}, number=2)
        assert self._texts(store) == ("How many?", []), "although the other computer's clock is ahead"

    @pytest.mark.parametrize("ends", ["a", "b"])
    def test_what_one_tab_saves_or_gives_up_leaves_the_others_text(self, store: DraftStore, ends: str) -> None:
        texts = {"a": "Which cell is it?", "b": "How many mitoses?"}
        for number, (writing, text) in enumerate(texts.items()):
            store.receive(NAME, writing, {"question": text}, number=number)
        store.drop(NAME, writing=ends)
        kept = store.read(NAME)
        stays = texts["b" if ends == "a" else "a"]
        assert (dict(kept.fields), [other.text for other in kept.others]) == ({}, [stays])
        assert not kept.is_text

    def test_who_gives_up_a_draft_that_is_not_open_means_all_of_it(self, store: DraftStore, folder: Path) -> None:
        store.receive(NAME, "a", {"question": "Which cell is it?"}, number=1)
        store.drop(NAME, writing="never typed")
        assert [path.name for path in folder.iterdir()] == ["ended.json"]

    def test_one_may_be_put_in_for_the_other_and_be_forgotten(self, store: DraftStore, folder: Path) -> None:
        store.receive(NAME, "a", {"question": "Which cell is it?"}, number=1)
        store.receive(NAME, "b", {"question": "How many mitoses?"}, number=2)
        (other,) = store.read(NAME).others
        store.use_other(NAME, other, "b", instead_of="How many mitoses?")
        assert self._texts(store) == ("Which cell is it?", ["How many mitoses?"])
        store.receive(NAME, "b", {"question": "Which cell is it here?"}, number=3)
        assert self._texts(store) == ("Which cell is it here?", ["How many mitoses?"])
        store.forget_other(NAME, store.read(NAME).others[0])
        assert self._texts(store) == ("Which cell is it here?", [])
        store.drop(NAME, writing="b")
        assert [path.name for path in folder.iterdir()] == ["ended.json"]

    @staticmethod
    def _texts(store: DraftStore) -> tuple[str, list[str]]:
        kept = store.read(NAME)
        return kept.fields["question"], [other.text for other in kept.others]


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
