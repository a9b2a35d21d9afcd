"""What a reply says once it is read, whatever the format of its item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar, get_args

PARSER_VERSION = "1"
"""Raised whenever any reply would be read differently; recorded with every score."""

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
