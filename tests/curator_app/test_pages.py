"""The pages without a browser: what they say and what they write to the workspace."""

from __future__ import annotations

import pytest
from sqlmodel import select
from streamlit.testing.v1 import AppTest

from curator_app.layout import MARKS, bar, mark, organ_words, plain
from curator_app.pages.home import next_step
from db.tables import Seed, Slide
from pipeline.bins import bin_candidates
from pipeline.overview import Overview, overview
from pipeline.permissions import Actor, Role
from pipeline.rois import list_rois
from pipeline.seeds import list_seeds
from pipeline.states import ITEM_TRANSITIONS, ROI_TRANSITIONS, SEED_TRANSITIONS
from pipeline.workspace import Workspace
from tests.curator_app.conftest import open_page


def _words(page: AppTest) -> str:
    """All that the page says in headings, texts, captions, messages and HTML."""
    assert not page.exception, page.exception
    said = [*page.markdown, *page.caption, *page.error, *page.get("html"), *page.subheader]
    return "\n".join(getattr(element, "value", None) or element.proto.body for element in said)


def _named(page: AppTest, kind: str, label: str):  # type: ignore[no-untyped-def]
    return next(element for element in page.get(kind) if element.label.startswith(label))


def _write(page: AppTest, question: str, answer: str, category: str | None) -> AppTest:
    _named(page, "text_area", "Question").set_value(question)
    _named(page, "text_area", "Answer").set_value(answer)
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
    _named(page, "text_area", "Files").set_value("/data/a.svs")
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
    assert _named(page, "text_area", "Question").value == ""


def test_an_incomplete_seed_keeps_its_text_and_its_place(with_rois: Workspace) -> None:
    page = open_page(with_rois, "write_seeds")
    first = page.session_state["seed_roi"]
    _write(page, "Which zone is shown?", "", None)
    assert page.session_state["seed_roi"] == first
    assert _named(page, "text_area", "Question").value == "Which zone is shown?"
    said = _words(page).replace("\\", "")
    assert "answer is empty" in said
    assert "category" in said
    assert list_seeds(with_rois) == []


def test_a_draft_is_there_again_when_one_comes_back(with_rois: Workspace) -> None:
    page = open_page(with_rois, "write_seeds")
    _named(page, "text_area", "Question").set_value("Half a quest").run()
    page.button(key="skip_roi").click().run()
    assert _named(page, "text_area", "Question").value == ""
    page.button(key="back_roi").click().run()
    assert _named(page, "text_area", "Question").value == "Half a quest"


def test_a_draft_is_there_again_on_another_visit(with_rois: Workspace) -> None:
    page = open_page(with_rois, "write_seeds")
    page.button(key="skip_roi").click().run()
    second = page.session_state["seed_roi"]
    _named(page, "text_area", "Question").set_value("Half a quest").run()
    _named(page, "radio", "Category").set_value("identify_anatomy").run()
    again = open_page(with_rois, "write_seeds")
    assert again.session_state["seed_roi"] == second
    assert _named(again, "text_area", "Question").value == "Half a quest"
    assert _named(again, "radio", "Category").value == "identify_anatomy"
    _write(again, "Half a question?", "yes", None)
    assert [entry.seed.question for entry in list_seeds(with_rois)] == ["Half a question?"]
    last = open_page(with_rois, "write_seeds")
    assert _named(last, "text_area", "Question").value == ""


def test_an_edit_is_still_an_edit_on_another_visit(with_seeds: Workspace) -> None:
    page = open_page(with_seeds, "write_seeds")
    seed = next(e.seed for e in list_seeds(with_seeds) if e.roi.id == page.session_state["seed_roi"])
    page.button(key=f"edit_{seed.id}").click().run()
    _named(page, "text_area", "Question").set_value("What changed?").run()
    again = open_page(with_seeds, "write_seeds")
    again.button(key="save_seed").click().run()
    assert len(list_seeds(with_seeds)) == 4
    assert next(e.seed for e in list_seeds(with_seeds) if e.seed.id == seed.id).question == "What changed?"


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
    assert _named(page, "text_area", "Question").value == "Which zone is shown?"
    assert _named(page, "radio", "Category").value == "identify_anatomy"
    assert [entry.seed.state for entry in list_seeds(with_rois)] == ["dropped"]


def test_a_seed_can_be_changed(with_seeds: Workspace) -> None:
    page = open_page(with_seeds, "write_seeds")
    seed = next(e.seed for e in list_seeds(with_seeds) if e.roi.id == page.session_state["seed_roi"])
    page.button(key=f"edit_{seed.id}").click().run()
    assert _named(page, "text_area", "Question").value == seed.question
    _write(page, "What changed?", seed.answer, None)
    changed = next(e.seed for e in list_seeds(with_seeds) if e.seed.id == seed.id)
    assert changed.question == "What changed?"
    assert len(list_seeds(with_seeds)) == 4


def test_a_change_over_somebody_elses_change_is_not_written(with_seeds: Workspace) -> None:
    page = open_page(with_seeds, "write_seeds")
    seed = next(e.seed for e in list_seeds(with_seeds) if e.roi.id == page.session_state["seed_roi"])
    page.button(key=f"edit_{seed.id}").click().run()
    with with_seeds.writing() as session:
        session.get_one(Seed, seed.id).answer = "theirs"
    _write(page, "Mine?", "mine", None)
    said = _words(page).replace("\\", "")
    assert "Your text is still here and not saved" in said
    assert "answer: theirs" in said
    assert next(e.seed for e in list_seeds(with_seeds) if e.seed.id == seed.id).answer == "theirs"
    assert _named(page, "text_area", "Answer").value == "mine"
    page.button(key="save_seed").click().run()
    assert next(e.seed for e in list_seeds(with_seeds) if e.seed.id == seed.id).answer == "mine"


def test_dropping_a_roi_needs_a_reason_and_can_be_taken_back(with_rois: Workspace) -> None:
    page = open_page(with_rois, "write_seeds")
    first = page.session_state["seed_roi"]
    page.button(key="drop_confirm").click().run()
    assert len(list_rois(with_rois)) == 4
    page.text_input(key=f"drop_reason_{first}").set_value("out of focus")
    page.button(key="drop_confirm").click().run()
    assert first not in [roi.id for roi, _ in list_rois(with_rois)]
    assert "ROI 1 of 3" in _words(page)
    page.button(key="undo_seed").click().run()
    assert first in [roi.id for roi, _ in list_rois(with_rois)]
    assert page.session_state["seed_roi"] == first


def test_a_roi_with_a_seed_is_not_dropped(with_seeds: Workspace) -> None:
    page = open_page(with_seeds, "write_seeds")
    first = page.session_state["seed_roi"]
    page.text_input(key=f"drop_reason_{first}").set_value("out of focus")
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
