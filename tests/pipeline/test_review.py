"""Decisions on items: approve, reject, edit, undo; conflicts; approval on the command line."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import select

from db.tables import ReviewDecision
from evaluation.items import FreeText, MultipleChoice
from pipeline.audit import EventFilter, list_events
from pipeline.errors import ConflictError, InputError
from pipeline.review import (
    ItemEntry,
    approve_passed,
    decide,
    edit_item,
    edit_to_undo,
    item_history,
    list_items,
    undo_decision,
    undo_edit,
    withdraw_item,
)
from pipeline.states import ITEM_TRANSITIONS, ROI_TRANSITIONS, SEED_TRANSITIONS, states_as_mermaid, states_document
from pipeline.variants import choose_models, generate_items
from pipeline.workspace import Workspace


@pytest.fixture
def with_items(with_seeds: Workspace) -> Workspace:
    generate_items(with_seeds, models=choose_models(with_seeds, generator=None, checker=None), who="a")
    return with_seeds


def free_text(workspace: Workspace) -> ItemEntry:
    return list_items(workspace, item_format="free_text")[0]


def test_approve_and_undo(with_items: Workspace) -> None:
    item = free_text(with_items).item
    assert decide(with_items, item.id, "approve", who="ben").state == "approved"
    assert undo_decision(with_items, item.id, who="ben").state == "passed"
    history = item_history(with_items, item.id)
    assert [decision.decision for decision in history.decisions] == ["approve", "undo"], "nothing is erased"
    with pytest.raises(InputError, match="no decision to take back"):
        undo_decision(with_items, item.id, who="ben")


def test_undo_takes_back_the_last_decision_also_where_a_clock_went_back(with_items: Workspace) -> None:
    item = free_text(with_items).item
    decide(with_items, item.id, "approve", who="ben")
    undo_decision(with_items, item.id, who="ben")
    with with_items.writing() as session:
        for earlier in session.exec(select(ReviewDecision)):
            earlier.created_at += timedelta(hours=1)
            session.add(earlier)
    decide(with_items, item.id, "reject", who="ben", note="two questions in one")
    undo_decision(with_items, item.id, who="ben")
    (last,) = list_events(with_items, EventFilter(object_id=item.id), limit=1)
    assert (last.reason, last.new) == ("reject taken back", {"state": "passed", "version": 1})


def test_a_rejection_needs_a_note(with_items: Workspace) -> None:
    item = free_text(with_items).item
    with pytest.raises(InputError, match="note"):
        decide(with_items, item.id, "reject", who="ben", note="  ")
    rejected = decide(with_items, item.id, "reject", who="ben", note="two questions in one")
    assert (rejected.state, rejected.reason) == ("rejected", "two questions in one")
    assert undo_decision(with_items, item.id, who="ben").state == "passed"


def test_two_reviewers_of_one_item(with_items: Workspace) -> None:
    item = free_text(with_items).item
    decide(with_items, item.id, "approve", who="anna", expected_version=item.row_version)
    with pytest.raises(ConflictError, match="anna made it approved at"):
        decide(with_items, item.id, "reject", who="ben", note="no", expected_version=item.row_version)


def test_an_edit_is_a_version_and_is_checked_again(with_items: Workspace) -> None:
    entry = next(e for e in list_items(with_items, item_format="mcq", states=("passed", "escalated")))
    assert isinstance(entry.content, MultipleChoice)
    edited = entry.content.model_copy(update={"stem": "In this rat liver image, which option describes what is seen?"})
    item = edit_item(with_items, entry.item.id, edited, who="ben", note="clearer")
    assert item.state in ("passed", "escalated")
    history = item_history(with_items, entry.item.id)
    assert history.versions[-1].number == entry.version.number + 1
    assert history.versions[-1].provenance == {"written_by": "ben"}
    assert len(history.trials[history.versions[-1].id]) == 3
    with pytest.raises(InputError, match="unchanged"):
        edit_item(with_items, entry.item.id, edited, who="ben")


def test_edited_free_text_waits_for_approval(with_items: Workspace) -> None:
    entry = free_text(with_items)
    assert isinstance(entry.content, FreeText)
    edited = entry.content.model_copy(update={"points": 2})
    assert edit_item(with_items, entry.item.id, edited, who="ben").state == "passed"


def test_an_edit_is_taken_back_with_the_check_of_its_text(with_items: Workspace) -> None:
    entry = next(e for e in list_items(with_items, item_format="mcq", states=("passed", "escalated")))
    assert isinstance(entry.content, MultipleChoice)
    before = item_history(with_items, entry.item.id)
    edited = entry.content.model_copy(update={"stem": "In this rat liver image, which option describes what is seen?"})
    item = edit_item(with_items, entry.item.id, edited, who="ben")
    with pytest.raises(InputError, match="no edit of yours"):
        undo_edit(with_items, item.id, who="anna")
    back = undo_edit(with_items, item.id, who="ben", expected_version=item.row_version)
    assert back.state == entry.item.state
    history = item_history(with_items, item.id)
    old, _, new = history.versions[-3:]
    assert (new.number, new.content, new.guess_verdict) == (old.number + 2, old.content, old.guess_verdict)
    assert new.reason == f"v{old.number + 1} taken back: the text of v{old.number} again"
    assert history.trials[new.id] == history.trials[old.id] == before.trials[old.id]
    assert [decision.decision for decision in history.decisions] == ["revise", "undo"]
    assert edit_to_undo(back, history, who="ben") is None, "what was taken back is no edit"
    with pytest.raises(InputError, match="no edit of yours"):
        undo_edit(with_items, item.id, who="ben")


def test_what_was_done_after_an_edit_stands(with_items: Workspace) -> None:
    entry = free_text(with_items)
    assert isinstance(entry.content, FreeText)
    item = edit_item(with_items, entry.item.id, entry.content.model_copy(update={"points": 2}), who="ben")
    decide(with_items, item.id, "approve", who="anna")
    with pytest.raises(ConflictError, match="anna made it approved at"):
        undo_edit(with_items, item.id, who="ben", expected_version=item.row_version)
    with pytest.raises(InputError, match="is approved"):
        undo_edit(with_items, item.id, who="ben")
    undo_decision(with_items, item.id, who="anna")
    assert undo_edit(with_items, item.id, who="ben").state == "passed"
    assert free_text(with_items).content == entry.content


def test_approval_on_the_command_line_records_both_names(with_items: Workspace) -> None:
    waiting = list_items(with_items, states=("passed",))
    approved = approve_passed(with_items, as_user="Dr Roe")
    assert {item.id for item in approved} == {entry.item.id for entry in waiting}
    decision = item_history(with_items, approved[0].id).decisions[0]
    assert decision.created_by == "Dr Roe"
    assert decision.recorded_by.startswith("command line, operating-system user ")
    with pytest.raises(InputError, match="--as"):
        approve_passed(with_items, as_user=" ")


def test_withdrawn_is_withdrawn(with_items: Workspace) -> None:
    item = free_text(with_items).item
    withdraw_item(with_items, item.id, reason="wrong slide", who="ben")
    assert item.id not in {entry.item.id for entry in list_items(with_items)}
    assert item.id in {entry.item.id for entry in list_items(with_items, states=("withdrawn",))}
    with pytest.raises(InputError, match="can become nothing"):
        decide(with_items, item.id, "approve", who="ben")


@given(st.sampled_from([ROI_TRANSITIONS, SEED_TRANSITIONS, ITEM_TRANSITIONS]), st.data())
def test_every_walk_stays_within_the_states(table: dict[str, frozenset[str]], data: st.DataObject) -> None:
    state = next(iter(table))
    for _ in range(30):
        if not table[state]:
            break
        state = data.draw(st.sampled_from(sorted(table[state])))
        assert state in table


def test_every_state_can_be_reached_and_only_withdrawn_is_final() -> None:
    reached = {"drafted"}
    while True:
        grown = reached | {to for state in reached for to in ITEM_TRANSITIONS[state]}
        if grown == reached:
            break
        reached = grown
    assert reached == set(ITEM_TRANSITIONS)
    assert [state for state, targets in ITEM_TRANSITIONS.items() if not targets] == ["withdrawn"]


def test_the_documented_states_are_those_of_the_code(request: pytest.FixtureRequest) -> None:
    document = (request.config.rootpath / "docs" / "states.md").read_text(encoding="utf-8")
    assert document == states_document()
    assert states_as_mermaid(ITEM_TRANSITIONS) in document
