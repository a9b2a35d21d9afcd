"""The two baselines of a benchmark: answers at random, and always the first answer."""

from __future__ import annotations

from evaluation.items import STATEMENT_COUNT
from evaluation.models._calls import CallPurpose
from evaluation.models._facts import QuestionFacts
from evaluation.models._offline._chance import chance
from evaluation.models._offline._replies import choice_reply, truth_reply, truths_reply
from evaluation.models._offline._vocabulary import NORMAL, vocabulary


def answer_at_random(facts: QuestionFacts, purpose: CallPurpose, seed: int | None) -> str:
    """Answer uniformly at random; the same question with its choices in the same places gets the same answer."""
    rng = chance("random", facts.stem, *facts.choices, facts.statement, seed)
    reasoning = "Chosen at random; the question was not read."
    if facts.format == "mcq":
        return choice_reply(purpose, rng.randrange(len(facts.choices)), "low", reasoning)
    if facts.format == "kprim":
        if facts.statement is not None:
            return truth_reply(rng.random() < 0.5, reasoning)
        return truths_reply(purpose, [rng.random() < 0.5 for _ in range(STATEMENT_COUNT)], "low", reasoning)
    words = vocabulary(facts.organ or "")
    return rng.choice(sorted({term for terms in words.dimensions.values() for term in terms}))


def answer_first(facts: QuestionFacts, purpose: CallPurpose) -> str:
    """Answer A, true, or that there is nothing abnormal."""
    reasoning = "Always the first answer; the question was not read."
    if facts.format == "mcq":
        return choice_reply(purpose, 0, "low", reasoning)
    if facts.format == "kprim":
        if facts.statement is not None:
            return truth_reply(True, reasoning)
        return truths_reply(purpose, [True] * STATEMENT_COUNT, "low", reasoning)
    return NORMAL.capitalize()
