"""The same question in fields, for the built-in offline models, which read no prose.

No class here holds an answer key for a model that is checked or tested: what a language model cannot see, an
offline model cannot see either. `GenerationFacts` holds the seed's answer because the generator's prompt does.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from evaluation.items import Category, ItemFormat


class GenerationFacts(BaseModel):
    """A seed for the item writer. `attempt` is 0 for the first call, then the number of the regeneration.

    `formats` are the formats to write; `failed_texts` the stems, options and statements that were guessed.
    """

    model_config = ConfigDict(frozen=True)

    kind: Literal["generation"] = "generation"
    seed_id: str
    organ: str
    species: str
    stain: str
    source: str
    magnification: str
    category: Category
    question: str
    answer: str
    is_true: bool | None = None
    formats: tuple[ItemFormat, ...]
    attempt: int = 0
    failed_texts: tuple[str, ...] = ()


class QuestionFacts(BaseModel):
    """A question as a checker or a model under test sees it: `choices` are options or statements in order."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["question"] = "question"
    format: ItemFormat
    stem: str
    choices: tuple[str, ...] = Field(default=())
    organ: str | None = None
    statement: str | None = None


class JudgeFacts(BaseModel):
    """A free-text reply for the judge, who sees the expected answer, as a language-model judge does."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["judge"] = "judge"
    stem: str
    answer: str
    synonyms: tuple[str, ...] = ()
    rubric: str = ""
    reply: str
