"""The built-in item writer: valid, homogeneous, repeatable items that are right about the seed, or a stated refusal."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.items import CATEGORIES, VariantsDraft
from evaluation.items.generation import SeedContext, read_free_text, read_kprim, read_mcq, read_variants
from evaluation.models._offline._author import write_items
from evaluation.models._offline._findings import UnwritableSeedError
from evaluation.models._offline._quantities import read_quantity
from evaluation.models._offline._vocabulary import DIMENSIONS, Dimension, comparable, vocabulary
from tests.evaluation.models.seeds import SEEDS, check_all, facts_of

ORGANS = ("liver", "kidney", "lung", "heart")
_CATEGORY_OF: dict[Dimension, str] = {
    "location": "localize_in_image",
    "distribution": "characterize_feature",
    "severity": "characterize_feature",
    "cell_type": "identify_anatomy",
    "lesion": "identify_pathology",
    "artefact": "identify_artifact",
    "structure": "identify_anatomy",
}
_QUESTION_OF: dict[Dimension, str] = {
    "location": "Which zone is it?",
    "distribution": "Which pattern is it?",
    "severity": "Which degree is it?",
    "cell_type": "Which cell type is it?",
    "lesion": "Which change is it?",
    "artefact": "Which artefact is it?",
    "structure": "Which structure is it?",
}
ALL_TERMS = [
    pytest.param(organ, dimension, term, id=f"{organ}-{dimension}-{term}")
    for organ in ORGANS
    for dimension in DIMENSIONS
    for term in vocabulary(organ).terms(dimension)
]


def _seed(organ: str, category: str, question: str, answer: str, is_true: bool | None = None) -> SeedContext:
    return SEEDS[0].model_copy(
        update={"organ": organ, "category": category, "question": question, "answer": answer, "is_true": is_true}
    )


def _write(seed: SeedContext, **changes: object) -> VariantsDraft:
    return read_variants(write_items(facts_of(seed, **changes)))


def _write_or_refusal(seed: SeedContext, **changes: object) -> VariantsDraft | str:
    try:
        return _write(seed, **changes)
    except UnwritableSeedError as error:
        return str(error)


@pytest.mark.parametrize("attempt", range(4))
@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.seed_id)
def test_every_seed_becomes_items_by_the_rules(seed: SeedContext, attempt: int) -> None:
    variants = _write(seed, attempt=attempt)

    for stem in (variants.mcq.stem, variants.kprim.stem, variants.free_text.stem):
        assert stem.endswith("?")
        assert f"this image of {seed.species} {seed.organ}" in stem
        assert not re.search(r"\b(not|except|never|always)\b", stem, re.IGNORECASE)
    truths = [statement.is_true for statement in variants.kprim.statements]
    assert 1 <= sum(truths) <= 2
    for text in [variants.mcq.correct_answer, *(wrong.text for wrong in variants.mcq.distractors)]:
        assert not re.search(r"\b(no|not|without|always|never)\b", text, re.IGNORECASE)


@pytest.mark.parametrize(("organ", "dimension", "term"), ALL_TERMS)
def test_every_term_of_the_vocabulary_can_be_an_answer(organ: str, dimension: Dimension, term: str) -> None:
    words = vocabulary(organ)
    seed = _seed(organ, _CATEGORY_OF[dimension], _QUESTION_OF[dimension], term)
    names = {comparable(name) for name in words.names(term)}
    for attempt in (0, 1, 3):
        variants = _write(seed, attempt=attempt)
        assert comparable(variants.mcq.correct_answer) in names
        for wrong in variants.mcq.distractors:
            assert comparable(wrong.text) not in names
        assert comparable(variants.free_text.expected_answer) in names
        hidden = {word for word in comparable(term).split() if len(word) > 5 and word != "change"}
        for stem in (variants.mcq.stem, variants.kprim.stem, variants.free_text.stem):
            assert not hidden & set(comparable(stem).split())


@pytest.mark.parametrize(("organ", "dimension", "term"), ALL_TERMS)
def test_true_statements_follow_from_the_term_and_false_ones_from_others(
    organ: str, dimension: Dimension, term: str
) -> None:
    words = vocabulary(organ)
    entry = words.entry(term, dimension)
    if dimension == "severity" or entry is None:
        assert dimension == "severity"
        return
    seed = _seed(organ, _CATEGORY_OF[dimension], _QUESTION_OF[dimension], term)
    own = [*entry.features, entry.compartment, term]
    for attempt in range(4):
        for statement in _write(seed, attempt=attempt).kprim.statements:
            said = re.fullmatch(
                r"The .+? (?:in question )?(?:shows|is marked by|is best described as|chiefly concerns the) (.+)\.",
                statement.text,
            )
            assert said is not None
            assert (said[1] in own) == statement.is_true


def test_options_of_a_term_have_similar_word_counts() -> None:
    shares = []
    for organ in ORGANS:
        for dimension in ("lesion", "cell_type", "artefact"):
            for term in vocabulary(organ).terms(dimension):
                mcq = _write(_seed(organ, _CATEGORY_OF[dimension], _QUESTION_OF[dimension], term)).mcq
                words = len(mcq.correct_answer.split())
                shares += [abs(len(wrong.text.split()) - words) / words <= 0.2 for wrong in mcq.distractors]
    assert sum(shares) / len(shares) > 0.75


@pytest.mark.parametrize("seed", SEEDS[::7], ids=lambda seed: seed.seed_id)
def test_the_same_call_gives_the_same_items_and_a_later_attempt_others(seed: SeedContext) -> None:
    first = write_items(facts_of(seed))
    assert write_items(facts_of(seed)) == first
    failed = read_variants(first)
    texts = (failed.mcq.stem, failed.kprim.stem, *(statement.text for statement in failed.kprim.statements))
    again = _write(seed, attempt=1, failed_texts=texts)
    assert again.mcq.stem != failed.mcq.stem
    assert again.kprim.stem != failed.kprim.stem


def test_one_format_gives_one_draft() -> None:
    seed = SEEDS[0]
    read_mcq(write_items(facts_of(seed, formats=("mcq",))))
    read_kprim(write_items(facts_of(seed, formats=("kprim",))))
    read_free_text(write_items(facts_of(seed, formats=("free_text",))))


@pytest.mark.parametrize(
    ("answer", "flags"),
    [
        ("upper left", (-1, -1)),
        ("Lower right quadrant", (1, 1)),
        ("top right corner", (-1, 1)),
        ("bottom left", (1, -1)),
    ],
)
def test_statements_on_places_are_geometrically_right(answer: str, flags: tuple[int, int]) -> None:
    vertical, horizontal = flags
    side = {"upper": vertical == -1, "lower": vertical == 1, "left": horizontal == -1, "right": horizontal == 1}
    for attempt in range(6):
        variants = _write(_seed("liver", "localize_in_image", "Where is it?", answer), attempt=attempt)
        for statement in variants.kprim.statements:
            words = re.findall(r"upper|lower|left|right|middle|midpoint", statement.text)
            assert side.get(words[0], False) == statement.is_true, statement.text


@given(value=st.integers(0, 5000), form=st.sampled_from(["{}", "about {}", "{} glomeruli", "{} cells per field"]))
@settings(max_examples=150, deadline=None)
def test_numbers_stay_apart_and_thresholds_are_right(value: int, form: str) -> None:
    variants = _write(_seed("kidney", "quantify_feature", "How many are there?", form.format(value)))

    numbers = [read_quantity(wrong.text) for wrong in variants.mcq.distractors]
    assert all(number is not None and abs(number.low - value) >= 1 for number in numbers)
    for statement in variants.kprim.statements:
        amount = re.search(r"(above|below) ([\d.]+)", statement.text)
        assert amount is not None
        threshold = float(amount[2])
        assert statement.is_true == (value > threshold if amount[1] == "above" else value < threshold)


@given(low=st.integers(0, 95), width=st.integers(1, 30))
@settings(max_examples=150, deadline=None)
def test_ranges_of_percent_do_not_overlap(low: int, width: int) -> None:
    high = min(100, low + width)
    seed = _seed("liver", "quantify_feature", "Which share is affected?", f"{low}–{high} %")
    variants = _write_or_refusal(seed)
    if isinstance(variants, str):
        assert "narrower range" in variants
        return
    ranges = [
        read_quantity(text) for text in [variants.mcq.correct_answer, *(w.text for w in variants.mcq.distractors)]
    ]
    spans = sorted((found.low, found.high) for found in ranges if found is not None)
    assert len(spans) == 5
    assert all(0 <= start < end <= 100 for start, end in spans)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))


@given(
    organ=st.sampled_from([*ORGANS, "thyroid", "Renal", ""]),
    category=st.sampled_from(CATEGORIES),
    question=st.text(max_size=80),
    answer=st.text(max_size=80),
    is_true=st.sampled_from([None, True, False]),
    attempt=st.integers(0, 3),
)
@settings(max_examples=300, deadline=None)
def test_any_text_gives_valid_items_or_a_stated_refusal(
    organ: str, category: str, question: str, answer: str, is_true: bool | None, attempt: int
) -> None:
    written = _write_or_refusal(_seed(organ, category, question, answer, is_true), attempt=attempt)
    assert isinstance(written, VariantsDraft) or len(written) > 20


_WORDS = st.sampled_from(
    re.findall(
        r"\S+",
        "upper left portal necrosis focal mild 3 50 % the of in not is present normal centrilobular with and fold "
        "tubular 7-9 within limits zone true neutrophils severe along edge artefact",
    )
)


@given(
    organ=st.sampled_from(ORGANS),
    category=st.sampled_from(CATEGORIES),
    answer=st.lists(_WORDS, min_size=1, max_size=9).map(" ".join),
    is_true=st.sampled_from([None, True, False]),
)
@settings(max_examples=300, deadline=None)
def test_phrases_of_the_field_give_valid_items_or_a_stated_refusal(
    organ: str, category: str, answer: str, is_true: bool | None
) -> None:
    question = answer if is_true is not None else "What is it?"
    written = _write_or_refusal(_seed(organ, category, question, answer, is_true))
    assert isinstance(written, VariantsDraft) or len(written) > 20


@pytest.mark.parametrize(
    ("category", "question", "answer", "is_true", "reason"),
    [
        ("identify_pathology", "What is it?", "", None, "no answer"),
        ("probe_over_reading", "The liver is within normal limits.", "false", False, "not normal"),
        ("identify_pathology", "What is it?", "no necrosis", None, "what is not there"),
        ("identify_pathology", "What is it?", "a b c d e f g h i j k", None, "11 words"),
        ("quantify_feature", "How many?", "several", None, "no number"),
        ("characterize_feature", "The necrosis is severe.", "false", False, "does not follow"),
        ("identify_pathology", "It looks odd.", "true", True, "no single term"),
        ("identify_pathology", "There is no necrosis.", "true", True, "negation"),
    ],
)
def test_refusals_say_why(category: str, question: str, answer: str, is_true: bool | None, reason: str) -> None:
    with pytest.raises(UnwritableSeedError, match=reason):
        _write(_seed("liver", category, question, answer, is_true))


def test_lesions_are_not_named_in_stems() -> None:
    seed = _seed(
        "liver", "localize_in_image", "Where is the severe hepatocellular necrosis most pronounced?", "upper left"
    )
    variants = _write(seed)
    for stem in (variants.mcq.stem, variants.kprim.stem, variants.free_text.stem):
        assert "necrosis" not in stem
        assert "where is the change most pronounced?" in stem


def test_a_narrower_wording_is_accepted_but_not_offered_for_the_general_term() -> None:
    general = _write(_seed("liver", "identify_pathology", "What is the change?", "hepatocellular vacuolation"))
    narrow = _write(_seed("liver", "identify_pathology", "What is the change?", "Steatosis"))
    assert "steatosis" not in {name.casefold() for name in general.free_text.synonyms}
    assert "steatosis" in {name.casefold() for name in narrow.free_text.synonyms}


def test_items_are_guessed_about_as_often_as_by_chance() -> None:
    """Chance flags 1 − 0.8³ = 49 % of MCQ and 1 − (11/16)³ = 67 % of KPrim under VIPER's strict rule."""
    mcq, kprim = check_all()
    assert 0.25 < mcq.share < 0.60
    assert 0.45 < kprim.share < 0.80
    assert mcq.escalated < 0.2
    assert kprim.escalated < 0.4
