"""Differences between versions: complete, and blind to a mere change of order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curator_app.components.item_html import changes_html, item_html, marked
from curator_app.item_changes import changed_fields, diff_words
from evaluation.items import FreeText, KPrim, MultipleChoice, Option, Statement

LESIONS = ("Necrosis", "Fatty change", "Bile duct hyperplasia", "Fibrosis", "Haemorrhage")


def _mcq(key: int = 1, texts: tuple[str, ...] = LESIONS, stem: str = "Which lesion is shown?") -> MultipleChoice:
    options = tuple(Option(text=text, explanation=f"Why {text}") for text in texts)
    return MultipleChoice(stem=stem, options=options, key=key)


@given(st.text(), st.text())
def test_the_pieces_hold_both_texts(before: str, after: str) -> None:
    pieces = diff_words(before, after)
    assert "".join(p.text for p in pieces if p.kind != "gone") == after
    assert "".join(p.text for p in pieces if p.kind != "new") == before


def test_words_change_as_wholes() -> None:
    pieces = diff_words("mild centrilobular necrosis", "marked centrilobular necrosis")
    assert [(p.kind, p.text) for p in pieces] == [
        ("gone", "mild"),
        ("new", "marked"),
        ("same", " centrilobular necrosis"),
    ]


@given(st.permutations(range(5)))
def test_a_new_order_is_no_change(order: list[int]) -> None:
    assert changed_fields(_mcq(), _mcq().reordered(tuple(order))) == []


def test_an_option_is_set_against_the_one_that_it_replaces() -> None:
    after = _mcq(texts=("Necrosis", "Fatty change", "Bile duct proliferation", "Fibrosis", "Haemorrhage"))
    changes = changed_fields(_mcq(), after.reordered((4, 2, 1, 0, 3)))
    assert [(c.name, c.before, c.after) for c in changes] == [
        ("Option B", "Bile duct hyperplasia", "Bile duct proliferation"),
        ("Option B: explanation", "Why Bile duct hyperplasia", "Why Bile duct proliferation"),
    ]


def test_a_key_is_set_against_the_key() -> None:
    changes = changed_fields(_mcq(key=0), _mcq(key=3))
    assert ("Option D, the key", "Necrosis", "Fibrosis") in [(c.name, c.before, c.after) for c in changes]


def test_a_truth_value_is_a_change_of_its_own() -> None:
    def kprim(first: bool) -> KPrim:
        statements = [Statement(text=text, is_true=True, explanation="x") for text in LESIONS[:4]]
        statements[0] = Statement(text="Necrosis", is_true=first, explanation="x")
        statements[1] = Statement(text="Fatty change", is_true=False, explanation="x")
        return KPrim(stem="Which are right?", statements=tuple(statements))

    changes = changed_fields(kprim(True), kprim(False))
    assert [(c.name, c.before, c.after) for c in changes] == [("Statement 1: truth", "true", "false")]


def test_free_text_fields_and_other_formats() -> None:
    before = FreeText(stem="What is shown?", answer="Necrosis", rubric="1 point", points=1)
    after = before.model_copy(update={"synonyms": ("Cell death",), "points": 2})
    assert [change.name for change in changed_fields(before, after)] == ["Synonyms", "Points"]
    with pytest.raises(ValueError, match="free_text has no differences to a mcq"):
        changed_fields(before, _mcq())


def test_html_marks_the_key_in_words_and_escapes_every_text() -> None:
    html = item_html(_mcq(texts=("<b>x</b>", *LESIONS[1:]), stem="Is <script> shown?"))
    assert html.count("✓ key") == 1
    assert "<script>" not in html
    assert "&lt;b&gt;x&lt;/b&gt;" in html
    changes = changes_html(changed_fields(_mcq(), _mcq(stem="Which <i>lesion</i> is shown?")), since=2)
    assert "<i>lesion" not in changes
    assert "<ins>" in changes
    assert "Only the order changed since v2" in changes_html([], since=2)


def test_spaces_around_marked_words_are_not_marked() -> None:
    assert marked(" the blurred <area> ", "mark") == " <mark>the blurred &lt;area&gt;</mark> "
    assert marked("  ", "ins") == "  "
