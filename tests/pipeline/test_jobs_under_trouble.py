"""A generation whose disk fills up, or whose database drops its connections: it goes on when that is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from pipeline.audit import verify_trail
from pipeline.ingest import add_slides
from pipeline.jobs import job_status, submit
from pipeline.review import list_items
from pipeline.rois import list_rois, select_roi
from pipeline.sampling import sample_candidates
from pipeline.seeds import SeedText, list_seeds, save_seed
from pipeline.workspace import Workspace, create_workspace
from tests.databases import URL_VARIABLE
from tests.pipeline import scripted
from tests.pipeline.conftest import METADATA, SEED_TEXTS
from tests.pipeline.test_jobs import CALLS_PER_SEED, ended, wait_for, worker
from tests.small_disk import SmallDisk, small_disk
from tests.wire.stub import Received, Step, WireStub

__all__ = ["small_disk"]

SECONDS_PER_CALL = 0.3
SEEDS = 4


def _with_seeds(root: Path, slides: list[Path]) -> Workspace:
    workspace = create_workspace(root)
    add_slides(workspace, slides, METADATA, who="test")
    sample_candidates(workspace, organ="liver", count=SEEDS, size=64, who="test")
    for (roi, _), texts in zip(list_rois(workspace, states=("candidate",)), SEED_TEXTS, strict=True):
        select_roi(workspace, roi.id, who="test")
        save_seed(workspace, SeedText(*texts), roi_id=roi.id, who="ann")
    return workspace


def _generated(workspace: Workspace, trouble: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> int:
    """Generate with trouble after the first few calls; return the number of calls."""
    writer, checker = scripted.Writer(), scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: 2)

    def script(received: Received) -> Step:
        time.sleep(SECONDS_PER_CALL)
        return writer.answer(received) if scripted.writer_of(received) else checker(received)

    with WireStub(script=script) as server:
        monkeypatch.setenv("STUB_BASE_URL", server.openai_url)
        monkeypatch.setenv("STUB_API_KEY", "key")
        with worker(workspace):
            job = submit(workspace, "generate", generator=scripted.WRITER, checker=scripted.CHECKER)
            wait_for(workspace, job, lambda _: len(server.received) >= 3)
            trouble()
            status = wait_for(workspace, job, ended)
        assert (status.state, status.failed) == ("done", 0), status.error
        assert job_status(workspace, job).done == SEEDS
        return len(server.received)


def _is_done_once(workspace: Workspace) -> None:
    assert {entry.seed.state for entry in list_seeds(workspace)} == {"ready"}
    items = list_items(workspace)
    assert [entry.item.state for entry in items] == ["passed"] * 3 * SEEDS
    assert verify_trail(workspace).faults == []


@pytest.mark.sqlite("the database lies in the workspace, on the disk that is full")
def test_a_disk_that_is_full_for_a_while(
    small_disk: SmallDisk, drawn_slides: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    workspace = _with_seeds(small_disk.path / "workspace", drawn_slides)

    def fill() -> None:
        small_disk.fill()
        time.sleep(6)
        small_disk.free()

    calls = _generated(workspace, fill, monkeypatch)
    _is_done_once(workspace)
    # What came while it could not be recorded is asked for again: at most all that was under way.
    assert calls <= SEEDS * CALLS_PER_SEED + 3 * SEEDS
    workspace.engine.dispose()


@pytest.mark.both_engines
def test_connections_that_the_database_drops(
    tmp_path: Path, postgresql_url: str, drawn_slides: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL_VARIABLE, postgresql_url)
    workspace = _with_seeds(tmp_path / "workspace", drawn_slides)
    server = create_engine(workspace.engine.url, isolation_level="AUTOCOMMIT")

    def drop() -> None:
        for _ in range(3):
            with server.connect() as connection:
                connection.execute(
                    text(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    )
                )
            time.sleep(1)

    calls = _generated(workspace, drop, monkeypatch)
    _is_done_once(workspace)
    assert calls <= SEEDS * CALLS_PER_SEED + 3 * 3 * SEEDS
    server.dispose()
    workspace.engine.dispose()
