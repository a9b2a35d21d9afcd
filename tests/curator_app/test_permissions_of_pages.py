"""Every page for every role: what it offers to do, what it refuses, and that a refusal shows nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.text_format import MessageToString
from streamlit.testing.v1 import AppTest

from curator_app.rail import RAIL, RailEntry, entry_of, own_rail
from curator_app.session import use_workspace
from pipeline.bins import bin_candidates
from pipeline.ingest import add_slides, list_slides
from pipeline.jobs import cancel_job, list_jobs, submit
from pipeline.people import accounts_exist, actor_of, add_account, find_account, invite
from pipeline.permissions import Actor, Role
from pipeline.releases import build_release
from pipeline.review import REVIEWABLE, decide, list_items
from pipeline.rois import list_rois, select_across_bins
from pipeline.sampling import sample_candidates
from pipeline.seeds import list_seeds
from pipeline.slide_edits import withdraw_slide
from pipeline.workspace import Workspace
from tests.curator_app.filled import fill_with_items
from tests.databases import new_workspace
from tests.pipeline.conftest import METADATA, draw_slide

pytestmark = pytest.mark.sqlite("who may do what is decided before a database is asked")

PASSWORD = "correct horse battery staple"
RELEASED = "signed-by-nobody"

EVERYBODY = frozenset(Role)
STAFF = EVERYBODY - {Role.READER}
WRITERS = frozenset({Role.ADMIN, Role.COORDINATOR, Role.AUTHOR})
LEADS = frozenset({Role.ADMIN, Role.COORDINATOR})
DECIDERS = frozenset({Role.ADMIN, Role.AUTHOR, Role.REVIEWER})
ADMINS = frozenset({Role.ADMIN})

ACTS: dict[str, dict[str, frozenset[Role]]] = {
    "home": {"next_button": STAFF - {Role.AUDITOR}, "cancel_": LEADS},
    "slides": {
        "add_slides": WRITERS,
        "edit_slide": WRITERS,
        "withdraw_slide": WRITERS,
        "restore_": WRITERS,
        "cancel_": LEADS,
        "FormSubmitter:roi_files_form": WRITERS,
    },
    "sample_rois": {"FormSubmitter:draw_form": WRITERS, "FormSubmitter:bin_form": WRITERS},
    "write_seeds": {"save_seed": WRITERS, "drop_confirm": WRITERS, "skip_roi": WRITERS, "back_roi": WRITERS},
    "items": {
        "approve": DECIDERS,
        "reject": DECIDERS,
        "undo": DECIDERS | WRITERS,
        "edit": WRITERS | {Role.REVIEWER},
        "withdraw": WRITERS,
        "previous": STAFF,
        "next": STAFF,
    },
    "releases": {"build": LEADS, "sign_": LEADS, "verify_": STAFF},
    "benchmark": {"evaluate_open": LEADS, "evaluate": LEADS},
    "jobs": {"cancel_job": LEADS},
    "audit": {"audit_check": ADMINS | {Role.AUDITOR}},
    "people": {"invite": LEADS, "withdraw_now_": ADMINS},
    "my_account": {"display_name_save": EVERYBODY},
}
"""Per page the buttons, by key (or its beginning, ending in `_`), and who is offered them.

