"""From seed to items: what is written, guessed, rewritten, escalated, or recorded as failed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlmodel import col, select

from db.tables import GuessTrial, ItemVersion, ModelCall
from evaluation.items.guessing import GUESS_TRIALS, MAX_REGENERATIONS
from evaluation.models import ModelConfigurationError
from pipeline.review import list_items
from pipeline.seeds import list_seeds
from pipeline.variants import GenerationReport, choose_models, generate_items, pending_seeds
from pipeline.workspace import Workspace
from tests.pipeline import scripted
from tests.wire.stub import Answer, Fault, Received, Step, WireStub


@contextmanager
def stub(
    monkeypatch: pytest.MonkeyPatch, writer: Callable[[Received], Step], checker: Callable[[Received], Step]
) -> Iterator[WireStub]:
    def script(received: Received) -> Step:
        return writer(received) if scripted.writer_of(received) else checker(received)

    with WireStub(script=script) as server:
        monkeypatch.setenv("STUB_BASE_URL", server.openai_url)
        monkeypatch.setenv("STUB_API_KEY", "sk-secret-of-the-test")
        yield server


def generate(workspace: Workspace, *, seeds: int = 1) -> GenerationReport:
    models = choose_models(workspace, generator=scripted.WRITER, checker=scripted.CHECKER)
    return generate_items(workspace, models=models, seed_ids=pending_seeds(workspace)[:seeds], who="test")


def states(workspace: Workspace) -> dict[str, str]:
    return {entry.item.format: entry.item.state for entry in list_items(workspace)}


NEVER_GUESSES = scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: 2)
ALWAYS_GUESSES = scripted.checker(mcq_right=lambda _: True, kprim_correct=lambda _: 4)


def test_what_is_not_guessed_passes_with_its_trials(with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with stub(monkeypatch, scripted.Writer().answer, NEVER_GUESSES) as server:
        report = generate(with_seeds)
    assert report.ready == 1
    assert states(with_seeds) == {"mcq": "passed", "kprim": "passed", "free_text": "passed"}
    with with_seeds.reading() as session:
        trials = session.exec(select(GuessTrial)).all()
        versions = session.exec(select(ItemVersion)).all()
    assert Counter(trial.outcome for trial in trials) == {"answered": 2 * GUESS_TRIALS}
    assert {trial.correct_count for trial in trials} == {0, 2}
    orders = {tuple(trial.choice_order) for trial in trials if len(trial.choice_order) == 5}
    assert len(orders) == GUESS_TRIALS, "options are shuffled anew in each trial"
    assert all(version.provenance["model"].endswith("writer") for version in versions)
    assert all(version.provenance["prompt_sha256"] for version in versions)
    checks = [received for received in server.received if not scripted.writer_of(received)]
    assert len(checks) == 2 * GUESS_TRIALS
    assert not any("image_url" in received.raw for received in checks), "the checker never sees the image"
    assert all("image_url" in received.raw for received in server.received if scripted.writer_of(received))


def test_what_stays_guessable_is_rewritten_three_times_then_escalated(
    with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stub(monkeypatch, scripted.Writer().answer, ALWAYS_GUESSES) as server:
        report = generate(with_seeds)
    assert report.ready == 1
    assert states(with_seeds) == {"mcq": "escalated", "kprim": "escalated", "free_text": "passed"}
    for entry in list_items(with_seeds):
        if entry.item.format == "free_text":
            continue
        assert entry.version.number == 1 + MAX_REGENERATIONS
        assert "3 regenerations" in (entry.item.reason or "")
    again = [received for received in server.received if "Why you are asked again" in received.text]
    assert len(again) == 2 * MAX_REGENERATIONS
    assert all("It stands out." in received.text or "Upper sounds true." in received.text for received in again), (
        "the checker's reasoning goes into the prompt"
    )


def test_one_right_guess_of_three_is_enough_and_a_rewrite_can_pass(
    with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials: Counter[str] = Counter()

    def guessed_once(received: Received) -> bool:
        trials["mcq"] += 1
        return trials["mcq"] == 2

    checker = scripted.checker(mcq_right=guessed_once, kprim_correct=lambda _: 2)
    with stub(monkeypatch, scripted.Writer().answer, checker):
        generate(with_seeds)
    entry = next(entry for entry in list_items(with_seeds, item_format="mcq"))
    assert entry.item.state == "passed"
    assert entry.version.number == 2
    assert entry.version.reason == "guessed without the image"
    with with_seeds.reading() as session:
        first = session.get_one(ItemVersion, entry.version.parent_id)
    assert first.guess_verdict == "guessable"


@pytest.mark.parametrize(("correct", "state"), [(2, "passed"), (3, "escalated"), (4, "escalated")])
def test_kprim_is_guessed_from_three_statements_on(
    with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch, correct: int, state: str
) -> None:
    checker = scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: correct)
    with stub(monkeypatch, scripted.Writer().answer, checker):
        generate(with_seeds)
    assert states(with_seeds)["kprim"] == state


def test_an_invalid_reply_is_asked_for_once_more_with_the_error(
    with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = json.loads(scripted.variants())
    broken["mcq"]["distractors"].pop()
    replies = iter([Answer(json.dumps(broken)), Answer(scripted.variants())])
    with stub(monkeypatch, lambda _: next(replies), NEVER_GUESSES) as server:
        report = generate(with_seeds)
    assert report.ready == 1
    second = [received for received in server.received if scripted.writer_of(received)][1]
    assert "distractors" in second.text
    with with_seeds.reading() as session:
        calls = session.exec(select(ModelCall).order_by(col(ModelCall.created_at))).all()
    assert [call.outcome for call in calls] == ["invalid", "answered"]
    assert json.loads(calls[0].reply) == broken, "the invalid reply is kept as it came"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Answer("I would rather write a poem."), "no valid item"),
        (Answer(scripted.variants()[:-40]), "no valid item"),
        (Answer(scripted.variants()[:200], stop="length"), "token limit"),
        (Answer("", stop="filter"), "refused"),
        (Fault(400, "image too large"), "failed"),
    ],
)
def test_what_never_becomes_an_item_is_recorded_as_failed(
    with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch, reply: Step, reason: str
) -> None:
    with stub(monkeypatch, lambda _: reply, NEVER_GUESSES) as server:
        report = generate(with_seeds)
    assert report.ready == 0
    assert list_items(with_seeds) == [], "nothing stands in for the items"
    failed = list_seeds(with_seeds, states=("failed",))
    assert len(failed) == 1
    assert reason in (failed[0].seed.reason or "")
    assert 1 <= len(server.received) <= 2
    with with_seeds.reading() as session:
        everything = json.dumps([call.model_dump(mode="json") for call in session.exec(select(ModelCall))])
    assert "sk-secret-of-the-test" not in everything


def test_a_failed_seed_can_be_tried_again(with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with stub(monkeypatch, lambda _: Answer("no"), NEVER_GUESSES):
        generate(with_seeds)
    with stub(monkeypatch, scripted.Writer().answer, NEVER_GUESSES):
        report = generate(with_seeds, seeds=4)
    assert report.ready == 4
    assert {entry.seed.state for entry in list_seeds(with_seeds)} == {"ready"}


def test_a_checker_that_fails_is_no_evidence(with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with stub(monkeypatch, scripted.Writer().answer, lambda _: Answer("I cannot tell.")):
        generate(with_seeds)
    assert states(with_seeds) == {"mcq": "escalated", "kprim": "escalated", "free_text": "passed"}
    entry = next(entry for entry in list_items(with_seeds, item_format="mcq"))
    assert "incomplete" in (entry.item.reason or "")
    assert entry.version.guess_verdict == "incomplete"


def test_a_regeneration_that_brings_nothing_escalates(with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = scripted.Writer()

    def answer(received: Received) -> Step:
        return Answer("no") if "Why you are asked again" in received.text else writer.answer(received)

    with stub(monkeypatch, answer, ALWAYS_GUESSES):
        generate(with_seeds)
    entry = next(entry for entry in list_items(with_seeds, item_format="mcq"))
    assert entry.item.state == "escalated"
    assert entry.version.number == 1
    assert "regenerate" in (entry.item.reason or "")


def test_the_built_in_models_make_items_and_say_what_they_are(with_seeds: Workspace) -> None:
    models = choose_models(with_seeds, generator=None, checker=None)
    report = generate_items(with_seeds, models=models, who="test")
    assert report.offline == ("offline/author", "offline/test-wise")
    assert report.ready == 4
    entries = list_items(with_seeds)
    assert len(entries) == 12
    assert not any(entry.version.provenance["is_language_model"] for entry in entries)
    assert {entry.item.state for entry in entries} <= {"passed", "escalated"}


def test_a_model_without_key_is_refused_before_anything_happens(
    with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelConfigurationError, match="OPENAI_API_KEY"):
        choose_models(with_seeds, generator="openai/gpt-5.2", checker=None)
    assert {entry.seed.state for entry in list_seeds(with_seeds)} == {"written"}
