"""Writes a built-in model's answer in the form that the prompt asks for."""

from __future__ import annotations

import json
from collections.abc import Sequence

from evaluation.items import OPTION_LETTERS
from evaluation.models._calls import CallPurpose


def choice_reply(purpose: CallPurpose, place: int, confidence: str, reasoning: str) -> str:
    """Return the reply that settles on the option at `place` (0 to 4)."""
    if purpose == "check":
        return _json(answer_index=place, confidence=confidence, reasoning=reasoning)
    return f"{reasoning}\nANSWER: {OPTION_LETTERS[place]}"


def truths_reply(purpose: CallPurpose, truths: Sequence[bool], confidence: str, reasoning: str) -> str:
    """Return the reply that judges all statements of a KPrim item."""
    if purpose == "check":
        return _json(answers=list(truths), confidence=confidence, reasoning=reasoning)
    lines = [f"{number}: {_word(truth)}" for number, truth in enumerate(truths, start=1)]
    return "\n".join([reasoning, *lines])


def truth_reply(truth: bool, reasoning: str) -> str:
    """Return the reply that judges one statement."""
    return f"{reasoning}\nANSWER: {_word(truth)}"


def verdict_reply(accuracy: int, completeness: int, reason: str) -> str:
    """Return a judge's reply."""
    return _json(accuracy=accuracy, completeness=completeness, reason=reason)


def _json(**values: object) -> str:
    return json.dumps(values, ensure_ascii=False)


def _word(truth: bool) -> str:
    return "true" if truth else "false"
