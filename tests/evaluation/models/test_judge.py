"""The built-in judge: synonyms count in full, denials and lists of alternatives do not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.models import JudgeFacts
from evaluation.models._offline._synonyms import judge


def _marks(
    reply: str, answer: str = "Tissue fold", synonyms: tuple[str, ...] = ("sectioning fold",)
) -> tuple[int, int]:
    verdict = json.loads(
        judge(JudgeFacts(stem="Which artefact is visible?", answer=answer, synonyms=synonyms, reply=reply))
    )
    assert verdict["reason"]
    return verdict["accuracy"], verdict["completeness"]


@pytest.mark.parametrize(
    "reply", ["Tissue fold", "tissue folds", "There is a Tissue-Fold in the upper half.", "a sectioning fold."]
)
def test_accepted_wordings_have_full_marks(reply: str) -> None:
    assert _marks(reply) == (10, 10)


@pytest.mark.parametrize("reply", ["", "   ", "No tissue fold is visible", "air bubble", "without any tissue fold"])
def test_wrong_empty_and_denying_replies_have_none(reply: str) -> None:
    assert _marks(reply) == (0, 0)


def test_an_answer_that_is_itself_a_negation_can_be_given() -> None:
    assert _marks("no abnormality", answer="No abnormality", synonyms=()) == (10, 10)


def test_alternatives_lower_accuracy() -> None:
    accuracy, completeness = _marks("tissue fold or air bubble or pen mark")
    assert accuracy < 5
    assert completeness == 10


def test_a_part_of_the_answer_has_a_part_of_the_marks() -> None:
    accuracy, completeness = _marks("necrosis", answer="Hepatocellular necrosis", synonyms=())
    assert 0 < accuracy < 10
    assert completeness == 5


@given(reply=st.text(max_size=200), answer=st.text(min_size=1, max_size=40), synonyms=st.lists(st.text(max_size=20)))
@settings(max_examples=200, deadline=None)
def test_marks_stay_in_range(reply: str, answer: str, synonyms: list[str]) -> None:
    accuracy, completeness = _marks(reply, answer, tuple(synonyms))
    assert 0 <= accuracy <= 10
    assert 0 <= completeness <= 10
