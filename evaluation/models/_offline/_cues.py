"""The cues in an item's wording that item-writing guides warn of, each measured on the options alone.

Every cue gives each option a value from -1 (speaks against it) to 1 (speaks for it). The list follows the flaws of
test-wiseness in the NBME item-writing guide: length, word repetition, grammar, convergence, absolute terms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean

MUCH_LONGER = 1.2
"""VIPER's rule of ±20 % words: from here on, length gives an option away."""

_ABSOLUTE = re.compile(
    r"\b(always|never|all|none|only|every|completely|entirely|exclusively|must|cannot|impossible)\b", re.IGNORECASE
)
_HEDGED = re.compile(
    r"\b(may|might|can|could|often|usually|sometimes|mainly|mostly|typically|generally|partly|some|likely|tends?)\b",
    re.IGNORECASE,
)
_NORMAL = re.compile(
    r"\b(normal|unremarkable|no (?:abnormality|lesion|change|finding)|within normal limits|regular)\b", re.IGNORECASE
)
_SPECIFIC = re.compile(r"\d|[(),;]|\b(with|within|around|between|of the|and)\b", re.IGNORECASE)
_STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "in",
        "on",
        "at",
        "to",
        "with",
        "and",
        "or",
        "is",
        "are",
        "was",
        "this",
        "that",
        "which",
        "what",
        "where",
        "how",
        "image",
        "section",
        "shown",
        "does",
        "do",
        "it",
        "its",
        "for",
        "by",
        "as",
        "from",
        "best",
        "most",
        "these",
        "question",
    ]
)
_STEM_LENGTH = 5
"""Letters after which two words count as the same: hepatocyte and hepatocellular are."""


@dataclass(frozen=True)
class Cue:
    """A cue: its name in the guesser's reasoning, its weight and its measure."""

    name: str
    weight: float
    measure: Callable[[str, Sequence[str]], list[float]]


def length(_: str, options: Sequence[str]) -> list[float]:
    """1 for the longest option where it is clearly longer than the mean of the others, rising from 0."""
    counts = [len(option.split()) + len(option) / 100 for option in options]
    values = []
    for place, count in enumerate(counts):
        others = counts[:place] + counts[place + 1 :]
        stands_out = bool(others) and count > max(others) and mean(others) > 0
        values.append(_clip((count / mean(others) - 1) / (MUCH_LONGER - 1) - 0.25) if stands_out else 0.0)
    return [max(0.0, value) for value in values]


def stem_overlap(stem: str, options: Sequence[str]) -> list[float]:
    """The share of an option's content words that the stem holds, above the share of the other options."""
    words = content_words(stem)
    shares = [len(own & words) / len(own) if (own := content_words(option)) else 0.0 for option in options]
    return _above_the_others(shares)


def stem_holds_it(stem: str, options: Sequence[str]) -> list[float]:
    """1 for the only option whose every content word stands in the stem: the question answers itself."""
    words = content_words(stem)
    whole = [bool(own := content_words(option)) and own <= words for option in options]
    return [float(is_whole) if sum(whole) == 1 else 0.0 for is_whole in whole]


def grammar(stem: str, options: Sequence[str]) -> list[float]:
    """-1 for an option that does not continue the stem: article before the wrong sound, wrong number."""
    body = stem.rstrip("? .").casefold()
    values = [0.0] * len(options)
    for place, option in enumerate(options):
        vowel = option[:1].casefold() in "aeiou"
        if (body.endswith(" an") and not vowel) or (body.endswith(" a") and vowel):
            values[place] -= 1.0
        plural = bool(re.search(r"[^s]s$", option.split()[0] if option.split() else ""))
        asks_plural = bool(re.search(r"\b(which|what) \w+s (are|have|show)\b", body))
        asks_singular = bool(re.search(r"\b(which|what) \w+[^s] (is|has|shows)\b", body))
        if len(option.split()) == 1 and ((asks_plural and not plural) or (asks_singular and plural)):
            values[place] -= 0.5
    return [_clip(value) for value in values] if len(set(values)) > 1 else [0.0] * len(options)


def specificity(_: str, options: Sequence[str]) -> list[float]:
    """How much more detailed an option is than the others: numbers, brackets, qualifying phrases."""
    return _above_the_others([min(1.0, len(_SPECIFIC.findall(option)) / 2) for option in options])


def convergence(_: str, options: Sequence[str]) -> list[float]:
    """How much more of its wording an option shares with the others: writers vary the key to make distractors."""
    words = [content_words(option) for option in options]
    shares = []
    for place, own in enumerate(words):
        others = words[:place] + words[place + 1 :]
        shares.append(mean(len(own & other) / len(own) for other in others) if own else 0.0)
    return _above_the_others(shares)


def lone_normal(_: str, options: Sequence[str]) -> list[float]:
    """1 for the only option that speaks of normal tissue: it stands apart from the lesions."""
    normal = [bool(_NORMAL.search(option)) for option in options]
    return [float(is_normal) if sum(normal) == 1 else 0.0 for is_normal in normal]


def odd_one_out(_: str, options: Sequence[str]) -> list[float]:
    """1 for the only option that shares no word with the others, where these all share some."""
    words = [content_words(option) for option in options]
    alone = [not any(own & other for other in words[:place] + words[place + 1 :]) for place, own in enumerate(words)]
    return [float(is_alone) if sum(alone) == 1 else 0.0 for is_alone in alone]


def absolute(_: str, options: Sequence[str]) -> list[float]:
    """-1 for an option with an absolute word."""
    return [-1.0 if is_absolute(option) else 0.0 for option in options]


CUES: tuple[Cue, ...] = (
    Cue("longer than the others", 1.0, length),
    Cue("stands in the stem as a whole", 2.0, stem_holds_it),
    Cue("repeats words of the stem", 0.8, stem_overlap),
    Cue("disagrees with the stem's grammar", 1.0, grammar),
    Cue("more specific than the others", 0.6, specificity),
    Cue("shares the most words with the others", 0.5, convergence),
    Cue("the only normal finding among lesions", 1.2, lone_normal),
    Cue("the odd one out", 0.4, odd_one_out),
    Cue("holds an absolute word", 1.0, absolute),
)
"""Weights are judgements, not fits: a cue that guides call blatant weighs about 1, a faint one about 0.5, and a
question that answers itself outweighs them."""


def content_words(text: str) -> set[str]:
    """Return the word stems of `text` without function words."""
    words = re.findall(r"[a-zà-ÿ0-9]+", text.casefold())
    return {word[:_STEM_LENGTH] for word in words if word not in _STOP_WORDS}


def is_absolute(text: str) -> bool:
    """Whether `text` claims something without exception."""
    return bool(_ABSOLUTE.search(text))


def is_hedged(text: str) -> bool:
    """Whether `text` leaves room for exceptions."""
    return bool(_HEDGED.search(text))


def _above_the_others(values: list[float]) -> list[float]:
    result = []
    for place, value in enumerate(values):
        others = values[:place] + values[place + 1 :]
        result.append(_clip(value - mean(others)) if others else 0.0)
    return result


def _clip(value: float) -> float:
    return max(-1.0, min(1.0, value))
