"""The keys of all pages: none of them deletes, withdraws, rejects or gives up anything by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import func, select
from streamlit.testing.v1 import AppTest

from curator_app.drafts import DraftStore
from curator_app.rail import RAIL, RailEntry
from db.tables import Account, Item, Roi, Seed, Slide
from pipeline.ingest import add_slides
from pipeline.rois import list_rois
from pipeline.workspace import Workspace
from tests.curator_app.conftest import open_page
from tests.curator_app.filled import fill_with_items
from tests.pipeline.conftest import METADATA

pytestmark = pytest.mark.sqlite("what a page draws and calls; what it reads and writes is asked on both engines")

ENDED = {Roi: ("rejected",), Seed: ("dropped",), Item: ("rejected", "withdrawn")}
"""States in which something is out of the work."""


def _keys(page: AppTest) -> list[dict[str, Any]]:
    for element in page.get("bidi_component"):
        if element.proto.component_name == "histocurator_keyboard":
            found: list[dict[str, Any]] = json.loads(element.proto.json or element.proto.mixed.json)["keys"]
            return found
    return []


def _left(workspace: Workspace) -> dict[str, int]:
    """Count what is there and has not been taken out of the work."""
    left = {}
    with workspace.reading() as session:
        for table in (Roi, Seed, Item):
            states = session.exec(select(table.state, func.count()).group_by(table.state)).all()
            left[table.__name__] = sum(count for state, count in states if state not in ENDED[table])
        for row in (Slide, Account):
            left[row.__name__] = len([one for one in session.exec(select(row)) if one.withdrawn_at is None])
    left["drafts"] = len(list(workspace.root.glob("drafts/*/*.json")))
    return left


@pytest.mark.parametrize("entry", RAIL, ids=lambda entry: entry.module)
def test_no_single_key_takes_anything_away(
    workspace: Workspace, drawn_slides: list[Path], tmp_path: Path, entry: RailEntry
) -> None:
    fill_with_items(workspace, tmp_path)
    add_slides(workspace, drawn_slides[:1], METADATA, who="test")
    for roi, _ in list_rois(workspace):
        DraftStore(workspace).write(f"seed_{roi.id}", {"question": "Half a question"})
    number = len(_keys(open_page(workspace, entry.module)))
    for place in range(number):
        page = open_page(workspace, entry.module)
        key = _keys(page)[place]
        before = _left(workspace)
        pressed = [button for button in page.button if button.key == key["button"]]
        if key["button"] is None or not pressed or pressed[0].disabled:
            # Handled by a component, opens a popover or chooses an option; or there is nothing to do.
            continue
        pressed[0].click().run()
        assert not page.exception, (key, page.exception)
        after = _left(workspace)
        assert {name: count for name, count in after.items() if count < before[name]} == {}, key


def test_the_keys_that_end_something_ask_first(workspace: Workspace, tmp_path: Path) -> None:
    fill_with_items(workspace, tmp_path)
    page = open_page(workspace, "items")
    reject = next(key for key in _keys(page) if key["key"] == "r")
    page.button(key=reject["button"]).click().run()
    assert page.button(key="reject_now").label.startswith("Reject with this note")
    assert not any(key["button"] == "withdraw" for key in _keys(page))
    seeds = open_page(workspace, "write_seeds")
    drop = next(key for key in _keys(seeds) if key["key"] == "d")
    assert not any(button.key == drop["button"] for button in seeds.button), "it opens a popover"
    assert any(button.key == "drop_confirm" for button in seeds.button)
