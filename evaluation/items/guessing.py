"""The image-free check: can an item be solved from its text alone (VIPER section 3.2)?"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from evaluation.items._content import OPTION_COUNT, STATEMENT_COUNT, KPrim, MultipleChoice
from evaluation.items._replies import InvalidReplyError, read_document
from evaluation.items.generation import Repair, with_repair
from evaluation.items.prompts import PromptLibrary
from evaluation.models import ModelRequest, QuestionFacts

__all__ = [
    "DEFAULT_AUDIENCE",
    "GUESS_TRIALS",
    "KPRIM_GUESSED_STATEMENTS",
    "MAX_REGENERATIONS",
    "Confidence",
    "InvalidReplyError",
    "KPrimGuess",
    "MultipleChoiceGuess",
    "guess_request",
    "kprim_is_guessable",
    "mcq_is_guessable",
    "read_kprim_guess",
    "read_mcq_guess",
    "trial_order",
]

GUESS_TRIALS = 3
"""Image-free trials of an item (VIPER section 3.2)."""

MAX_REGENERATIONS = 3
"""Regenerations before an item goes to a pathologist (VIPER section 3.2)."""

KPRIM_GUESSED_STATEMENTS = 3
"""Right judgements in one trial from which a KPrim item counts as guessed (VIPER section 3.2)."""

GUESS_TEMPERATURE = 0.0
"""The checker's temperature (VIPER section 3.2)."""

GUESS_MAX_TOKENS = 1024

DEFAULT_AUDIENCE = "the students and residents of pathology"
"""Whom the checker plays where the project names no audience (VIPER A.11 item 4 plays a student)."""

Confidence = Literal["high", "medium", "low"]


class _Guess(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    confidence: Confidence
    reasoning: str = ""


class MultipleChoiceGuess(_Guess):
    """The option that a checker chose without the image: its place (0 to 4) in the order it was shown."""

    answer_index: int = Field(ge=0, lt=OPTION_COUNT)


class KPrimGuess(_Guess):
    """A checker's judgements of the four statements without the image, in the order they were shown."""

    answers: tuple[bool, ...] = Field(min_length=STATEMENT_COUNT, max_length=STATEMENT_COUNT)


def trial_order(item_key: str, trial: int) -> tuple[int, ...]:
    """Return the order of options in a trial: place i shows the stored option `order[i]`.

    The order depends on the item and the trial alone; the trials of one item all differ.

    Raises:
        ValueError: `trial` is not 0 to `GUESS_TRIALS` - 1.
    """
    if not 0 <= trial < GUESS_TRIALS:
        raise ValueError(f"trial is {trial}; an item has trials 0 to {GUESS_TRIALS - 1}")
    seed = int.from_bytes(hashlib.sha256(f"trial order\x00{item_key}".encode()).digest()[:8], "big")
    rng = random.Random(seed)
    orders: list[tuple[int, ...]] = []
    while len(orders) <= trial:
        order = list(range(OPTION_COUNT))
        rng.shuffle(order)
        if tuple(order) not in orders:
            orders.append(tuple(order))
    return orders[trial]


def guess_request(
    item: MultipleChoice | KPrim,
    *,
    model: str,
    prompts: PromptLibrary,
    seed_key: str,
    audience: str = DEFAULT_AUDIENCE,
    organ: str | None = None,
    repair: Repair | None = None,
) -> ModelRequest:
    """Return one image-free trial of `item` in the order in which it is given (VIPER A.11 items 4 to 7).

    No part of the request holds the answer. `seed_key` names item version and trial; it becomes the call's seed,
    so that a repeated trial is the same call.
    """
    if isinstance(item, MultipleChoice):
        choices = tuple(option.text for option in item.options)
        name, shown = "checker_mcq", {"options": choices}
    else:
        choices = tuple(statement.text for statement in item.statements)
        name, shown = "checker_kprim", {"statements": choices}
    user = prompts.render(f"{name}_user", stem=item.stem, **shown)
    kind: type[BaseModel] = MultipleChoiceGuess if isinstance(item, MultipleChoice) else KPrimGuess
    return ModelRequest(
        model=model,
        purpose="check",
        system=prompts.render(f"{name}_system", audience=audience),
        user=with_repair(user, repair, prompts),
        facts=QuestionFacts(format=item.format, stem=item.stem, choices=choices, organ=organ).model_dump(mode="json"),
        json_schema=kind.model_json_schema(),
        schema_name=kind.__name__.lower(),
        temperature=GUESS_TEMPERATURE,
        max_tokens=GUESS_MAX_TOKENS,
        seed=int.from_bytes(hashlib.sha256(seed_key.encode()).digest()[:4], "big") >> 1,
    )


def read_mcq_guess(text: str) -> MultipleChoiceGuess:
    """Read a checker's choice; raises `InvalidReplyError` for anything else."""
    return read_document(text, MultipleChoiceGuess)


def read_kprim_guess(text: str) -> KPrimGuess:
    """Read a checker's four judgements; raises `InvalidReplyError` for anything else."""
    return read_document(text, KPrimGuess)


def mcq_is_guessable(corrects: Sequence[bool]) -> bool:
    """Whether any of the trials chose the right option (VIPER section 3.2).

    Raises:
        ValueError: no trial was right and some are missing; an unchecked item does not count as unguessable.
    """
    guessed = any(corrects)
    _require_trials(len(corrects), guessed)
    return guessed


def kprim_is_guessable(n_correct: Sequence[int]) -> bool:
    """Whether any of the trials judged three or four statements rightly (VIPER section 3.2).

    Raises:
        ValueError: a count is not 0 to 4, or no trial reached three and some are missing.
    """
    for count in n_correct:
        if not 0 <= count <= STATEMENT_COUNT:
            raise ValueError(f"{count} right judgements; a KPrim item has {STATEMENT_COUNT} statements")
    guessed = any(count >= KPRIM_GUESSED_STATEMENTS for count in n_correct)
    _require_trials(len(n_correct), guessed)
    return guessed


def _require_trials(count: int, guessed: bool) -> None:
    if count > GUESS_TRIALS or (count < GUESS_TRIALS and not guessed):
        raise ValueError(f"{count} trials; the check of an item has {GUESS_TRIALS}")
