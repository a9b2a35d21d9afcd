"""Writes items whose answer is a term of the vocabulary: lesions, structures, cells, zones, patterns, degrees."""

from __future__ import annotations

from evaluation.models._offline._findings import TermFinding
from evaluation.models._offline._material import (
    DISTRACTOR_COUNT,
    Choice,
    Claim,
    FreeTextMaterial,
    KPrimMaterial,
    McqMaterial,
)
from evaluation.models._offline._stems import NOUNS, Stems
from evaluation.models._offline._vocabulary import Dimension, Entry, Vocabulary, comparable

_LOOKS: dict[Dimension, str] = {
    "location": "is marked by",
    "distribution": "is marked by",
    "severity": "is marked by",
    "cell_type": "is marked by",
    "lesion": "shows",
    "artefact": "shows",
    "structure": "shows",
}


class TermWriter:
    """Material for a seed whose answer is `finding.term`."""

    def __init__(self, finding: TermFinding, words: Vocabulary, stems: Stems, attempt: int) -> None:
        self._term = finding.term
        self._dimension = finding.dimension
        self._wording = finding.wording
        self._words = words
        self._stems = stems
        self._attempt = attempt
        self._noun = NOUNS[finding.dimension]
        self._question = stems.question(finding.dimension)

    def mcq(self) -> McqMaterial:
        """Ask for the name; where that was guessed twice, ask for the looks."""
        if self._attempt % 3 == 2 and len(self._others_with_features()) >= DISTRACTOR_COUNT:
            return self._mcq_on_looks()
        shown, others = self._names_of_one_length()
        key = Choice(_sentence(shown), f"This {self._noun} was recorded for this image.{self._typical(self._term)}")
        distractors = tuple(
            Choice(_sentence(name), f"A {self._noun} to be told apart in this organ.{self._typical(other)}")
            for other, name in others.items()
        )
        return McqMaterial(self._stems.ask(self._question), key, distractors)

    def kprim(self) -> KPrimMaterial:
        """State looks in even attempts, and names or affected compartments in odd ones."""
        claims: list[Claim] = []
        if self._attempt % 2 == 0 or self._dimension == "severity":
            claims = self._degrees() if self._dimension == "severity" else self._looks()
        elif self._dimension == "lesion" and self._attempt % 4 == 1:
            claims = self._compartments()
        if not any(claim.is_true for claim in claims) or sum(not claim.is_true for claim in claims) < 2:
            claims = self._names()
        return KPrimMaterial(self._stems.ask_for_statements(self._question), tuple(claims))

    def free_text(self) -> FreeTextMaterial:
        """Ask for the name in one term."""
        names = (self._wording, *self._words.names(self._term)[1:])
        accepted = {comparable(name): name for name in reversed(names) if name}
        accepted.pop(comparable(self._term), None)
        rubric = f"1 point for {self._term!r} or an accepted synonym; no point for another {self._noun}."
        return FreeTextMaterial(
            f"Examine {self._stems.image} and answer with one term: {self._question}",
            _sentence(self._term),
            tuple(reversed(accepted.values())),
            rubric,
        )

    def _mcq_on_looks(self) -> McqMaterial:
        stem = self._stems.ask(f"which feature supports the answer to this question: {self._question}")
        own = self._features(self._term)
        key = Choice(_sentence(own[self._attempt % len(own)]), f"Typical of the {self._noun} recorded for this image.")
        distractors = tuple(
            Choice(_sentence(feature), f"Would point to another {self._noun}: {other}.")
            for other in self._others_with_features()
            for feature in self._features(other)
            if feature not in own
        )
        return McqMaterial(stem, key, distractors)

    def _names_of_one_length(self) -> tuple[str, dict[str, str]]:
        """Names for the term and for the others, synonyms where these have the same number of words.

        The term keeps its own name unless another of its names has more counterparts, and that name too few.
        """
        others = self._others()
        if self._dimension not in ("lesion", "cell_type"):
            # Synonyms of places and structures are often adjectives; five nouns read alike, a mixture does not.
            return self._term, {other: other for other in others}
        best: tuple[str, dict[str, str]] | None = None
        for shown in _plain_names(self._words, self._term):
            length = len(shown.split())
            names = {other: _name_of_length(self._words, other, length) for other in others}
            equal = sum(len(name.split()) == length for name in names.values())
            if equal >= DISTRACTOR_COUNT:
                return shown, names
            best = best or (shown, names)
        return best or (self._term, {other: other for other in others})

    def _others(self) -> list[str]:
        """The dimension's other terms that exclude the answer; of anatomy, those of one kind if there are enough."""
        others = [
            other
            for other in self._words.terms(self._dimension)
            if other != self._term and not self._words.overlap(other, self._term)
        ]
        own = self._entry(self._term)
        if self._dimension not in ("location", "structure", "cell_type") or own is None:
            return others
        alike = [other for other in others if (entry := self._entry(other)) is not None and entry.kind == own.kind]
        return alike if len(alike) >= DISTRACTOR_COUNT else others

    def _others_with_features(self) -> list[str]:
        if self._entry(self._term) is None:
            return []
        return [other for other in self._others() if self._entry(other) is not None]

    def _entry(self, term: str) -> Entry | None:
        return self._words.entry(term, self._dimension)

    def _features(self, term: str) -> tuple[str, ...]:
        entry = self._entry(term)
        return entry.features if entry is not None else ()

    def _typical(self, term: str) -> str:
        entry = self._entry(term)
        return f" Typical: {entry.features[0]}." if entry else ""

    def _names(self) -> list[Claim]:
        what = f"The {self._noun} in question is best described as"
        true = Claim(f"{what} {self._term}.", True, "This is what was recorded for this image.", "name")
        return [
            true,
            *(
                Claim(f"{what} {other}.", False, f"Another {self._noun} was recorded.{self._typical(other)}", other)
                for other in self._others()
            ),
        ]

    def _looks(self) -> list[Claim]:
        entry = self._entry(self._term)
        if entry is None:
            return []
        what = f"The {self._noun} in question {_LOOKS[self._dimension]}"
        claims = [Claim(f"{what} {feature}.", True, f"Typical of {self._term}.", feature) for feature in entry.features]
        for other in self._others_with_features():
            claims += [
                Claim(f"{what} {feature}.", False, f"Would be typical of {other}.", other)
                for feature in self._features(other)
                if feature not in entry.features
            ]
        return claims

    def _compartments(self) -> list[Claim]:
        entry = self._entry(self._term)
        if entry is None:
            return []
        what = "The change in question chiefly concerns the"
        claims = [Claim(f"{what} {entry.compartment}.", True, f"{_sentence(self._term)} arises there.", "own")]
        own_words = set(entry.compartment.split())
        for other in self._others():
            other_entry = self._entry(other)
            if other_entry is None or own_words & set(other_entry.compartment.split()):
                continue
            text = f"{what} {other_entry.compartment}."
            if all(text != claim.text for claim in claims):
                claims.append(Claim(text, False, f"Would fit {other}.", other_entry.compartment))
        return claims

    def _degrees(self) -> list[Claim]:
        scale = self._words.terms("severity")
        place = scale.index(self._term)
        claims = []
        for other_place, other in enumerate(scale):
            reason = f"The degree recorded is {self._term}."
            if other_place != len(scale) - 1:
                claims.append(Claim(f"The degree lies above {other}.", place > other_place, reason, other))
            if other_place != 0:
                claims.append(Claim(f"The degree lies below {other}.", place < other_place, reason, other))
        return claims


def _plain_names(words: Vocabulary, term: str) -> list[str]:
    """The names in the word order of speech; reports also use inverted ones ("necrosis, tubule")."""
    return [name for name in words.names(term) if "," not in name]


def _name_of_length(words: Vocabulary, term: str, length: int) -> str:
    return next((name for name in _plain_names(words, term) if len(name.split()) == length), term)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
