"""Reads from a seed what is known about the image: a term, a place, a number, an absence or a phrase."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evaluation.items import Category
from evaluation.models._facts import GenerationFacts
from evaluation.models._offline._quantities import Quantity, read_quantity
from evaluation.models._offline._vocabulary import NORMAL, Dimension, Hit, Vocabulary, comparable
from evaluation.models._offline._zones import DIRECTION, Zone, read_zone

MAX_PHRASE_WORDS = 8
"""An answer with more words is a description; no vocabulary holds four counterparts of its kind."""

_TRUE_WORDS = frozenset({"true", "yes", "correct", "right"})
_FALSE_WORDS = frozenset({"false", "no", "incorrect", "wrong"})

_PREFERRED: dict[Category, tuple[Dimension, ...]] = {
    "identify_anatomy": ("structure", "location", "cell_type"),
    "probe_over_reading": ("lesion", "artefact"),
    "localize_in_image": ("location", "structure"),
    "identify_pathology": ("lesion", "cell_type"),
    "characterize_feature": ("distribution", "severity", "location", "cell_type", "lesion"),
    "identify_artifact": ("artefact",),
    "quantify_feature": ("severity", "distribution"),
}
"""Where the same word stands in two dimensions, the seed's category says which is meant."""

_ASKED_FOR: tuple[tuple[str, Dimension], ...] = (
    (r"\bcells?\b|\bcell types?\b", "cell_type"),
    (r"\barte?i?facts?\b", "artefact"),
    (r"\bdistribut|\bpattern\b", "distribution"),
    (r"\bsever|\bgrade\b|\bdegree\b", "severity"),
    (r"\bwhere\b|\bzone\b|\bcompartment\b", "location"),
    (r"\bstructure\b|\bvessel\b|\bregion\b|\btissue\b", "structure"),
    (r"\blesion\b|\bchange\b|\bdiagnosis\b|\bfinding\b", "lesion"),
)
"""Words of a question that say which kind of answer it wants, the most telling first."""

