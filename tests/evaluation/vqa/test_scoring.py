"""Rotations, the half-point rule, and a judge's verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.vqa._judge import InvalidVerdictError, read_verdict
from evaluation.vqa._scoring import CHANCE, kprim_score, rotated, stored_letter


@given(st.integers(1, 8))
def test_over_all_rotations_each_option_stands_once_at_each_place(count: int) -> None:
    orders = [rotated(count, rotation) for rotation in range(count)]
    assert orders[0] == tuple(range(count))
    for place in range(count):
        assert sorted(order[place] for order in orders) == list(range(count))


def test_a_shown_letter_leads_back_to_its_option() -> None:
    assert [stored_letter("A", rotation) for rotation in range(5)] == list("ABCDE")
    assert stored_letter("E", 1) == "A"


def test_the_half_point_rule_and_its_chance() -> None:
    assert [kprim_score(right) for right in range(5)] == [0.0, 0.0, 0.0, 0.5, 1.0]
    ways = [1, 4, 6, 4, 1]
    by_hand = sum(ways[right] * kprim_score(right) for right in range(5)) / 16
    assert CHANCE["kprim"] == by_hand == 0.1875


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ('{"accuracy": 10, "completeness": 10, "reason": "all"}', 1.0),
        ('{"accuracy": 0, "completeness": 0}', 0.0),
        ('{"accuracy": 8, "completeness": 5}', 0.71),
        ('```json\n{"accuracy": 10, "completeness": 0}\n```', 0.7),
        ('Let me see {so}. {"accuracy": 0, "completeness": 10, "reason": "{odd}"} Done.', 0.3),
        ('<think>{"accuracy": 1, "completeness": 1}</think>{"accuracy": 9.5, "completeness": 10}', 0.965),
        ('{"accuracy": 1, "completeness": 1} or rather {"accuracy": 2, "completeness": 2}', 0.2),
    ],
)
def test_a_verdict_weighs_accuracy_and_completeness(reply: str, score: float) -> None:
    assert read_verdict(reply).score == pytest.approx(score)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "10/10",
        "[10, 10]",
        '{"accuracy": 10}',
        '{"accuracy": 11, "completeness": 5}',
        '{"accuracy": -1, "completeness": 5}',
        '{"accuracy": "high", "completeness": 5}',
        '{"accuracy": "7", "completeness": 5}',
        '{"accuracy": true, "completeness": 5}',
        '{"accuracy": NaN, "completeness": 5}',
        '{"accuracy": 10, "completeness": 10',
        '<think>{"accuracy": 10, "completeness": 10}',
    ],
)
def test_anything_else_is_no_verdict(reply: str) -> None:
    with pytest.raises(InvalidVerdictError, match=r"\w"):
        read_verdict(reply)


@given(st.floats(0, 10), st.floats(0, 10))
def test_a_score_lies_between_the_two_marks(accuracy: float, completeness: float) -> None:
    score = read_verdict(f'{{"accuracy": {accuracy!r}, "completeness": {completeness!r}}}').score
    assert min(accuracy, completeness) - 1e-9 <= 10 * score <= max(accuracy, completeness) + 1e-9
