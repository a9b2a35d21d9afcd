"""Many people save at once over HTTP, and some whose server is killed under them: nothing is lost, nothing doubled."""

from __future__ import annotations

from pathlib import Path

from pipeline.workspace import Workspace
from tests.load.app import running
from tests.load.checks import faults_of
from tests.load.clients import Pace, crowd
from tests.load.kills import edit_under_kills
from tests.load.scene import fill
from tests.pipeline.conftest import drawn_slides, workspace

__all__ = ["drawn_slides", "workspace"]

AUTHORS, REVIEWERS, SAVES = 8, 4, 20


def test_twelve_people_lose_nothing(workspace: Workspace, drawn_slides: list[Path], tmp_path: Path) -> None:
    scene = fill(workspace, drawn_slides, authors=AUTHORS, reviewers=REVIEWERS, item_seeds=6)
    pace = Pace(spoiled=0.2)
    with running(workspace, tmp_path) as app, crowd(scene, app.url, saves=SAVES, seed=7, pace=pace) as people:
        people.wait()
    assert faults_of(scene, people.notes, at_work=False) == []
    assert len(people.notes.saves) == (AUTHORS + REVIEWERS) * SAVES
    assert people.notes.refused, "several changed one seed: some of it was refused"
    assert people.notes.repeated > 0


def test_kills_of_app_and_worker_take_nothing_that_was_acknowledged(
    workspace: Workspace, drawn_slides: list[Path], tmp_path: Path
) -> None:
    scene = fill(workspace, drawn_slides, authors=4, reviewers=2, item_seeds=3)
    killed = edit_under_kills(
        scene,
        tmp_path,
        targets=("app and worker", "worker", "app"),
        wait=(0.5, 2.0),
        generate=8,
        seed=11,
        pace=Pace(pause=(0.02, 0.2)),
    )
    assert killed.faults == []
    assert killed.job.state == "done", killed.job.error
    # A reply that has come and is not in the queue yet is under way too; the stub cannot see which those are.
    calls_at_once = workspace.settings.model_concurrency
    assert killed.calls_repeated <= calls_at_once * len(killed.kills), killed
    acknowledged = [kill.saves for kill in killed.kills]
    assert 0 < acknowledged[0] < acknowledged[-1] < len(killed.notes.saves), "they saved before, between and after"
