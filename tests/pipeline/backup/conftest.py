"""A workspace with a little of everything that a backup holds, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.ingest import add_slides
from pipeline.review import list_items
from pipeline.rois import list_rois, select_roi
from pipeline.sampling import sample_candidates
from pipeline.seeds import SeedText, save_seed
from pipeline.variants import choose_models, generate_items
from pipeline.workspace import Workspace, create_workspace
from tests.databases import URL_VARIABLE
from tests.pipeline.conftest import METADATA, SEED_TEXTS


def fill(workspace: Workspace, slides: list[Path]) -> None:
    """Slides, candidates, ROIs, seeds and items."""
    add_slides(workspace, slides, METADATA, who="test")
    sample_candidates(workspace, organ="liver", count=6, size=128, who="test")
    for (roi, _), texts in zip(list_rois(workspace, states=("candidate",))[:4], SEED_TEXTS, strict=True):
        select_roi(workspace, roi.id, who="test")
        save_seed(workspace, SeedText(*texts), roi_id=roi.id, who="ann")
    generate_items(workspace, models=choose_models(workspace, generator=None, checker=None), who="ann")
    assert len(list_items(workspace)) == 12


@pytest.fixture
def full(workspace: Workspace, drawn_slides: list[Path]) -> Workspace:
    """A filled workspace."""
    fill(workspace, drawn_slides)
    return workspace


@pytest.fixture(params=["sqlite", "postgresql"])
def either(
    request: pytest.FixtureRequest, tmp_path: Path, drawn_slides: list[Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workspace]:
    """A filled workspace on SQLite, then one on PostgreSQL; the environment names no database afterwards."""
    monkeypatch.delenv("HISTOCURATOR_WORKSPACE", raising=False)
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    if request.param == "postgresql":
        monkeypatch.setenv(URL_VARIABLE, request.getfixturevalue("postgresql_server").new_database())
    made = create_workspace(tmp_path / "workspace")
    assert made.engine.dialect.name == request.param
    fill(made, drawn_slides)
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    yield made
    made.engine.dispose()
