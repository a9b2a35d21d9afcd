"""A workspace for many: signed-in people, ROIs, seeds that several change, items that wait for decisions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from curator_app.identity import Access, secret_key
from pipeline.ingest import add_slides
from pipeline.people._accounts import store_account
from pipeline.review import REVIEWABLE, list_items
from pipeline.rois import list_rois, select_roi
from pipeline.sampling import sample_candidates
from pipeline.seeds import SeedText, save_seed
from pipeline.settings import SETTINGS_FILE
from pipeline.variants import choose_models, generate_items
from pipeline.workspace import Workspace, create_workspace
from tests.curator_app.visitors import add_person, cookie_of, opened_session
from tests.databases import URL_VARIABLE
from tests.pipeline.conftest import METADATA, SEED_TEXTS

ROIS = 8
SHARED_SEEDS = 8
CATEGORY = "identify_pathology"
ADMIN = "admin"


@dataclass(frozen=True)
class Person:
    """Somebody who is signed in: the account, and the Cookie header of the session."""

    name: str
    account_id: str
    cookie: str


@dataclass(frozen=True)
class Thing:
    """A seed or an item as the scene left it."""

    id: str
    version: int
    roi_id: str
    texts: dict[str, str]
    state: str


@dataclass(frozen=True)
class Scene:
    """Who is there and what they work on; `shared` seeds are changed by all authors."""

    workspace: Workspace
    authors: Sequence[Person]
    reviewers: Sequence[Person]
    rois: Sequence[str]
    shared: Sequence[Thing]
    items: Sequence[Thing]


def workspace_at(root: Path, url: str | None) -> Workspace:
    """Make a workspace whose settings name its database; None is its own SQLite file."""
    if url is None:
        return create_workspace(root)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(URL_VARIABLE, url)
        made = create_workspace(root)
    with (root / SETTINGS_FILE).open("a") as settings:
        settings.write(f"\ndatabase_url = {json.dumps(url)}\n")
    return made


def fill(workspace: Workspace, slides: Sequence[Path], *, authors: int, reviewers: int, item_seeds: int) -> Scene:
    """Fill a workspace.

    Args:
        workspace: an empty one.
        slides: drawn slides.
        authors: how many people write seeds.
        reviewers: how many decide on items.
        item_seeds: seeds of which a built-in model writes three items each.
    """
    add_slides(workspace, list(slides), METADATA, who="test")
    sample_candidates(workspace, organ="liver", count=3 * ROIS, size=128, max_overlap=0.5, who="test")
    for roi, _ in list_rois(workspace, states=("candidate",))[:ROIS]:
        select_roi(workspace, roi.id, who="test")
    rois = [roi.id for roi, _ in list_rois(workspace)]
    shared = [
        _seed(workspace, rois[number % len(rois)], f"Shared question {number}?") for number in range(SHARED_SEEDS)
    ]
    people = _people(workspace, authors=authors, reviewers=reviewers)
    items = _items(workspace, rois, item_seeds) if item_seeds else []
    return Scene(workspace, people[:authors], people[authors:], rois, shared, items)


def _seed(workspace: Workspace, roi_id: str, question: str) -> Thing:
    texts = {"question": question, "answer": "necrosis", "category": CATEGORY, "notes": ""}
    seed = save_seed(workspace, SeedText(**texts), roi_id=roi_id, who="test")
    return Thing(seed.id, seed.row_version, roi_id, texts, seed.state)


def _people(workspace: Workspace, *, authors: int, reviewers: int) -> list[Person]:
    """Make the accounts and sign them in, without hashing a password for each."""
    add_person(workspace, ADMIN)
    access = Access(workspace, secret_key(workspace))
    names = [(f"author-{number}", "author") for number in range(authors)]
    names += [(f"reviewer-{number}", "reviewer") for number in range(reviewers)]
    people = []
    for name, role in names:
        with workspace.writing() as session:
            account = store_account(session, name, roles=[role], display_name="", who="test")
        people.append(Person(name, account.id, cookie_of(access, opened_session(workspace, name))))
    return people


def _items(workspace: Workspace, rois: Sequence[str], seeds: int) -> list[Thing]:
    ids = []
    for number in range(seeds):
        question, answer, category = SEED_TEXTS[number % len(SEED_TEXTS)]
        text = SeedText(f"{question[:-1]} ({number})?", answer, category)
        ids.append(save_seed(workspace, text, roi_id=rois[number % len(rois)], who="test").id)
    models = choose_models(workspace, generator=None, checker=None)
    report = generate_items(workspace, models=models, seed_ids=ids, who="test")
    assert report.ready == seeds, report.results
    return [
        Thing(entry.item.id, entry.item.row_version, entry.roi.id, {}, entry.item.state)
        for entry in list_items(workspace, states=REVIEWABLE)
    ]
