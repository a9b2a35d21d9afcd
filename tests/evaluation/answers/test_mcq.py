"""Labelled replies to a multiple-choice question, and what holds for any reply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.answers import ANSWER_OUTCOMES, parse_mcq
from evaluation.items import OPTION_LETTERS

OPTIONS = ("Hepatocellular necrosis", "Bile duct hyperplasia", "Necrosis", "Fatty change", "No abnormality")

SCORED = [
    # explicit
    ("ANSWER: C", "C"),
    ("answer: c", "C"),
    ("The image shows pale cells.\nANSWER: D", "D"),
    ("**Answer:** C", "C"),
    ("**Answer: C) Necrosis**", "C"),
    ("ANSWER: (E)", "E"),
    ("Answer - E", "E"),
    ("The answer is (C).", "C"),
    ("the answer is c.", "C"),
    ("The correct answer is option B.", "B"),
    ("The best answer would be D", "D"),
    ("The correct option is **B**", "B"),
    ("I would choose option D because of the vacuoles.", "D"),
    ("I'd go with B.", "B"),
    ('{"answer": "D"}', "D"),
    ('```json\n{"answer": "B", "confidence": "high"}\n```', "B"),
    ("$\\boxed{C}$", "C"),
    ("\\boxed{\\text{C}}", "C"),
    ("<answer>E</answer>", "E"),
    ("Final answer → A", "A"),
    ("The answer is A because the cords are intact.", "A"),
    ("Answer: A", "A"),
    # the last explicit statement counts
    ("Answer: C. Wait, the answer is D", "D"),
    ("First I thought the answer is A.\n\nFinal answer: B", "B"),
    ("Option (A) excluded; the answer is C", "C"),
    ("The answer is not A but C", "C"),
    ("A is incorrect. B is incorrect. C is correct.", "C"),
    ("The answer is C, A is wrong", "C"),
    ("The answer is C. If fibrosis were there, the answer would be B.", "C"),
    ("A) necrosis\nB) hyperplasia\n\nFinal answer: B", "B"),
    ("A) x\nB) y\nC) z\nThe correct answer is: Fatty change", "D"),
    # one letter or one lettered option
    ("C", "C"),
    ("c", "C"),
    ("C.", "C"),
    ("(C)", "C"),
    ("**C**", "C"),
    ("Option C", "C"),
    ("\uff23", "C"),
    ("C) Necrosis", "C"),
    ("C. Necrosis is what I see.", "C"),
    ("C: this is a lesion of the liver", "C"),
    ("C, because the nuclei are pale", "C"),
    ("D - fatty change", "D"),
    ("I looked at the cords.\n\n**D**", "D"),
    # an option's bare text
    ("necrosis", "C"),
    ("Hepatocellular necrosis.", "A"),
    ("  No abnormality ", "E"),
    ("The correct answer is: Fatty change", "D"),
    ("The image shows hepatocellular necrosis.", "A"),
    ("It is a fatty change", "D"),
    # the only option mentioned
    ("It is consistent with option (B).", "B"),
    ("Bile duct hyperplasia, most likely", "B"),
    ("I see clear vacuoles that speak for fatty change in most cells.", "D"),
    # reasoning blocks
    ("<think>ANSWER: A</think>C", "C"),
    ("maybe A, maybe not</think>\nANSWER: B", "B"),
    ("<thinking>\nA is wrong\n</thinking>\n\nThe answer is E.", "E"),
    ("<|begin_of_thought|>Answer: A<|end_of_thought|> Answer: B", "B"),
    ("I cannot be certain, but my answer is B.", "B"),
]

UNPARSED = [
    "",
    "   \n ",
    "<think>ANSWER: C",
    "A lesion is visible",
    "Answer: A lesion of the bile duct",
    "the answer is a lesion",
    "I cannot see a lesion",
    "A or B",
    "Answer: A or C",
    "ANSWER: A, C",
    "Answer: B/D",
    "The answer is not B.",
    "A, B and C are wrong",
    "Option (A) is excluded.",
    "Options (A) and (B) fit.",
    "A) x\nB) y\nC) z",
    "Necrosis\nFatty change",
    "B) Necrosis",
    "Answer: X",
    "ANSWER: <letter>",
    "ANSWER: F",
    "It could be anything.",
    "This is neither necrosis nor fatty change",
    "Both fatty change and bile duct hyperplasia are seen.",
]

REFUSED = [
    "I'm sorry, but I can't help with that.",
    "I cannot answer this question.",
    "Without the image I cannot determine the answer.",
    "I'm unable to view images. Please consult a pathologist.",
    "As an AI language model, I cannot provide a diagnosis.",
    "I must decline to answer.",
    "Sorry, I can't assist with medical images.",
]


@pytest.mark.parametrize(("reply", "letter"), SCORED)
def test_reads_the_letter(reply: str, letter: str) -> None:
    parsed = parse_mcq(reply, OPTIONS)
    assert (parsed.outcome, parsed.value) == ("scored", letter), parsed.rule


@pytest.mark.parametrize("reply", UNPARSED)
def test_never_guesses(reply: str) -> None:
    parsed = parse_mcq(reply, OPTIONS)
    assert (parsed.outcome, parsed.value) == ("unparsed", None), parsed.rule
    assert parsed.rule


@pytest.mark.parametrize("reply", REFUSED)
def test_a_refusal_is_an_outcome_of_its_own(reply: str) -> None:
    parsed = parse_mcq(reply, OPTIONS)
    assert (parsed.outcome, parsed.value) == ("refused", None)


def test_a_letter_beyond_the_options_is_unparsed() -> None:
    assert parse_mcq("ANSWER: D", OPTIONS[:3]).outcome == "unparsed"


def test_equal_option_texts_do_not_count_as_bare_text() -> None:
    assert parse_mcq("necrosis", ("Necrosis", "necrosis.", "a", "b", "c")).outcome == "unparsed"


def test_too_many_options_are_refused() -> None:
    with pytest.raises(ValueError, match="6 options"):
        parse_mcq("A", tuple("abcdef"))


@given(st.text(max_size=300))
def test_any_reply_has_a_known_outcome_and_a_letter_only_if_scored(reply: str) -> None:
    parsed = parse_mcq(reply, OPTIONS)
    assert parsed.outcome in ANSWER_OUTCOMES
    assert (parsed.value in set(OPTION_LETTERS)) == (parsed.outcome == "scored")


@given(st.sampled_from(OPTION_LETTERS), st.text(alphabet="bcdfgh \n.,", max_size=80))
def test_an_explicit_last_line_always_wins(letter: str, before: str) -> None:
    assert parse_mcq(f"{before}\nANSWER: {letter}", OPTIONS).value == letter


@given(st.sampled_from(OPTION_LETTERS), st.text(max_size=80).filter(lambda text: "<" not in text))
def test_what_stands_in_a_reasoning_block_does_not_matter(letter: str, thought: str) -> None:
    assert parse_mcq(f"<think>{thought}</think>{letter}", OPTIONS).value == letter


@given(st.permutations(OPTIONS), st.sampled_from(OPTIONS))
def test_a_bare_text_follows_its_option_through_any_order(order: list[str], text: str) -> None:
    assert parse_mcq(text.upper(), order).value == OPTION_LETTERS[order.index(text)]
