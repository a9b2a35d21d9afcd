"""The Items page without a browser: what it says, what it saves, and how it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from curator_app.drafts import DraftStore
from curator_app.pages._edit_item import field_names, read_document
from db.tables import Item
from pipeline.jobs import list_jobs
from pipeline.review import REVIEWABLE, ItemEntry, decide, edit_item, item_history, list_items
from pipeline.workspace import Workspace
from tests.curator_app.conftest import open_page
from tests.curator_app.filled import FAILURE, fill_with_items


@pytest.fixture
def filled(workspace: Workspace, tmp_path: Path) -> Workspace:
    """A workspace with six items that wait."""
    return fill_with_items(workspace, tmp_path)


def _said(page: AppTest) -> str:
    assert not page.exception, page.exception
    said = [*page.markdown, *page.error, *page.get("html")]
    return "\n".join(getattr(element, "value", None) or element.proto.body for element in said)


def _item(workspace: Workspace, item_id: str) -> Item:
    with workspace.reading() as session:
        return session.get_one(Item, item_id)


def _first(workspace: Workspace, item_format: str) -> ItemEntry:
    return list_items(workspace, states=REVIEWABLE, item_format=item_format)[0]


def test_an_empty_workspace_says_what_to_do_first(workspace: Workspace) -> None:
    page = open_page(workspace, "items")
    assert "No seed waits for items." in _said(page)
    assert any(button.label == "Write seeds" for button in page.button)


def test_what_waits_and_what_failed_is_listed_with_its_models(filled: Workspace) -> None:
    page = open_page(filled, "items")
    page.session_state["items_view"] = "write"
    page.run()
    said = _said(page)
    assert FAILURE in said
    assert "How is the fatty change distributed?" in said
    assert said.count("Built in, no language model") == 2
    assert page.button(key="generate").label.startswith("Write items for 2 seeds")


def test_a_model_that_cannot_be_called_starts_no_job(filled: Workspace) -> None:
    page = open_page(filled, "items")
    page.session_state["items_view"] = "write"
    page.run()
    page.text_input(key="write_generator").set_value("nobody/model")
    page.button(key="generate").click().run()
    assert "nobody" in page.error[0].value
    assert list_jobs(filled) == []


def test_generation_is_queued_with_its_models_and_seeds(filled: Workspace) -> None:
    page = open_page(filled, "items")
    page.session_state["items_view"] = "write"
    page.run()
    page.button(key="generate").click().run()
    assert [(job.kind, job.state) for job in list_jobs(filled)] == [("generate", "queued")]


def test_approve_is_stored_before_the_page_moves_on_and_undo_takes_it_back(filled: Workspace) -> None:
    page = open_page(filled, "items")
    first = list_items(filled, states=REVIEWABLE)[0]
    page.button(key="approve").click().run()
    assert _item(filled, first.item.id).state == "approved"
    assert "✓ Approved" in _said(page)
    assert page.session_state["review_item"] != first.item.id
    page.button(key="undo").click().run()
    assert _item(filled, first.item.id).state == first.item.state
    assert page.session_state["review_item"] == first.item.id


def test_an_item_that_somebody_else_changed_is_not_overwritten(filled: Workspace) -> None:
    page = open_page(filled, "items")
    first = list_items(filled, states=REVIEWABLE)[0]
    decide(filled, first.item.id, "reject", note="Two keys are right", who="somebody else")
    page.button(key="approve").click().run()
    assert "was changed at" in page.error[0].value
    assert _item(filled, first.item.id).state == "rejected"


@pytest.mark.parametrize("item_format", ["mcq", "kprim", "free_text"])
def test_an_edit_becomes_a_version_and_is_checked_again(filled: Workspace, item_format: str) -> None:
    entry = _first(filled, item_format)
    page = open_page(filled, "items")
    page.session_state["review_item"] = entry.item.id
    page.run()
    page.button(key="edit").click().run()
    stem = page.text_area(key=f"edit_{entry.version.id}_stem")
    assert stem.value == entry.content.stem
    stem.set_value("Which change is best seen here?")
    page.button(key="save_edit").click().run()
    after = next(e for e in list_items(filled) if e.item.id == entry.item.id)
    assert after.content.stem == "Which change is best seen here?"
    assert after.version.number == entry.version.number + 1
    trials = item_history(filled, entry.item.id).trials[after.version.id]
    assert len(trials) == (0 if item_format == "free_text" else 3)
    assert after.item.state in REVIEWABLE
    assert f"✎ Saved as v{after.version.number}" in _said(page)
    assert f"Changed since v{entry.version.number}" in _said(page)


def test_a_wrong_edit_is_refused_by_the_names_of_its_fields(filled: Workspace) -> None:
    entry = _first(filled, "mcq")
    page = open_page(filled, "items")
    page.session_state["review_item"] = entry.item.id
    page.run()
    page.button(key="edit").click().run()
    page.text_area(key=f"edit_{entry.version.id}_stem").set_value("No question")
    page.text_area(key=f"edit_{entry.version.id}_B").set_value(" ")
    page.button(key="save_edit").click().run()
    message = page.error[0].value.replace("\\", "")
    assert "Stem: must end with a question mark" in message
    assert "Option B, text: must not be empty" in message
    assert len(item_history(filled, entry.item.id).versions) == entry.version.number


def test_faults_of_a_whole_item_are_said_in_words() -> None:
    statement = {"text": "x", "is_true": True, "explanation": "y"}
    statements = [{**statement, "text": str(number)} for number in range(4)]
    content, faults = read_document({"format": "kprim", "stem": "Right?", "statements": statements})
    assert content is None
    assert faults == ["Statements must hold at least one true and one false (VIPER A.11)"]
    content, faults = read_document(
        {"format": "free_text", "stem": "What?", "answer": "", "synonyms": ["a", " "], "rubric": "r", "points": 1}
    )
    assert content is None
    assert faults == ["Expected answer: must not be empty", "Synonym 2: must not be empty"]


def _editing(filled: Workspace, item_format: str = "free_text") -> tuple[AppTest, ItemEntry]:
    entry = _first(filled, item_format)
    page = open_page(filled, "items")
    page.session_state["review_item"] = entry.item.id
    page.run()
    page.button(key="edit").click().run()
    return page, entry


def test_a_rejection_of_an_item_that_was_decided_meanwhile_hits_no_other_item(filled: Workspace) -> None:
    page = open_page(filled, "items")
    first = list_items(filled, states=REVIEWABLE)[0]
    decide(filled, first.item.id, "approve", who="somebody else")
    for button in ("reject", "withdraw"):
        page.button(key=button).click().run()
        assert "decided or changed elsewhere" in page.error[0].value
        assert not page.get("text_area")
        page = open_page(filled, "items")
        again = list_items(filled, states=REVIEWABLE)[0]
        decide(filled, again.item.id, "approve", who="somebody else")


def test_an_edit_survives_somebody_elses_edit_and_can_be_saved_over_it(filled: Workspace) -> None:
    page, entry = _editing(filled)
    theirs = entry.content.model_copy(update={"stem": "Theirs, which change is seen?"})
    edit_item(filled, entry.item.id, theirs, who="somebody else")
    stem = f"edit_{entry.version.id}_stem"
    page.text_area(key=stem).set_value("Mine, which change is seen?")
    page.button(key="save_edit").click().run()
    assert "changed elsewhere" in page.error[0].value
    assert "Theirs, which change is seen" in page.error[0].value
    assert page.text_area(key=stem).value == "Mine, which change is seen?"
    page.button(key="save_edit").click().run()
    after = next(e for e in list_items(filled) if e.item.id == entry.item.id)
    assert after.content.stem == "Mine, which change is seen?"
    assert after.version.number == entry.version.number + 2


def test_an_edit_stays_open_when_somebody_decides_on_the_item(filled: Workspace) -> None:
    page, entry = _editing(filled)
    stem = f"edit_{entry.version.id}_stem"
    page.text_area(key=stem).set_value("Mine, which change is seen?")
    decide(filled, entry.item.id, "approve", who="somebody else")
    page.button(key="save_edit").click().run()
    assert "take the decision back with Undo" in page.error[0].value
    assert page.text_area(key=stem).value == "Mine, which change is seen?"
    assert not page.button(key="undo").disabled


def test_an_unsaved_edit_is_offered_on_another_visit(filled: Workspace) -> None:
    entry = _first(filled, "kprim")
    typed = {"stem": "Half a stem", "1_truth": "1", "2": "Half a statement"}
    DraftStore(filled).write(f"edit_{entry.item.id}", typed)
    page = open_page(filled, "items")
    assert page.session_state["review_item"] == entry.item.id
    assert "not saved yet: press Edit" in _said(page)
    page.button(key="edit").click().run()
    key = f"edit_{entry.version.id}"
    assert page.text_area(key=f"{key}_stem").value == "Half a stem"
    assert page.text_area(key=f"{key}_2").value == "Half a statement"
    assert page.radio(key=f"{key}_1_truth").value == 1
    page.button(key="cancel_edit").click().run()
    assert not DraftStore(filled).read(f"edit_{entry.item.id}").fields
    assert "not saved yet" not in _said(page)


@pytest.mark.parametrize("item_format", ["mcq", "kprim", "free_text"])
def test_every_field_of_the_form_is_kept_while_it_is_typed(filled: Workspace, item_format: str) -> None:
    page, entry = _editing(filled, item_format)
    prefix = f"edit_{entry.version.id}_"
    drawn = {e.key.removeprefix(prefix) for kind in (page.text_area, page.radio) for e in kind if e.key}
    assert drawn == set(field_names(entry.content))


def test_one_generation_at_a_time(filled: Workspace) -> None:
    page = open_page(filled, "items")
    page.session_state["items_view"] = "write"
    page.run()
    page.button(key="generate").click().run()
    assert page.button(key="generate").disabled
