"""The image-free check: what the checker sees, how trials differ, and when an item counts as guessed."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.items.guessing import (
    GUESS_TRIALS,
    InvalidReplyError,
    guess_request,
    kprim_is_guessable,
    mcq_is_guessable,
    read_kprim_guess,
    read_mcq_guess,
    trial_order,
)
from evaluation.items.prompts import PromptLibrary
from evaluation.models import QuestionFacts
from tests.evaluation.items.test_generation import KPRIM, MCQ

PROMPTS = PromptLibrary()


@given(key=st.text(max_size=30))
def test_trials_show_the_options_in_orders_of_their_own(key: str) -> None:
    orders = [trial_order(key, trial) for trial in range(GUESS_TRIALS)]
    assert orders == [trial_order(key, trial) for trial in range(GUESS_TRIALS)]
    assert len(set(orders)) == GUESS_TRIALS
    assert all(sorted(order) == [0, 1, 2, 3, 4] for order in orders)


def test_the_key_reaches_every_place() -> None:
    places = {trial_order(f"item-{number}", trial).index(0) for number in range(60) for trial in range(GUESS_TRIALS)}
    assert places == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("trial", [-1, GUESS_TRIALS])
def test_there_are_three_trials(trial: int) -> None:
    with pytest.raises(ValueError, match="trials 0 to 2"):
        trial_order("item", trial)


@pytest.mark.parametrize("item", [MCQ, KPRIM], ids=["mcq", "kprim"])
def test_the_checker_sees_the_text_and_nothing_else(item) -> None:  # type: ignore[no-untyped-def]
    request = guess_request(item, model="offline/test-wise", prompts=PROMPTS, seed_key="item:0")

    assert request.image_png is None
    assert request.temperature == 0
    assert request.purpose == "check"
    parts = item.options if item is MCQ else item.statements
    facts = QuestionFacts.model_validate(request.facts)
    assert facts.choices == tuple(part.text for part in parts)
    assert all(part.text in request.user for part in parts)
    everything = json.dumps([request.system, request.user, request.facts])
    assert all(part.explanation not in everything for part in parts)
    assert "is_true" not in everything
    assert '"key"' not in everything


def test_the_calls_seed_comes_from_the_key() -> None:
    seeds = [guess_request(MCQ, model="m/x", prompts=PROMPTS, seed_key=key).seed for key in ("a:0", "a:0", "a:1")]
    assert seeds[0] == seeds[1] != seeds[2]


def test_guesses_are_read() -> None:
    mcq = read_mcq_guess('```\n{"answer_index": 4, "confidence": "low", "reasoning": "a guess"}\n```')
    assert (mcq.answer_index, mcq.confidence, mcq.reasoning) == (4, "low", "a guess")
    kprim = read_kprim_guess('{"answers": [true, false, true, true], "confidence": "high", "reasoning": ""}')
    assert kprim.answers == (True, False, True, True)


@pytest.mark.parametrize(
    "text",
    [
        "B",
        '{"answer_index": 5, "confidence": "low"}',
        '{"answer_index": "B", "confidence": "low"}',
        '{"answer_index": true, "confidence": "low"}',
        '{"answer_index": 1}',
        '{"answer_index": 1, "confidence": "sure"}',
    ],
)
def test_a_guess_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(InvalidReplyError):
        read_mcq_guess(text)


@pytest.mark.parametrize(
    "text", ['{"answers": [true, true, true], "confidence": "low"}', '{"answers": "TTFF", "confidence": "low"}']
)
def test_a_kprim_guess_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(InvalidReplyError):
        read_kprim_guess(text)


def test_one_right_trial_flags_an_mcq() -> None:
    for corrects in itertools.product([False, True], repeat=GUESS_TRIALS):
        assert mcq_is_guessable(corrects) == any(corrects)


def test_three_right_statements_in_the_best_trial_flag_a_kprim() -> None:
    for counts in itertools.product(range(5), repeat=GUESS_TRIALS):
        assert kprim_is_guessable(counts) == (max(counts) >= 3)


def test_missing_trials_never_clear_an_item() -> None:
    assert mcq_is_guessable([True])
    assert kprim_is_guessable([0, 3])
    for corrects in ([], [False], [False] * 4):
        with pytest.raises(ValueError, match="the check of an item has 3"):
            mcq_is_guessable(corrects)
    for counts in ([], [2, 2]):
        with pytest.raises(ValueError, match="the check of an item has 3"):
            kprim_is_guessable(counts)
    with pytest.raises(ValueError, match="4 statements"):
        kprim_is_guessable([5, 0, 0])
