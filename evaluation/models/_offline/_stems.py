"""Stems: the seed's own question about the image, or one of the dimension where that would give the answer away."""

from __future__ import annotations

import re

from evaluation.models._facts import GenerationFacts
from evaluation.models._offline._findings import preferred_dimensions
from evaluation.models._offline._vocabulary import Dimension, Vocabulary, comparable

MAX_QUESTION_LENGTH = 300
"""Characters of a seed question that still fit into a stem."""

NOUNS: dict[Dimension, str] = {
    "location": "zone",
    "distribution": "pattern of distribution",
    "severity": "degree",
    "cell_type": "cell type",
    "lesion": "change",
    "artefact": "artefact",
    "structure": "structure",
}
"""What a statement calls the thing asked about, without naming it."""

_FRAMES = ("In {image}, {question}", "Looking at {image}: {question}", "Judging by {image}, {question}")
_GENERIC: dict[Dimension, tuple[str, ...]] = {
    "location": ("which zone is concerned?", "in which zone does the feature of interest lie?"),
    "distribution": ("how is the feature of interest distributed?", "which spatial pattern is seen?"),
    "severity": ("to which degree is the feature of interest developed?", "which degree fits the appearance?"),
    "cell_type": ("which cell type is represented?", "which kind of cell can be recognised?"),
    "lesion": ("which change can be recognised?", "which process is at work?"),
    "artefact": ("which technical artefact can be recognised?", "what spoils the quality of the picture?"),
    "structure": ("which structure is represented?", "which anatomical part can be recognised?"),
}

_HOW_SEVERE = re.compile(
    r"^how (?:severe|marked|strong|pronounced) (?P<verb>is|are) (?P<what>.+?)\s*\?$", re.IGNORECASE
)
"""A question that holds a word of its own scale of answers."""

_PLURAL = re.compile(r"(?<![siu])s$", re.IGNORECASE)

_COMMON_WORDS = frozenset(
    [
        "cell",
        "type",
        "zone",
        "area",
        "part",
        "image",
        "field",
        "tissue",
        "section",
        "change",
        "lesion",
        "about",
        "with",
        "from",
    ]
)
"""Words that occur in questions and answers of all kinds and give nothing away."""


class Stems:
    """Builds the stems of one seed so that none of them holds the answer."""

    def __init__(self, facts: GenerationFacts, words: Vocabulary, hidden: tuple[str, ...]) -> None:
        self._facts = facts
        self._words = words
        self._hidden = {_root(word) for text in hidden for word in _telling_words(text)}
        self._failed = frozenset(facts.failed_texts)

    @property
    def image(self) -> str:
        """The image, with the species, organ and stain that a stem has to mention.

        Where the organ is the answer, the stem speaks of tissue.
        """
        organ = self._facts.organ.replace("_", " ")
        is_the_answer = comparable(organ) in (comparable(self._facts.answer).removeprefix("the "), "")
        shown = "tissue" if is_the_answer else organ
        return f"this image of {self._facts.species} {shown} ({self._facts.stain})"

    def question(self, dimension: Dimension | None = None) -> str:
        """Return the seed's question, in lower case and with lesions unnamed, or a general one."""
        own = self._own_question()
        if own is not None:
            return own
        choices = _GENERIC[dimension or preferred_dimensions(self._facts.category)[0]]
        return choices[self._facts.attempt % len(choices)]

    def ask(self, question: str) -> str:
        """Return a stem that asks `question` of the image, in a frame that was not guessed before."""
        place = self._facts.attempt
        stems = [frame.format(image=self.image, question=question) for frame in _FRAMES]
        ordered = stems[place % len(stems) :] + stems[: place % len(stems)]
        return next((stem for stem in ordered if stem not in self._failed), ordered[0])

    def ask_for_statements(self, question: str) -> str:
        """Return a neutral stem for statements about what `question` asks for."""
        frames = (
            "Examine {image} and consider what is asked here: {question} Are the following statements right or wrong?",
            "Are the following statements on {image} right or wrong with regard to this question: {question}",
        )
        stems = [frame.format(image=self.image, question=question) for frame in frames]
        place = self._facts.attempt % len(stems)
        ordered = stems[place:] + stems[:place]
        return next((stem for stem in ordered if stem not in self._failed), ordered[0])

    def gives_away(self, text: str) -> bool:
        """Whether `text` holds a content word of the answer."""
        return any(_root(word) in self._hidden for word in _telling_words(text))

    def _own_question(self) -> str | None:
        text = " ".join(self._facts.question.split())
        is_claim = self._facts.is_true is not None
        if is_claim or not text.endswith("?") or text.count("?") > 1 or len(text) > MAX_QUESTION_LENGTH:
            return None
        if re.search(r"\b(?:true|false|yes or no|not|except)\b", text, re.IGNORECASE):
            return None
        text = _HOW_SEVERE.sub(r"to which degree \g<verb> \g<what> developed?", self._unnamed(text))
        if self.gives_away(text):
            return None
        return text if text[1:2].isupper() else text[:1].lower() + text[1:]

    def _unnamed(self, text: str) -> str:
        """Call lesions and artefacts what they are without their names: to recognise them is the task."""
        hits = [hit for hit in self._words.find(text) if hit.dimension in ("lesion", "artefact")]
        if len({hit.term for hit in hits}) != 1:
            return text
        for hit in reversed(hits):
            before = re.sub(r"\b(?:the|a|an)\s+$", "", text[: hit.start], flags=re.IGNORECASE)
            before = self._without_modifiers(before)
            plural = "s" if _PLURAL.search(text[hit.start : hit.end]) else ""
            text = f"{before}the {NOUNS[hit.dimension]}{plural}{text[hit.end :]}"
        return text

    def _without_modifiers(self, before: str) -> str:
        hits = self._words.find(before, ("severity", "distribution"))
        if hits and hits[-1].dimension in ("severity", "distribution") and not before[hits[-1].end :].strip():
            before = before[: hits[-1].start]
        return re.sub(r"\b(?:the|a|an)\s+$", "", before, flags=re.IGNORECASE)


def _telling_words(text: str) -> list[str]:
    return [word for word in comparable(text).split() if len(word) > 3 and word not in _COMMON_WORDS]


def _root(word: str) -> str:
    return word[:6]
