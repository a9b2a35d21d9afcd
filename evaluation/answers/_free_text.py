"""Reads a free-text reply: the text itself, which a judge scores."""

from __future__ import annotations

import re

from evaluation.answers._parsed import ParsedAnswer, not_read, read_as, too_long
from evaluation.answers._reasoning import plain
from evaluation.answers._refusal import is_refusal

_LABEL = re.compile(r"^\W*(?:final\s+)?answer\W*[:=]\W*", re.IGNORECASE)


def parse_free_text(reply: str) -> ParsedAnswer[str]:
    """Return the reply without its reasoning and without a leading "Answer:".

    A reply with no letter or digit in it is unparsed; one that only declines is refused.
    """
    text = plain(reply)
    if (why := too_long(text)) is not None:
        return not_read("unparsed", why)
    answer = _LABEL.sub("", text).strip()
    if not re.search(r"\w", answer):
        return not_read("unparsed", "the reply holds no text")
    if is_refusal(answer):
        return not_read("refused", "the reply declines to answer")
    return read_as(answer, "the reply's text")
