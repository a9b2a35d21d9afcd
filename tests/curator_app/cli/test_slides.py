"""Adding slides and changing what is said of them on the command line."""

from __future__ import annotations

from pathlib import Path

from curator_app.cli._slide_options import SLIDE_OPTIONS
from pipeline.ingest import SLIDE_FIELDS
from pipeline.workspace import Workspace
from tests.curator_app.cli.conftest import Command


def test_every_field_of_a_slide_has_its_option() -> None:
    assert sorted(SLIDE_OPTIONS) == sorted(SLIDE_FIELDS)


def test_edit_changes_what_is_named_and_leaves_the_rest(here: Command, with_slides: Workspace) -> None:
    where = ("--workspace", with_slides.root)
    before = here("slides", "list", "--json", *where).json[0]
    edited = here("slides", "edit", before["id"], "--study", "TG-1", "--dose-group", "high", "--json", *where)
    assert edited.code == 0, edited.err
    changed = {**before, "study": "TG-1", "dose_group": "high", "row_version": before["row_version"] + 1}
    assert edited.json == changed
    assert here("slides", "edit", before["id"], "--study", "", "--json", *where).json["study"] is None
    nothing = here("slides", "edit", before["id"], *where)
    assert (nothing.code, "Name at least one field" in nothing.err) == (2, True)


def test_add_takes_the_fields_and_asks_for_those_that_are_needed(
    here: Command, workspace: Workspace, drawn_slides: list[Path]
) -> None:
    where = ("--workspace", workspace.root)
    bare = here("slides", "add", drawn_slides[0], "--organ", "liver", *where)
    assert (bare.code, "source" in bare.err, "licence" in bare.err) == (2, True, True)
    fields = ("--organ", "liver", "--source", "My lab", "--license", "CC0-1.0", "--age", "13 weeks", "--sex", "male")
    added = here("slides", "add", drawn_slides[0], *fields, "--json", *where)
    assert added.code == 0, added.err
    (slide,) = added.json["added"]
    assert (slide["licence"], slide["age"], slide["sex"], slide["strain"]) == ("CC0-1.0", "13 weeks", "male", None)
