"""Tells a model that declines to answer from one that answers badly."""

from __future__ import annotations

import re

from evaluation.answers._reasoning import sentences

_CANNOT = (
    r"(?:can(?:no|')?t|can not|could not|couldn't|won't|will not|"
    r"(?:am |'m )?(?:unable|not able) to)"
)
_DECLINING_VERBS = (
    r"(?:answer|respond|help|assist|provide|offer|give|comply|continue|complete|engage|diagnose|interpret|"
    r"analy[sz]e|evaluate|assess|make|render|process|fulfil+)"
)
_VERBS = rf"(?:{_DECLINING_VERBS}|determine|view|see|access|look at|examine|open|display)"
_MATERIAL = (
    r"(?:(?:this|that|the|your|any|these|such|an?|provided|attached|uploaded|medical|clinical|histopatholog\w+|"
    r"histolog\w+|pathology|actual|specific|personal|visual)\s+)*"
    r"(?:questions?|requests?|images?|pictures?|photos?|slides?|statements?|answers?|diagnos[ie]s|advice|opinion|"
    r"interpretation|assistance|help|analysis|content|files?|attachments?)"
)

_REFUSALS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bsorry\b[^.!?]{{0,300}}\b(?:i|we)\s*{_CANNOT}(?:\s+(?:\w+\s+)?{_DECLINING_VERBS}\b|\W*$)",
        rf"\b(?:i|we)\s*{_CANNOT}\s+(?:\w+\s+)?{_VERBS}(?:\s+(?:with|to|on|about|from|at|you|for))*\s+{_MATERIAL}\b",
        rf"\b(?:i|we)\s*{_CANNOT}\s+(?:help|assist|comply|answer|continue|respond)"
        r"(?:\s+with\s+(?:that|this)|\s+(?:that|this))?\s*(?:[.!,;]|$)",
        r"\bas an? (?:ai|artificial intelligence|(?:large )?language model)\b"
        rf"[^.!?]{{0,300}}\b(?:{_CANNOT}|do not|don't)\b",
        r"\bi (?:must|have to|need to|will have to) (?:decline|refuse)\b",
        r"\bi (?:decline|refuse) to\b",
        rf"\b(?:no|without (?:an?|the|any)) image\b[^.!?]{{0,300}}\b(?:{_CANNOT}|impossible|not possible)\b",
        r"\bi (?:don't|do not|cannot|can't) see (?:any|an|the) (?:(?:attached|provided|uploaded) )?image\b",
        r"\bi(?: am|'m) not (?:qualified|licensed|permitted|allowed) to\b",
        r"\bit (?:would be|is) (?:not |in)\s?appropriate for me to\b",
    )
)
_COURTESY = re.compile(
    r"^(?:please|if you|i(?:'d| would) be (?:happy|glad)|let me know|i(?:'m| am) (?:sorry|happy)|sorry|"
    r"(?:you|we) (?:should|may|could) consult|for (?:an? )?(?:accurate|proper|medical)|consult|thank|"
    r"i apologi[sz]e|i understand)",
    re.IGNORECASE,
)
_TURN = re.compile(r"\b(?:but|however|nevertheless|nonetheless|that said)\b,?", re.IGNORECASE)
_STILL_DECLINES = re.compile(rf"^(?:i|we)\s*{_CANNOT}", re.IGNORECASE)


def _declines(sentence: str) -> bool:
    return any(pattern.search(sentence) for pattern in _REFUSALS)


def _goes_on(sentence: str) -> bool:
    """Whether a declining sentence answers after all ("I cannot diagnose, but it shows …")."""
    turn = _TURN.search(sentence)
    if turn is None:
        return False
    rest = sentence[turn.end() :].strip(" ,.")
    return bool(rest) and not (_declines(rest) or _STILL_DECLINES.match(rest) or _COURTESY.match(rest))


def is_refusal(text: str) -> bool:
    """Return whether the whole of `text` declines: some sentence does and no other says anything else.

    "I cannot identify a lesion" is a finding, no refusal; neither is a hedge that an answer follows.
    """
    parts = sentences(text)
    declining = [part for part in parts if _declines(part)]
    if not declining or any(_goes_on(part) for part in declining):
        return False
    return all(part in declining or _COURTESY.match(part) for part in parts)
