"""What changed from one version of an item to the next, field by field and word by word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from evaluation.items import OPTION_LETTERS, FreeText, KPrim, MultipleChoice

PieceKind = Literal["same", "gone", "new"]

_WORDS = re.compile(r"\s+|\w+(?:[-'’]\w+)*|[^\w\s]")


@dataclass(frozen=True)
class Piece:
    """A stretch of text that stayed, went or came."""

    kind: PieceKind
    text: str


@dataclass(frozen=True)
class FieldChange:
    """A field that changed, with its text before and after ("" where it was not there)."""

    name: str
    before: str
    after: str


def diff_words(before: str, after: str) -> list[Piece]:
    """Return the two texts as one sequence of pieces; the kept and the new ones make up `after`."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    pieces: list[Piece] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append(Piece("same", "".join(new[j1:j2])))
            continue
        if i2 > i1:
            pieces.append(Piece("gone", "".join(old[i1:i2])))
        if j2 > j1:
            pieces.append(Piece("new", "".join(new[j1:j2])))
    return pieces


def changed_fields(
    before: MultipleChoice | KPrim | FreeText, after: MultipleChoice | KPrim | FreeText
) -> list[FieldChange]:
    """Return the fields that differ, in the order of the newer version.

    Options and statements are set against the old ones that they are most alike, the key against the key: a
    new order alone is no change.

    Raises:
        ValueError: the two are of different formats.
    """
    pairs: list[FieldChange]
    if isinstance(before, MultipleChoice) and isinstance(after, MultipleChoice):
        pairs = _options(before, after)
    elif isinstance(before, KPrim) and isinstance(after, KPrim):
        pairs = _statements(before, after)
    elif isinstance(before, FreeText) and isinstance(after, FreeText):
        pairs = [
            FieldChange("Expected answer", before.answer, after.answer),
            FieldChange("Synonyms", "; ".join(before.synonyms), "; ".join(after.synonyms)),
            FieldChange("Rubric", before.rubric, after.rubric),
            FieldChange("Points", str(before.points), str(after.points)),
        ]
    else:
        raise ValueError(f"a {before.format} has no differences to a {after.format}")
    pairs = [FieldChange("Stem", before.stem, after.stem), *pairs]
    return [pair for pair in pairs if pair.before != pair.after]


def _options(before: MultipleChoice, after: MultipleChoice) -> list[FieldChange]:
    old = [*before.distractors]
    partners = _partners([o.text for o in old], [o.text for o in after.distractors])
    changes: list[FieldChange] = []
    place_of_distractor = 0
    for index, option in enumerate(after.options):
        letter = OPTION_LETTERS[index]
        if index == after.key:
            name, was = f"Option {letter}, the key", before.key_option
        else:
            name, was = f"Option {letter}", old[partners[place_of_distractor]]
            place_of_distractor += 1
        changes.append(FieldChange(name, was.text, option.text))
        changes.append(FieldChange(f"{name}: explanation", was.explanation, option.explanation))
    return changes


def _statements(before: KPrim, after: KPrim) -> list[FieldChange]:
    old = before.statements
    partners = _partners([s.text for s in old], [s.text for s in after.statements])
    changes: list[FieldChange] = []
    for index, statement in enumerate(after.statements):
        was, name = old[partners[index]], f"Statement {index + 1}"
        changes.append(FieldChange(name, was.text, statement.text))
        changes.append(FieldChange(f"{name}: truth", _truth(was.is_true), _truth(statement.is_true)))
        changes.append(FieldChange(f"{name}: explanation", was.explanation, statement.explanation))
    return changes


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _partners(before: Sequence[str], after: Sequence[str]) -> list[int]:
    """Return for each new text the index of its old one, each used once, the most alike paired first."""
    likeness = sorted(
        (
            (-SequenceMatcher(None, old, new, autojunk=False).ratio(), j, i)
            for i, old in enumerate(before)
            for j, new in enumerate(after)
        ),
    )
    partner: dict[int, int] = {}
    for _, new_index, old_index in likeness:
        if new_index not in partner and old_index not in partner.values():
            partner[new_index] = old_index
    return [partner[index] for index in range(len(after))]
