"""Takes the thinking and the typesetting off a reply, so that only what the model says remains."""

from __future__ import annotations

import bisect
import re
import unicodedata
from collections import defaultdict

_TAGS = "think|thinking|thought|reasoning|reflection|scratchpad|analysis"
_TAG = re.compile(rf"<\s{{0,9}}(?P<end>/?)\s{{0,9}}(?P<name>{_TAGS})\b[^<>]{{0,200}}>", re.IGNORECASE)
_TOKEN_BLOCK = re.compile(r"<\|begin_of_(\w+)\|>.*?(?:<\|end_of_\1\|>|$)", re.DOTALL)
_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff\u00ad]")
_LATEX_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")


def strip_reasoning(reply: str) -> str:
    """Return `reply` without its reasoning blocks.

    A block whose opening tag was lost (chat templates often eat it) ends at its closing tag; a block that
    never closes was cut off while thinking, so that nothing after its opening is an answer.
    """
    text = _TOKEN_BLOCK.sub(" ", reply)
    tags = list(_TAG.finditer(text))
    closings: dict[str, list[int]] = defaultdict(list)
    for number, tag in enumerate(tags):
        if tag["end"]:
            closings[tag["name"].casefold()].append(number)
    # One walk over the tags: a pattern for whole blocks takes time in the square of a wild reply's length.
    said: list[str] = []
    start: int | None = 0
    number = 0
    while number < len(tags):
        tag = tags[number]
        ends = closings[tag["name"].casefold()]
        place = bisect.bisect(ends, number)
        if tag["end"]:  # its opening was lost: all before it was thought
            said, start = [], tag.end()
            number += 1
        elif place == len(ends):  # it never closes: what follows is no answer
            said += [] if start is None else [text[start : tag.start()]]
            start = None
            number += 1
        else:
            said += [] if start is None else [text[start : tag.start()]]
            start = None if start is None else tags[ends[place]].end()
            number = ends[place] + 1
    said += [] if start is None else [text[start:]]
    return " ".join(said).strip()


def plain(reply: str) -> str:
    """Return the said part of `reply` in NFKC (so full-width letters are letters), LaTeX text unwrapped."""
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", strip_reasoning(reply)))
    text = text.replace("\u2019", "'").replace("\u2018", "'").replace("\u201c", '"').replace("\u201d", '"')
    return _LATEX_TEXT.sub(r"\1", text).strip()


def without_markup(text: str) -> str:
    """Return `text` without Markdown emphasis, code marks, heading and quote signs and maths delimiters."""
    text = re.sub(r"[*`$]|~~|__", "", text)
    return re.sub(r"(?m)^\s*(?:#{1,6}|>|[-•])\s+", "", text).strip()


def sentences(text: str) -> list[str]:
    """Split `text` at line ends and at sentence ends that a space and a capital, digit or bracket follow."""
    parts = re.split(r"\n+|(?<=[.!?])\s+(?=[A-Z0-9(\[\"'])", text)
    return [part.strip() for part in parts if part.strip()]
