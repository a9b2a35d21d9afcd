"""The built-in guessers: chance without bias, always the first, and the cues of test-wiseness."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.answers import parse_kprim_joint, parse_kprim_statement, parse_mcq
from evaluation.items.guessing import read_kprim_guess, read_mcq_guess
from evaluation.models import CallPurpose, ModelRequest, QuestionFacts, call_model
from evaluation.models._offline._baselines import answer_at_random, answer_first
from evaluation.models._offline._test_wise import answer_test_wise
from evaluation.models._offline._vocabulary import vocabulary

STEM = "Which change is the main finding in this image of rat liver (H&E)?"
EVEN = (
    "Bile duct hyperplasia",
    "Oval cell hyperplasia",
    "Kupffer cell hyperplasia",
    "Stellate cell hyperplasia",
    "Bile duct dilatation",
)


def _mcq(*options: str, stem: str = STEM) -> QuestionFacts:
    return QuestionFacts(format="mcq", stem=stem, choices=options, organ="liver")


def _kprim(*statements: str) -> QuestionFacts:
    return QuestionFacts(format="kprim", stem=STEM, choices=statements, organ="liver")


def test_random_has_no_favourite_place() -> None:
    places = Counter(
        read_mcq_guess(answer_at_random(_mcq("a", "b", "c", "d", str(number)), "check", None)).answer_index
        for number in range(2000)
    )
    assert set(places) == set(range(5))
    assert all(320 < count < 480 for count in places.values())


def test_random_depends_on_the_order_of_the_options() -> None:
    answers = {answer_at_random(_mcq(*EVEN[turn:], *EVEN[:turn]), "check", None) for turn in range(5)}
    assert len(answers) > 1


def test_random_says_true_and_false_equally_often() -> None:
    truths = [
        truth
        for number in range(500)
        for truth in read_kprim_guess(answer_at_random(_kprim("a", "b", "c", str(number)), "check", None)).answers
    ]
    assert 0.45 < sum(truths) / len(truths) < 0.55


def test_random_free_text_is_a_term_of_the_organ() -> None:
    facts = QuestionFacts(format="free_text", stem=STEM, organ="liver")
    words = {term for terms in vocabulary("liver").dimensions.values() for term in terms}
    assert answer_at_random(facts, "answer", None) in words


def test_first_is_always_the_first() -> None:
    assert read_mcq_guess(answer_first(_mcq(*EVEN), "check")).answer_index == 0
    assert read_kprim_guess(answer_first(_kprim("a", "b", "c", "d"), "check")).answers == (True,) * 4
    assert answer_first(QuestionFacts(format="free_text", stem=STEM), "answer") == "No abnormality"


@pytest.mark.parametrize("model", ["random", "first", "test-wise"])
def test_answers_come_in_the_form_that_the_prompt_asks_for(model: str) -> None:
    def ask(facts: QuestionFacts, purpose: CallPurpose) -> str:
        request = ModelRequest(
            model=f"offline/{model}", purpose=purpose, system="", user="?", facts=facts.model_dump(mode="json")
        )
        reply = asyncio.run(call_model(request))
        assert (reply.outcome, reply.is_language_model) == ("answered", False)
        assert reply.model.startswith("offline/")
        return reply.text

    assert read_mcq_guess(ask(_mcq(*EVEN), "check")).answer_index in range(5)
    assert len(read_kprim_guess(ask(_kprim("a", "b", "c", "d"), "check")).answers) == 4
    assert parse_mcq(ask(_mcq(*EVEN), "answer"), EVEN).value is not None
    assert parse_kprim_joint(ask(_kprim("a", "b", "c", "d"), "answer")).value is not None
    single = QuestionFacts(format="kprim", stem=STEM, statement="The change is focal.")
    assert parse_kprim_statement(ask(single, "answer")).value is not None
    assert ask(QuestionFacts(format="free_text", stem=STEM, organ="liver"), "answer").strip()


@pytest.mark.parametrize(
    ("options", "expected", "cue"),
    [
        (
            (
                "Necrosis",
                "Fibrosis",
                "Severe centrilobular hepatocellular necrosis with haemorrhage",
                "Oedema",
                "Atrophy",
            ),
            2,
            "longer",
        ),
        (("Necrosis", "No abnormality", "Fibrosis", "Oedema", "Atrophy"), 1, "only normal finding"),
        (("Hepatocellular loss", "Renal loss", "Cardiac loss", "Dermal loss", "Ocular loss"), 0, "words of the stem"),
    ],
)
def test_test_wise_finds_a_planted_cue_wherever_it_stands(options: tuple[str, ...], expected: int, cue: str) -> None:
    stem = "Which hepatocellular change is seen in this image of rat liver?"
    for turn in range(5):
        shown = options[turn:] + options[:turn]
        guess = read_mcq_guess(answer_test_wise(_mcq(*shown, stem=stem), "check", turn))
        assert shown[guess.answer_index] == options[expected]
        assert cue in guess.reasoning
        assert guess.confidence == "high"


def test_test_wise_avoids_absolute_words_and_a_wrong_article() -> None:
    options = ("Focal loss", "Patchy loss", "Always loss", "Zonal loss", "Random loss")
    chosen = {read_mcq_guess(answer_test_wise(_mcq(*options), "check", seed)).answer_index for seed in range(40)}
    assert 2 not in chosen
    stem = "The cell in this image is an"
    nouns = ("eosinophil", "neutrophil", "lymphocyte", "macrophage", "fibroblast")
    assert read_mcq_guess(answer_test_wise(_mcq(*nouns, stem=stem), "check", 1)).answer_index == 0


def test_test_wise_breaks_ties_by_chance_and_says_so() -> None:
    options = ("Focal", "Zonal", "Patchy", "Random", "Spotty")
    guesses = [read_mcq_guess(answer_test_wise(_mcq(*options), "check", seed)) for seed in range(200)]
    assert set(Counter(guess.answer_index for guess in guesses)) == set(range(5))
    assert all("by chance" in guess.reasoning and guess.confidence == "low" for guess in guesses)


def test_test_wise_reads_statements() -> None:
    guess = read_kprim_guess(
        answer_test_wise(
            _kprim(
                "The change always spares the veins.",
                "The change may spare the veins.",
                "The change spares all the veins.",
                "The change usually spares the veins.",
            ),
            "check",
            0,
        )
    )
    assert guess.answers == (False, True, False, True)
    assert "absolute" in guess.reasoning
    assert guess.confidence == "high"


@given(
    stem=st.text(max_size=60),
    choices=st.lists(st.text(max_size=40), min_size=5, max_size=5),
    seed=st.none() | st.integers(0, 2**31),
)
@settings(max_examples=200, deadline=None)
def test_guessers_answer_any_text_and_repeat_themselves(stem: str, choices: list[str], seed: int | None) -> None:
    mcq, kprim = _mcq(*choices, stem=stem), _kprim(*choices[:4])
    for answer in (answer_at_random, answer_test_wise):
        first = answer(mcq, "check", seed)
        assert answer(mcq, "check", seed) == first
        assert 0 <= json.loads(first)["answer_index"] < 5
        assert len(read_kprim_guess(answer(kprim, "check", seed)).answers) == 4


def test_a_model_that_is_asked_another_kind_of_question_fails_with_the_reason() -> None:
    for facts in ({}, _mcq(*EVEN).model_dump(mode="json")):
        request = ModelRequest(model="offline/author", purpose="generate", system="", user="?", facts=facts)
        reply = asyncio.run(call_model(request))
        assert reply.outcome == "failed"
        assert "cannot answer this kind of question" in (reply.error or "")
