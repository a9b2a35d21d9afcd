"""A workspace that is moved or copied takes its releases, runs and slides along."""

from __future__ import annotations

import shutil
from pathlib import Path

from sqlmodel import select

from db.tables import AuditEvent
from pipeline.ingest import add_slides, list_slides
from pipeline.releases import build_release, list_releases, verify_release
from pipeline.review import approve_passed
from pipeline.variants import choose_models, generate_items
from pipeline.workspace import Workspace, open_workspace
from tests.pipeline.conftest import METADATA, draw_slide


def test_paths_inside_a_moved_workspace_follow_and_others_stay(with_seeds: Workspace, tmp_path: Path) -> None:
    (with_seeds.root / "mine").mkdir()
    inside = draw_slide(with_seeds.root / "mine" / "inside.tiff", seed=7)
    assert not add_slides(with_seeds, [inside], METADATA, who="test").problems
    generate_items(with_seeds, models=choose_models(with_seeds, generator=None, checker=None), who="test")
    approve_passed(with_seeds, as_user="test")
    build_release(with_seeds, name="liver", version="1", who="test")
    outside = [slide.path for slide in list_slides(with_seeds) if slide.name != "inside.tiff"]
    with_seeds.engine.dispose()
    moved = open_workspace(Path(shutil.move(with_seeds.root, tmp_path / "elsewhere")))
    release = list_releases(moved)[0]
    assert Path(release.path).is_relative_to(moved.root)
    assert verify_release(Path(release.path)) == []
    assert build_release(moved, name="liver", version="1", who="test").existed
    paths = {slide.name: slide.path for slide in list_slides(moved)}
    assert paths.pop("inside.tiff") == str(moved.root / "mine" / "inside.tiff")
    assert sorted(paths.values()) == sorted(outside)
    with moved.reading() as session:
        events = session.exec(select(AuditEvent).where(AuditEvent.action == "move")).all()
    assert sorted(event.object_type for event in events) == ["release", "slide"]
    moved.engine.dispose()
