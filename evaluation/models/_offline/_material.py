"""What an item is put together from: candidate options and statements, each with its reason."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.items import OPTION_COUNT, STATEMENT_COUNT
from evaluation.models._offline._findings import UnwritableSeedError
from evaluation.models._offline._vocabulary import comparable

DISTRACTOR_COUNT = OPTION_COUNT - 1

MAX_WORD_DIFFERENCE = 0.2
"""Options differ by at most this share in their number of words (VIPER A.11, anti-leakage rule 4)."""


@dataclass(frozen=True)
class Choice:
    """An option and why it is right or wrong."""

    text: str
    explanation: str


@dataclass(frozen=True)
class Claim:
    """A statement, its truth and the reason. Claims of one `topic` exclude or imply each other."""

    text: str
    is_true: bool
    explanation: str
    topic: str = ""


@dataclass(frozen=True)
class McqMaterial:
    """The parts of one multiple-choice question."""

    stem: str
    key: Choice
    distractors: tuple[Choice, ...]


@dataclass(frozen=True)
class KPrimMaterial:
    """The parts of one KPrim question: at least one true and three more claims to choose from."""

    stem: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class FreeTextMaterial:
    """The parts of one free-text question."""

    stem: str
    answer: str
    synonyms: tuple[str, ...]
    rubric: str


def pick_distractors(material: McqMaterial, rng: random.Random, avoided: frozenset[str]) -> tuple[Choice, ...]:
    """Return four distractors as close to the key in word count as the pool allows.

    Distractors that share a word with the stem are left aside where enough others remain. The key's rank by length
    among the five is drawn uniformly, so that length says nothing. Texts that were guessed before (`avoided`) come
    last.

    Raises:
        UnwritableSeedError: the pool holds fewer than four.
    """
    key = material.key
    pool = list(material.distractors)
    if len(pool) < DISTRACTOR_COUNT:
        raise UnwritableSeedError(
            f"The vocabulary holds only {len(pool)} distractors for {key.text!r}; a question needs "
            f"{DISTRACTOR_COUNT}. Add terms of the same dimension to the organ's vocabulary."
        )
    stem_words = _words(material.stem)
    apart = [choice for choice in pool if not (_words(choice.text) - _words(key.text)) & stem_words]
    shuffled = apart if len(apart) >= DISTRACTOR_COUNT else pool
    rng.shuffle(shuffled)
    # Sorting keeps the order among equals: word count first, then fresh before guessed, then chance.
    shuffled.sort(key=lambda choice: choice.text in avoided)
    shuffled.sort(key=lambda choice: _word_difference(key.text, choice.text))
    limit = max(_word_difference(key.text, shuffled[DISTRACTOR_COUNT - 1].text), MAX_WORD_DIFFERENCE)
    near = [choice for choice in shuffled if _word_difference(key.text, choice.text) <= limit]
    shorter = [choice for choice in near if len(choice.text) <= len(key.text)]
    longer = [choice for choice in near if len(choice.text) > len(key.text)]
    n_shorter = rng.randint(max(0, DISTRACTOR_COUNT - len(longer)), min(DISTRACTOR_COUNT, len(shorter)))
    return tuple(shorter[:n_shorter] + longer[: DISTRACTOR_COUNT - n_shorter])


def pick_claims(claims: Sequence[Claim], rng: random.Random, avoided: frozenset[str]) -> tuple[Claim, ...]:
    """Return four claims, two true and two false where there are as many, with no topic twice if possible.

    Raises:
        UnwritableSeedError: there is no true or no false claim, or fewer than four in all.
    """
    shuffled = list(claims)
    rng.shuffle(shuffled)
    shuffled.sort(key=lambda claim: claim.text in avoided)
    true = [claim for claim in shuffled if claim.is_true]
    false = [claim for claim in shuffled if not claim.is_true]
    if not true or not false or len(shuffled) < STATEMENT_COUNT:
        raise UnwritableSeedError(
            f"Only {len(true)} true and {len(false)} false statements follow from the seed; a KPrim item needs "
            f"{STATEMENT_COUNT} with at least one of each."
        )
    half = STATEMENT_COUNT // 2
    n_true = max(min(half, len(true)), STATEMENT_COUNT - len(false))
    picked: list[Claim] = []
    for pool, count in ((true, n_true), (false, STATEMENT_COUNT - n_true)):
        for _ in range(count):
            used = {claim.topic for claim in picked}
            left = [claim for claim in pool if claim not in picked]
            picked.append(next((claim for claim in left if claim.topic not in used), left[0]))
    rng.shuffle(picked)
    return tuple(picked)


def _word_difference(one: str, other: str) -> float:
    words = len(one.split())
    return abs(len(other.split()) - words) / words


def _words(text: str) -> set[str]:
    return set(comparable(text).split())
