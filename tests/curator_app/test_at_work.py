"""Two people at the queues: each gets other work, and is told where somebody else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.leases import lease_item, lease_roi, others_at_work
from pipeline.review import REVIEWABLE, list_items
from pipeline.rois import list_rois
from pipeline.workspace import Workspace
from tests.curator_app.conftest import open_page
from tests.curator_app.filled import fill_with_items
from tests.curator_app.visitors import actor, add_person


@pytest.fixture
def people(workspace: Workspace) -> tuple[Workspace, Workspace]:
    """The workspace as two authors use it."""
    for name in ("ana", "bob"):
        add_person(workspace, name, "author")
    return workspace.acting_as(actor(workspace, "ana")), workspace.acting_as(actor(workspace, "bob"))


def test_two_who_write_seeds_get_two_rois(with_rois: Workspace, people: tuple[Workspace, Workspace]) -> None:
    ana, bob = people
    rois = [roi.id for roi, _ in list_rois(with_rois)]
    first, second = open_page(ana, "write_seeds"), open_page(bob, "write_seeds")
    assert first.session_state["seed_roi"] == rois[0]
    assert second.session_state["seed_roi"] == rois[1]
    second.button(key="back_roi").click().run()
    assert second.session_state["seed_roi"] == rois[0]
    assert "Ana is on this until" in second.info[0].value
    assert rois[1] not in others_at_work(ana), "left for another one"


def test_skip_passes_what_somebody_else_works_on(with_rois: Workspace, people: tuple[Workspace, Workspace]) -> None:
    ana, bob = people
    rois = [roi.id for roi, _ in list_rois(with_rois)]
    lease_roi(ana, [rois[1]])
    page = open_page(bob, "write_seeds")
    page.button(key="skip_roi").click().run()
    assert page.session_state["seed_roi"] == rois[2]
    assert not page.info


def test_two_who_review_get_two_items(
    workspace: Workspace, people: tuple[Workspace, Workspace], tmp_path: Path
) -> None:
    fill_with_items(workspace, tmp_path)
    ana, bob = people
    items = [entry.item.id for entry in list_items(workspace, states=REVIEWABLE)]
    lease_item(ana, [items[0]])
    lease_item(ana, [items[2]])
    page = open_page(bob, "items")
    assert page.session_state["review_item"] == items[1]
    page.button(key="approve").click().run()
    assert page.session_state["review_item"] == items[3]
    page.button(key="previous").click().run()
    assert page.session_state["review_item"] == items[2]
    assert "Ana is on this until" in page.info[0].value
