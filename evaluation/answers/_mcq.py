"""Reads a reply to a multiple-choice question: which option does it settle on, if on one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evaluation.answers._parsed import ParsedAnswer, not_read, read_as, too_long
from evaluation.answers._reasoning import plain, sentences, without_markup
from evaluation.answers._refusal import is_refusal
from evaluation.items import OPTION_LETTERS

_LETTER = r"[\"'(\[{<]*\s*(?P<letter>[A-Ea-e])(?![A-Za-z0-9'])\s*[\"')\]}>]*"

_MARKER = (
    r"(?:"
    r"\b(?:answer|choice|selection|verdict|conclusion)\b[\"']?\s*"
    r"(?:(?:choice|option|letter)\s*)?(?:is|should be|must be|would be|:|=|->|→|⇒|\s-\s)+\s*"
    r"|\b(?:correct|right|best|final) (?:option|letter|one)\s*(?:is|:|=)+\s*"
    r"|\bI(?: would|'d|'ll| will)? (?:choose|select|pick|go with|opt for|answer)\s+"
    r"|\bnot \(?[A-E]\)?,? but\s+"
    r")(?:(?:most likely|likely|probably|therefore|thus|clearly|option|choice|letter|answer)[\s:]+)*"
)
_SETTLING = re.compile(_MARKER + _LETTER, re.IGNORECASE)
_SETTLING_TEXT = re.compile(_MARKER + r"(?P<text>[^\n]+)", re.IGNORECASE)
_BOXED = re.compile(r"(?:\\boxed\s*\{|<\s*answer\s*>)\s*(?:option\s+)?" + _LETTER, re.IGNORECASE)
_JUDGED_RIGHT = re.compile(
    r"(?<![A-Za-z])[(\[]?(?P<letter>[A-E])[)\]]?\s+is\s+"
    r"(?:therefore |thus |clearly |indeed |most likely |likely )*"
    r"(?:the\s+)?(?:single\s+|most\s+)?(?:correct|right|best|accurate|appropriate)\b"
)
_ALTERNATIVE = re.compile(
    r"^\s*(?:(?:or|and|and/or|/|&|\|)\s*|,\s*(?:or\s+|and\s+)?)(?:option\s+)?[(\[]?[A-E][)\]]?(?![A-Za-z'])"
    r"(?!\s+(?:is|are|was|can|does|do|would|has|shows)\b)"
)
_ARTICLE = re.compile(r"[ \t]+(?!(?:because|since|as|is|due|based|given|and|or|with)\b)[a-z]")
"""What follows in "the answer is a lesion of …", where the A is no letter."""
_SUPPOSING = re.compile(r"\b(?:if|unless|had|were)\b", re.IGNORECASE)

_LABELLED_LINE = re.compile(r"^[(\[]?(?P<letter>[A-E])\s*(?:[)\].:,–—]+|\s-)(?:\s+(?P<text>\S.*))?$")
_LONE_LETTER = re.compile(
    r"^(?:option|choice|letter)?\s*[\"'(\[]*(?P<letter>[A-Ea-e])[\"')\]]*\s*[.:!]*$", re.IGNORECASE
)
_MENTIONED = re.compile(r"(?:\b[Oo]ption\s+[(\[]?|\b[Cc]hoice\s+[(\[]?|[(\[])(?P<letter>[A-E])(?![A-Za-z0-9'])")
_EXCLUDING = re.compile(
    r"\b(?:not|no|exclude[sd]?|excluding|rule[sd]? out|ruling out|incorrect|wrong|unlikely|reject(?:ed)?|"
    r"neither|cannot|can't|isn't|aren't|doesn't|don't|lacks?|without|absent|less likely|eliminated?)\b",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(r"^(?:it|this|that)(?:'s| is)\s+|^(?:the image|the picture|it) shows\s+", re.IGNORECASE)


class _Settled(NamedTuple):
    """Where a reply settles and on which letter; None where it names several at once."""

    position: int
    letter: str | None


def parse_mcq(reply: str, options: Sequence[str]) -> ParsedAnswer[str]:
    """Return the letter (A to E) that `reply` settles on among `options`, in the order they were shown.

    Tried in this order, after reasoning blocks are stripped: the last explicit statement of an answer
    ("ANSWER: C", "the answer is (C)" or an option's text, a boxed letter, "C is correct"); a reply or lines
    made of one letter or of one lettered option ("C) text"); an option's bare text; the only option that is
    mentioned, unless something is ruled out. Two different letters on the same footing are unparsed.

    Raises:
        ValueError: `options` holds fewer than 2 or more than 5 texts.
    """
    if not 2 <= len(options) <= len(OPTION_LETTERS):
        raise ValueError(f"{len(options)} options given, 2 to {len(OPTION_LETTERS)} can be lettered")
    text = plain(reply)
    if not text:
        return not_read("unparsed", "the reply is empty or only reasoning")
    if (why := too_long(text)) is not None:
        return not_read("unparsed", why)
    said = without_markup(text)
    for rule in (_explicit, _by_lines, _by_text, _only_mention):
        found = rule(said, options)
        if found is not None:
            return found
    if is_refusal(said):
        return not_read("refused", "the reply declines to answer")
    return not_read("unparsed", "the reply settles on no option")


def _checked(letter: str, options: Sequence[str], rule: str) -> ParsedAnswer[str]:
    letter = letter.upper()
    if OPTION_LETTERS.index(letter) >= len(options):
        return not_read("unparsed", f"the reply names {letter}, which is no option")
    return read_as(letter, rule)


def _explicit(said: str, options: Sequence[str]) -> ParsedAnswer[str] | None:
    settled = [*_settled_letters(said), *_settled_texts(said, options)]
    if not settled:
        return None
    last = max(settled, key=lambda one: one.position)
    if last.letter is None:
        return not_read("unparsed", "the reply's last answer names several options")
    return _checked(last.letter, options, "explicit answer")


def _settled_letters(said: str) -> Iterator[_Settled]:
    for pattern in (_SETTLING, _BOXED, _JUDGED_RIGHT):
        for match in pattern.finditer(said):
            letter, rest = match["letter"], said[match.end() :]
            if letter in "Aa" and _ARTICLE.match(said, match.end("letter")):
                continue
            if letter.islower() and re.match(r"[ \t]*[a-z]", rest):
                continue  # "the answer is e coli": a word, no letter
            if pattern is not _BOXED and _supposes(said, match.start()):
                continue
            several = _ALTERNATIVE.match(rest) is not None
            yield _Settled(match.start("letter"), None if several else letter)


def _settled_texts(said: str, options: Sequence[str]) -> Iterator[_Settled]:
    for match in _SETTLING_TEXT.finditer(said):
        text = match["text"]
        # The whole line first: an option may hold a full stop of its own.
        named = _option_of(text, options) or _option_of(sentences(text)[0] if text.strip() else "", options)
        if named is not None and not _supposes(said, match.start()):
            yield _Settled(match.start("text"), named)


def _supposes(said: str, position: int) -> bool:
    """Whether the sentence up to `position` supposes ("if there were fibrosis, the answer would be B")."""
    start = max(said.rfind(mark, 0, position) for mark in ("\n", ". ", "; "))
    return _SUPPOSING.search(said[start + 1 : position]) is not None


def _by_lines(said: str, options: Sequence[str]) -> ParsedAnswer[str] | None:
    letters: list[str] = []
    for line in said.splitlines():
        line = line.strip()
        lone = _LONE_LETTER.match(line)
        if lone is not None and (lone["letter"].isupper() or line == said):
            letters.append(lone["letter"].upper())
            continue
        labelled = _LABELLED_LINE.match(line)
        if labelled is None or _ALTERNATIVE.match(line[labelled.end("letter") :]):
            continue
        named = _option_of(labelled["text"] or "", options)
        if named is not None and named != labelled["letter"]:
            return not_read("unparsed", f"the reply puts the letter {labelled['letter']} to the text of option {named}")
        letters.append(labelled["letter"])
    if not letters:
        return None
    if len(set(letters)) > 1:
        return not_read("unparsed", "the reply lists several options and settles on none")
    return _checked(letters[-1], options, "lettered line")


def _comparable(text: str) -> str:
    text = re.sub(r"\s+", " ", without_markup(plain(text)).casefold()).strip(" .,:;!?\"'()[]")
    return re.sub(r"^(?:an?|the) ", "", text)


def _option_of(text: str, options: Sequence[str]) -> str | None:
    """Return the letter of the one option whose text is `text`, case and outer punctuation aside."""
    wanted = _comparable(text)
    if not wanted:
        return None
    hits = [letter for letter, option in zip(OPTION_LETTERS, options, strict=False) if _comparable(option) == wanted]
    return hits[0] if len(hits) == 1 else None


def _by_text(said: str, options: Sequence[str]) -> ParsedAnswer[str] | None:
    candidates = [said, *(line for line in said.splitlines() if line.strip())]
    letters = {
        letter
        for candidate in candidates
        for letter in (
            _option_of(candidate, options),
            _option_of(_LEAD_IN.sub("", candidate.strip()), options),
        )
        if letter is not None
    }
    if not letters:
        return None
    if len(letters) > 1:
        return not_read("unparsed", "the reply repeats several options and settles on none")
    return read_as(letters.pop(), "an option's bare text")


def _only_mention(said: str, options: Sequence[str]) -> ParsedAnswer[str] | None:
    """Read a reply that mentions exactly one option, by letter or by its text, and rules nothing out."""
    if _EXCLUDING.search(said) or is_refusal(said):
        return None
    lettered = {match["letter"] for match in _MENTIONED.finditer(said)}
    if lettered:
        if len(lettered) > 1:
            return not_read("unparsed", "the reply mentions several options and settles on none")
        return _checked(lettered.pop(), options, "the only option mentioned")
    if len(sentences(said)) != 1:
        return None
    spoken = _comparable(said)
    letters_of: dict[str, list[str]] = defaultdict(list)
    for letter, option in zip(OPTION_LETTERS, options, strict=False):
        letters_of[_comparable(option)].append(letter)
    named: list[str] = []
    # Longest first, so that "necrosis" is not found within "hepatocellular necrosis".
    for text in sorted(filter(None, letters_of), key=len, reverse=True):
        spoken, hits = re.subn(rf"(?<!\w){re.escape(text)}(?!\w)", " ", spoken)
        if hits:
            named += letters_of[text]
    return read_as(named[0], "the only option mentioned") if len(named) == 1 else None
