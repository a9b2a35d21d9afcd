"""VIPER's scores: of one reply, and of an item from its calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.answers import AnswerOutcome
from evaluation.items import OPTION_COUNT, OPTION_LETTERS, STATEMENT_COUNT, ItemFormat
from evaluation.vqa._config import KprimMode
from evaluation.vqa._predictions import CallKey, Predictions
from evaluation.vqa._rows import BenchmarkRow

KPRIM_SCORES = {4: 1.0, 3: 0.5}
"""ETH half-point rule by statements judged right; fewer than three score 0 (VIPER 3.2, Krebs 1997)."""

ACCURACY_WEIGHT = 0.7
COMPLETENESS_WEIGHT = 0.3
"""Weights of the judge's two axes (VIPER section 4)."""

JUDGE_SCALE = 10
"""Highest mark on each of the judge's axes (VIPER section 4)."""

JUDGE_ATTEMPTS = 2
"""A judge's invalid reply is asked for once more."""

CHANCE: dict[ItemFormat, float | None] = {"mcq": 1 / OPTION_COUNT, "kprim": 0.1875, "free_text": None}
"""Expected score of uniform guessing; KPrim: 1/16 · 1 + 4/16 · 0.5 (VIPER section 3.2)."""


def rotated(count: int, rotation: int) -> tuple[int, ...]:
    """Return which of `count` stored options stands at each place after `rotation` cyclic steps."""
    return tuple((place + rotation) % count for place in range(count))


def stored_letter(shown_letter: str, rotation: int) -> str:
    """Return the stored-order letter of the option shown under `shown_letter` in a rotation."""
    return OPTION_LETTERS[rotated(OPTION_COUNT, rotation)[OPTION_LETTERS.index(shown_letter)]]


def kprim_score(right: int) -> float:
    """Return a KPrim item's score (0, 0.5 or 1) from how many of its four statements were judged right."""
    return KPRIM_SCORES.get(right, 0.0)


def judge_score(accuracy: float, completeness: float) -> float:
    """Return a free-text score (0 to 1) from the judge's two marks (0 to 10 each)."""
    return (ACCURACY_WEIGHT * accuracy + COMPLETENESS_WEIGHT * completeness) / JUDGE_SCALE


@dataclass(frozen=True)
class ItemScore:
    """An item's score (0 to 1), or None where a call failed, with the outcome of each of its answers.

    An answer that is unparsed or refused scores 0; one that failed leaves the item unscored.
    """

    item: BenchmarkRow
    score: float | None
    outcomes: tuple[AnswerOutcome, ...]


def answer_keys(item: BenchmarkRow, rotations: int, kprim_mode: KprimMode) -> list[CallKey]:
    """Return the calls that ask the model under test about `item`, in order."""
    parts = 1
    if item.question_type == "mcq":
        parts = rotations
    elif item.question_type == "kprim" and kprim_mode == "statement":
        parts = STATEMENT_COUNT
    return [CallKey(item.identity(), "answer", part) for part in range(parts)]


def judge_keys(item: BenchmarkRow) -> list[CallKey]:
    """Return the calls that may ask the judge about `item`, in order."""
    if item.question_type != "free_text":
        return []
    return [CallKey(item.identity(), "judge", attempt) for attempt in range(JUDGE_ATTEMPTS)]


def score_item(item: BenchmarkRow, predictions: Predictions, rotations: int, kprim_mode: KprimMode) -> ItemScore:
    """Score an item from the calls that were made; a call that was never made counts as failed."""
    answers = [predictions.get(key) for key in answer_keys(item, rotations, kprim_mode)]
    outcomes: list[AnswerOutcome] = ["failed" if answer is None else answer.outcome for answer in answers]
    if "failed" in outcomes:
        return ItemScore(item, None, tuple(outcomes))
    made = [answer for answer in answers if answer is not None]
    if item.question_type == "kprim" and kprim_mode == "statement":
        return ItemScore(item, kprim_score(sum(answer.correct is True for answer in made)), tuple(outcomes))
    if item.question_type == "free_text" and outcomes == ["scored"]:
        score = _judged(item, predictions)
        return ItemScore(item, score, ("scored",) if score is not None else ("failed",))
    return ItemScore(item, _mean([answer.score or 0.0 for answer in made]), tuple(outcomes))


def _judged(item: BenchmarkRow, predictions: Predictions) -> float | None:
    for key in judge_keys(item):
        verdict = predictions.get(key)
        if verdict is not None and verdict.outcome == "scored":
            return verdict.score
    return None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
