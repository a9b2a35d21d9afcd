"""Organ systems and structures: what the file says is used, what it does not say is not guessed."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import InputError
from pipeline.ingest import SlideMetadata, checked_metadata
from pipeline.organs import organ_map
from pipeline.workspace import Workspace
from tests.pipeline.conftest import METADATA


def _with_setting(workspace: Workspace, **settings: object) -> Workspace:
    return replace(workspace, settings=workspace.settings.model_copy(update=settings))


def test_the_file_that_ships_is_the_table_of_the_paper(workspace: Workspace, shared_data: Path) -> None:
    organs = organ_map(workspace)
    with (shared_data.parent / "papers" / "viper" / "appendix_table1.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["organ_system"] != "Total"]
    assert list(organs.systems) == [row["organ_system"] for row in rows]
    for row in rows:
        structures = [place.structure for place in organs.organs.values() if place.system == row["organ_system"]]
        assert structures == row["named_structures"].split(", ")


@pytest.mark.parametrize(
    ("organ", "stated", "system", "structure"),
    [
        ("Urinary  Bladder", None, "Urinary", "urinary bladder"),
        ("kidney", "urinary", "Urinary", "kidney"),
        ("brain", None, None, None),
        ("adrenal", "ENDOCRINE", "Endocrine", None),
    ],
)
def test_an_organ_gets_the_place_that_the_file_knows(
    workspace: Workspace, organ: str, stated: str | None, system: str | None, structure: str | None
) -> None:
    checked = checked_metadata(workspace, replace(METADATA, organ=organ, organ_system=stated))
    assert (checked.organ_system, checked.structure) == (system, structure)


def test_a_structure_may_be_said_more_closely(workspace: Workspace) -> None:
    checked = checked_metadata(workspace, replace(METADATA, organ="kidney", structure="renal papilla"))
    assert (checked.organ_system, checked.structure) == ("Urinary", "renal papilla")


def test_an_unknown_system_lists_the_seven(workspace: Workspace) -> None:
    with pytest.raises(InputError) as error:
        checked_metadata(workspace, replace(METADATA, organ="brain", organ_system="Nervous"))
    assert "'Nervous' is unknown" in error.value.message
    assert all(system in error.value.message for system in organ_map(workspace).systems)


def test_a_system_that_contradicts_the_file_is_refused(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="puts kidney into 'Urinary'"):
        checked_metadata(workspace, replace(METADATA, organ="kidney", organ_system="Digestive"))


def test_all_wrong_fields_are_said_at_once(workspace: Workspace) -> None:
    wrong = SlideMetadata(organ="", source="", licence="CC0", sex="f", sacrifice="early", age="a\tb")
    with pytest.raises(InputError) as error:
        checked_metadata(workspace, wrong)
    said = "\n".join(error.value.problems)
    for words in ("organ is required", "source is required", "sex 'f' is unknown", "sacrifice 'early'", "age holds"):
        assert words in said
    assert len(error.value.problems) == 5


def test_a_file_of_the_projects_own_replaces_it(workspace: Workspace) -> None:
    own = workspace.root / "organs.json"
    own.write_text('{"systems": ["Nervous"], "organs": {"brain": {"system": "Nervous", "structure": "cerebrum"}}}')
    other = _with_setting(workspace, organs_file=Path("organs.json"))
    assert checked_metadata(other, replace(METADATA, organ="brain")).structure == "cerebrum"
    assert checked_metadata(other, METADATA).organ_system is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read"),
        ("{", "Invalid JSON"),
        ('{"systems": [], "organs": {"brain": {"system": "Nervous", "structure": "brain"}}}', "does not list: Nervous"),
        ('{"systems": ["Nervous"]}', "organs: Field required"),
    ],
)
def test_a_file_with_faults_is_named_with_them(workspace: Workspace, text: str | None, said: str) -> None:
    own = workspace.root / "mine.json"
    if text is not None:
        own.write_text(text)
    with pytest.raises(InputError) as error:
        checked_metadata(_with_setting(workspace, organs_file=own), METADATA)
    assert "mine.json" in error.value.message
    assert said in str(error.value)
