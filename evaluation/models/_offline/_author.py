"""The built-in item writer: turns a seed into its variants from controlled vocabularies, or says why it cannot."""

from __future__ import annotations

import json
import random
from typing import Protocol

from pydantic import BaseModel, ValidationError

from evaluation.items import (
    Distractor,
    FreeTextDraft,
    ItemFormat,
    KPrimDraft,
    MultipleChoiceDraft,
    Statement,
)
from evaluation.models._facts import GenerationFacts
from evaluation.models._offline._absences import AbsentWriter
from evaluation.models._offline._amounts import NumberWriter
from evaluation.models._offline._chance import chance
from evaluation.models._offline._findings import (
    AbsentFinding,
    Finding,
    NumberFinding,
    TermFinding,
    UnwritableSeedError,
    ZoneFinding,
    read_finding,
)
from evaluation.models._offline._material import (
    FreeTextMaterial,
    KPrimMaterial,
    McqMaterial,
    pick_claims,
    pick_distractors,
)
from evaluation.models._offline._phrases import PhraseWriter
from evaluation.models._offline._places import ZoneWriter
from evaluation.models._offline._stems import Stems
from evaluation.models._offline._terms import TermWriter
from evaluation.models._offline._vocabulary import Vocabulary, vocabulary


class Writer(Protocol):
    """Makes the material of the three formats for one finding."""

    def mcq(self) -> McqMaterial:
        """Return the multiple-choice material."""
        ...

    def kprim(self) -> KPrimMaterial:
        """Return the KPrim material."""
        ...

    def free_text(self) -> FreeTextMaterial:
        """Return the free-text material."""
        ...


def write_items(facts: GenerationFacts) -> str:
    """Return the items asked for as JSON: one object for one format, all variants for three.

    The same seed and attempt give the same items; another attempt asks about the same finding in another way.

    Raises:
        UnwritableSeedError: no right item follows from the seed; says why and what would help.
    """
    words = vocabulary(facts.organ)
    finding = read_finding(facts, words)
    stems = Stems(facts, words, _hidden(finding, words))
    writer = _writer(finding, words, stems, facts)
    try:
        drafts = {name: _draft(name, writer, facts) for name in facts.formats}
    except ValidationError as error:
        raise UnwritableSeedError(
            f"The seed's texts do not fit into an item: {error.errors()[0]['msg']}. Shorten or correct them."
        ) from None
    if len(drafts) == 1:
        return next(iter(drafts.values())).model_dump_json()
    return json.dumps({name: draft.model_dump(mode="json") for name, draft in drafts.items()}, ensure_ascii=False)


def _hidden(finding: Finding, words: Vocabulary) -> tuple[str, ...]:
    """The words that no stem may hold. A probe's target is no finding of the image, so it may be named."""
    if isinstance(finding, TermFinding):
        return words.terms("severity") if finding.dimension == "severity" else words.all_names(finding.term)
    if isinstance(finding, ZoneFinding | NumberFinding | AbsentFinding):
        return ()
    return (finding.phrase,)


def _writer(finding: Finding, words: Vocabulary, stems: Stems, facts: GenerationFacts) -> Writer:
    if isinstance(finding, TermFinding):
        return TermWriter(finding, words, stems, facts.attempt)
    if isinstance(finding, ZoneFinding):
        return ZoneWriter(finding, stems)
    if isinstance(finding, NumberFinding):
        return NumberWriter(finding, stems, _rng(facts, "numbers"))
    if isinstance(finding, AbsentFinding):
        return AbsentWriter(finding, stems, facts.attempt)
    return PhraseWriter(finding, words, stems)


def _draft(name: ItemFormat, writer: Writer, facts: GenerationFacts) -> BaseModel:
    avoided = frozenset(facts.failed_texts)
    if name == "mcq":
        mcq = writer.mcq()
        distractors = pick_distractors(mcq, _rng(facts, name), avoided)
        return MultipleChoiceDraft(
            stem=mcq.stem,
            correct_answer=mcq.key.text,
            correct_explanation=mcq.key.explanation,
            distractors=tuple(Distractor(text=wrong.text, explanation=wrong.explanation) for wrong in distractors),
        )
    if name == "kprim":
        kprim = writer.kprim()
        claims = pick_claims(kprim.claims, _rng(facts, name), avoided)
        return KPrimDraft(
            stem=kprim.stem,
            statements=tuple(
                Statement(text=claim.text, is_true=claim.is_true, explanation=claim.explanation) for claim in claims
            ),
        )
    free_text = writer.free_text()
    return FreeTextDraft(
        stem=free_text.stem,
        expected_answer=free_text.answer,
        synonyms=free_text.synonyms,
        scoring_rubric=free_text.rubric,
        max_points=1,
    )


def _rng(facts: GenerationFacts, part: str) -> random.Random:
    return chance("author", facts.seed_id, facts.attempt, part)
