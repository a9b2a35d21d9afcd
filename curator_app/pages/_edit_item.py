"""The edit form of an item: all texts of its format, checked as a whole before anything is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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

_TRUTHS = ("true", "false")

_FIELDS = {
    "stem": "Stem",
    "text": "text",
    "explanation": "explanation",
    "key": "Key",
    "answer": "Expected answer",
    "rubric": "Rubric",
    "points": "Points",
}


@dataclass(frozen=True)
class _Fields:
    """Draws fields under one key; what was typed before stands in them instead of the item's own text."""

    key: str
    typed: Mapping[str, str]

    def text(self, label: str, name: str, own: str) -> str:
        value = self.typed.get(name, own)
        return str(st.text_area(label, value, key=f"{self.key}_{name}", height="content") or "")

    def choice(self, label: str, name: str, words: Sequence[str], own: int) -> int:
        """Return the place of the chosen words."""
        kept = self.typed.get(name, "")
        place = int(kept) if kept.isdecimal() and int(kept) < len(words) else own
        chosen = st.radio(
            label,
            range(len(words)),
            index=place,
            format_func=words.__getitem__,
            horizontal=True,
            key=f"{self.key}_{name}",
        )
        return int(chosen)


def field_names(content: Content) -> list[str]:
    """Return the names of an item's fields: the ends of their widgets' keys."""
    match content:
        case MultipleChoice():
            options = [name for letter in OPTION_LETTERS[:OPTION_COUNT] for name in (letter, f"{letter}_why")]
            return ["stem", "key", *options]
        case KPrim():
            places = range(1, len(content.statements) + 1)
            return ["stem", *(name for n in places for name in (f"{n}", f"{n}_truth", f"{n}_why"))]
        case FreeText():
            return ["stem", "answer", "synonyms", "rubric", "points"]


def edit_fields(content: Content, *, key: str, typed: Mapping[str, str]) -> dict[str, object]:
    """Draw the fields of an item inside a form and return the document that they hold now.

    Args:
        content: the text to start from.
        key: names the widgets; another edit needs another key.
        typed: what was typed before and not saved, by `field_names`; of a choice, its place.
    """
    fields = _Fields(key, typed)
    stem = fields.text("Stem (a question that ends with ?)", "stem", content.stem)
    document: dict[str, object] = {"format": content.format, "stem": stem}
    match content:
        case MultipleChoice():
            document |= _option_fields(content, fields)
        case KPrim():
            document["statements"] = [
                _statement_fields(number, statement, fields)
                for number, statement in enumerate(content.statements, start=1)
            ]
        case FreeText():
            document |= _free_text_fields(content, fields)
    return document


def _option_fields(content: MultipleChoice, fields: _Fields) -> dict[str, object]:
    chosen = fields.choice("Key (the right option)", "key", OPTION_LETTERS[:OPTION_COUNT], content.key)
    options = [_one_option(OPTION_LETTERS[i], option, fields) for i, option in enumerate(content.options)]
    return {"options": options, "key": chosen}


def _one_option(letter: str, option: Option, fields: _Fields) -> dict[str, object]:
    return {
        "text": fields.text(f"Option {letter}", letter, option.text),
        "explanation": fields.text(f"Why {letter} is right or wrong", f"{letter}_why", option.explanation),
    }


def _statement_fields(number: int, statement: Statement, fields: _Fields) -> dict[str, object]:
    text = fields.text(f"Statement {number}", f"{number}", statement.text)
    truth = fields.choice(f"Statement {number} is", f"{number}_truth", _TRUTHS, 0 if statement.is_true else 1)
    why = fields.text(f"Why statement {number} is true or false", f"{number}_why", statement.explanation)
    return {"text": text, "is_true": _TRUTHS[truth] == "true", "explanation": why}


def _free_text_fields(content: FreeText, fields: _Fields) -> dict[str, object]:
    answer = fields.text("Expected answer", "answer", content.answer)
    synonyms = fields.text("Also accepted, one on each line", "synonyms", "\n".join(content.synonyms))
    rubric = fields.text("Rubric", "rubric", content.rubric)
    points = 1 + fields.choice("Points", "points", ("1", "2"), content.points - 1)
    lines = [line for line in synonyms.splitlines() if line.strip()]
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
