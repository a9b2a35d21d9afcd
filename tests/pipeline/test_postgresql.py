"""The main job on a real PostgreSQL that the test starts."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from pipeline.audit import verify_trail
from pipeline.ingest import add_slides
from pipeline.job_costs import job_cost
from pipeline.jobs import submit
from pipeline.releases import build_release
from pipeline.review import approve_passed, list_items
from pipeline.rois import list_rois, select_roi
from pipeline.sampling import sample_candidates
from pipeline.seeds import SeedText, save_seed
from pipeline.variants import choose_models, generate_items
from pipeline.workspace import DATABASE_FILE, Workspace, create_workspace, open_workspace
from tests.pipeline import scripted
from tests.pipeline.conftest import METADATA, SEED_TEXTS
from tests.pipeline.test_jobs import CALLS_PER_SEED, PATIENCE_S, ended, wait_for, worker
from tests.wire.stub import Received, Step, WireStub

pytestmark = pytest.mark.both_engines


@pytest.mark.parametrize("queues", [("all", "all"), ("jobs", "seeds", "seeds")], ids=",".join)
def test_workers_side_by_side_do_each_unit_once(
    postgresql_url: str,
    drawn_slides: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    queues: tuple[str, ...],
) -> None:
    monkeypatch.setenv("HISTOCURATOR_DATABASE_URL", postgresql_url)
    # One seed at a time, so that each worker gets some.
    monkeypatch.setenv("HISTOCURATOR_MODEL_CONCURRENCY", "1")
    workspace = create_workspace(tmp_path / "workspace")
    add_slides(workspace, drawn_slides, METADATA, who="a")
    sample_candidates(workspace, organ="liver", count=4, size=128, who="a")
    for (roi, _), texts in zip(list_rois(workspace, states=("candidate",)), SEED_TEXTS, strict=True):
        select_roi(workspace, roi.id, who="a")
        save_seed(workspace, SeedText(*texts), roi_id=roi.id, who="a")
    writer = scripted.Writer()
    checker = scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: 2)

    def script(received: Received) -> Step:
        time.sleep(0.3)
        return writer.answer(received) if scripted.writer_of(received) else checker(received)

    with WireStub(script=script) as server, ExitStack() as workers:
        monkeypatch.setenv("STUB_BASE_URL", server.openai_url)
        monkeypatch.setenv("STUB_API_KEY", "key")
        for queue in queues:
            workers.enter_context(worker(workspace, "--queue", queue))
        wait_until_ready(workspace, len(queues))
        job = submit(workspace, "generate", generator=scripted.WRITER, checker=scripted.CHECKER)
        status = wait_for(workspace, job, ended)
        calls = len(server.received)
    assert status.state == "done", status.error
    assert status.result is not None
    assert status.result["ready"] == 4
    assert calls == 4 * CALLS_PER_SEED, "no unit is done twice"
    assert len(list_items(workspace)) == 12
    assert verify_trail(workspace).faults == []
    cost = job_cost(workspace, status)
    assert cost is not None
    assert (cost.calls, cost.input_tokens, cost.unpriced) == (calls, 11 * calls, calls)
    did = [path for path in workspace.log_file.parent.glob("jobs-*.log") if " ready" in path.read_text()]
    assert len(did) == 2, "both took seeds"
    if queues[0] == "jobs":
        (planner,) = [p for p in workspace.log_file.parent.glob("jobs-*.log") if "begins" in p.read_text()]
        assert planner not in did, "who takes whole jobs takes no seeds"
    workspace.engine.dispose()


def wait_until_ready(workspace: Workspace, workers: int) -> None:
    """Wait until so many workers have said in the log that they wait for jobs."""
    end = time.monotonic() + PATIENCE_S
    log = workspace.log_file
    while not log.is_file() or log.read_text().count("waits for") < workers:
        assert time.monotonic() < end, "a worker does not start"
        time.sleep(0.2)


def test_the_url_replaces_the_file(
    postgresql_url: str, drawn_slides: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HISTOCURATOR_DATABASE_URL", postgresql_url)
    workspace = create_workspace(tmp_path / "workspace")
    assert workspace.engine.dialect.name == "postgresql"
    assert not (workspace.root / DATABASE_FILE).exists()
    add_slides(workspace, drawn_slides, METADATA, who="a")
    sample_candidates(workspace, organ="liver", count=4, size=128, who="a")
    for (roi, _), texts in zip(list_rois(workspace, states=("candidate",)), SEED_TEXTS, strict=True):
        select_roi(workspace, roi.id, who="a")
        save_seed(workspace, SeedText(*texts), roi_id=roi.id, who="a")
    report = generate_items(workspace, models=choose_models(workspace, generator=None, checker=None), who="a")
    assert report.ready == 4
    approve_passed(workspace, as_user="a")
    assert build_release(workspace, name="liver", version="1", who="a").release.item_count > 0
    workspace.engine.dispose()
    again = open_workspace(workspace.root)
    assert len(list_items(again)) == 12
    again.engine.dispose()
