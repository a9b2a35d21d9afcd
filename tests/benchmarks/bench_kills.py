"""Kills at 20 random moments of a generation and of an editing run: what is lost, and what is repeated."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pipeline.audit import verify_trail
from pipeline.review import list_items
from pipeline.rois import list_rois
from pipeline.seeds import SeedText, save_seed
from pipeline.workspace import Workspace
from tests.load.app import Target
from tests.load.clients import Pace
from tests.load.kills import edit_under_kills
from tests.load.scene import fill
from tests.pipeline.conftest import SEED_TEXTS, drawn_slides, filled_folder, with_rois, workspace
from tests.pipeline.test_jobs import CALLS_AT_ONCE, generate_under_kills

__all__ = ["drawn_slides", "filled_folder", "with_rois", "workspace"]

KILLS = 20
SEEDS_PER_ROI = 6


@pytest.mark.timeout(1_200)
def test_twenty_kills_of_a_generation(with_rois: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    for roi, _ in list_rois(with_rois):
        for number in range(SEEDS_PER_ROI):
            question, answer, category = SEED_TEXTS[0]
            save_seed(with_rois, SeedText(f"{question} ({number})", answer, category), roi_id=roi.id, who="test")
    seeds = len(list_rois(with_rois)) * SEEDS_PER_ROI
    monkeypatch.setenv("HISTOCURATOR_MODEL_CONCURRENCY", str(CALLS_AT_ONCE))
    chosen = random.SystemRandom().randrange(10_000)
    killed = generate_under_kills(with_rois, kills=KILLS, seed=chosen, monkeypatch=monkeypatch)
    print(
        f"\nseed {chosen}: {killed.kills} kills, {killed.needed} calls needed, {killed.made} made, "
        f"{killed.repeated} repeated, {killed.under_way} under way at the kills (at most {CALLS_AT_ONCE} at once)"
    )
    assert killed.kills == KILLS
    assert killed.status.state == "done", killed.status.error
    assert killed.repeated <= killed.under_way
    items = list_items(with_rois)
    assert len(items) == 3 * seeds, "nothing is half-written, nothing twice"
    assert {entry.item.state for entry in items} == {"passed"}
    assert verify_trail(with_rois).faults == []


TARGETS: tuple[Target, ...] = (*("app and worker",) * 10, *("app",) * 5, *("worker",) * 5)


@pytest.mark.timeout(1_800)
def test_twenty_kills_of_an_editing_run(workspace: Workspace, drawn_slides: list[Path], tmp_path: Path) -> None:
    scene = fill(workspace, drawn_slides, authors=8, reviewers=4, item_seeds=12)
    chosen = random.SystemRandom().randrange(10_000)
    killed = edit_under_kills(
        scene,
        tmp_path,
        targets=random.Random(chosen).sample(TARGETS, len(TARGETS)),
        wait=(0.0, 5.0),
        generate=100,
        seed=chosen,
        pace=Pace(pause=(0.05, 0.4)),
    )
    print(f"\nseed {chosen}: {killed}")
    assert len(killed.kills) == KILLS
    assert killed.faults == []
    assert killed.job.state == "done", killed.job.error
    assert killed.calls_repeated <= killed.calls_under_way