_PRESENCE = re.compile(
    r"^(?:the (?:image|section|field|tissue|slide) (?:shows|contains|has|displays)|there (?:is|are)|"
    r"is there|are there|does the (?:image|section|field|tissue|slide) (?:show|contain)|(?:is|are)(?= .*\b(?:present|"
    r"visible|seen|shown|represented)\W*$))?\s*(?P<what>.+?)"
    r"(?P<verb>\s+(?:is|are|can be)?\s*(?:present|visible|seen|shown|represented|evident|identifiable)"
    r"(?:\s+(?:here|in (?:the|this) (?:image|field|section|tissue|slide)))?)?\s*[.?!]*$",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(?:the (?:image|section|field|tissue|slide) (?:shows|contains|has|displays)|there (?:is|are)|is there|are there|"
    r"does the (?:image|section|field|tissue|slide) (?:show|contain))\b",
    re.IGNORECASE,
)
_WITHIN_LIMITS = re.compile(
    r"\b(?:within normal limits|unremarkable|normal (?:\w+ )?(?:tissue|histology|morphology|architecture|appearance)|"
    r"(?:is|are|appears?|looks?) normal|no (?:\w+ ){0,2}(?:abnormality|abnormalities|lesions?|changes?|findings?)|"
    r"changes are absent|free of lesions)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:no|not|without|absent|absence|lacks?|lacking|free of|cannot|neither|nor)\b", re.IGNORECASE
)
_ARTICLE = re.compile(r"^(?:a|an|the|any|some)\s+", re.IGNORECASE)


class UnwritableSeedError(Exception):
    """No right item can be written from a seed; the message tells its author why and what would help."""


@dataclass(frozen=True)
class TermFinding:
    """The answer is a term of the vocabulary; `wording` is the author's own, "" where the seed is a statement."""

    term: str
    dimension: Dimension
    wording: str = ""


@dataclass(frozen=True)
class ZoneFinding:
    """The answer is a part of the image."""

    zone: Zone


@dataclass(frozen=True)
class NumberFinding:
    """The answer holds a number or a range."""

    quantity: Quantity


@dataclass(frozen=True)
class AbsentFinding:
    """Something is not there; `is_normal`: nothing abnormal is. `is_gradable`: its severity can be asked for."""

    target: str
    is_normal: bool = False
    is_gradable: bool = False


@dataclass(frozen=True)
class PhraseFinding:
    """The answer is a phrase of its own; `hits` are the terms in it, `dimension` is what it is likely about."""

    phrase: str
    dimension: Dimension
    hits: tuple[Hit, ...]
    is_place: bool


Finding = TermFinding | ZoneFinding | NumberFinding | AbsentFinding | PhraseFinding


def preferred_dimensions(category: Category) -> tuple[Dimension, ...]:
    """Return the dimensions that answers of a category come from, the likeliest first."""
    return _PREFERRED[category]


def read_finding(facts: GenerationFacts, words: Vocabulary) -> Finding:
    """Return what a seed says about its image.

    Raises:
        UnwritableSeedError: nothing from which a right item follows.
    """
    answer = " ".join(facts.answer.split()).rstrip(" .;,")
    truth = facts.is_true
    if truth is None and comparable(answer) in _TRUE_WORDS | _FALSE_WORDS:
        truth = comparable(answer) in _TRUE_WORDS
    if truth is not None:
        return _read_claim(" ".join(facts.question.split()), truth, facts.category, words)
    if not answer:
        raise UnwritableSeedError("The seed has no answer. Write what the image shows.")
    if _is_normal(answer, words):
        return AbsentFinding("altered tissue architecture", is_normal=True, is_gradable=True)
    return _read_answer(answer, facts, words)


def _is_normal(answer: str, words: Vocabulary) -> bool:
    known = words.exact(answer, ("lesion",))
    return (known is not None and known[0] == NORMAL) or bool(_WITHIN_LIMITS.fullmatch(answer))


def _read_answer(answer: str, facts: GenerationFacts, words: Vocabulary) -> Finding:
    category = facts.category
    asked = [dimension for word, dimension in _ASKED_FOR if re.search(word, facts.question, re.IGNORECASE)]
    preferred = (*asked[:1], *_PREFERRED[category])
    zone = read_zone(answer)
    if zone is not None:
        return ZoneFinding(zone)
    known = words.exact(answer, preferred)
    if known is not None:
        return TermFinding(*known, wording=answer)
    if _NEGATION.search(answer):
        raise UnwritableSeedError(
            f"The answer {answer!r} says what is not there. Write what the image shows, or make it a statement "
            "that is false."
        )
    quantity = read_quantity(answer)
    if quantity is not None and category == "quantify_feature":
        return NumberFinding(quantity)
    if len(answer.split()) > MAX_PHRASE_WORDS:
        raise UnwritableSeedError(
            f"The answer has {len(answer.split())} words; the built-in item writer has no counterparts for a "
            f"description of more than {MAX_PHRASE_WORDS}. Shorten it to the finding's name."
        )
    hits = tuple(words.find(answer, preferred))
    if DIRECTION.search(answer):
        return PhraseFinding(answer, "location", hits, is_place=True)
    if quantity is not None and not hits:
        return NumberFinding(quantity)
    if category == "quantify_feature" and not hits:
        raise UnwritableSeedError(f"The answer {answer!r} holds no number. Write the count or the share.")
    return PhraseFinding(answer, _likely_dimension(hits, preferred), hits, is_place=False)


def _likely_dimension(hits: tuple[Hit, ...], preferred: tuple[Dimension, ...]) -> Dimension:
    found = {hit.dimension for hit in hits}
    return next((dimension for dimension in preferred if dimension in found), preferred[0])


def _read_claim(claim: str, truth: bool, category: Category, words: Vocabulary) -> Finding:
    if not claim:
        raise UnwritableSeedError("The seed has no statement. Write what is said of the image.")
    if _WITHIN_LIMITS.search(claim):
        if truth:
            return AbsentFinding("altered tissue architecture", is_normal=True, is_gradable=True)
        raise UnwritableSeedError(
            "The seed says only that the tissue is not normal. Write the finding as the answer of a question."
        )
    if _NEGATION.search(claim):
        raise UnwritableSeedError(
            f"The statement {claim!r} is a negation. State what is there, and whether that is true or false."
        )
    return _read_true_claim(claim, category, words) if truth else _read_false_claim(claim, category, words)


def _read_true_claim(claim: str, category: Category, words: Vocabulary) -> Finding:
    hits = [hit for hit in words.find(claim, _PREFERRED[category]) if hit.term != NORMAL]
    others: tuple[Dimension, ...] = ("lesion", "artefact", "structure", "cell_type", "location")
    wanted = (*_PREFERRED[category], *others)
    for dimension in wanted:
        found = {hit.term for hit in hits if hit.dimension == dimension}
        if len(found) == 1:
            return TermFinding(found.pop(), dimension)
    raise UnwritableSeedError(
        f"The statement {claim!r} holds no single term of the vocabulary from which an item would follow. "
        "Write a question with its answer."
    )


def _read_false_claim(claim: str, category: Category, words: Vocabulary) -> Finding:
    presence = _PRESENCE.match(claim)
    stated = presence is not None and (presence["verb"] or _OPENING.match(claim))
    hits = words.find(claim, _PREFERRED[category])
    is_probe = category == "probe_over_reading"
    if presence is not None and stated:
        target = _ARTICLE.sub("", presence["what"].strip())
        if is_probe:
            target = _without_severity(target, words)
        if target and len(target.split()) <= MAX_PHRASE_WORDS:
            return AbsentFinding(_lowered(target), is_gradable=is_probe)
    lesions = {hit.term for hit in hits if hit.dimension in ("lesion", "artefact")}
    if is_probe and len(lesions) == 1:
        return AbsentFinding(lesions.pop(), is_gradable=True)
    raise UnwritableSeedError(
        f"The statement {claim!r} is false, but what holds instead does not follow from it. Word it as "
        "'X is present', or write a question with its answer."
    )


def _without_severity(target: str, words: Vocabulary) -> str:
    """A probe denies the disease itself (VIPER Appendix Table 2), so its grade says nothing."""
    parts = target.split()
    while len(parts) > 1:
        known = words.exact(parts[0], ("severity",))
        if known is None or known[1] != "severity":
            break
        parts.pop(0)
    return " ".join(parts)


def _lowered(text: str) -> str:
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]
