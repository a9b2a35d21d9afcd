"""The Items page without a browser: what it says, what it saves, and how it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from curator_app.drafts import DraftStore
from curator_app.pages._edit_item import read_document, texts_of
from db.tables import Item
from pipeline.jobs import list_jobs
from pipeline.review import REVIEWABLE, ItemEntry, decide, edit_item, item_history, list_items, undo_decision
from pipeline.workspace import Workspace
from tests.curator_app.conftest import open_page
from tests.curator_app.filled import FAILURE, fill_with_items
from tests.curator_app.typing import fields, held, type_into

pytestmark = pytest.mark.sqlite("what a page draws and calls; what it reads and writes is asked on both engines")


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
    assert "somebody else made it rejected at" in page.error[0].value
    assert _item(filled, first.item.id).state == "rejected"


def test_undo_leaves_what_somebody_else_decided_since(filled: Workspace) -> None:
    page = open_page(filled, "items")
    first = list_items(filled, states=REVIEWABLE)[0].item.id
    page.button(key="approve").click().run()
    undo_decision(filled, first, who="bob")
    decide(filled, first, "reject", note="Two keys are right", who="bob")
    page.button(key="undo").click().run()
    assert "bob made it rejected at" in page.error[0].value.replace("\\", "")
    assert _item(filled, first).state == "rejected"
    assert page.button(key="undo").disabled, "it is not offered again"


def test_an_edit_is_taken_back_with_undo(filled: Workspace) -> None:
    page, entry = _editing(filled)
    stem = f"edit_{entry.item.id}_stem"
    type_into(page, stem, "Mine, which change is seen?")
    page.button(key="save_edit").click().run()
    number = entry.version.number
    assert f"Undo goes back to v{number}." in _said(page)
    assert page.button(key="undo").label.startswith(f"Back to v{number}")
    page.button(key="undo").click().run()
    now = next(e for e in list_items(filled) if e.item.id == entry.item.id)
    assert (now.content, now.item.state, now.version.number) == (entry.content, entry.item.state, number + 2)
    assert f"Edit taken back, as v{number + 2}" in _said(page)
    assert page.button(key="undo").disabled


def test_undo_takes_back_what_was_done_last(filled: Workspace) -> None:
    """A decision after an edit comes first, though the edited item is the one that is shown."""
    page, entry = _editing(filled)
    type_into(page, f"edit_{entry.item.id}_stem", "Mine, which change is seen?")
    page.button(key="save_edit").click().run()
    other = next(e.item.id for e in list_items(filled, states=REVIEWABLE) if e.item.id != entry.item.id)
    page.session_state["review_item"] = other
    page.run()
    page.button(key="approve").click().run()
    page.session_state["review_item"] = entry.item.id
    page.run()
    page.button(key="undo").click().run()
    assert _item(filled, other).state in REVIEWABLE
    page.session_state["review_item"] = entry.item.id
    page.run()
    assert page.button(key="undo").label.startswith("Back to v")


@pytest.mark.parametrize("item_format", ["mcq", "kprim", "free_text"])
def test_an_edit_becomes_a_version_and_is_checked_again(filled: Workspace, item_format: str) -> None:
    entry = _first(filled, item_format)
    page = open_page(filled, "items")
    page.session_state["review_item"] = entry.item.id
    page.run()
    page.button(key="edit").click().run()
    stem = f"edit_{entry.item.id}_stem"
    assert held(page, stem) == entry.content.stem
    type_into(page, stem, "Which change is best seen here?")
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
    type_into(page, f"edit_{entry.item.id}_stem", "No question")
    type_into(page, f"edit_{entry.item.id}_B", " ")
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
        assert not fields(page)
        page = open_page(filled, "items")
        again = list_items(filled, states=REVIEWABLE)[0]
        decide(filled, again.item.id, "approve", who="somebody else")


class TestConflict:
    """Somebody else saved another version while an edit was typed."""

    @pytest.fixture
    def page(self, filled: Workspace) -> AppTest:
        """The page after saving over their version was refused."""
        page, entry = _editing(filled)
        theirs = entry.content.model_copy(update={"stem": "Theirs, which change is seen?"})
        edit_item(filled, entry.item.id, theirs, who="ana")
        type_into(page, f"edit_{entry.item.id}_stem", "Mine, which change is seen?")
        return page.button(key="save_edit").click().run()

    def _now(self, page: AppTest, workspace: Workspace) -> ItemEntry:
        return next(e for e in list_items(workspace) if e.item.id == page.session_state["review_item"])

    def test_both_texts_are_shown_and_none_is_lost(self, page: AppTest, filled: Workspace) -> None:
        said = _said(page)
        assert re.search(r"While you wrote, ana saved another text at \d\d:\d\d\.", said)
        for words in ("<mark>Theirs</mark>", "<mark>Mine</mark>", "fields are the same in both"):
            assert words in said
        now = self._now(page, filled)
        assert now.content.stem == "Theirs, which change is seen?"
        assert DraftStore(filled).read(f"edit_{now.item.id}").fields["stem"] == "Mine, which change is seen?"

    def test_mine_becomes_the_next_version(self, page: AppTest, filled: Workspace) -> None:
        before = self._now(page, filled)
        page.button(key="conflict_mine").click().run()
        now = self._now(page, filled)
        assert (now.version.number, now.content.stem) == (before.version.number + 1, "Mine, which change is seen?")
        stems = [version.content["stem"] for version in item_history(filled, now.item.id).versions]
        assert stems[-2:] == ["Theirs, which change is seen?", "Mine, which change is seen?"]
        assert "✎ Saved as" in _said(page)
        assert not DraftStore(filled).read(f"edit_{now.item.id}").is_text

    def test_theirs_stands_and_mine_can_be_brought_back(self, page: AppTest, filled: Workspace) -> None:
        page.button(key="conflict_theirs").click().run()
        now = self._now(page, filled)
        assert now.content.stem == "Theirs, which change is seen?"
        assert "stands" in _said(page)
        page.button(key="bring_back_edit").click().run()
        page.button(key="use_edit").click().run()
        assert held(page, f"edit_{now.item.id}_stem") == "Mine, which change is seen?"
        page.button(key="save_edit").click().run()
        assert "While you wrote" in _said(page)

    def test_one_goes_on_with_theirs_beside(self, page: AppTest, filled: Workspace) -> None:
        page.button(key="conflict_edit").click().run()
        assert 'class="hc-beside"' in _said(page)
        assert page.button(key="save_edit").label.startswith("Save over ana")
        type_into(page, f"edit_{self._now(page, filled).item.id}_stem", "Ours, which change is seen?")
        page.button(key="save_edit").click().run()
        assert self._now(page, filled).content.stem == "Ours, which change is seen?"
        assert 'class="hc-beside"' not in _said(page)


def test_an_edit_of_an_older_version_meets_the_newer_one(filled: Workspace) -> None:
    """What was typed on an earlier visit is not silently saved over what somebody wrote since."""
    page, entry = _editing(filled)
    type_into(page, f"edit_{entry.item.id}_stem", "Mine, which change is seen?")
    edit_item(filled, entry.item.id, entry.content.model_copy(update={"stem": "Theirs, which is it?"}), who="ana")
    again = open_page(filled, "items")
    again.button(key="use_edit").click().run()
    again.button(key="save_edit").click().run()
    assert "While you wrote" in _said(again)
    assert next(e for e in list_items(filled) if e.item.id == entry.item.id).content.stem == "Theirs, which is it?"


def test_a_decision_that_was_taken_back_is_no_conflict(filled: Workspace) -> None:
    page, entry = _editing(filled)
    type_into(page, f"edit_{entry.item.id}_stem", "Mine, which change is seen?")
    decide(filled, entry.item.id, "approve", who="ana")
    undo_decision(filled, entry.item.id, who="ana")
    page.button(key="save_edit").click().run()
    assert next(e for e in list_items(filled) if e.item.id == entry.item.id).content.stem.startswith("Mine")


def test_an_edit_stays_open_when_somebody_decides_on_the_item(filled: Workspace) -> None:
    page, entry = _editing(filled)
    stem = f"edit_{entry.item.id}_stem"
    type_into(page, stem, "Mine, which change is seen?")
    decide(filled, entry.item.id, "approve", who="somebody else")
    page.button(key="save_edit").click().run()
    assert "take the decision back with Undo" in page.error[0].value
    assert held(page, stem) == "Mine, which change is seen?"
    assert not page.button(key="undo").disabled


def test_an_unsaved_edit_is_offered_on_another_visit(filled: Workspace) -> None:
    entry = _first(filled, "kprim")
    name = f"edit_{entry.item.id}"
    DraftStore(filled).begin(name, texts_of(entry.content), about={"number": str(entry.version.number)})
    DraftStore(filled).write(name, {"stem": "Half a stem", "1_truth": "1", "2": "Half a statement"})
    page = open_page(filled, "items")
    assert page.session_state["review_item"] == entry.item.id
    assert "Unsaved edit of" in _said(page)
    page.button(key="use_edit").click().run()
    assert "Your unsaved text of" in _said(page)
    assert held(page, f"{name}_stem") == "Half a stem"
    assert held(page, f"{name}_2") == "Half a statement"
    assert page.radio(key=f"{name}_1_truth").value == 1
    page.button(key="cancel_edit").click().run()
    assert not DraftStore(filled).read(name).is_text
    assert "Unsaved edit of" not in _said(page)
    page.button(key="bring_back_edit").click().run()
    assert "Unsaved edit of" in _said(page)


@pytest.mark.parametrize("item_format", ["mcq", "kprim", "free_text"])
def test_every_field_of_the_form_is_kept_while_it_is_typed(filled: Workspace, item_format: str) -> None:
    page, entry = _editing(filled, item_format)
    prefix = f"edit_{entry.item.id}_"
    keys = [*fields(page).values(), *(radio.key or "" for radio in page.radio)]
    assert {key.removeprefix(prefix) for key in keys} == {*texts_of(entry.content), "note"}


def test_one_generation_at_a_time(filled: Workspace) -> None:
    page = open_page(filled, "items")
    page.session_state["items_view"] = "write"
    page.run()
    page.button(key="generate").click().run()
    assert page.button(key="generate").disabled
