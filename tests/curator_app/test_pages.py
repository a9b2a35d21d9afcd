"""The pages without a browser: what they say and what they write to the workspace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlmodel import col, select
from streamlit.testing.v1 import AppTest

import curator_app
from curator_app.drafts import DraftStore
from curator_app.layout import MARKS, bar, mark, organ_words, plain
from curator_app.pages.home import next_step
from db.tables import AuditEvent, Seed, Slide
from pipeline.bins import bin_candidates
from pipeline.overview import Overview, overview
from pipeline.permissions import Actor, Role
from pipeline.review import decide, list_items
from pipeline.rois import list_rois, select_roi
from pipeline.seeds import SeedText, drop_seed, list_seeds, save_seed
from pipeline.states import ITEM_TRANSITIONS, ROI_TRANSITIONS, SEED_TRANSITIONS
from pipeline.variants import choose_models, generate_items
from pipeline.workspace import Workspace
from tests.curator_app.conftest import open_page
from tests.curator_app.typing import type_into, type_text, typed
from tests.curator_app.visitors import add_person

pytestmark = pytest.mark.sqlite("what a page draws and calls; what it reads and writes is asked on both engines")


def _words(page: AppTest) -> str:
    """All that the page says in headings, texts, captions, messages and HTML."""
    assert not page.exception, page.exception
    said = [*page.markdown, *page.caption, *page.error, *page.get("html"), *page.subheader]
    return "\n".join(getattr(element, "value", None) or element.proto.body for element in said)


def _named(page: AppTest, kind: str, label: str):  # type: ignore[no-untyped-def]
    return next(element for element in page.get(kind) if element.label.startswith(label))


def _write(page: AppTest, question: str, answer: str, category: str | None) -> AppTest:
    type_text(page, "Question", question)
    type_text(page, "Answer", answer)
    if category is not None:
        _named(page, "radio", "Category").set_value(category)
    return page.button(key="save_seed").click().run()


@pytest.mark.parametrize("module", ["home", "slides", "sample_rois", "write_seeds"])
def test_an_empty_workspace_says_what_to_do_first(workspace: Workspace, module: str) -> None:
    page = open_page(workspace, module)
    said = _words(page)
    expected = {
        "home": "The workspace is empty",
        "slides": "There is no slide yet",
        "sample_rois": "Add slides first",
        "write_seeds": "pick some first",
    }
    assert expected[module] in said


def test_home_counts_what_there_is(with_seeds: Workspace) -> None:
    said = _words(open_page(with_seeds, "home"))
    assert "2 slides of 1 organ" in said
    assert "8 candidates" in said
    assert "4 selected ROIs" in said
    assert "4 seeds" in said


def _counts(**changed: object) -> Overview:
    empty = {
        "slides": 0,
        "organs": 0,
        "rois": {},
        "bins": {},
        "rois_without_seed": 0,
        "seeds": {},
        "items": {},
        "releases": 0,
        "runs": 0,
    }
    return Overview(**{**empty, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("counts", "page"),
    [
        (_counts(), "slides"),
        (_counts(slides=1), "sample_rois"),
        (_counts(slides=1, rois={"candidate": 9}), "sample_rois"),
        (_counts(rois={"selected": 2}, rois_without_seed=2), "write_seeds"),
        (_counts(rois={"selected": 2}, seeds={"written": 2}), "items"),
        (_counts(rois={"selected": 2}, seeds={"ready": 2}, items={"passed": 6}), "items"),
        (_counts(rois={"selected": 2}, seeds={"ready": 2}, items={"approved": 6}), "releases"),
        (_counts(rois={"selected": 2}, items={"released": 6}, releases=1), "benchmark"),
        (_counts(rois={"selected": 2}, items={"released": 6}, releases=1, runs=2), "benchmark"),
        (_counts(rois={"selected": 2}, items={"released": 6}, releases=1, runs=1, model_runs=1), "write_seeds"),
    ],
)
def test_home_names_the_first_step_that_waits(counts: Overview, page: str) -> None:
    step = next_step(counts, Actor("anna", frozenset({Role.ADMIN})))
    assert step is not None
    assert step.page == page


@pytest.mark.parametrize(
    ("role", "page"),
    [
        (Role.COORDINATOR, "write_seeds"),
        (Role.AUTHOR, "write_seeds"),
        (Role.REVIEWER, "items"),
        (Role.READER, None),
        (Role.AUDITOR, None),
    ],
)
def test_home_names_the_first_step_that_the_person_may_take(role: Role, page: str | None) -> None:
    counts = _counts(rois={"selected": 2}, rois_without_seed=1, items={"passed": 3, "approved": 3})
    step = next_step(counts, Actor("anna", frozenset({role})))
    assert (step.page if step else None) == page


def test_the_overview_does_not_count_dropped_seeds_as_written(with_seeds: Workspace) -> None:
    with with_seeds.writing() as session:
        session.get_one(Seed, list_seeds(with_seeds)[0].seed.id).state = "dropped"
    counts = overview(with_seeds)
    assert counts.rois_without_seed == 1
    assert counts.seeds == {"written": 3, "dropped": 1}


def test_slides_need_organ_source_and_licence(workspace: Workspace) -> None:
    page = open_page(workspace, "slides")
    type_text(page, "Files", "/data/a.svs")
    _named(page, "text_input", "Organ").set_value("liver")
    page.button[0].click().run()
    assert "source is required" in _words(page).replace("\\", "")


def test_sample_rois_asks_for_candidates_then_for_bins(with_slides: Workspace) -> None:
    assert "has no candidates yet" in _words(open_page(with_slides, "sample_rois"))


def test_sample_rois_asks_for_bins(with_rois: Workspace) -> None:
    assert "Press Make bins" in _words(open_page(with_rois, "sample_rois"))


def test_sample_rois_shows_how_far_the_picking_is(with_rois: Workspace) -> None:
    bin_candidates(with_rois, organ="liver", bins=3, who="test")
    said = _words(open_page(with_rois, "sample_rois"))
    assert "4 / 6" in said
    assert "bins covered" in said


def test_a_seed_is_in_the_database_before_the_page_moves_on(with_rois: Workspace) -> None:
    page = open_page(with_rois, "write_seeds")
    first = page.session_state["seed_roi"]
    _write(page, "Which zone is shown?", "centrilobular", "identify_anatomy")
    assert not page.exception
    (entry,) = list_seeds(with_rois)
    assert (entry.roi.id, entry.seed.question, entry.seed.answer) == (
        first,
        "Which zone is shown?",
        "centrilobular",
    )
    assert entry.seed.author == with_rois.owner().name
    assert page.session_state["seed_roi"] != first
    assert "ROI 2 of 4" in _words(page)
    assert typed(page, "Question") == ""


def test_an_incomplete_seed_keeps_its_text_and_its_place(with_rois: Workspace) -> None:
    page = open_page(with_rois, "write_seeds")
    first = page.session_state["seed_roi"]
    _write(page, "Which zone is shown?", "", None)
    assert page.session_state["seed_roi"] == first
    assert typed(page, "Question") == "Which zone is shown?"
    said = _words(page).replace("\\", "")
    assert "The answer is empty." in said
    assert "Choose a category." in said
    assert "The question" not in said
    assert "not complete: look at category, answer" in said
    assert "identify_anatomy" not in said, "as people see it, not as it is stored"
    assert list_seeds(with_rois) == []


def test_a_draft_is_there_again_when_one_comes_back(with_rois: Workspace) -> None:
    page = open_page(with_rois, "write_seeds")
    type_text(page, "Question", "Half a quest")
    page.run()
    page.button(key="skip_roi").click().run()
    assert typed(page, "Question") == ""
    page.button(key="back_roi").click().run()
    assert typed(page, "Question") == "Half a quest"


def test_a_draft_is_there_again_on_another_visit(with_rois: Workspace) -> None:
    page = open_page(with_rois, "write_seeds")
    page.button(key="skip_roi").click().run()
    second = page.session_state["seed_roi"]
    type_text(page, "Question", "Half a quest")
    page.run()
    _named(page, "radio", "Category").set_value("identify_anatomy").run()
    again = open_page(with_rois, "write_seeds")
    assert again.session_state["seed_roi"] == second
    assert typed(again, "Question") == "Half a quest"
    assert _named(again, "radio", "Category").value == "identify_anatomy"
    _write(again, "Half a question?", "yes", None)
    assert [entry.seed.question for entry in list_seeds(with_rois)] == ["Half a question?"]
    last = open_page(with_rois, "write_seeds")
    assert typed(last, "Question") == ""


def test_an_edit_is_still_an_edit_on_another_visit(with_seeds: Workspace) -> None:
    page = open_page(with_seeds, "write_seeds")
    seed = next(e.seed for e in list_seeds(with_seeds) if e.roi.id == page.session_state["seed_roi"])
    page.button(key=f"edit_{seed.id}").click().run()
    type_text(page, "Question", "What changed?")
    page.run()
    again = open_page(with_seeds, "write_seeds")
    offered = _words(again)
    assert re.search(r"Unsaved change of \d\d:\d\d: “What changed\?”", offered)
    assert f"Stored: “{seed.question[:10]}" in offered
    assert "meanwhile" not in offered
    assert typed(again, "Question") == ""
    again.button(key=f"use_{seed.id}").click().run()
    again.button(key="save_seed").click().run()
    assert len(list_seeds(with_seeds)) == 4
    assert next(e.seed for e in list_seeds(with_seeds) if e.seed.id == seed.id).question == "What changed?"


def test_an_offered_change_says_what_somebody_saved_meanwhile(with_seeds: Workspace) -> None:
    page = open_page(with_seeds, "write_seeds")
    seed = next(e.seed for e in list_seeds(with_seeds) if e.roi.id == page.session_state["seed_roi"])
    page.button(key=f"edit_{seed.id}").click().run()
    type_text(page, "Question", "Mine, which zone?")
    page.run()
    theirs = SeedText("Theirs, which zone?", "portal", "identify_anatomy")
    save_seed(with_seeds, theirs, roi_id=seed.roi_id, seed_id=seed.id, who="ana")
    said = _words(open_page(with_seeds, "write_seeds"))
    assert "“Mine, which zone?”" in said
    assert "Stored: “Theirs, which zone?”" in said
    assert "ana saved another text meanwhile, at" in said


def test_many_problems_are_listed_and_do_not_flood_the_page(with_rois: Workspace) -> None:
    script = (
        "from curator_app.layout import show_problems\nfrom pipeline.errors import InputError\n"
        "show_problems(InputError('bad.csv', [f'line {n}: no' for n in range(5000)]))\n"
    )
    page = AppTest.from_string(script).run()
    said = page.error[0].value.replace("\\", "")
    assert "line 999: no" in said
    assert "line 1000: no" not in said
    assert "and 4,000 more" in said


def test_home_warns_of_slides_that_are_gone(with_seeds: Workspace) -> None:
    with with_seeds.writing() as session:
        slide = session.exec(select(Slide)).first()
        assert slide is not None
        slide.path, name = "/nowhere/gone.svs", slide.name
    counts = overview(with_seeds)
    assert counts.missing_slides == (name,)
    assert "Slide files that are gone" in open_page(with_seeds, "home").warning[0].value


def test_the_overview_names_rois_that_wait(with_seeds: Workspace) -> None:
    rois = [roi.id for roi, _ in list_rois(with_seeds)]
    dropped = list_seeds(with_seeds)[0]
    with with_seeds.writing() as session:
        session.get_one(Seed, dropped.seed.id).state = "dropped"
    counts = overview(with_seeds)
    assert counts.unasked_rois == (dropped.roi.id,)
    assert counts.waiting_rois == ()
    assert list(counts.selected_rois) == rois


def test_undo_drops_the_seed_and_gives_the_text_back(with_rois: Workspace) -> None:
    page = open_page(with_rois, "write_seeds")
    first = page.session_state["seed_roi"]
    _write(page, "Which zone is shown?", "cortex", "identify_anatomy")
    page.button(key="undo_seed").click().run()
    assert page.session_state["seed_roi"] == first
    assert typed(page, "Question") == "Which zone is shown?"
    assert _named(page, "radio", "Category").value == "identify_anatomy"
    assert [entry.seed.state for entry in list_seeds(with_rois)] == ["dropped"]


def test_a_seed_that_has_items_since_is_not_taken_back(with_rois: Workspace) -> None:
    page = open_page(with_rois, "write_seeds")
    _write(page, "Which zone is shown?", "cortex", "identify_anatomy")
    generate_items(with_rois, models=choose_models(with_rois, generator=None, checker=None), who="ana")
    items = [entry.item.id for entry in list_items(with_rois, states=("passed", "escalated"))]
    for item in items:
        decide(with_rois, item, "approve", who="ana")
    page.button(key="undo_seed").click().run()
    assert re.search(r"This seed was changed since you saw it: ana made it ready at \d\d:", _plain(page))
    assert [entry.seed.state for entry in list_seeds(with_rois)] == ["ready"]
    assert len(list_items(with_rois, states=("approved",))) == len(items) == 3
    assert "undo_seed" not in {button.key for button in page.button}, "it is not offered again"


def _plain(page: AppTest) -> str:
    """What the page says, without what keeps it from being read as Markdown."""
    return _words(page).replace("\\", "")


def test_a_drop_of_what_somebody_else_changed_is_refused(with_seeds: Workspace) -> None:
    page = open_page(with_seeds, "write_seeds")
    seed = next(e.seed for e in list_seeds(with_seeds) if e.roi.id == page.session_state["seed_roi"])
    type_into(page, f"reason_drop_{seed.id}", "out of focus")
    theirs = SeedText("Theirs, which zone is it?", "portal", "identify_anatomy")
    save_seed(with_seeds, theirs, roi_id=seed.roi_id, seed_id=seed.id, who="ana")
    page.button(key=f"drop_seed_{seed.id}").click().run()
    assert "ana changed its text at" in _plain(page)
    assert next(e.seed for e in list_seeds(with_seeds) if e.seed.id == seed.id).state == "written"
    page.button(key=f"drop_seed_{seed.id}").click().run()
    assert next(e.seed for e in list_seeds(with_seeds) if e.seed.id == seed.id).state == "dropped"
    save_seed(with_seeds, theirs, roi_id=seed.roi_id, seed_id=seed.id, who="ana")
    page.button(key="undo_seed").click().run()
    assert "Nothing was done; look at it again." in _plain(page)


def test_a_roi_that_somebody_else_brought_back_is_left_alone(with_rois: Workspace) -> None:
    page = open_page(with_rois, "write_seeds")
    first = page.session_state["seed_roi"]
    type_into(page, f"reason_drop_{first}", "out of focus")
    page.button(key="drop_confirm").click().run()
    select_roi(with_rois, first, who="ana")
    page.button(key="undo_seed").click().run()
    assert "ana made it selected at" in _plain(page)
    assert first in [roi.id for roi, _ in list_rois(with_rois)]


def test_a_seed_can_be_changed(with_seeds: Workspace) -> None:
    page = open_page(with_seeds, "write_seeds")
    seed = next(e.seed for e in list_seeds(with_seeds) if e.roi.id == page.session_state["seed_roi"])
    page.button(key=f"edit_{seed.id}").click().run()
    assert typed(page, "Question") == seed.question
    _write(page, "What changed?", seed.answer, None)
    changed = next(e.seed for e in list_seeds(with_seeds) if e.seed.id == seed.id)
    assert changed.question == "What changed?"
    assert len(list_seeds(with_seeds)) == 4


class TestConflict:
    """Somebody else saved another text while a change was written."""

    THEIRS = SeedText("Theirs, which zone is it?", "portal", "identify_anatomy")

    @pytest.fixture
    def page(self, with_seeds: Workspace) -> AppTest:
        """The page after saving over their text was refused."""
        page = open_page(with_seeds, "write_seeds")
        seed = self._seed(page, with_seeds)
        page.button(key=f"edit_{seed.id}").click().run()
        add_person(with_seeds, "ana", "author")
        save_seed(with_seeds, self.THEIRS, roi_id=seed.roi_id, seed_id=seed.id, who="ana")
        return _write(page, "Mine, which zone is it?", "central", None)

    def _seed(self, page: AppTest, workspace: Workspace) -> Seed:
        return next(e.seed for e in list_seeds(workspace) if e.roi.id == page.session_state["seed_roi"])

    def test_both_texts_are_shown_and_none_is_lost(self, page: AppTest, with_seeds: Workspace) -> None:
        said = _words(page)
        assert re.search(r"While you wrote, Ana saved another text at \d\d:\d\d\.", said)
        for words in ("<mark>Theirs</mark>", "<mark>Mine</mark>", "Ana’s text, saved", "Your text, not saved"):
            assert words in said
        assert self._seed(page, with_seeds).answer == "portal"
        assert DraftStore(with_seeds).read(f"change_{self._seed(page, with_seeds).id}").fields["answer"] == "central"

    def test_mine_is_saved_over_theirs_which_stays_in_the_trail(self, page: AppTest, with_seeds: Workspace) -> None:
        seed = self._seed(page, with_seeds)
        page.button(key="conflict_mine").click().run()
        assert self._now(with_seeds, seed).question == "Mine, which zone is it?"
        with with_seeds.reading() as session:
            last = session.exec(select(AuditEvent).order_by(col(AuditEvent.sequence).desc())).first()
        assert last is not None
        assert last.old is not None
        assert last.old["question"] == self.THEIRS.question
        assert "While you wrote" not in _words(page)

    def test_theirs_stands_and_mine_can_be_brought_back(self, page: AppTest, with_seeds: Workspace) -> None:
        seed = self._seed(page, with_seeds)
        page.button(key="conflict_theirs").click().run()
        assert self._now(with_seeds, seed).question == self.THEIRS.question
        assert typed(page, "Question") == ""
        page.button(key="undo_seed").click().run()
        assert typed(page, "Question") == "Mine, which zone is it?"
        page.button(key="save_seed").click().run()
        assert self._now(with_seeds, seed).question == "Mine, which zone is it?"

    def test_one_goes_on_with_theirs_beside(self, page: AppTest, with_seeds: Workspace) -> None:
        seed = self._seed(page, with_seeds)
        page.button(key="conflict_edit").click().run()
        assert typed(page, "Question") == "Mine, which zone is it?"
        assert 'class="hc-beside"' in _words(page)
        assert page.button(key="save_seed").label.startswith("Save over Ana")
        type_text(page, "Question", "Ours, which zone is it?")
        page.button(key="save_seed").click().run()
        assert self._now(with_seeds, seed).question == "Ours, which zone is it?"
        assert 'class="hc-beside"' not in _words(page)

    def test_a_third_text_is_a_conflict_again(self, page: AppTest, with_seeds: Workspace) -> None:
        seed = self._seed(page, with_seeds)
        third = SeedText("Third, which zone is it?", "portal", "identify_anatomy")
        save_seed(with_seeds, third, roi_id=seed.roi_id, seed_id=seed.id, who="ana")
        page.button(key="conflict_mine").click().run()
        assert self._now(with_seeds, seed).question == third.question
        assert "<mark>Third</mark>" in _words(page)

    def _now(self, workspace: Workspace, seed: Seed) -> Seed:
        return next(e.seed for e in list_seeds(workspace) if e.seed.id == seed.id)


def test_a_state_that_changed_meanwhile_is_no_conflict(with_seeds: Workspace) -> None:
    page = open_page(with_seeds, "write_seeds")
    seed = next(e.seed for e in list_seeds(with_seeds) if e.roi.id == page.session_state["seed_roi"])
    page.button(key=f"edit_{seed.id}").click().run()
    drop_seed(with_seeds, seed.id, reason="by mistake", who="ana")
    _write(page, "Mine, which zone is it?", "central", None)
    now = next(e.seed for e in list_seeds(with_seeds) if e.seed.id == seed.id)
    assert (now.state, now.question) == ("written", "Mine, which zone is it?")


def test_a_change_and_a_new_seed_of_one_roi_have_drafts_of_their_own(with_seeds: Workspace) -> None:
    page = open_page(with_seeds, "write_seeds")
    seed = next(e.seed for e in list_seeds(with_seeds) if e.roi.id == page.session_state["seed_roi"])
    type_text(page, "Question", "Half a new quest")
    page.run()
    page.button(key=f"edit_{seed.id}").click().run()
    assert typed(page, "Question") == seed.question
    page.button(key="leave_change").click().run()
    assert typed(page, "Question") == "Half a new quest"


def test_what_is_given_up_can_be_brought_back(with_rois: Workspace) -> None:
    type_text(page := open_page(with_rois, "write_seeds"), "Question", "Half a quest")
    page.run()
    again = open_page(with_rois, "write_seeds")
    assert "Your unsaved text of" in _words(again)
    again.button(key="discard_back").click().run()
    assert typed(again, "Question") == ""
    assert DraftStore(with_rois).latest("seed") is None
    again.button(key="undo_seed").click().run()
    assert typed(again, "Question") == "Half a quest"


def test_a_change_and_the_drop_of_a_seed_are_taken_back(with_seeds: Workspace) -> None:
    page = open_page(with_seeds, "write_seeds")
    seed = next(e.seed for e in list_seeds(with_seeds) if e.roi.id == page.session_state["seed_roi"])
    page.button(key=f"edit_{seed.id}").click().run()
    _write(page, "Changed, which zone is it?", seed.answer, None)
    page.button(key="undo_seed").click().run()
    assert next(e.seed for e in list_seeds(with_seeds) if e.seed.id == seed.id).question == seed.question
    assert typed(page, "Question") == "Changed, which zone is it?"
    page.button(key="leave_change").click().run()
    type_into(page, f"reason_drop_{seed.id}", "out of focus")
    page.button(key=f"drop_seed_{seed.id}").click().run()
    assert next(e.seed for e in list_seeds(with_seeds) if e.seed.id == seed.id).state == "dropped"
    page.button(key="undo_seed").click().run()
    assert next(e.seed for e in list_seeds(with_seeds) if e.seed.id == seed.id).state == "written"


def test_long_text_is_entered_in_our_own_field_alone() -> None:
    sources = Path(curator_app.__file__).parent.rglob("*.py")
    assert [
        path.name for path in sources if "st.text_area" in path.read_text() or ".text_area(" in path.read_text()
    ] == []


def test_dropping_a_roi_needs_a_reason_and_can_be_taken_back(with_rois: Workspace) -> None:
    page = open_page(with_rois, "write_seeds")
    first = page.session_state["seed_roi"]
    page.button(key="drop_confirm").click().run()
    assert len(list_rois(with_rois)) == 4
    type_into(page, f"reason_drop_{first}", "out of focus")
    page.button(key="drop_confirm").click().run()
    assert first not in [roi.id for roi, _ in list_rois(with_rois)]
    assert "ROI 1 of 3" in _words(page)
    page.button(key="undo_seed").click().run()
    assert first in [roi.id for roi, _ in list_rois(with_rois)]
    assert page.session_state["seed_roi"] == first


def test_a_roi_with_a_seed_is_not_dropped(with_seeds: Workspace) -> None:
    page = open_page(with_seeds, "write_seeds")
    first = page.session_state["seed_roi"]
    type_into(page, f"reason_drop_{first}", "out of focus")
    page.button(key="drop_confirm").click().run()
    assert "drop the seed first" in _words(page)
    assert len(list_rois(with_seeds)) == 4


def test_every_state_has_a_shape_and_a_word() -> None:
    states = {*ITEM_TRANSITIONS, *SEED_TRANSITIONS, *ROI_TRANSITIONS}
    assert states <= set(MARKS)
    assert len({mark(state) for state in states}) == len(states)
    assert all(len(mark(state).split(" ", 1)) == 2 for state in states)


def test_texts_are_shown_as_written() -> None:
    assert plain("*x* <b> $y$ [z](u) :red[q]") == r"\*x\* \<b\> \$y\$ \[z\]\(u\) \:red\[q\]"
    assert organ_words("soft_tissue") == "Soft tissue"
    assert "<b>" not in bar("<b>", 1, 2)
