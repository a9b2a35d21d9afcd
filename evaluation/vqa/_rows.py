"""One row of a visual question-answering benchmark: VIPER's public columns and what our releases add."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from evaluation.items import OPTION_COUNT, OPTION_LETTERS, STATEMENT_COUNT, ItemFormat, normalise_text


def _required(text: str) -> str:
    text = normalise_text(text)
    if not text:
        raise ValueError("must not be empty")
    return text


RequiredText = Annotated[str, AfterValidator(_required)]


class BenchmarkRow(BaseModel):
    """One item of a benchmark with its image.

    `image` is an encoded image file (PNG or JPEG bytes). `answer` is an MCQ's letter (A to E), a KPrim's JSON
    list of four booleans, or the reference answer. `choices` are five options, four statements, or empty.
    `item_id` and what follows it are columns that our releases add to VIPER's; a benchmark may lack them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    image: bytes = Field(repr=False)
    question: RequiredText
    question_type: ItemFormat
    answer: RequiredText
    choices: tuple[RequiredText, ...] = ()
    synonyms: tuple[RequiredText, ...] = ()
    scoring_rubric: str = ""
    organ: RequiredText
    category: RequiredText
    magnification: str = ""
    source: str = ""
    image_id: RequiredText
    image_license: str = ""
    annotation_license: str = ""
    item_id: str | None = None
    item_version_id: str | None = None
    points: int | None = Field(default=None, ge=1)
    slide_id: str | None = None
    subject_id: str | None = None

    @model_validator(mode="after")
    def _answer_fits_the_format(self) -> Self:
        if not self.image:
            raise ValueError("image: holds no bytes; embed the file, a path alone does not travel")
        if self.question_type == "mcq":
            if len(self.choices) != OPTION_COUNT:
                raise ValueError(f"choices: an mcq has {OPTION_COUNT} options, not {len(self.choices)}")
            if len(self.answer) != 1 or self.answer not in OPTION_LETTERS:
                raise ValueError(f"answer: an mcq's is a letter from A to E, not {self.answer!r}")
        elif self.question_type == "kprim":
            if len(self.choices) != STATEMENT_COUNT:
                raise ValueError(f"choices: a kprim has {STATEMENT_COUNT} statements, not {len(self.choices)}")
            if _truth_of(self.answer) is None:
                raise ValueError(f"answer: a kprim's is a JSON list of {STATEMENT_COUNT} booleans, not {self.answer!r}")
        elif self.choices:
            raise ValueError(f"choices: a free_text has none, not {len(self.choices)}")
        return self

    @property
    def key(self) -> int:
        """The index (0 to 4) of an MCQ's right option in the stored order."""
        return OPTION_LETTERS.index(self.answer)

    @property
    def truth(self) -> tuple[bool, ...]:
        """A KPrim's four truth values in the stored order."""
        truth = _truth_of(self.answer)
        if truth is None:
            raise ValueError(f"a {self.question_type} has no truth values")
        return truth

    def identity(self) -> str:
        """Return `item_id`, or where the benchmark has none, a digest of what makes the item itself."""
        if self.item_id:
            return self.item_id
        parts = [self.image_id, self.question_type, self.question, list(self.choices)]
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()[:16]


def _truth_of(answer: str) -> tuple[bool, ...] | None:
    try:
        values = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, list) or len(values) != STATEMENT_COUNT:
        return None
    return tuple(values) if all(isinstance(value, bool) for value in values) else None
