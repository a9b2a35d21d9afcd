"""The three item formats of VIPER (section 3.2, Appendix A.11 item 3) as validated, immutable documents."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

OPTION_COUNT = 5
"""One key and four distractors (VIPER section 3.2)."""

STATEMENT_COUNT = 4
"""Statements of a KPrim item (VIPER section 3.2)."""

OPTION_LETTERS = "ABCDE"

MAX_TEXT_LENGTH = 4_000
"""Characters of one text field; longer text is a mistake, not an exam question."""

ItemFormat = Literal["mcq", "kprim", "free_text"]
"""The slugs of `question_type` in VIPER's public dataset."""

ITEM_FORMATS: tuple[ItemFormat, ...] = ("mcq", "kprim", "free_text")


def normalise_text(text: str) -> str:
    """Return `text` in Unicode NFC without outer white space, so that equal-looking texts compare equal."""
    return unicodedata.normalize("NFC", text).strip()


_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters and those that turn the direction of writing: what a person reads is then not what is stored."""


def fault_of_text(text: str) -> str | None:
    """Return what makes a normalised text unfit to be read by people, or None: nothing visible, or what hides."""
    if not any(character.isprintable() and not character.isspace() for character in text):
        return "must not be empty"
    unseen = _UNSEEN.search(text)
    if unseen is not None:
        return f"holds the character U+{ord(unseen[0]):04X}, which cannot be seen; remove it"
    return None


def _required_text(text: str) -> str:
    text = normalise_text(text)
    if (fault := fault_of_text(text)) is not None:
        raise ValueError(fault)
    if len(text) > MAX_TEXT_LENGTH:
        raise ValueError(f"has {len(text)} characters, at most {MAX_TEXT_LENGTH} are allowed")
    return text


def _question_text(text: str) -> str:
    text = _required_text(text)
    if not text.endswith("?"):
        raise ValueError("must end with a question mark (VIPER A.11)")
    return text


Text = Annotated[str, AfterValidator(_required_text)]
"""A non-empty, NFC-normalised text."""

Stem = Annotated[str, AfterValidator(_question_text)]
"""A stem: a complete question that ends with a question mark (VIPER A.11)."""


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _comparable(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def _require_distinct(texts: list[str], what: str) -> None:
    if len({_comparable(text) for text in texts}) != len(texts):
        raise ValueError(f"{what} must differ from each other")


class Option(_Document):
    """One answer option and why it is right, or wrong but plausible."""

    text: Text
    explanation: Text


class MultipleChoice(_Document):
    """A five-option single-best-answer question in its stored order.

    `key` is the index (0 to 4) of the right option in `options`.
    """

    format: Literal["mcq"] = "mcq"
    stem: Stem
    options: tuple[Option, ...] = Field(min_length=OPTION_COUNT, max_length=OPTION_COUNT)
    key: int = Field(ge=0, lt=OPTION_COUNT)

    @model_validator(mode="after")
    def _options_differ(self) -> Self:
        _require_distinct([option.text for option in self.options], "options")
        return self

    @property
    def key_letter(self) -> str:
        """The letter (A to E) of the right option in the stored order."""
        return OPTION_LETTERS[self.key]

    @property
    def key_option(self) -> Option:
        """The right option."""
        return self.options[self.key]

    @property
    def distractors(self) -> tuple[Option, ...]:
        """The four wrong options in stored order."""
        return tuple(option for index, option in enumerate(self.options) if index != self.key)

    def reordered(self, order: tuple[int, ...]) -> MultipleChoice:
        """Return the same question with option `order[i]` at place i.

        Args:
            order: a permutation of 0 to 4.

        Raises:
            ValueError: `order` is no permutation.
        """
        if sorted(order) != list(range(OPTION_COUNT)):
            raise ValueError(f"{order} is not a permutation of 0 to {OPTION_COUNT - 1}")
        return MultipleChoice(
            stem=self.stem,
            options=tuple(self.options[index] for index in order),
            key=order.index(self.key),
        )


class Statement(_Document):
    """One KPrim statement, its truth value and the reason for it."""

    text: Text
    is_true: bool
    explanation: Text


class KPrim(_Document):
    """Four statements, each to be judged true or false, at least one of each (VIPER A.11)."""

    format: Literal["kprim"] = "kprim"
    stem: Stem
    statements: tuple[Statement, ...] = Field(min_length=STATEMENT_COUNT, max_length=STATEMENT_COUNT)

    @model_validator(mode="after")
    def _statements_differ(self) -> Self:
        _require_distinct([statement.text for statement in self.statements], "statements")
        if len({statement.is_true for statement in self.statements}) != 2:
            raise ValueError("statements must hold at least one true and one false (VIPER A.11)")
        return self

    @property
    def truth(self) -> tuple[bool, ...]:
        """The four truth values in stored order."""
        return tuple(statement.is_true for statement in self.statements)


class FreeText(_Document):
    """An open question with its expected answer, accepted synonyms and rubric worth 1 or 2 points."""

    format: Literal["free_text"] = "free_text"
    stem: Stem
    answer: Text
    synonyms: tuple[Text, ...] = ()
    rubric: Text
    points: int = Field(ge=1, le=2)


Item = Annotated[MultipleChoice | KPrim | FreeText, Field(discriminator="format")]
"""Any of the three formats; parse with `parse_item`."""

_ITEM: TypeAdapter[MultipleChoice | KPrim | FreeText] = TypeAdapter(Item)


def parse_item(document: Mapping[str, Any]) -> MultipleChoice | KPrim | FreeText:
    """Parse a stored item from its document (what `model_dump(mode="json")` gave).

    Raises:
        pydantic.ValidationError: the document is no valid item.
    """
    return _ITEM.validate_python(document)


class Distractor(_Document):
    """A wrong option as the generator writes it (VIPER A.11 item 3)."""

    text: Text
    explanation: Text


class MultipleChoiceDraft(_Document):
    """A multiple-choice question as the generator writes it, the key apart from the distractors."""

    stem: Stem
    correct_answer: Text
    correct_explanation: Text
    distractors: tuple[Distractor, ...] = Field(min_length=OPTION_COUNT - 1, max_length=OPTION_COUNT - 1)

    @model_validator(mode="after")
    def _options_differ(self) -> Self:
        _require_distinct([self.correct_answer, *(wrong.text for wrong in self.distractors)], "options")
        return self

    def to_item(self, rng: random.Random) -> MultipleChoice:
        """Return the item with its options in random order, so that the place of the key carries nothing."""
        options = [
            Option(text=self.correct_answer, explanation=self.correct_explanation),
            *(Option(text=wrong.text, explanation=wrong.explanation) for wrong in self.distractors),
        ]
        order = list(range(OPTION_COUNT))
        rng.shuffle(order)
        return MultipleChoice(stem=self.stem, options=tuple(options[index] for index in order), key=order.index(0))


class KPrimDraft(_Document):
    """A KPrim question as the generator writes it."""

    stem: Stem
    statements: tuple[Statement, ...] = Field(min_length=STATEMENT_COUNT, max_length=STATEMENT_COUNT)

    def to_item(self, rng: random.Random) -> KPrim:
        """Return the item with its statements in random order."""
        statements = list(self.statements)
        rng.shuffle(statements)
        return KPrim(stem=self.stem, statements=tuple(statements))

    @model_validator(mode="after")
    def _is_an_item(self) -> Self:
        KPrim(stem=self.stem, statements=self.statements)
        return self


class FreeTextDraft(_Document):
    """A free-text question as the generator writes it."""

    stem: Stem
    expected_answer: Text
    synonyms: tuple[Text, ...] = ()
    scoring_rubric: Text
    max_points: int = Field(ge=1, le=2)

    def to_item(self) -> FreeText:
        """Return the item."""
        return FreeText(
            stem=self.stem,
            answer=self.expected_answer,
            synonyms=self.synonyms,
            rubric=self.scoring_rubric,
            points=self.max_points,
        )


class VariantsDraft(_Document):
    """What one generation call returns: the seed's three formats (VIPER A.11 items 1 to 3)."""

    mcq: MultipleChoiceDraft
    kprim: KPrimDraft
    free_text: FreeTextDraft
