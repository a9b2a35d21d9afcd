"""An editing run whose app and worker are killed at random moments, while a job generates items beside it."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlmodel import col, select

from db.tables import Item, Seed
from pipeline.jobs import JobStatus, job_status, submit
from pipeline.seeds import SeedText, save_seed
from pipeline.workspace import Workspace
from tests.load.app import App, Target
from tests.load.checks import faults_of, unfinished_drafts
from tests.load.clients import Pace, crowd
from tests.load.notes import Notes
from tests.load.scene import Scene
from tests.pipeline import scripted
from tests.pipeline.conftest import SEED_TEXTS
from tests.pipeline.test_jobs import (
    CALLS_AT_ONCE,
    CALLS_PER_SEED,
    PATIENCE_S,
    UNRECORDED_S,
    ended,
    wait_for,
)
from tests.wire.stub import Received, Step, WireStub

CALL_S = 0.25
"""How long each model call takes."""

WORKER_AT_WORK = 0.8
"""So often a kill waits for the job to go on; otherwise it may come while the worker is still starting."""


@dataclass(frozen=True)
class Kill:
    """One kill: what of, how many saves had been acknowledged, and how many calls were under way to the worker."""

    target: Target
    saves: int
    calls_under_way: int


@dataclass(frozen=True)
class KilledEditing:
    """How the run went. `faults` is empty where nothing was lost, doubled or half-written."""

    kills: Sequence[Kill]
    faults: Sequence[str]
    notes: Notes
    job: JobStatus
    calls_needed: int
    calls_made: int
    unfinished_drafts: int

    @property
    def calls_repeated(self) -> int:
        return self.calls_made - self.calls_needed

    @property
    def calls_under_way(self) -> int:
        return sum(kill.calls_under_way for kill in self.kills)

    def __str__(self) -> str:
        targets = Counter(kill.target for kill in self.kills)
        killed = ", ".join(f"{count} of {target}" for target, count in targets.items())
        return (
            f"{len(self.kills)} kills ({killed}); {len(self.notes.saves)} saves acknowledged, {self.notes.repeated} "
            f"requests sent again, {len(self.notes.refused)} conflicts; {self.calls_needed} model calls needed, "
            f"{self.calls_made} made, {self.calls_repeated} repeated, {self.calls_under_way} under way at the kills; "
            f"{self.unfinished_drafts} drafts cut off while they were written (the ones before them stand)"
        )


def edit_under_kills(
    scene: Scene,
    folder: Path,
    *,
    targets: Sequence[Target],
    wait: tuple[float, float],
    generate: int,
    seed: int,
    pace: Pace,
) -> KilledEditing:
    """Have everybody save and a job generate, kill what `targets` say one after the other, and compare each time.

    Args:
        scene: who works on what.
        folder: where the app runs.
        targets: what is killed.
        wait: seconds (from, to) from when the app is up, and mostly the job goes on, to the next kill.
        generate: how many seeds the job takes to their items.
        seed: decides the moments and what the clients do.
        pace: how the clients work.
    """
    rng = random.Random(seed)
    writer = scripted.Writer()
    checker = scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: 2)
    begun: list[float] = []
    sent: list[float] = []

    def script(received: Received) -> Step:
        begun.append(time.monotonic())
        time.sleep(CALL_S)
        sent.append(time.monotonic())
        return writer.answer(received) if scripted.writer_of(received) else checker(received)

    kills: list[Kill] = []
    faults: list[str] = []
    ids = _seeds(scene, generate)
    with WireStub(script=script) as stub:
        environment = {
            "STUB_BASE_URL": stub.openai_url,
            "STUB_API_KEY": "key",
            "HISTOCURATOR_MODEL_CONCURRENCY": str(CALLS_AT_ONCE),
        }
        before = len(begun)
        app = App(scene.workspace, folder, environment=environment)
        app.start()
        try:
            job = submit(scene.workspace, "generate", generator=scripted.WRITER, checker=scripted.CHECKER, seed_ids=ids)
            with crowd(scene, app.url, saves=None, seed=seed, pace=pace) as people:
                for number, target in enumerate(targets):
                    if rng.random() < WORKER_AT_WORK:
                        _wait_for_calls(scene.workspace, job, begun, more_than=before)
                    time.sleep(rng.uniform(*wait))
                    saves, now = len(people.notes.saves), time.monotonic()
                    under_way = len(begun) - sum(moment < now - UNRECORDED_S for moment in sent)
                    before = len(begun)
                    app.kill(target)
                    kills.append(Kill(target, saves, under_way if "worker" in target else 0))
                    faults += _labelled(f"killed, {number}", faults_of(scene, people.notes, at_work=True))
                    if not app.is_up:
                        app.start()
                    faults += _labelled(f"up again, {number}", faults_of(scene, people.notes, at_work=True))
                status = wait_for(scene.workspace, job, ended)
        finally:
            app.stop()
        made = len(stub.received)
    faults += _labelled("at the end", faults_of(scene, people.notes, at_work=False))
    faults += _faults_of_job(scene, ids)
    return KilledEditing(
        kills, faults, people.notes, status, len(ids) * CALLS_PER_SEED, made, len(unfinished_drafts(scene.workspace))
    )


def _wait_for_calls(workspace: Workspace, job: str, begun: Sequence[float], *, more_than: int) -> None:
    """Wait until the job makes calls again, or has ended."""
    end = time.monotonic() + PATIENCE_S
    while len(begun) <= more_than and job_status(workspace, job).active:
        assert time.monotonic() < end, "the job does not go on"
        time.sleep(0.1)


def _seeds(scene: Scene, count: int) -> list[str]:
    """Write the seeds that the job takes; no client knows them."""
    ids = []
    for number in range(count):
        question, answer, category = SEED_TEXTS[0]
        text = SeedText(f"{question[:-1]} (generated {number})?", answer, category)
        ids.append(save_seed(scene.workspace, text, roi_id=scene.rois[number % len(scene.rois)], who="test").id)
    return ids


def _labelled(moment: str, faults: Sequence[str]) -> list[str]:
    return [f"{moment}: {fault}" for fault in faults]


def _faults_of_job(scene: Scene, ids: Sequence[str]) -> list[str]:
    """Each seed is ready and has its three items, each once and passed."""
    with scene.workspace.reading() as session:
        seeds = session.exec(select(Seed).where(col(Seed.id).in_(ids))).all()
        items = session.exec(select(Item).where(col(Item.seed_id).in_(ids))).all()
    faults = [f"seed {seed.id} is {seed.state}: {seed.reason}" for seed in seeds if seed.state != "ready"]
    found = Counter((item.seed_id, item.format, item.state) for item in items)
    wanted = {(one, item_format, "passed") for one in ids for item_format in ("mcq", "kprim", "free_text")}
    return [
        *faults,
        *(f"{count} times {thing}" for thing, count in found.items() if count != 1 or thing not in wanted),
        *(f"missing: {thing}" for thing in wanted - found.keys()),
    ]
