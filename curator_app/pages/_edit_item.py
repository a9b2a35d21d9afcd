"""The edit form of an item: all texts of its format, kept while typed, checked as a whole before anything is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st
from pydantic import ValidationError

from curator_app.components import text_field
from curator_app.drafts import DraftStore
from curator_app.session import workspace
from curator_app.writings import draft_field
from evaluation.items import (
    OPTION_COUNT,
    OPTION_LETTERS,
    FreeText,
    KPrim,
    MultipleChoice,
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
    """Draws the fields of one draft; a field that the draft does not hold shows the item's own text."""

    draft: str
    own: Mapping[str, str]
    submits: str

    def text(self, label: str, name: str, *, rows: int = 1) -> str:
        return text_field(
            label,
            key=field_key(self.draft, name),
            own=self.own[name],
            kept=draft_field(self.draft, name),
            rows=rows,
            submits=self.submits,
        )

    def choice(self, label: str, name: str, words: Sequence[str]) -> int:
        """Return the place of the chosen words."""
        key, store = field_key(self.draft, name), DraftStore(workspace())
        kept = store.read(self.draft).fields.get(name, "")
        place = int(kept) if kept.isdecimal() and int(kept) < len(words) else int(self.own[name])

        def keep() -> None:
            store.write(self.draft, {name: str(st.session_state[key])})

        chosen = st.radio(
            label,
            range(len(words)),
            index=place,
            format_func=words.__getitem__,
            horizontal=True,
            key=key,
            on_change=keep,
        )
        return int(chosen)


def field_key(draft: str, name: str) -> str:
    """Return the Streamlit key of a field of an edit."""
    return f"{draft}_{name}"


def texts_of(content: Content) -> dict[str, str]:
    """Return an item's texts by the names of its fields; of a choice, its place."""
    match content:
        case MultipleChoice():
            texts = {"stem": content.stem, "key": str(content.key)}
            for letter, option in zip(OPTION_LETTERS[:OPTION_COUNT], content.options, strict=True):
                texts |= {letter: option.text, f"{letter}_why": option.explanation}
        case KPrim():
            texts = {"stem": content.stem}
            for number, statement in enumerate(content.statements, start=1):
                truth = "0" if statement.is_true else "1"
                texts |= {f"{number}": statement.text, f"{number}_truth": truth, f"{number}_why": statement.explanation}
        case FreeText():
            texts = {
                "stem": content.stem,
                "answer": content.answer,
                "synonyms": "\n".join(content.synonyms),
                "rubric": content.rubric,
                "points": str(content.points - 1),
            }
    return texts


def edit_fields(content: Content, *, draft: str, submits: str) -> dict[str, object]:
    """Draw the fields of an item and return the document that they hold now.

    Args:
        content: the text to start from.
        draft: keeps what is typed, and names the widgets.
        submits: the Streamlit key of the button that saves.
    """
    fields = _Fields(draft, texts_of(content), submits)
    stem = fields.text("Stem (a question that ends with ?)", "stem", rows=2)
    document: dict[str, object] = {"format": content.format, "stem": stem}
    match content:
        case MultipleChoice():
            document["key"] = fields.choice("Key (the right option)", "key", OPTION_LETTERS[:OPTION_COUNT])
            document["options"] = [_one_option(letter, fields) for letter in OPTION_LETTERS[:OPTION_COUNT]]
        case KPrim():
            places = range(1, len(content.statements) + 1)
            document["statements"] = [_statement_fields(number, fields) for number in places]
        case FreeText():
            document |= _free_text_fields(fields)
    return document


def _one_option(letter: str, fields: _Fields) -> dict[str, object]:
    return {
        "text": fields.text(f"Option {letter}", letter),
        "explanation": fields.text(f"Why {letter} is right or wrong", f"{letter}_why"),
    }


def _statement_fields(number: int, fields: _Fields) -> dict[str, object]:
    text = fields.text(f"Statement {number}", f"{number}")
    truth = fields.choice(f"Statement {number} is", f"{number}_truth", _TRUTHS)
    why = fields.text(f"Why statement {number} is true or false", f"{number}_why")
    return {"text": text, "is_true": _TRUTHS[truth] == "true", "explanation": why}


def _free_text_fields(fields: _Fields) -> dict[str, object]:
    answer = fields.text("Expected answer", "answer")
    synonyms = fields.text("Also accepted, one on each line", "synonyms")
    rubric = fields.text("Rubric", "rubric")
    points = 1 + fields.choice("Points", "points", ("1", "2"))
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
