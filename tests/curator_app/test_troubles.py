"""A full disk and a database that cannot be used, at the routes: said so, nothing lost, and over when there is room."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from sqlmodel import select
from starlette.testclient import TestClient

from curator_app.drafts import DraftStore, new_writing
from curator_app.identity import Access
from curator_app.routes import account_routes, draft_routes, save_routes
from curator_app.troubles import show_trouble
from db import utc_now
from db.tables import AccountSession, Slide
from pipeline.audit import verify_trail
from pipeline.ingest import add_slides
from pipeline.people._sessions import TOUCH_INTERVAL
from pipeline.rois import list_rois, select_roi
from pipeline.sampling import sample_candidates
from pipeline.seeds import list_seeds
from pipeline.troubles import not_needed
from pipeline.workspace import Workspace, create_workspace
from tests.curator_app.visitors import KEY, add_person, browser_of, cookie_of, guarded, opened_session
from tests.pipeline.conftest import METADATA
from tests.small_disk import SmallDisk, small_disk

__all__ = ["small_disk"]

WHY = "the disk of the server is full"


@pytest.fixture
def on_small_disk(
    small_disk: SmallDisk, drawn_slides: list[Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workspace]:
    """A workspace with a selected ROI on a small disk."""
    monkeypatch.delenv("HISTOCURATOR_DATABASE_URL", raising=False)
    made = create_workspace(small_disk.path / "workspace")
    add_slides(made, drawn_slides, METADATA, who="test")
    sample_candidates(made, organ="liver", count=1, size=64, who="test")
    select_roi(made, list_rois(made, states=("candidate",))[0][0].id, who="test")
    yield made
    made.engine.dispose()


def _client(workspace: Workspace, access: Access | None = None) -> TestClient:
    access = access or Access(workspace, KEY)
    routes = [
        *account_routes(workspace, access, pages=[""]),
        *draft_routes(workspace),
        *save_routes(workspace),
    ]
    client = browser_of(guarded(access, routes))
    client.get("/sign-in")
    client.get("/")
    return client


def _save(workspace: Workspace, act: str) -> dict[str, Any]:
    return {
        "account": workspace.actor.account_id,
        "act": act * 32,
        "roi": list_rois(workspace)[0][0].id,
        "question": "Which cell is in mitosis?",
        "answer": "x" * 3000,
        "category": "identify_pathology",
    }


def _draft(workspace: Workspace, text: str, writing: str, number: int) -> dict[str, Any]:
    return {
        "account": workspace.actor.account_id,
        "writing": writing,
        "fields": {"question": text},
        "number": number,
    }


@pytest.mark.sqlite("the database lies in the workspace, on the disk that is full")
class TestFullDisk:
    def test_a_save_is_answered_and_made_when_there_is_room(
        self, on_small_disk: Workspace, small_disk: SmallDisk
    ) -> None:
        client = _client(on_small_disk)
        small_disk.fill()
        # What SQLite has room for in its own files still goes in.
        acknowledged = 0
        for act in "0123456789abcdef":
            answer = client.post("/api/seeds", json=_save(on_small_disk, act))
            if answer.status_code != 200:
                break
            acknowledged += 1
        assert answer.status_code in (503, 507), answer.text
        assert answer.json()["why"] in (WHY, "the database cannot be used now")
        assert "stays in its field" in answer.json()["error"]
        assert answer.headers["cache-control"] == "no-store"
        assert len(list_seeds(on_small_disk)) == acknowledged
        small_disk.free()
        assert client.post("/api/seeds", json=_save(on_small_disk, act)).status_code == 200
        assert client.post("/api/seeds", json=_save(on_small_disk, act)).status_code == 200
        assert len(list_seeds(on_small_disk)) == acknowledged + 1
        assert verify_trail(on_small_disk).faults == []

    def test_a_draft_is_answered_and_the_former_one_stays(
        self, on_small_disk: Workspace, small_disk: SmallDisk, caplog: pytest.LogCaptureFixture
    ) -> None:
        client, store, writing = _client(on_small_disk), DraftStore(on_small_disk), new_writing()
        first = client.post("/api/drafts/seed_roi_1", json=_draft(on_small_disk, "Which cell", writing, 1))
        assert first.json()["kept"] is True
        small_disk.fill()
        with caplog.at_level(logging.ERROR):
            full = client.post("/api/drafts/seed_roi_1", json=_draft(on_small_disk, "Which cell is it?", writing, 2))
        assert (full.status_code, full.json()["why"]) == (507, WHY)
        assert "No space left on device" in caplog.text, "the log says of which file"
        assert store.read("seed_roi_1").fields == {"question": "Which cell"}
        (folder,) = on_small_disk.root.glob("drafts/*")
        assert [path.name for path in folder.iterdir()] == ["seed_roi_1.json"], "nothing unfinished is left"
        small_disk.free()
        again = client.post("/api/drafts/seed_roi_1", json=_draft(on_small_disk, "Which cell is it?", writing, 3))
        assert again.json()["kept"] is True
        assert store.read("seed_roi_1").fields == {"question": "Which cell is it?"}

    def test_a_writing_ends_all_the_same(self, on_small_disk: Workspace, small_disk: SmallDisk) -> None:
        store, writing = DraftStore(on_small_disk), new_writing()
        store.receive("seed_roi_1", writing, {"question": "Which cell is it?"})
        small_disk.fill()
        store.drop("seed_roi_1", writing=writing)
        small_disk.free()
        assert not store.read("seed_roi_1").fields
        assert not store.receive("seed_roi_1", writing, {"question": "Which cell"})

    def test_who_is_signed_in_stays_so(self, on_small_disk: Workspace, small_disk: SmallDisk) -> None:
        """That a session is used is noted now and then, which there is no room for."""
        add_person(on_small_disk, "ada")
        access = Access(on_small_disk, KEY)
        opened = opened_session(on_small_disk, "ada")
        with on_small_disk.writing() as session:
            one = session.get_one(AccountSession, opened.id)
            one.last_seen_at = utc_now() - 2 * TOUCH_INTERVAL
            session.add(one)
        client = _client(on_small_disk, access)
        small_disk.fill()
        _use_up(on_small_disk)
        answer = client.get("/sign-out", headers={"Cookie": cookie_of(access, opened)})
        assert (answer.status_code, "Sign out" in answer.text) == (200, True)
        refused = client.post("/sign-out", headers={"Cookie": cookie_of(access, opened)})
        assert refused.status_code in (503, 507)
        assert "Try again" in refused.text
        assert refused.headers["content-security-policy"].startswith("default-src 'none'")
        small_disk.free()
        assert client.post("/sign-out", headers={"Cookie": cookie_of(access, opened)}).status_code == 303


def _use_up(workspace: Workspace) -> None:
    """Write until the database itself has no room left in its files."""
    for number in range(500):
        try:
            with workspace.writing() as session:
                session.connection().exec_driver_sql(f"CREATE TABLE filled_{number} (a TEXT)")
        except OperationalError:
            return
    raise AssertionError("the disk is not full")


def test_a_database_that_does_not_answer_is_said(with_rois: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    client = _client(with_rois)

    def refuse(*_: object, **__: object) -> None:
        raise OperationalError("SELECT", {}, Exception("connection refused"))

    monkeypatch.setattr("curator_app.routes._saves.once", refuse)
    answer = client.post("/api/seeds", json=_save(with_rois, "0"))
    assert (answer.status_code, answer.json()["why"]) == (503, "the database cannot be used now")
    monkeypatch.setattr("curator_app.identity.accounts_exist", refuse)
    page = _client(with_rois).get("/sign-in")
    assert page.status_code == 503
    assert "The database cannot be used now" in page.text
    assert "connection refused" not in page.text, "what it says of the server is for its log"


def test_what_is_wrong_with_a_request_is_said_where_no_route_expects_it(
    with_rois: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = _client(with_rois)

    def refuse(*_: object, **__: object) -> None:
        with with_rois.reading() as session:
            session.exec(select(Slide).where(Slide.id == "a\0b")).first()

    monkeypatch.setattr("curator_app.identity.accounts_exist", refuse)
    page, answer = client.get("/sign-in"), client.post("/api/seeds", json=_save(with_rois, "0"))
    assert (page.status_code, answer.status_code) == (422, 422)
    assert "cannot be stored" in page.text
    assert "U+0000" in answer.json()["error"]


def test_a_fault_of_the_program_stays_one(with_rois: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("a fault")

    monkeypatch.setattr("curator_app.routes._saves.once", fail)
    with pytest.raises(KeyError, match="a fault"):
        _client(with_rois).post("/api/seeds", json=_save(with_rois, "0"))
    assert not show_trouble(KeyError("a fault"))
    with pytest.raises(KeyError), not_needed("nothing"):
        raise KeyError("a fault")


def test_a_save_is_no_failure_because_a_lease_could_not_be_renewed(
    with_rois: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise OperationalError("UPDATE", {}, Exception("database is locked"))

    for module in ("_saves", "_drafts"):
        monkeypatch.setattr(f"curator_app.routes.{module}.renew_leases", refuse)
    client = _client(with_rois)
    assert client.post("/api/seeds", json=_save(with_rois, "0")).status_code == 200
    kept = client.post("/api/drafts/seed_roi_1", json=_draft(with_rois, "Which?", new_writing(), 1))
    assert kept.json()["kept"] is True
