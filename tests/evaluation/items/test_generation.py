"""Generation requests hold what the prompts need; replies are read strictly and never mended."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.items import FreeText, KPrim, MultipleChoice
from evaluation.items.generation import (
    InvalidReplyError,
    Repair,
    generation_request,
    kprim_regeneration_request,
    mcq_regeneration_request,
    read_free_text,
    read_kprim,
    read_mcq,
    read_variants,
    rejection_request,
)
from evaluation.items.prompts import PromptLibrary
from evaluation.models import GenerationFacts
from evaluation.models._offline._author import write_items
from tests.evaluation.models.seeds import SEEDS, facts_of

PROMPTS = PromptLibrary()
SEED = SEEDS[0]
VALID = write_items(facts_of(SEED))
VARIANTS = read_variants(VALID)
MCQ: MultipleChoice = VARIANTS.mcq.to_item(random.Random(0))
KPRIM: KPrim = VARIANTS.kprim.to_item(random.Random(0))
FREE_TEXT: FreeText = VARIANTS.free_text.to_item()


def test_a_generation_request_holds_the_seed_the_image_and_the_schema() -> None:
    request = generation_request(SEED, model="offline/author", image_png=b"png", prompts=PROMPTS)

    assert request.purpose == "generate"
    assert request.image_png == b"png"
    assert SEED.question in request.user
    assert SEED.answer in request.user
    assert SEED.audience in request.system
    assert request.json_schema is not None
    assert {"mcq", "kprim", "free_text"} <= set(request.json_schema["properties"])
    facts = GenerationFacts.model_validate(request.facts)
    assert (facts.seed_id, facts.attempt, facts.formats) == (SEED.seed_id, 0, ("mcq", "kprim", "free_text"))


def test_a_repair_repeats_the_reply_and_its_fault() -> None:
    repair = Repair(reply_text="nonsense", error="the reply holds no JSON object")
    plain = generation_request(SEED, model="offline/author", image_png=None, prompts=PROMPTS)
    request = generation_request(SEED, model="offline/author", image_png=None, prompts=PROMPTS, repair=repair)

    assert request.user.startswith(plain.user)
    assert "nonsense" in request.user
    assert "no JSON object" in request.user


def test_an_mcq_regeneration_holds_the_failed_item_and_the_reasons() -> None:
    request = mcq_regeneration_request(
        SEED, MCQ, ["Option B stands out."], attempt=2, model="offline/author", image_png=None, prompts=PROMPTS
    )
    for text in (MCQ.stem, *(option.text for option in MCQ.options), "Option B stands out.", SEED.answer):
        assert text in request.user
    facts = GenerationFacts.model_validate(request.facts)
    assert (facts.attempt, facts.formats) == (2, ("mcq",))
    assert MCQ.stem in facts.failed_texts
    read_mcq(write_items(facts))


def test_a_kprim_regeneration_shows_the_guessed_statements_only() -> None:
    guessed = (True, False, True, True)
    request = kprim_regeneration_request(
        SEED, KPRIM, 3, guessed, [""], attempt=1, model="offline/author", image_png=None, prompts=PROMPTS
    )
    assert "judged 3 of 4" in request.user
    for statement, shown in zip(KPRIM.statements, guessed, strict=True):
        assert (statement.text in request.user) == shown
    assert "gave no reason" in request.user
    read_kprim(write_items(GenerationFacts.model_validate(request.facts)))


def test_a_kprim_regeneration_refuses_counts_that_contradict_each_other() -> None:
    with pytest.raises(ValueError, match="which 3 of the statements"):
        kprim_regeneration_request(
            SEED, KPRIM, 3, (True,) * 4, [], attempt=1, model="m/x", image_png=None, prompts=PROMPTS
        )


@pytest.mark.parametrize(
    ("item", "read"),
    [(MCQ, read_mcq), (KPRIM, read_kprim), (FREE_TEXT, read_free_text)],
    ids=lambda value: str(value)[:9],
)
def test_a_rejected_item_is_asked_for_anew(item, read) -> None:  # type: ignore[no-untyped-def]
    request = rejection_request(
        SEED,
        item,
        "Two options are right.",
        [FREE_TEXT] if item is not FREE_TEXT else [MCQ],
        attempt=1,
        model="offline/author",
        image_png=None,
        prompts=PROMPTS,
    )
    assert "Two options are right." in request.user
    assert item.stem in request.user
    read(write_items(GenerationFacts.model_validate(request.facts)))


@pytest.mark.parametrize(
    "wrapped",
    [
        VALID,
        f"```json\n{VALID}\n```",
        f'<think>An answer like {{"mcq": 1}} is wrong.</think>\n{VALID}',
        f"Here is the set of {{three}} questions:\n\n{VALID}\n\nGood luck!",
        f"\n\n  {VALID}  ",
    ],
    ids=["bare", "fence", "think", "prose", "space"],
)
def test_what_stands_around_one_object_is_left_aside(wrapped: str) -> None:
    assert read_variants(wrapped) == VARIANTS


def _changed(**changes: object) -> str:
    return json.dumps(json.loads(VALID) | changes)


def _mcq_changed(**changes: object) -> str:
    return _changed(mcq=json.loads(VALID)["mcq"] | changes)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the reply is empty"),
        ("<think>{}</think>", "the reply is empty"),
        ("I cannot do that.", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        (VALID[: len(VALID) // 2], "breaks off"),
        (f"```json\n{VALID[:-40]}\n```", "breaks off|no valid JSON"),
        (VALID + VALID, "2 JSON objects"),
        (VALID.replace(":", "=", 1), "no valid JSON: .* line 1, column"),
        ('{"mcq": 1, "mcq": 2}', "'mcq' occurs twice"),
        ("{'mcq': 1}", "no valid JSON"),
        (_changed(surplus=1), "surplus: Extra inputs"),
        (_changed(mcq=None), "mcq: "),
        (_mcq_changed(stem="Name it."), "mcq.stem: must end with a question mark"),
        (_mcq_changed(distractors=[]), "mcq.distractors: "),
        (_mcq_changed(correct_answer=json.loads(VALID)["mcq"]["distractors"][0]["text"]), "options must differ"),
        (_mcq_changed(correct_answer=3), "mcq.correct_answer: "),
        (_mcq_changed(correct_answer="  "), "must not be empty"),
        ('{"a":' * 100_000, "nested too deeply|breaks off"),
    ],
)
def test_invalid_replies_are_refused_with_a_short_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidReplyError, match=reason) as caught:
        read_variants(text)
    assert len(caught.value.reason) <= 600
    assert "\n" not in caught.value.reason
    assert "pydantic" not in caught.value.reason


@pytest.mark.parametrize("value", ["true", 1, None, "yes"])
def test_a_truth_value_of_another_type_is_not_mended(value: object) -> None:
    kprim = json.loads(VALID)["kprim"]
    kprim["statements"][0]["is_true"] = value
    with pytest.raises(InvalidReplyError, match=r"statements\.0\.is_true"):
        read_kprim(json.dumps(kprim))


@given(text=st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (read_variants, read_mcq, read_kprim, read_free_text):
        with pytest.raises(InvalidReplyError):
            read(text)


@given(cut=st.integers(0, len(VALID) - 1))
@settings(max_examples=100, deadline=None)
def test_no_beginning_of_a_reply_is_taken_for_the_whole(cut: int) -> None:
    with pytest.raises(InvalidReplyError):
        read_variants(VALID[:cut])


@given(
    data=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=10),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["mcq", "kprim", "free_text", "stem", "x"]), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
@settings(max_examples=200, deadline=None)
def test_any_json_is_read_or_refused(data: object) -> None:
    with pytest.raises(InvalidReplyError):
        read_variants(json.dumps(data))
