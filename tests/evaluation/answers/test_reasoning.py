"""What of a reply is said and what is thought, also where the reply is wild."""

from __future__ import annotations

import pytest

from evaluation.answers import (
    parse_free_text,
    parse_kprim_joint,
    parse_kprim_statement,
    parse_mcq,
    strip_reasoning,
)
from evaluation.vqa._judge import InvalidVerdictError, read_verdict

OPTIONS = ("necrosis", "fibrosis", "steatosis", "oedema", "normal tissue")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("<think>A?</think>B", "B"),
        ("A? </think> B", "B"),
        ("B <think>or A", "B"),
        ("x <think> a <analysis>b</analysis> c", "x"),
        ("<think> a </analysis> B", "B"),
        ("<Thinking effort='high'>A</thinking> B <analysis>C</analysis> D", "B   D"),
        ("<thinker> B", "<thinker> B"),
    ],
)
def test_reasoning_is_taken_off(reply: str, said: str) -> None:
    assert strip_reasoning(reply) == said


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "fragment",
    ["<think>", "<think ", "sorry i ", "no image ", "as an ai ", "{", '{"accuracy":', "ANSWER: ", "1. true ", "[["],
)
def test_a_reply_that_runs_wild_is_read_soon_and_is_no_answer(fragment: str) -> None:
    for length in (40_000, 400_000):
        reply = fragment * (length // len(fragment))
        for parsed in (
            parse_mcq(reply, OPTIONS),
            parse_kprim_statement(reply),
            parse_kprim_joint(reply),
            parse_free_text(reply),
        ):
            assert length < 50_000 or parsed.outcome == "unparsed"
        with pytest.raises(InvalidVerdictError):
            read_verdict(reply)
