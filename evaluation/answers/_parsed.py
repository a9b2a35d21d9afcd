"""What a reply says once it is read, whatever the format of its item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar, get_args

PARSER_VERSION = "2"
"""Raised whenever any reply would be read differently; recorded with every score."""

MAX_ANSWER_LENGTH = 50_000
"""Characters of a reply, its reasoning blocks aside; a longer one is a model that runs wild, not an answer."""

AnswerOutcome = Literal["scored", "unparsed", "refused", "failed"]
"""`scored`: an answer was read (right or wrong). `unparsed`: a reply from which no single answer can be read.
`refused`: the model declined. `failed`: no reply came, which says nothing about the model."""

ANSWER_OUTCOMES: tuple[AnswerOutcome, ...] = get_args(AnswerOutcome)

Value = TypeVar("Value")


@dataclass(frozen=True)
class ParsedAnswer(Generic[Value]):
    """The answer read from a reply and the rule that read it.

    `value` is None unless `outcome` is "scored". `rule` says in words how the answer was found, or why none.
    """

    outcome: AnswerOutcome
    value: Value | None
    rule: str


def read_as(value: Value, rule: str) -> ParsedAnswer[Value]:
    """Return an answer that was read."""
    return ParsedAnswer("scored", value, rule)


def not_read(outcome: AnswerOutcome, why: str) -> ParsedAnswer[Value]:
    """Return the outcome of a reply that holds no answer."""
    return ParsedAnswer(outcome, None, why)


def too_long(text: str) -> str | None:
    """Return why a reply is too long to be an answer, or None where it is not."""
    if len(text) <= MAX_ANSWER_LENGTH:
        return None
    return f"the reply has {len(text):,} characters, more than {MAX_ANSWER_LENGTH:,}"