A button that this table does not name must not be on the page: a new one is entered here first.
"""

ALSO = {
    "audit": ("audit_more",),
    "sample_rois": (
        "FormSubmitter:select_form",
        "FormSubmitter:target_form",
        "FormSubmitter:quota_form",
        "map_or_grid",
        "open_numbers",
    ),
    "write_seeds": ("import_seeds_now", "drop_seed_", "edit_", "neighbourhood", "control"),
}
"""Buttons that are there or not by what the page shows, for all who see the page."""

ROLES: list[frozenset[Role]] = [*(frozenset({role}) for role in Role), frozenset()]


def _name(roles: frozenset[Role]) -> str:
    return "-".join(roles) or "none"


@pytest.fixture(scope="module")
def filled(drawn_slides: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace with something in every place, an account of every role, a job and an invitation."""
    folder = tmp_path_factory.mktemp("filled")
    workspace = new_workspace(folder / "workspace")
    add_slides(workspace, drawn_slides, METADATA, who="test")
    blurred = draw_slide(folder / "blurred.tiff", seed=9)
    (gone,) = add_slides(workspace, [blurred], METADATA, who="test").added
    withdraw_slide(workspace, gone.id, reason="out of focus", who="test")
    sample_candidates(workspace, organ="liver", count=12, size=128, max_overlap=0.5, who="test")
    bin_candidates(workspace, organ="liver", bins=2, who="test")
    select_across_bins(workspace, organ="liver", per_bin=1, who="test")
    fill_with_items(workspace, folder)
    _, *others = list_items(workspace, states=REVIEWABLE)
    for entry in others:
        decide(workspace, entry.item.id, "approve", who="test")
    build_release(workspace, name=RELEASED, version="1.0.0", annotation_licence="CC0-1.0", who="test")
    for role in Role:
        shown = f"{role.capitalize()} Person"
        add_account(workspace, f"the-{role}", roles=[role], password=PASSWORD, display_name=shown, who="test")
    invite(workspace, roles=["author"], display_name="Invited Person", who="test")
    submit(workspace, "add_slides", paths=["/nowhere"], metadata={})
    yield workspace
    workspace.engine.dispose()


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace with nothing but an account of every role."""
    workspace = new_workspace(tmp_path_factory.mktemp("empty") / "workspace")
    for role in Role:
        add_account(workspace, f"the-{role}", roles=[role], password=PASSWORD, who="test")
    yield workspace
    workspace.engine.dispose()


def _actor(workspace: Workspace, roles: frozenset[Role]) -> Actor:
    if not roles:
        return Actor("nobody", frozenset())
    account = find_account(workspace, f"the-{_name(roles)}")
    assert account is not None
    return actor_of(account)


def _open(workspace: Workspace, module: str, roles: frozenset[Role], **state: object) -> AppTest:
    """Open a page as the rail does, as somebody with these roles."""
    use_workspace(workspace.acting_as(_actor(workspace, roles)))
    script = f"from curator_app.rail import entry_of, open_page\nopen_page(entry_of({module!r}))\n"
    page = AppTest.from_string(script, default_timeout=30)
    for key, value in state.items():
        page.session_state[key] = value
    page.run()
    assert not page.exception, page.exception
    return page


def _keys(page: AppTest) -> set[str]:
    """The keys of all buttons."""
    return {str(button.key) for button in page.button}


def _fits(key: str, named: str) -> bool:
    return key.startswith(named) if named.endswith(("_", "form")) else key == named


def _everything_said(page: AppTest) -> str:
    """Whatever text went to the browser: all elements as they are sent."""
    return "\n".join(MessageToString(element.proto, as_utf8=True) for element in page.main if element.proto is not None)


def test_every_page_of_the_rail_is_in_the_table() -> None:
    assert set(ACTS) == {entry.module for entry in RAIL}


@pytest.mark.parametrize("roles", ROLES, ids=_name)
@pytest.mark.parametrize("entry", RAIL, ids=lambda entry: entry.module)
def test_a_page_offers_just_what_a_role_may_do(filled: Workspace, entry: RailEntry, roles: frozenset[Role]) -> None:
    page = _open(filled, entry.module, roles, items_view="review", filter_state="All")
    offered = _keys(page)
    allowed = {named for named, whose in ACTS[entry.module].items() if whose & roles}
    also = ALSO.get(entry.module, ()) if entry in own_rail(_actor(filled, roles)) else ()
    assert {named for named in allowed if not any(_fits(key, named) for key in offered)} == set()
    assert {key for key in offered if not any(_fits(key, named) for named in (*allowed, *also))} == set()


@pytest.mark.parametrize("roles", ROLES, ids=_name)
@pytest.mark.parametrize("entry", RAIL, ids=lambda entry: entry.module)
def test_an_empty_workspace_opens_for_everybody(empty: Workspace, entry: RailEntry, roles: frozenset[Role]) -> None:
    page = _open(empty, entry.module, roles)
    refused = entry not in own_rail(_actor(empty, roles))
    assert ("This page is not for you." in _everything_said(page)) == refused


def _secrets(workspace: Workspace) -> list[str]:
    """Names and texts that a reader must not see."""
    stems = [entry.content.stem for entry in list_items(workspace)]
    questions = [entry.seed.question for entry in list_seeds(workspace)]
    slides = [slide.name for slide in list_slides(workspace)]
    people = [f"{role.capitalize()} Person" for role in Role if role is not Role.READER]
    assert len(stems) == 6
    assert slides
    return [*stems, *questions, *slides, *people, RELEASED, "Invited Person", str(workspace.root)]


@pytest.mark.parametrize("roles", [frozenset({Role.READER}), frozenset()], ids=_name)
@pytest.mark.parametrize("entry", RAIL, ids=lambda entry: entry.module)
def test_a_reader_sees_nothing_of_the_workspace(filled: Workspace, entry: RailEntry, roles: frozenset[Role]) -> None:
    said = _everything_said(_open(filled, entry.module, roles))
    assert [secret for secret in _secrets(filled) if secret in said] == []
    assert not any(roi.id in said for roi, _ in list_rois(filled))


def test_the_search_for_secrets_finds_them_where_they_may_stand(filled: Workspace) -> None:
    said = "".join(_everything_said(_open(filled, entry.module, frozenset({Role.ADMIN}))) for entry in RAIL)
    # One item and the seeds of one ROI are open at a time; of the others the texts stand nowhere else.
    texts = {entry.content.stem for entry in list_items(filled)}
    texts |= {entry.seed.question for entry in list_seeds(filled)}
    unseen = {secret for secret in _secrets(filled) if secret not in said}
    assert unseen < texts


@pytest.mark.parametrize("roles", ROLES, ids=_name)
def test_a_refusal_names_the_roles_that_are_needed(filled: Workspace, roles: frozenset[Role]) -> None:
    actor = _actor(filled, roles)
    for entry in RAIL:
        if entry in own_rail(actor):
            continue
        said = _everything_said(_open(filled, entry.module, roles))
        assert "This page is not for you." in said
        assert str(entry.permission) in said
        assert "Your role " in said if roles else "Your account has no role" in said


@pytest.mark.parametrize("roles", ROLES, ids=_name)
def test_no_page_links_to_one_that_would_be_refused(empty: Workspace, roles: frozenset[Role]) -> None:
    actor = _actor(empty, roles)
    for entry in own_rail(actor):
        for key in _keys(_open(empty, entry.module, roles)):
            if key.startswith("empty_"):
                assert actor.may(entry_of(key.removeprefix("empty_")).permission), (entry.module, key)


def test_an_auditor_sees_all_items_and_what_waits_to_be_written(filled: Workspace) -> None:
    auditor = frozenset({Role.AUDITOR})
    said = _everything_said(_open(filled, "items", auditor, items_view="write"))
    assert "How is the fatty change distributed?" in said
    page = _open(filled, "items", auditor, items_view="write")
    assert not page.text_input
    assert len(list_items(filled.acting_as(_actor(filled, auditor)))) == 6


def test_a_role_that_is_taken_away_while_the_page_is_open_refuses_the_act(filled: Workspace) -> None:
    reviewer = frozenset({Role.REVIEWER})
    before = [(entry.item.id, entry.item.state) for entry in list_items(filled)]
    page = _open(filled, "items", reviewer)
    use_workspace(filled.acting_as(Actor("the-reviewer", frozenset())))
    page.button(key="approve").click().run()
    assert not page.exception
    assert "This page is not for you." in _everything_said(page)
    assert [(entry.item.id, entry.item.state) for entry in list_items(filled)] == before


def test_who_started_a_job_may_cancel_it_and_others_may_not(filled: Workspace) -> None:
    author = filled.acting_as(_actor(filled, frozenset({Role.AUTHOR})))
    own = submit(author, "add_slides", paths=["/nowhere/else"], metadata={})
    foreign = next(job.id for job in list_jobs(filled) if job.who != "the-author")
    keys = _keys(_open(filled, "home", frozenset({Role.AUTHOR})))
    assert f"cancel_{own}" in keys
    assert f"cancel_{foreign}" not in keys
    cancel_job(author, own)


def test_people_sign_in_to_both_workspaces(filled: Workspace, empty: Workspace) -> None:
    assert accounts_exist(filled)
    assert accounts_exist(empty)
