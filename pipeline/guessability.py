"""The image-free check (VIPER section 3.2): a checker answers without the image; what it guesses is not asked.

Each multiple-choice item is asked three times with reshuffled options, each KPrim item three times. A trial
that brings no valid answer after a repair is no evidence either way: the check is then incomplete and a person
decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from db.tables import GuessTrial
from evaluation.items import KPrim, MultipleChoice
from evaluation.items.generation import InvalidReplyError, Repair
from evaluation.items.guessing import (
    GUESS_TRIALS,
    KPRIM_GUESSED_STATEMENTS,
    guess_request,
    kprim_is_guessable,
    mcq_is_guessable,
    read_kprim_guess,
    read_mcq_guess,
    trial_order,
)
from evaluation.items.prompts import PromptLibrary
from evaluation.models import ModelReply, ModelRequest
from pipeline.item_store import derived_id, provenance_of
from pipeline.steps import Steps


@dataclass(frozen=True)
class Checker:
    """Who guesses: a model, the prompts it gets, and what it is told of the exam."""

    model: str
    prompts: PromptLibrary
    organ: str
    audience: str


@dataclass(frozen=True)
class CheckResult:
    """The trials of one version and what follows from them.

    `verdict` is `passed`, `guessable` or `incomplete`; `correct` counts right options or statements per trial;
    `reasonings` are the checker's words in the trials that guessed.
    """

    trials: list[GuessTrial]
    verdict: str
    correct: tuple[int, ...]
    reasonings: tuple[str, ...]
    guessed: tuple[bool, ...]
    reason: str | None


async def check_version(
    content: MultipleChoice | KPrim,
    *,
    version_id: str,
    checker: Checker,
    steps: Steps,
    who: str,
    before: Sequence[GuessTrial] = (),
) -> CheckResult:
    """Ask the checker three times without the image and judge the answers by VIPER's strict rule.

    Args:
        content: the text of the version.
        version_id: its id.
        checker: who guesses.
        steps: make the calls.
        who: the account.
        before: trials of an earlier check that came to nothing. What was answered then counts and is not asked
            again; the others are asked anew, under numbers of their own.

    Returns:
        the new trials, and the verdict on them and the answered ones before.
    """
    answered = [trial for trial in before if trial.correct_count is not None]
    places = _places(content, version_id, before)
    asks = [_asker(content, version_id, place, checker) for place in places]
    # Started together in a fixed order, repaired one after the other: a durable job repeats the same order.
    replies = await asyncio.gather(*(steps.call(ask(None)) for ask in asks))
    trials: list[GuessTrial] = []
    for place, ask, reply in zip(places, asks, replies, strict=True):
        read = _read_trial(content, version_id, place, reply, who)
        if read.outcome == "invalid":
            repaired = await steps.call(
                ask(Repair(reply_text=reply.text, error=read.error or "not the form asked for"))
            )
            read = _read_trial(content, version_id, place, repaired, who)
            read.provenance = {**read.provenance, "repaired": provenance_of(reply)}
        trials.append(read)
    return replace(_judge(content, [*answered, *trials]), trials=trials)


@dataclass(frozen=True)
class _Place:
    """A trial to make: its number among those of the version, and which of the orders of options it shows."""

    number: int
    order: int


def _places(content: MultipleChoice | KPrim, version_id: str, before: Sequence[GuessTrial]) -> list[_Place]:
    answered = [trial.choice_order for trial in before if trial.correct_count is not None]
    first = max((trial.trial for trial in before), default=-1) + 1
    if isinstance(content, MultipleChoice):
        # An order that brought no answer has told the checker nothing: it is shown again.
        orders = [order for order in range(GUESS_TRIALS) if list(trial_order(version_id, order)) not in answered]
    else:
        orders = list(range(GUESS_TRIALS - len(answered)))
    return [_Place(first + place, order) for place, order in enumerate(orders)]


def _asker(
    content: MultipleChoice | KPrim, version_id: str, place: _Place, checker: Checker
) -> Callable[[Repair | None], ModelRequest]:
    shown = content
    if isinstance(content, MultipleChoice):
        shown = content.reordered(trial_order(version_id, place.order))

    def ask(repair: Repair | None) -> ModelRequest:
        return guess_request(
            shown,
            model=checker.model,
            prompts=checker.prompts,
            audience=checker.audience,
            organ=checker.organ,
            seed_key=f"{version_id}/{place.number}",
            repair=repair,
        )

    return ask


def _read_trial(
    content: MultipleChoice | KPrim, version_id: str, place: _Place, reply: ModelReply, who: str
) -> GuessTrial:
    order = list(trial_order(version_id, place.order)) if isinstance(content, MultipleChoice) else [0, 1, 2, 3]
    row = GuessTrial(
        id=derived_id("trial", version_id, place.number),
        created_by=who,
        item_version_id=version_id,
        trial=place.number,
        outcome=reply.outcome,
        choice_order=order,
        reply=reply.text,
        error=reply.error,
        provenance=provenance_of(reply),
    )
    if reply.outcome != "answered":
        row.outcome = "invalid" if reply.outcome == "truncated" else reply.outcome
        row.error = row.error or f"the reply was {reply.outcome}"
        return row
    try:
        if isinstance(content, MultipleChoice):
            option = read_mcq_guess(reply.text)
            chosen = order[option.answer_index]
            row.answer, row.correct_count = [chosen], int(chosen == content.key)
            row.confidence, row.reasoning = option.confidence, option.reasoning
        else:
            verdicts = read_kprim_guess(reply.text)
            row.answer = list(verdicts.answers)
            row.correct_count = sum(
                answer == truth for answer, truth in zip(verdicts.answers, content.truth, strict=True)
            )
            row.confidence, row.reasoning = verdicts.confidence, verdicts.reasoning
        row.outcome = "answered"
    except InvalidReplyError as error:
        row.outcome, row.error = "invalid", str(error)
    return row


def _judge(content: MultipleChoice | KPrim, trials: list[GuessTrial]) -> CheckResult:
    answered = [trial for trial in trials if trial.correct_count is not None]
    correct = tuple(trial.correct_count or 0 for trial in answered)
    best = max(answered, key=lambda trial: trial.correct_count or 0, default=None)
    enough = 1 if isinstance(content, MultipleChoice) else KPRIM_GUESSED_STATEMENTS
    guessed: tuple[bool, ...] = ()
    if isinstance(content, KPrim) and best is not None:
        guessed = tuple(answer == truth for answer, truth in zip(best.answer, content.truth, strict=True))
    reasonings = tuple(
        trial.reasoning for trial in answered if (trial.correct_count or 0) >= enough and trial.reasoning
    )
    if len(answered) < len(trials) and max(correct, default=0) < enough:
        lost = [trial for trial in trials if trial.correct_count is None]
        reason = f"the image-free check is incomplete: {len(lost)} of {len(trials)} trials, {lost[0].error}"
        return CheckResult(trials, "incomplete", correct, reasonings, guessed, reason)
    # One right guess settles it, however the other trials ended.
    if isinstance(content, MultipleChoice):
        guessable = mcq_is_guessable([count == 1 for count in correct])
    else:
        guessable = kprim_is_guessable(correct)
    if guessable:
        return CheckResult(trials, "guessable", correct, reasonings, guessed, "guessed without the image")
    return CheckResult(trials, "passed", correct, reasonings, guessed, None)
