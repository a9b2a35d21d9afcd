"""Labelled verdicts on one statement and on four, and what holds for any reply."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.answers import parse_kprim_joint, parse_kprim_statement

STATEMENT = [
    ("True", True),
    ("FALSE.", False),
    ("**True**", True),
    ("T", True),
    ("F", False),
    ("yes", True),
    ("No.", False),
    ("No, the cords are intact.", False),
    ("True, because the cells are swollen.", True),
    ("Not true.", False),
    ("ANSWER: FALSE", False),
    ("The cells are pale.\nANSWER: true", True),
    ("True at first sight, but no.\nANSWER: false", False),
    ("The statement is true.", True),
    ("The statement is not true.", False),
    ("The statement is incorrect", False),
    ("Verdict: **False**", False),
    ('{"answer": false}', False),
    ('{"answer": "true"}', True),
    ("\\boxed{\\text{False}}", False),
    ("<answer>true</answer>", True),
    ("<think>true, surely</think>False", False),
    ("If the statement is true, one expects casts; there are none. ANSWER: false", False),
    ("I cannot be certain, but the statement is false.", False),
    ("This is untrue.", False),
]
STATEMENT_UNPARSED = [
    "",
    "No lesion is visible",
    "The answer: no lesion is visible",
    "False positive staining is seen",
    "True\nFalse",
    "ANSWER: true or false",
    "ANSWER: <true or false>",
    "Maybe",
    "I cannot see a lesion",
]
STATEMENT_REFUSED = ["I cannot answer this question without the image.", "I'm sorry, I can't help with that."]

T, F = True, False
JOINT = [
    ("1. True\n2. False\n3. True\n4. False", (T, F, T, F)),
    ("1: true\n2: false\n3: false\n4: true", (T, F, F, T)),
    ("Always the first.\n1: true\n2: true\n3: true\n4: true", (T, T, T, T)),
    ("1: TRUE 2: FALSE 3: TRUE 4: TRUE", (T, F, T, T)),
    ("1. True, 2. False, 3. True, 4. True", (T, F, T, T)),
    ("ANSWERS: 1=true, 2=false, 3=true, 4=false", (T, F, T, F)),
    ("Statement 1: T\nStatement 2: F\nStatement 3: F\nStatement 4: T", (T, F, F, T)),
    ("1) **True** – because\n2) **False** - pale\n3) True\n4) False", (T, F, T, F)),
    ("1. The liver is normal: True\n2. Casts are seen - False\n3. x (true)\n4. y is false", (T, F, T, F)),
    ("| 1 | True |\n| 2 | False |\n| 3 | True |\n| 4 | True |", (T, F, T, T)),
    ("4. True\n3. False\n2. True\n1. False", (F, T, F, T)),
    ("1. True\n2. True\n3. True\n4. True\nOn reflection:\n2. False", (T, F, T, T)),
    ("[true, false, true, true]", (T, F, T, T)),
    ('{"answers": [true, false, false, true]}', (T, F, F, T)),
    ("[True, False, True, False]", (T, F, T, F)),
    ('["true", "false", "true", "false"]', (T, F, T, F)),
    ("TRUE, FALSE, TRUE, TRUE", (T, F, T, T)),
    ("T F T T", (T, F, T, T)),
    ("TRUE\nFALSE\nTRUE\nFALSE", (T, F, T, F)),
    ("<think>1. False</think>1. True\n2. True\n3. False\n4. False", (T, T, F, F)),
]
JOINT_UNPARSED = [
    "",
    "1. True\n2. False\n3. True",
    "true true true",
    "true false true false true",
    "[true, false]",
    "1: <true or false>\n2: <true or false>",
    "All of them",
]


@pytest.mark.parametrize(("reply", "verdict"), STATEMENT)
def test_reads_the_verdict(reply: str, verdict: bool) -> None:
    parsed = parse_kprim_statement(reply)
    assert (parsed.outcome, parsed.value) == ("scored", verdict), parsed.rule


@pytest.mark.parametrize("reply", STATEMENT_UNPARSED)
def test_never_guesses_a_verdict(reply: str) -> None:
    parsed = parse_kprim_statement(reply)
    assert (parsed.outcome, parsed.value) == ("unparsed", None), parsed.rule


@pytest.mark.parametrize("reply", STATEMENT_REFUSED)
def test_a_refusal_is_an_outcome_of_its_own(reply: str) -> None:
    assert parse_kprim_statement(reply).outcome == "refused"
    assert parse_kprim_joint(reply).outcome == "refused"


@pytest.mark.parametrize(("reply", "verdicts"), JOINT)
def test_reads_four_verdicts(reply: str, verdicts: tuple[bool, ...]) -> None:
    parsed = parse_kprim_joint(reply)
    assert (parsed.outcome, parsed.value) == ("scored", verdicts), parsed.rule


@pytest.mark.parametrize("reply", JOINT_UNPARSED)
def test_anything_but_four_verdicts_is_unparsed(reply: str) -> None:
    parsed = parse_kprim_joint(reply)
    assert (parsed.outcome, parsed.value) == ("unparsed", None), parsed.rule


@pytest.mark.parametrize("verdicts", list(itertools.product([True, False], repeat=4)))
def test_every_combination_reads_back_in_each_notation(verdicts: tuple[bool, ...]) -> None:
    words = ["true" if verdict else "false" for verdict in verdicts]
    numbered = "\n".join(f"{number}: {word}" for number, word in enumerate(words, start=1))
    for reply in (numbered, f"[{', '.join(words)}]", " ".join(words).upper()):
        assert parse_kprim_joint(reply).value == verdicts, reply


@given(st.text(max_size=300))
def test_a_value_comes_with_scored_alone(reply: str) -> None:
    one, four = parse_kprim_statement(reply), parse_kprim_joint(reply)
    assert isinstance(one.value, bool) == (one.outcome == "scored")
    assert (four.value is not None and len(four.value) == 4) == (four.outcome == "scored")
