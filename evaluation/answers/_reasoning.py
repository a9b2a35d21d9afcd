"""Takes the thinking and the typesetting off a reply, so that only what the model says remains."""

from __future__ import annotations

import re
import unicodedata

_TAGS = "think|thinking|thought|reasoning|reflection|scratchpad|analysis"
_CLOSED_BLOCK = re.compile(rf"<\s*({_TAGS})\b[^>]*>.*?<\s*/\s*\1\s*>", re.IGNORECASE | re.DOTALL)
_LOST_OPENING = re.compile(rf"^.*<\s*/\s*(?:{_TAGS})\s*>", re.IGNORECASE | re.DOTALL)
_NEVER_CLOSED = re.compile(rf"<\s*(?:{_TAGS})\b[^>]*>.*$", re.IGNORECASE | re.DOTALL)
_TOKEN_BLOCK = re.compile(r"<\|begin_of_(\w+)\|>.*?(?:<\|end_of_\1\|>|$)", re.DOTALL)
_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff\u00ad]")
_LATEX_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")


def strip_reasoning(reply: str) -> str:
    """Return `reply` without its reasoning blocks.

    A block whose opening tag was lost (chat templates often eat it) ends at its closing tag; a block that
    never closes was cut off while thinking, so that nothing after its opening is an answer.
    """
    text = _TOKEN_BLOCK.sub(" ", reply)
    text = _CLOSED_BLOCK.sub(" ", text)
    text = _LOST_OPENING.sub(" ", text)
    return _NEVER_CLOSED.sub(" ", text).strip()


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
