"""Checking again: only lost trials are asked for, nothing is overwritten, and who decides meanwhile decides."""

from __future__ import annotations

import asyncio

import pytest

from evaluation.items import KPrim
from pipeline.audit import EventFilter, list_events
from pipeline.item_store import list_trials, load_item
from pipeline.rechecks import CheckedItem, check_again, items_to_check
from pipeline.review import ItemEntry, list_items, withdraw_item
from pipeline.steps import ForegroundSteps
from pipeline.variants import choose_models, generate_items
from pipeline.workspace import Workspace
from tests.pipeline import scripted
from tests.wire.stub import Fault, Received, Step, WireStub


@pytest.fixture
def lost_checks(with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Items of four seeds whose checker answered one trial of each and then none."""
    writer = scripted.Writer()
    checker = scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: 2)
    answered: set[str] = set()

    def script(received: Received) -> Step:
        if scripted.writer_of(received):
            return writer.answer(received)
        kind = "kprim" if "Statements:" in received.text else "mcq"
        if kind in answered:
            return Fault(401, "no such key")
        answered.add(kind)
        return checker(received)

    with WireStub(script=script) as server:
        monkeypatch.setenv("STUB_BASE_URL", server.openai_url)
        monkeypatch.setenv("STUB_API_KEY", "key")
        models = choose_models(with_seeds, generator=scripted.WRITER, checker=scripted.CHECKER)
        assert generate_items(with_seeds, models=models, who="test").ready == 4
    return with_seeds


def again(workspace: Workspace, server: WireStub, monkeypatch: pytest.MonkeyPatch) -> list[CheckedItem]:
    monkeypatch.setenv("STUB_BASE_URL", server.openai_url)
    steps = ForegroundSteps(4)

    async def run() -> list[CheckedItem]:
        return [
            await check_again(workspace, item_id, checker=scripted.CHECKER, steps=steps, job_id="job-1", who="test")
            for item_id in items_to_check(workspace)
        ]

    return asyncio.run(run())


def entry_of(workspace: Workspace, item_id: str) -> ItemEntry:
    return next(entry for entry in list_items(workspace) if entry.item.id == item_id)


def test_only_lost_trials_are_asked_for_again(lost_checks: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = items_to_check(lost_checks)
    assert len(waiting) == 8, "MCQ and KPrim of four seeds"
    versions = {item_id: entry_of(lost_checks, item_id).version for item_id in waiting}
    before = {trial.id: trial for trial in list_trials(lost_checks, [version.id for version in versions.values()])}
    kept = sum(trial.correct_count is not None for trial in before.values())
    assert kept == 2
    with WireStub(script=scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: 2)) as server:
        results = again(lost_checks, server, monkeypatch)
        assert len(server.received) == 8 * 3 - kept, "what was answered is not paid for twice"
    assert {result.verdict for result in results} == {"passed"}
    assert items_to_check(lost_checks) == []
    for item_id, version in versions.items():
        entry = entry_of(lost_checks, item_id)
        assert (entry.item.state, entry.version.guess_verdict) == ("passed", "passed")
        trials = list_trials(lost_checks, [version.id])
        assert [trial.trial for trial in trials] == list(range(len(trials)))
        answered = [trial for trial in trials if trial.correct_count is not None]
        assert len(answered) == 3
        if not isinstance(entry.content, KPrim):
            assert len({tuple(trial.choice_order) for trial in answered}) == 3, "each answer saw another order"
    after = {trial.id: trial.model_dump() for trial in list_trials(lost_checks, [v.id for v in versions.values()])}
    assert {name: after[name] for name in before} == {name: trial.model_dump() for name, trial in before.items()}


def test_a_guessed_item_goes_to_a_person_with_that_reason(
    lost_checks: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WireStub(script=scripted.checker(mcq_right=lambda _: True, kprim_correct=lambda _: 4)) as server:
        results = again(lost_checks, server, monkeypatch)
    assert {result.verdict for result in results} == {"guessable"}
    states = {(entry.item.state, entry.item.reason) for entry in list_items(lost_checks, states=("escalated",))}
    assert states == {("escalated", "guessed without the image")}
    assert items_to_check(lost_checks) == []


def test_what_fails_again_waits_as_before(lost_checks: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = items_to_check(lost_checks)
    for _ in range(2):
        with WireStub(Fault(401, "no such key")) as server:
            results = again(lost_checks, server, monkeypatch)
        assert {result.verdict for result in results} == {"incomplete"}
        assert all(result.failed for result in results)
        assert items_to_check(lost_checks) == waiting
    for item_id in waiting:
        checks = list_events(lost_checks, EventFilter(object_id=item_id, action="check"))
        assert [(row.old, row.new) for row in checks] == [
            ({"version": 1, "verdict": "incomplete"}, {"version": 1, "verdict": "incomplete"})
        ] * 2, "nothing was decided, and that stands in the trail"
        assert all("incomplete" in (row.reason or "") for row in checks)


def test_who_decides_meanwhile_decides(lost_checks: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = items_to_check(lost_checks)
    checker = scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: 2)
    decided: list[str] = []

    def script(received: Received) -> Step:
        if not decided:
            decided.append(waiting[0])
            withdraw_item(lost_checks, waiting[0], reason="a person was quicker", who="anna")
        return checker(received)

    with WireStub(script=script) as server:
        again(lost_checks, server, monkeypatch)
    late = list_events(lost_checks, EventFilter(object_id=waiting[0]), limit=1)[0]
    assert (late.action, late.new) == ("check", {"version": 1, "verdict": "passed"})
    item, version, _ = load_item(lost_checks, waiting[0])
    assert (item.state, version.guess_verdict) == ("withdrawn", "passed")
    assert all(entry_of(lost_checks, item_id).item.state == "passed" for item_id in waiting[1:])
