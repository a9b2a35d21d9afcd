"""The vocabularies: complete enough for items, unambiguous, and holding the demo's words."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from evaluation.models._offline._material import DISTRACTOR_COUNT
from evaluation.models._offline._vocabulary import DIMENSIONS, comparable, vocabulary
from pipeline.demo.painting._terms import DEMO_TERMS

ORGANS = ("liver", "kidney", "lung", "heart")


@pytest.mark.parametrize("organ", ORGANS)
def test_every_term_has_enough_counterparts_and_three_features(organ: str) -> None:
    words = vocabulary(organ)
    for dimension in DIMENSIONS:
        for term in words.terms(dimension):
            others = [other for other in words.terms(dimension) if other != term and not words.overlap(term, other)]
            assert len(others) >= DISTRACTOR_COUNT, (dimension, term)
            entry = words.entry(term, dimension)
            assert dimension == "severity" or (entry is not None and len(entry.features) >= 3), (dimension, term)


@pytest.mark.parametrize("organ", ORGANS)
def test_no_name_stands_for_two_terms_of_one_dimension(organ: str) -> None:
    words = vocabulary(organ)
    for dimension in DIMENSIONS:
        owner: dict[str, str] = {}
        for term in words.terms(dimension):
            for name in words.all_names(term):
                assert owner.setdefault(comparable(name), term) == term, (dimension, name)


@pytest.mark.parametrize("organ", sorted(DEMO_TERMS))
def test_the_demos_words_are_terms(organ: str) -> None:
    words = vocabulary(organ)
    for dimension, terms in DEMO_TERMS[organ].items():
        for term in terms:
            known = words.exact(term, (dimension,))  # type: ignore[arg-type]
            assert known == (term, dimension)


@pytest.mark.parametrize(
    ("organ", "text", "expected"),
    [
        ("Hepatic", "Fatty change", ("hepatocellular vacuolation", "lesion")),
        ("RENAL", "the renal cortex", ("cortex", "structure")),
        ("liver", "Kupffer cells", ("Kupffer cell", "cell_type")),
        ("liver", "out of focus", ("out-of-focus area", "artefact")),
        ("no such organ", "neutrophils", ("neutrophil", "cell_type")),
        ("../liver", "gibberish", None),
    ],
)
def test_names_are_found_in_any_spelling(organ: str, text: str, expected: tuple[str, str] | None) -> None:
    assert vocabulary(organ).exact(text, ("structure",)) == expected


def test_the_longest_term_in_a_phrase_wins() -> None:
    hits = vocabulary("liver").find("Mild hepatocellular necrosis and tissue folds")
    assert [hit.term for hit in hits] == ["slight", "hepatocellular necrosis", "tissue fold"]


def test_most_findings_of_open_tg_gates_are_known(shared_data: Path) -> None:
    known = total = 0
    with (shared_data / "vocabulary" / "tg_gates_findings.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["finding"] in ("", "DEAD", "Lesion,NOS"):
                continue
            count = int(row["n"])
            total += count
            known += count * bool(vocabulary(row["organ"]).find(row["finding"]))
    assert known / total > 0.6
