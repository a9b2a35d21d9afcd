"""Writes items whose answer is a phrase of the author's own: parts of it are exchanged for their counterparts."""

from __future__ import annotations

from evaluation.models._offline._findings import PhraseFinding
from evaluation.models._offline._material import Choice, Claim, FreeTextMaterial, KPrimMaterial, McqMaterial
from evaluation.models._offline._stems import NOUNS, Stems
from evaluation.models._offline._vocabulary import NORMAL, Hit, Vocabulary, comparable
from evaluation.models._offline._zones import displaced

_CORE_FIRST = ("lesion", "artefact", "structure", "cell_type", "location", "distribution", "severity")


class PhraseWriter:
    """Material for a seed whose answer is `finding.phrase`."""

    def __init__(self, finding: PhraseFinding, words: Vocabulary, stems: Stems) -> None:
        self._finding = finding
        self._words = words
        self._stems = stems
        self._phrase = finding.phrase[:1].upper() + finding.phrase[1:]
        self._noun = "place" if finding.is_place else NOUNS[finding.dimension]
        self._question = stems.question(finding.dimension)
        self._others = self._counterparts()

    def mcq(self) -> McqMaterial:
        """Ask for the phrase among phrases that differ from it in one part."""
        key = Choice(self._phrase, f"This {self._noun} was recorded for this image.")
        distractors = tuple(
            Choice(other, f"Another {self._noun} than the one that was recorded.") for other in self._others
        )
        return McqMaterial(self._stems.ask(self._question), key, distractors)

    def kprim(self) -> KPrimMaterial:
        """State the phrase and its counterparts."""
        what = f"The {self._noun} in question is best described as"
        claims = [Claim(f"{what}: {_lowered(self._phrase)}.", True, "This was recorded for this image.", "own")]
        claims += [
            Claim(f"{what}: {_lowered(other)}.", False, f"Another {self._noun} was recorded.", other)
            for other in self._others
        ]
        return KPrimMaterial(self._stems.ask_for_statements(self._question), tuple(claims))

    def free_text(self) -> FreeTextMaterial:
        """Ask for the phrase."""
        core = self._core()
        synonyms = self._words.names(core.term)[1:] if core is not None and len(self._finding.hits) == 1 else ()
        is_whole = core is not None and comparable(self._phrase) == comparable(core.term)
        return FreeTextMaterial(
            f"Examine {self._stems.image} and answer in a short phrase: {self._question}",
            self._phrase,
            tuple(synonyms) if is_whole else (),
            f"1 point for {self._phrase!r} or an equal wording; half of it for an answer that holds a part.",
        )

    def _core(self) -> Hit | None:
        return min(self._finding.hits, key=lambda hit: _CORE_FIRST.index(hit.dimension), default=None)

    def _counterparts(self) -> list[str]:
        """Wrong phrases of the same build; plain terms of the likely dimension where no part can be exchanged."""
        phrase = self._phrase
        found: list[str] = displaced(phrase) if self._finding.is_place else []
        core = self._core()
        if core is not None and not self._finding.is_place:
            for other in self._words.terms(core.dimension):
                if other != core.term and not self._words.overlap(other, core.term) and not self._is_in_phrase(other):
                    found.append(phrase[: core.start] + other + phrase[core.end :])
        if not found:
            own = set(comparable(phrase).split())
            found = [
                other
                for other in self._words.terms(self._finding.dimension)
                if not own & set(comparable(other).split()) and other != NORMAL
            ]
        distinct = {comparable(other): other[:1].upper() + other[1:] for other in found}
        distinct.pop(comparable(phrase), None)
        return list(distinct.values())

    def _is_in_phrase(self, term: str) -> bool:
        return any(hit.term == term for hit in self._finding.hits)


def _lowered(text: str) -> str:
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]
