"""The edit form of an item: all texts of its format, checked as a whole before anything is saved."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from pydantic import ValidationError

from evaluation.items import (
    OPTION_COUNT,
    OPTION_LETTERS,
    FreeText,
    KPrim,
    MultipleChoice,
    Option,
    Statement,
    parse_item,
)

Content = MultipleChoice | KPrim | FreeText

_FIELDS = {
    "stem": "Stem",
    "text": "text",
    "explanation": "explanation",
    "key": "Key",
    "answer": "Expected answer",
    "rubric": "Rubric",
    "points": "Points",
}


def edit_fields(content: Content, *, key: str) -> dict[str, object]:
    """Draw the fields of an item inside a form and return the document that they hold now.

    Args:
        content: the text to start from.
        key: names the widgets; another version needs another key.
    """
    stem = st.text_area("Stem (a question that ends with ?)", content.stem, key=f"{key}_stem", height="content")
    document: dict[str, object] = {"format": content.format, "stem": stem}
    match content:
        case MultipleChoice():
            document |= _option_fields(content, key)
        case KPrim():
            document["statements"] = [
                _statement_fields(number, statement, key)
                for number, statement in enumerate(content.statements, start=1)
            ]
        case FreeText():
            document |= _free_text_fields(content, key)
    return document


def _option_fields(content: MultipleChoice, key: str) -> dict[str, object]:
    chosen = st.radio(
        "Key (the right option)",
        range(OPTION_COUNT),
        index=content.key,
        format_func=OPTION_LETTERS.__getitem__,
        horizontal=True,
        key=f"{key}_key",
    )
    options = [_one_option(OPTION_LETTERS[i], option, key) for i, option in enumerate(content.options)]
    return {"options": options, "key": chosen}


def _one_option(letter: str, option: Option, key: str) -> dict[str, object]:
    return {
        "text": st.text_area(f"Option {letter}", option.text, key=f"{key}_{letter}", height="content"),
        "explanation": st.text_area(
            f"Why {letter} is right or wrong", option.explanation, key=f"{key}_{letter}_why", height="content"
        ),
    }


def _statement_fields(number: int, statement: Statement, key: str) -> dict[str, object]:
    return {
        "text": st.text_area(f"Statement {number}", statement.text, key=f"{key}_{number}", height="content"),
        "is_true": st.radio(
            f"Statement {number} is",
            [True, False],
            index=0 if statement.is_true else 1,
            format_func=lambda truth: "true" if truth else "false",
            horizontal=True,
            key=f"{key}_{number}_truth",
        ),
        "explanation": st.text_area(
            f"Why statement {number} is true or false",
            statement.explanation,
            key=f"{key}_{number}_why",
            height="content",
        ),
    }


def _free_text_fields(content: FreeText, key: str) -> dict[str, object]:
    answer = st.text_area("Expected answer", content.answer, key=f"{key}_answer", height="content")
    synonyms = st.text_area(
        "Also accepted, one on each line", "\n".join(content.synonyms), key=f"{key}_synonyms", height="content"
    )
    rubric = st.text_area("Rubric", content.rubric, key=f"{key}_rubric", height="content")
    points = st.radio("Points", [1, 2], index=content.points - 1, horizontal=True, key=f"{key}_points")
    lines = [line for line in str(synonyms or "").splitlines() if line.strip()]
    return {"answer": answer, "synonyms": lines, "rubric": rubric, "points": points}


def read_document(document: Mapping[str, object]) -> tuple[Content | None, list[str]]:
    """Return the item that a form's document holds, or every fault in words, by the names of the fields."""
    try:
        return parse_item(document), []
    except ValidationError as error:
        return None, [_in_words(fault["loc"], fault["msg"]) for fault in error.errors()]


def _in_words(location: tuple[int | str, ...], message: str) -> str:
    message = message.removeprefix("Value error, ")
    # The first part is the format that the item's type was told by.
    parts = list(location[1:])
    if not parts:
        return message[:1].upper() + message[1:]
    if len(parts) > 1 and isinstance(parts[1], int):
        place = parts[1]
        if parts[0] == "synonyms":
            return f"Synonym {place + 1}: {message}"
        name = f"Option {OPTION_LETTERS[place]}" if parts[0] == "options" else f"Statement {place + 1}"
        field = _FIELDS.get(str(parts[2]), str(parts[2])) if len(parts) > 2 else ""
        return f"{name}, {field}: {message}" if field else f"{name}: {message}"
    return f"{_FIELDS.get(str(parts[0]), str(parts[0]))}: {message}"
