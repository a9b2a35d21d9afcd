"""From a model's reply to an answer: one parser per item format, none of which ever guesses."""

from evaluation.answers._free_text import parse_free_text
from evaluation.answers._kprim import parse_kprim_joint, parse_kprim_statement
from evaluation.answers._mcq import parse_mcq
from evaluation.answers._parsed import ANSWER_OUTCOMES, PARSER_VERSION, AnswerOutcome, ParsedAnswer, too_long
from evaluation.answers._reasoning import strip_reasoning

__all__ = [
    "ANSWER_OUTCOMES",
    "PARSER_VERSION",
    "AnswerOutcome",
    "ParsedAnswer",
    "parse_free_text",
    "parse_kprim_joint",
    "parse_kprim_statement",
    "parse_mcq",
    "strip_reasoning",
    "too_long",
]
