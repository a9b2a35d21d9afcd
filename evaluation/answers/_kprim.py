"""Reads true-false verdicts: on one KPrim statement, or on all four in one reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from evaluation.answers._parsed import ParsedAnswer, not_read, read_as, too_long
from evaluation.answers._reasoning import plain, without_markup
from evaluation.answers._refusal import is_refusal
from evaluation.items import STATEMENT_COUNT

Verdicts = tuple[bool, ...]

_TRUE_WORDS = frozenset({"true", "correct", "yes", "right", "t"})
_VERDICT = r"(?P<not>not\s+)?(?P<word>true|false|correct|incorrect|untrue|right|wrong|yes|no)(?![A-Za-z])"
_OPENERS = r"[\"'(\[{]*\s*"

_SETTLING = re.compile(
    r"(?:"
    r"\b(?:answer|verdict|judge?ment|conclusion|truth value|evaluation|assessment)\b[\"']?"
    r"\s*(?:is|:|=|->|→|\s-\s)+"
    r"|\b(?:statement|claim|assertion|this|it|that)(?:\s+\d)?\s*(?:is|:|=)+"
    r"|\\boxed\s*\{|<\s*answer\s*>"
    r")\s*(?:(?:therefore|thus|clearly|most likely|likely|probably|best considered|considered)\s+)*"
    + _OPENERS
    + _VERDICT,
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^[\"'(\[]*(?P<not>not\s+)?(?P<word>true|false|correct|incorrect|untrue|wrong|yes|no|t|f)\b[\"')\]]*"
    r"\s*(?:$|[.,:;!–—-])",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(r"^\s*(?:or|/|\|)\s*(?:true|false|yes|no|not)\b", re.IGNORECASE)
_SUPPOSING = re.compile(r"\b(?:if|unless|whether)\b", re.IGNORECASE)
_MORE_WORDS = re.compile(r"[ \t]+[a-z]")

_NUMBER = r"^(?:statement\s*)?[(\[]?(?P<number>[1-4])[)\].:]*\s*"
_NUMBERED = re.compile(_NUMBER + r"(?:is\s+|[-–—=:]+\s*)?" + _OPENERS + _VERDICT, re.IGNORECASE)
_NUMBERED_INITIAL = re.compile(_NUMBER + r"(?:[-–—=:]+\s*)?" + _OPENERS + r"(?P<word>[TF])(?![A-Za-z])", re.IGNORECASE)
_LINE_END = re.compile(
    r"^(?:statement\s*)?[(\[]?(?P<number>[1-4])[)\].:]\s+.*(?:[:=→]|->|[-–—]\s|\bis\b|\()\s*"
    + _OPENERS
    + _VERDICT
    + r"[\"')\]]*\.?$",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"\n|[;,]?\s+(?=(?:statement\s*)?[(\[]?[1-4]\s*[)\].:=-]+\s*[\"'(\[]*(?:true|false|t|f)\b)", re.IGNORECASE
)
_LABEL = re.compile(r"^\W*(?:final\s+)?answers?\s*[:=]\s*", re.IGNORECASE)
_JSON_LIST = re.compile(r"\[[^\[\]]*\]")
_RUN = re.compile(r"(?:\b(?:true|false|t|f)\b[\s,;/|]*){" + str(STATEMENT_COUNT) + r",}", re.IGNORECASE)
_RUN_WORD = re.compile(r"\b(?:true|false|t|f)\b", re.IGNORECASE)


def _truth(word: str, negated: str | None = None) -> bool:
    return (word.casefold() in _TRUE_WORDS) != bool(negated)


def parse_kprim_statement(reply: str) -> ParsedAnswer[bool]:
    """Return the verdict that `reply` gives on one statement.

    The last explicit verdict counts ("ANSWER: FALSE", "the statement is not true", a boxed word, JSON);
    otherwise lines that open with a verdict, if they agree ("True, because …", "No."). "No lesion is visible"
    is no verdict.
    """
    text = plain(reply)
    if not text:
        return not_read("unparsed", "the reply is empty or only reasoning")
    if (why := too_long(text)) is not None:
        return not_read("unparsed", why)
    said = without_markup(text)
    explicit = list(_explicit_verdicts(said))
    if explicit:
        if explicit[-1] is None:
            return not_read("unparsed", "the reply's last verdict names both")
        return read_as(explicit[-1], "explicit verdict")
    openings = [match for line in said.splitlines() if (match := _OPENING.match(line.strip()))]
    verdicts = {_truth(match["word"], match["not"]) for match in openings}
    if len(verdicts) == 1:
        return read_as(verdicts.pop(), "opening word")
    if verdicts:
        return not_read("unparsed", "the reply gives both verdicts and settles on none")
    if is_refusal(said):
        return not_read("refused", "the reply declines to answer")
    return not_read("unparsed", "the reply gives no verdict")


def _explicit_verdicts(said: str) -> Iterator[bool | None]:
    """Yield each explicit verdict in order, None for one that leaves both open."""
    for match in _SETTLING.finditer(said):
        start = max(said.rfind(mark, 0, match.start()) for mark in ("\n", ". ", "; "))
        rest = said[match.end() :]
        if _SUPPOSING.search(said[start + 1 : match.start()]):
            continue  # "if the statement is true, …"
        if match["word"].casefold() == "no" and _MORE_WORDS.match(rest):
            continue  # "the answer: no lesion is visible"
        yield None if _ALTERNATIVE.match(rest) else _truth(match["word"], match["not"])


def parse_kprim_joint(reply: str) -> ParsedAnswer[Verdicts]:
    """Return the four verdicts, in the statements' order, that `reply` gives at once.

    Numbered lines ("2. False …", "Statement 2: T"), where the last verdict on a number counts; else the last
    JSON list of four booleans; else the last run of exactly four words. Anything but four is unparsed.
    """
    text = plain(reply)
    if not text:
        return not_read("unparsed", "the reply is empty or only reasoning")
    if (why := too_long(text)) is not None:
        return not_read("unparsed", why)
    said = without_markup(text)
    numbered = _numbered_verdicts(said)
    if len(numbered) == STATEMENT_COUNT:
        return read_as(tuple(numbered[number] for number in sorted(numbered)), "numbered verdicts")
    if numbered:
        return not_read("unparsed", f"the reply gives {len(numbered)} of {STATEMENT_COUNT} verdicts")
    lists = [verdicts for verdicts in _json_verdicts(said) if len(verdicts) == STATEMENT_COUNT]
    if lists:
        return read_as(lists[-1], "JSON list")
    runs = [_RUN_WORD.findall(run[0]) for run in _RUN.finditer(said)]
    if runs and len(runs[-1]) == STATEMENT_COUNT:
        return read_as(tuple(_truth(word) for word in runs[-1]), "four words in a row")
    if is_refusal(said):
        return not_read("refused", "the reply declines to answer")
    return not_read("unparsed", f"the reply gives no {STATEMENT_COUNT} verdicts")


def _numbered_verdicts(said: str) -> dict[int, bool]:
    verdicts: dict[int, bool] = {}
    for piece in _BETWEEN.split(_LABEL.sub("", said)):
        line = _LABEL.sub("", piece.replace("|", " ").strip())
        match = _NUMBERED.match(line)
        if match is not None:
            rest = line[match.end() :]
            begins_a_text = match["word"].casefold() in ("no", "right", "correct") and _MORE_WORDS.match(rest)
            if begins_a_text or _ALTERNATIVE.match(rest):
                match = None
        match = match or _LINE_END.match(line)
        if match is not None:
            verdicts[int(match["number"])] = _truth(match["word"], match["not"])
        elif (initial := _NUMBERED_INITIAL.match(line)) is not None:
            verdicts[int(initial["number"])] = _truth(initial["word"])
    return verdicts


def _json_verdicts(said: str) -> Iterator[Verdicts]:
    for match in _JSON_LIST.finditer(said):
        try:
            values = json.loads(re.sub(r"\b(?:True|False)\b", lambda word: word[0].lower(), match[0]))
        except ValueError:
            continue
        words = [str(value).casefold() for value in values]
        if all(word in ("true", "false") for word in words):
            yield tuple(word == "true" for word in words)
