"""The built-in judge: compares a free-text reply with the expected answer and its synonyms, word by word."""

from __future__ import annotations

import re

from evaluation.models._facts import JudgeFacts
from evaluation.models._offline._replies import verdict_reply
from evaluation.models._offline._vocabulary import comparable

FULL_MARK = 10
"""The best mark of each axis (VIPER section 3.3 marks 0 to 10)."""

_NEGATION = re.compile(r"\b(?:no|not|without|absent|absence of|lacks?|lacking|free of|rather than|excludes?)\b")
_NEGATION_REACH = 4
"""Words before a term in which a negation counts as denying it."""

_STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "in",
        "with",
        "and",
        "or",
        "is",
        "are",
        "this",
        "that",
        "at",
        "on",
        "by",
        "to",
        "there",
        "image",
        "shows",
        "show",
        "seen",
    ]
)


def judge(facts: JudgeFacts) -> str:
    """Return the verdict on a reply: marks from 0 to 10 for accuracy and completeness, and a reason.

    An accepted wording that occurs and is not denied has the full accuracy, lowered where the reply lists other
    answers beside it. Otherwise accuracy is the F1 of shared content words, and completeness their recall.
    """
    said = f" {comparable(facts.reply)} "
    expected = [facts.answer, *facts.synonyms]
    if not said.strip():
        return verdict_reply(0, 0, "The reply is empty.")
    for wording in expected:
        target = comparable(wording)
        place = said.find(f" {target} ") if target else -1
        if place >= 0:
            if _is_denied(said[:place], target):
                return verdict_reply(0, 0, f"The reply denies the expected wording {wording!r}.")
            accuracy = _less_alternatives(facts.reply, expected)
            return verdict_reply(accuracy, FULL_MARK, f"The reply holds the accepted wording {wording!r}.")
    precision, recall, wording = max((_shared(said, wording) for wording in expected), key=lambda mark: mark[:2])
    if not recall:
        return verdict_reply(0, 0, "The reply shares no content word with any accepted wording.")
    f1 = 2 * precision * recall / (precision + recall)
    return verdict_reply(
        round(FULL_MARK * f1),
        round(FULL_MARK * recall),
        f"The reply shares {recall:.0%} of the content words of {wording!r}.",
    )


def _is_denied(before: str, target: str) -> bool:
    if _NEGATION.search(target):
        return False
    return bool(_NEGATION.search(" ".join(before.split()[-_NEGATION_REACH:])))


def _less_alternatives(reply: str, expected: list[str]) -> int:
    parts = [comparable(part) for part in re.split(r"[;/\n]|,|\bor\b", reply)]
    accepted = [comparable(wording) for wording in expected]
    others = [
        part for part in parts if part and not any(f" {wording} " in f" {part} " for wording in accepted if wording)
    ]
    listed = len([part for part in others if len(part.split()) <= 4]) if len(parts) > 1 else 0
    return round(FULL_MARK / (1 + listed)) if re.search(r"\bor\b|/", reply) else FULL_MARK


def _shared(said: str, wording: str) -> tuple[float, float, str]:
    reply_words = _content(said)
    wanted = _content(comparable(wording))
    common = reply_words & wanted
    if not common:
        return 0.0, 0.0, wording
    return len(common) / len(reply_words), len(common) / len(wanted), wording


def _content(text: str) -> set[str]:
    return {word for word in text.split() if word not in _STOP_WORDS}
