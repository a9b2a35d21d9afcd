"""The routes by which pages save: answered when the change is in the database, made once, every fault in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from curator_app.drafts import DraftStore, new_writing, note_draft
from curator_app.identity import Access
from curator_app.routes import save_routes
from pipeline.item_store import load_item
from pipeline.review import REVIEWABLE, item_history, list_items
from pipeline.rois import list_rois
from pipeline.seeds import list_seeds
from pipeline.workspace import Workspace
from tests.curator_app.filled import fill_with_items
from tests.curator_app.visitors import KEY, browser_of, guarded

ACT, OTHER_ACT = "0" * 32, "1" * 32


def _browser(workspace: Workspace) -> TestClient:
    client = browser_of(guarded(Access(workspace, KEY), save_routes(workspace)))
    client.get("/")
    return client


@pytest.fixture
def client(with_rois: Workspace) -> TestClient:
    return _browser(with_rois)


def _seed(workspace: Workspace, **more: Any) -> dict[str, Any]:
    return {
        "account": workspace.actor.account_id,
        "act": ACT,
        "roi": list_rois(workspace)[0][0].id,
        "question": "Which cell is in mitosis?",
        "answer": "the hepatocyte",
        "category": "identify_pathology",
        **more,
    }


class TestSeeds:
    def test_a_new_one(self, with_rois: Workspace, client: TestClient) -> None:
        answer = client.post("/api/seeds", json=_seed(with_rois))
        assert answer.status_code == 200
        (entry,) = list_seeds(with_rois)
        assert answer.json() == {
            "seed": entry.seed.id,
            "version": 1,
            "at": f"{entry.seed.changed_at.astimezone():%H:%M:%S}",
        }
        assert entry.seed.author == with_rois.actor.name
        assert answer.headers["cache-control"] == "no-store"

    def test_the_answer_that_got_lost_is_given_again(self, with_rois: Workspace, client: TestClient) -> None:
        first = client.post("/api/seeds", json=_seed(with_rois)).json()
        again = client.post("/api/seeds", json=_seed(with_rois))
        assert (again.status_code, again.json()["seed"]) == (200, first["seed"])
        assert len(list_seeds(with_rois)) == 1

    def test_another_text_under_the_name_of_an_act_is_no_save(self, with_rois: Workspace, client: TestClient) -> None:
        body = _seed(with_rois, draft="seed_roi_1", writing=new_writing())
        DraftStore(with_rois).write("seed_roi_1", {"question": "Which other cell?"})
        client.post("/api/seeds", json={**body, "draft": None})
        other = client.post("/api/seeds", json={**body, "question": "Which other cell?"})
        assert (other.status_code, "another text" in other.json()["error"]) == (409, True)
        assert DraftStore(with_rois).read("seed_roi_1").is_text, "it is still unsaved"
        assert [entry.seed.question for entry in list_seeds(with_rois)] == ["Which cell is in mitosis?"]

    def test_a_seed_of_another_roi_is_not_changed(self, with_rois: Workspace, client: TestClient) -> None:
        first = client.post("/api/seeds", json=_seed(with_rois)).json()
        other = list_rois(with_rois)[1][0].id
        moved = _seed(with_rois, act=OTHER_ACT, seed=first["seed"], version=1, roi=other, question="Which?")
        assert client.post("/api/seeds", json=moved).status_code == 422
        assert list_seeds(with_rois)[0].seed.question == "Which cell is in mitosis?"

    def test_over_the_version_that_was_seen(self, with_rois: Workspace, client: TestClient) -> None:
        first = client.post("/api/seeds", json=_seed(with_rois)).json()
        change = _seed(with_rois, act=OTHER_ACT, seed=first["seed"], version=1, question="Which one?")
        assert client.post("/api/seeds", json=change).json()["version"] == 2
        late = client.post("/api/seeds", json={**change, "act": "2" * 32, "question": "Which?"})
        assert late.status_code == 409
        assert (late.json()["version"], late.json()["state"]) == (2, "written")
        assert "compare and save again" in late.json()["error"]
        assert list_seeds(with_rois)[0].seed.question == "Which one?"

    @pytest.mark.parametrize(
        ("change", "status", "says"),
        [
            ({"question": " "}, 422, "not complete"),
            ({"category": "astrology"}, 422, "not complete"),
            ({"roi": "roi_x"}, 404, "no ROI roi_x"),
            ({"roi": "roi\0x"}, 422, "no save"),
            ({"question": "a\0b"}, 422, "not complete"),
            ({"seed": "seed_x", "version": 1}, 404, "no seed seed_x"),
            ({"seed": "seed_x"}, 422, "no save"),
            ({"draft": "seed-x", "writing": "w"}, 422, "no save"),
            ({"act": "x"}, 422, "no save"),
            ({"version": 0}, 422, "no save"),
            ({"author": "somebody"}, 422, "no save"),
            ({"question": None}, 422, "no save"),
            ({"account": "acc_x"}, 401, "somebody else"),
            ({"question": "q" * 200_000}, 413, "at most"),
        ],
        ids=lambda value: str(value)[:30],
    )
    def test_what_is_wrong_is_said_and_nothing_saved(
        self, with_rois: Workspace, client: TestClient, change: dict[str, Any], status: int, says: str
    ) -> None:
        answer = client.post("/api/seeds", json=_seed(with_rois, **change))
        assert answer.status_code == status
        assert says in answer.json()["error"]
        assert list_seeds(with_rois) == []

    def test_every_fault_is_named(self, with_rois: Workspace, client: TestClient) -> None:
        answer = client.post("/api/seeds", json=_seed(with_rois, question="", answer="")).json()
        assert len(answer["problems"]) == 2
        broken = client.post("/api/seeds", content=b'{"act": ').json()
        assert broken["problems"], "and so is that it is no JSON"

    def test_its_draft_says_that_it_is_saved(self, with_rois: Workspace, client: TestClient) -> None:
        """Until the page has heard of it, and also where it never does."""
        body = _seed(with_rois, draft="seed_roi_1", writing=new_writing())
        store = DraftStore(with_rois)
        texts = {name: body[name] for name in ("question", "answer", "category")}
        store.write("seed_roi_1", texts)
        assert store.read("seed_roi_1").is_text
        seed = client.post("/api/seeds", json=body).json()["seed"]
        kept = store.read("seed_roi_1")
        assert not kept.is_text
        assert (kept.about["saved_as"], kept.about["saved_version"]) == (seed, "1")
        assert store.saved("seed", "change") == ["seed_roi_1"]
        store.write("seed_roi_1", {"question": "Which cell is in mitosis, and why?"})
        assert store.read("seed_roi_1").is_text, "what is typed after it is not"

    def test_a_draft_that_the_page_has_ended_stays_so(self, with_rois: Workspace, client: TestClient) -> None:
        body = _seed(with_rois, draft="seed_roi_1", writing=new_writing())
        DraftStore(with_rois).drop("seed_roi_1", writing=body["writing"])
        assert client.post("/api/seeds", json=body).status_code == 200
        assert DraftStore(with_rois).saved("seed") == []


class TestDecisions:
    @pytest.fixture
    def filled(self, workspace: Workspace, tmp_path: Path) -> Workspace:
        return fill_with_items(workspace, tmp_path)

    @staticmethod
    def _decide(workspace: Workspace, item_id: str, decision: str, **more: Any) -> Any:
        seen = {entry.item.id: entry.item.row_version for entry in list_items(workspace)}
        body = {"account": workspace.actor.account_id, "act": ACT, "decision": decision}
        body |= {"version": seen.get(item_id, 1), **more}
        return _browser(workspace).post(f"/api/items/{item_id}/decisions", json=body)

    def test_each_decision_and_its_undo(self, filled: Workspace) -> None:
        entry = list_items(filled, states=REVIEWABLE)[0]
        before, version = entry.item.state, entry.item.row_version
        approved = self._decide(filled, entry.item.id, "approve", version=version)
        assert approved.status_code == 200
        assert load_item(filled, entry.item.id)[0].state == "approved"
        again = self._decide(filled, entry.item.id, "approve", version=version)
        assert again.json() == approved.json()
        undone = self._decide(filled, entry.item.id, "undo", act=OTHER_ACT, version=approved.json()["version"])
        assert undone.status_code == 200
        assert load_item(filled, entry.item.id)[0].state == before
        rejected = self._decide(filled, entry.item.id, "reject", act="2" * 32, note="The key is wrong.")
        assert rejected.status_code == 200
        decisions = item_history(filled, entry.item.id).decisions
        assert [(one.decision, one.note) for one in decisions] == [
            ("approve", ""),
            ("undo", ""),
            ("reject", "The key is wrong."),
        ]

    def test_the_draft_of_the_note_goes_with_it(self, filled: Workspace) -> None:
        item = list_items(filled, states=REVIEWABLE)[0].item
        store, writing = DraftStore(filled), new_writing()
        store.receive(note_draft(item.id), writing, {"note": "The key is wrong."})
        self._decide(filled, item.id, "reject", note="The key is wrong.", writing=writing)
        assert not store.read(note_draft(item.id)).fields
        assert not store.receive(note_draft(item.id), writing, {"note": "The key"}), "what comes late is not kept"

    def test_what_is_wrong_is_said_and_nothing_decided(self, filled: Workspace) -> None:
        item = list_items(filled, states=REVIEWABLE)[0].item
        for decision, more, status, says in (
            ("reject", {}, 422, "needs a note"),
            ("revise", {}, 422, "no save"),
            ("reject", {"note": "a\0b"}, 422, "U+0000"),
            ("reject", {"note": "\u200b"}, 422, "must not be empty"),
            ("reject", {"note": "x" * 5_000}, 422, "at most 4,000"),
            ("reject", {"note": "\u202ewrong"}, 422, "U+202E"),
            ("undo", {}, 422, "no decision to take back"),
            ("approve", {"version": None}, 422, "no save"),
            ("approve", {"version": item.row_version + 1}, 409, "look at it again"),
            ("approve", {"account": "acc_x"}, 401, "somebody else"),
        ):
            answer = self._decide(filled, item.id, decision, **more)
            assert (answer.status_code, says in answer.json()["error"]) == (status, True), (decision, answer.json())
        assert self._decide(filled, "item_x", "approve").status_code == 404
        assert item_history(filled, item.id).decisions == []
        assert load_item(filled, item.id)[0].row_version == item.row_version
