"""A writing model and a checker behind the wire protocol, scripted for the tests of generation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from tests.wire.stub import Answer, Received, Step

WRITER = "openai-api/stub/writer"
CHECKER = "openai-api/stub/checker"

KEYS = ("centrilobular", "periportal", "midzonal", "subcapsular")
"""Right options of the scripted questions: one for the first writing and one for each regeneration."""


def mcq(round_number: int) -> dict[str, object]:
    """A valid multiple-choice draft whose key names its round."""
    return {
        "stem": f"Round {round_number}: in which zone of this rat liver image does the change lie?",
        "correct_answer": f"the {KEYS[round_number]} zone",
        "correct_explanation": "It is seen there.",
        "distractors": [
            {"text": f"the {word} zone", "explanation": "It is not seen there."}
            for word in ("portal", "capsular", "hilar", "random")
        ],
    }


def kprim(round_number: int) -> dict[str, object]:
    """A valid KPrim draft: statements that name an upper place are true, lower ones false."""
    return {
        "stem": f"Round {round_number}: which of these statements describe this rat liver image?",
        "statements": [
            {"text": f"The change {place} number {round_number}.", "is_true": truth, "explanation": "Look there."}
            for place, truth in (
                ("lies in upper half", True),
                ("lies in lower half", False),
                ("touches upper edge", True),
                ("touches lower edge", False),
            )
        ],
    }


FREE_TEXT = {
    "stem": "Which change does this rat liver image show?",
    "expected_answer": "necrosis",
    "synonyms": ["hepatocellular necrosis"],
    "scoring_rubric": "One point for necrosis.",
    "max_points": 1,
}


def variants() -> str:
    """A valid answer to the generation prompt."""
    return json.dumps({"mcq": mcq(0), "kprim": kprim(0), "free_text": FREE_TEXT})


def writer_of(received: Received) -> bool:
    """Whether a request is for the writing model."""
    return received.body.get("model") == "writer"


class Writer:
    """Answers the writing model's prompts with valid drafts; each regeneration gives the next round's."""

    def __init__(self) -> None:
        self.rounds = {"mcq": 0, "kprim": 0}

    def answer(self, received: Received) -> Step:
        """Play one reply."""
        if "Why you are asked again" not in received.text:
            return Answer(variants())
        item_format = "kprim" if "last KPrim question" in received.text else "mcq"
        self.rounds[item_format] += 1
        draft = kprim if item_format == "kprim" else mcq
        return Answer(json.dumps(draft(self.rounds[item_format])))


def guess_mcq(received: Received, *, right: bool) -> Step:
    """Choose the key, which the test knows by its words, or an option that is not the key."""
    options = re.findall(r"^([A-E])\. (.+)$", received.text, re.MULTILINE)
    keys = [index for index, (_, text) in enumerate(options) if any(word in text for word in KEYS)]
    others = [index for index in range(len(options)) if index not in keys]
    choice = keys[0] if right else others[0]
    return Answer(json.dumps({"answer_index": choice, "confidence": "low", "reasoning": "It stands out."}))


def guess_kprim(received: Received, *, correct: int) -> Step:
    """Judge `correct` of the four statements rightly."""
    statements = re.findall(r"^[1-4]\. (.+)$", received.text, re.MULTILINE)
    truth = ["upper" in text for text in statements]
    answers = [value if place < correct else not value for place, value in enumerate(truth)]
    return Answer(json.dumps({"answers": answers, "confidence": "low", "reasoning": "Upper sounds true."}))


def checker(
    *, mcq_right: Callable[[Received], bool], kprim_correct: Callable[[Received], int]
) -> Callable[[Received], Step]:
    """A checker that guesses as told."""

    def answer(received: Received) -> Step:
        if "Statements:" in received.text:
            return guess_kprim(received, correct=kprim_correct(received))
        return guess_mcq(received, right=mcq_right(received))

    return answer
