"""Who wrote or decided on an item is found, so that they do not answer it in a study."""

from __future__ import annotations

import pytest

from evaluation.items import FreeText
from pipeline.errors import NotFoundError
from pipeline.people import close_account, list_conflicts, require_may_answer
from pipeline.permissions import Actor, NotAllowedError, Role
from pipeline.review import decide, edit_item, list_items, undo_decision
from pipeline.rois import list_rois
from pipeline.seeds import SeedText, list_seeds, save_seed
from pipeline.variants import choose_models, generate_items
from pipeline.workspace import Workspace
from tests.pipeline.conftest import SEED_TEXTS
from tests.pipeline.people.conftest import add


@pytest.fixture
def people(with_rois: Workspace) -> Workspace:
    """Seeds of ann (two), ben and cat; dan edited ben's; eve had a model write the items; fay did nothing."""
    for name in ("ann", "ben", "cat", "dan", "eve", "fay", "gus"):
        add(with_rois, name, "author", "reviewer")
    for (roi, _), texts, who in zip(list_rois(with_rois), SEED_TEXTS, ("ann", "ann", "ben", "cat"), strict=True):
        save_seed(with_rois, SeedText(*texts), roi_id=roi.id, who=who)
    bens = next(entry.seed for entry in list_seeds(with_rois) if entry.seed.created_by == "ben")
    save_seed(with_rois, SeedText(*SEED_TEXTS[2], notes="clearer"), roi_id=bens.roi_id, who="dan", seed_id=bens.id)
    generate_items(with_rois, models=choose_models(with_rois, generator=None, checker=None), who="eve")
    return with_rois


def items_of(workspace: Workspace, *authors: str) -> list[str]:
    return sorted(entry.item.id for entry in list_items(workspace) if entry.seed.created_by in authors)


def test_the_author_of_a_seed_wrote_its_items(people: Workspace) -> None:
    assert list_conflicts(people, "ann") == items_of(people, "ann")
    assert len(list_conflicts(people, "ann")) == 6
    assert list_conflicts(people, "cat") == items_of(people, "cat")
    assert list_conflicts(people, "fay") == []


def test_who_edited_a_seed_wrote_its_items_too(people: Workspace) -> None:
    assert list_conflicts(people, "dan") == list_conflicts(people, "ben") == items_of(people, "ben")


def test_who_had_a_model_write_them_knows_them_all(people: Workspace) -> None:
    assert list_conflicts(people, "eve") == items_of(people, "ann", "ben", "cat")


def test_who_edits_or_decides_on_an_item_knows_this_one(people: Workspace) -> None:
    first, second = list_items(people, item_format="free_text")[:2]
    assert isinstance(first.content, FreeText)
    edit_item(people, first.item.id, first.content.model_copy(update={"points": 2}), who="fay")
    decide(people, second.item.id, "reject", who="gus", note="unclear")
    assert list_conflicts(people, "fay") == [first.item.id]
    assert list_conflicts(people, "gus") == [second.item.id]
    undo_decision(people, second.item.id, who="gus")
    assert list_conflicts(people, "gus") == [second.item.id], "taken back is not unseen"


def test_an_author_named_in_an_imported_table_is_known_by_the_display_name(with_seeds: Workspace) -> None:
    add(with_seeds, "tester", display_name="Dr Test")
    add(with_seeds, "other", display_name="Dr Other")
    generate_items(with_seeds, models=choose_models(with_seeds, generator=None, checker=None), who="eve")
    assert len(list_conflicts(with_seeds, "tester")) == 12
    assert list_conflicts(with_seeds, "other") == []


def test_closing_an_account_takes_no_conflict_away(people: Workspace) -> None:
    before = list_conflicts(people, "ann")
    close_account(people, "ann", reason="left", who="admin", forget_name=True)
    assert list_conflicts(people, "ann") == before != []


@pytest.mark.parametrize("name", ["nobody", "", "' OR 1=1 --", "\x00"])
def test_there_is_nobody_of_this_name(people: Workspace, name: str) -> None:
    with pytest.raises(NotFoundError, match="no account"):
        list_conflicts(people, name)


def test_a_reader_answers_what_they_did_not_write_and_the_rest_only_in_a_declared_retest(people: Workspace) -> None:
    own, others = items_of(people, "ann")[0], items_of(people, "cat")[0]
    reader = people.acting_as(Actor("ann", frozenset({Role.READER, Role.AUTHOR})))
    require_may_answer(reader, others)
    require_may_answer(reader, own, declared_retest=True)
    with pytest.raises(NotAllowedError, match="knows its key"):
        require_may_answer(reader, own)
    with pytest.raises(NotAllowedError, match="it needs the role reader"):
        require_may_answer(people.acting_as(Actor("fay", frozenset({Role.AUTHOR}))), others)
    with pytest.raises(NotAllowedError):
        require_may_answer(people.acting_as(Actor("nobody", frozenset({Role.READER}))), others)
