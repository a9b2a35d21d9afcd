"""The controlled words of an organ: terms by dimension, their synonyms and a small ontology."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import resources
from typing import Literal, get_args

Dimension = Literal["location", "distribution", "severity", "cell_type", "lesion", "artefact", "structure"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)

GENERIC = "generic"
"""The words that hold for every organ; they serve alone where an organ has no vocabulary of its own."""

NORMAL = "no abnormality"
"""The term for tissue within normal limits."""

_ORGAN_NAMES = {
    "hepatic": "liver",
    "hepatobiliary": "liver",
    "renal": "kidney",
    "kidneys": "kidney",
    "pulmonary": "lung",
    "lungs": "lung",
    "cardiac": "heart",
    "myocardium": "heart",
}


@dataclass(frozen=True)
class Entry:
    """What the ontology knows of a term: its class, its tissue compartment and what it looks like."""

    kind: str
    compartment: str
    features: tuple[str, ...]
    overlaps: frozenset[str]


@dataclass(frozen=True)
class Hit:
    """A term found in a text, at characters `start` to `end`."""

    term: str
    dimension: Dimension
    start: int
    end: int


@dataclass(frozen=True)
class Vocabulary:
    """An organ's words together with the generic ones."""

    organ: str
    dimensions: dict[Dimension, tuple[str, ...]]
    synonyms: dict[str, tuple[str, ...]]
    narrower: dict[str, tuple[str, ...]]
    ontology: dict[str, Entry]
    _lookup: dict[str, list[tuple[str, Dimension]]] = field(repr=False)
    _pattern: re.Pattern[str] = field(repr=False)

    def terms(self, dimension: Dimension) -> tuple[str, ...]:
        """Return the terms of a dimension, without the term for normal tissue."""
        return tuple(term for term in self.dimensions[dimension] if term != NORMAL)

    def exact(self, text: str, preferred: Iterable[Dimension]) -> tuple[str, Dimension] | None:
        """Return the term and dimension that `text` as a whole names, if any, `preferred` dimensions first."""
        found = self._lookup.get(comparable(text), [])
        order = [*preferred, *DIMENSIONS]
        return min(found, key=lambda hit: order.index(hit[1]), default=None)

    def find(self, text: str, preferred: Iterable[Dimension] = ()) -> list[Hit]:
        """Return the terms inside `text` in order, the longest where several overlap."""
        hits = []
        for match in self._pattern.finditer(text):
            known = self.exact(match.group(0), preferred)
            if known is not None:
                hits.append(Hit(known[0], known[1], match.start(), match.end()))
        return hits

    def names(self, term: str) -> tuple[str, ...]:
        """Return the term and its synonyms."""
        return (term, *self.synonyms.get(term, ()))

    def all_names(self, term: str) -> tuple[str, ...]:
        """Return the term, its synonyms and narrower words that imply it (a mitral valve is a cardiac valve)."""
        return (*self.names(term), *self.narrower.get(term, ()))

    def overlap(self, one: str, other: str) -> bool:
        """Whether two terms can both hold, so that one is no distractor for the other."""
        if {*map(comparable, self.all_names(one))} & {*map(comparable, self.all_names(other))}:
            return True
        keys = [key for term in (one, other) for key in (term, *(f"{name}/{term}" for name in DIMENSIONS))]
        known = [self.ontology[key].overlaps for key in keys if key in self.ontology]
        return any(one in terms or other in terms for terms in known)

    def entry(self, term: str, dimension: Dimension) -> Entry | None:
        """Return what the ontology knows of a term; `DIMENSION/TERM` tells apart what one word means in two."""
        return self.ontology.get(f"{dimension}/{term}", self.ontology.get(term))


def comparable(text: str) -> str:
    """Return `text` in a form in which spelling variants of case, hyphen, plural and article are equal."""
    text = re.sub(r"[-‐–_]+", " ", text.casefold())
    text = re.sub(r"[^\w%&/ ]+", " ", text)
    words = [word for word in text.split() if word not in ("a", "an", "the")]
    if words and len(words[-1]) > 3 and words[-1].endswith("s") and not words[-1].endswith(("ss", "is", "us")):
        words[-1] = words[-1][:-1]
    return " ".join(words)


def vocabulary(organ: str) -> Vocabulary:
    """Return the vocabulary of `organ` (any case, adjective or noun); the generic one where it has none."""
    name = comparable(organ)
    return _load(_ORGAN_NAMES.get(name, name))


def _read(name: str) -> dict[str, dict[str, object]] | None:
    if not re.fullmatch(r"[a-z]+", name):
        return None
    path = resources.files("assets").joinpath("vocabularies", f"{name}.json")
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


@functools.cache
def _load(organ: str) -> Vocabulary:
    generic = _read(GENERIC) or {}
    own = (_read(organ) if organ != GENERIC else None) or {}
    dimensions: dict[Dimension, tuple[str, ...]] = {}
    synonyms: dict[str, tuple[str, ...]] = {}
    narrower: dict[str, tuple[str, ...]] = {}
    ontology: dict[str, Entry] = {}
    lookup: dict[str, list[tuple[str, Dimension]]] = {}
    for document in (own, generic):
        for dimension in DIMENSIONS:
            terms = tuple(str(term) for term in _strings(document.get("dimensions", {}).get(dimension)))
            if terms:
                dimensions.setdefault(dimension, terms)
        for term, names in document.get("synonyms", {}).items():
            synonyms.setdefault(term, tuple(_strings(names)))
        for term, names in document.get("narrower", {}).items():
            narrower.setdefault(term, tuple(_strings(names)))
        for term, entry in document.get("ontology", {}).items():
            if term not in ontology and isinstance(entry, dict):
                ontology[term] = Entry(
                    kind=str(entry["class"]),
                    compartment=str(entry["compartment"]),
                    features=tuple(_strings(entry["features"])),
                    overlaps=frozenset(_strings(entry.get("overlaps"))),
                )
        for dimension in DIMENSIONS:
            for term in _strings(document.get("dimensions", {}).get(dimension)):
                for name in (term, *synonyms.get(term, ()), *narrower.get(term, ())):
                    known = lookup.setdefault(comparable(name), [])
                    if all(place[1] != dimension for place in known):
                        known.append((term, dimension))
    names = {name for table in (synonyms, narrower) for known_names in table.values() for name in known_names}
    names |= {term for known in lookup.values() for term, _ in known}
    spellings = [_spelling(name) for name in sorted(names, key=len, reverse=True)]
    pattern = re.compile(r"(?<![\w-])(?:" + "|".join(spellings) + r")(?:es|s)?(?![\w-])", re.IGNORECASE)
    return Vocabulary(organ, dimensions, synonyms, narrower, ontology, lookup, pattern)


def _spelling(name: str) -> str:
    return r"[\s-]+".join(re.escape(word) for word in re.split(r"[\s-]+", name))


def _strings(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
