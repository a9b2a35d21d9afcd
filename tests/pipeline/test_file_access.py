"""Who does not manage the workspace adds files from the named folders only, and learns nothing of others."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import InputError
from pipeline.ingest import add_slides, list_slides
from pipeline.permissions import Actor, Role
from pipeline.roi_import import import_rois
from pipeline.workspace import Workspace
from tests.pipeline.conftest import METADATA, write_csv

AUTHOR = Actor("ann", frozenset({Role.AUTHOR}))


def as_author(workspace: Workspace, *folders: Path) -> Workspace:
    """The workspace as an author uses it, with these folders for slides."""
    settings = workspace.settings.model_copy(update={"slide_folders": list(folders)})
    return replace(workspace, settings=settings, actor=AUTHOR)


@pytest.fixture
def slides(tmp_path: Path, drawn_slides: list[Path]) -> Path:
    """A folder with one slide that may be added."""
    folder = tmp_path / "slides"
    folder.mkdir()
    shutil.copy(drawn_slides[0], folder)
    return folder


def test_an_author_adds_from_the_named_folders(workspace: Workspace, slides: Path) -> None:
    report = add_slides(as_author(workspace, slides), [slides], METADATA, who="ann")
    assert [slide.name for slide in report.added] == ["slide-0.tiff"]
    assert not report.problems


def test_no_folder_is_named_so_an_administrator_adds(workspace: Workspace, slides: Path) -> None:
    report = add_slides(as_author(workspace), [slides], METADATA, who="ann")
    assert not report.added
    assert "only an administrator" in report.problems[0]
    assert add_slides(workspace, [slides], METADATA, who="owner").added


def test_elsewhere_is_refused_by_any_spelling_and_nothing_is_said_of_it(
    workspace: Workspace, slides: Path, drawn_slides: list[Path], tmp_path: Path
) -> None:
    outside = drawn_slides[1]
    (slides / "linked.tiff").symlink_to(outside)
    (slides / "linked-folder").symlink_to(outside.parent)
    spellings = [
        outside,
        slides / ".." / ".." / outside.relative_to(outside.anchor),
        slides / "linked.tiff",
        slides / "linked-folder",
        tmp_path / "slides-of-others",
        Path("/etc/passwd"),
        Path("/nowhere/at/all"),
    ]
    for path in spellings:
        report = add_slides(as_author(workspace, slides), [path], METADATA, who="ann")
        assert not report.added
        assert [f"{path}: lies outside" in problem for problem in report.problems] == [True]
    whole = add_slides(as_author(workspace, slides), [slides], METADATA, who="ann")
    assert [slide.name for slide in whole.added] == ["slide-0.tiff"]
    assert any("linked.tiff: lies outside" in problem for problem in whole.problems)
    assert len(list_slides(workspace)) == 1


def test_images_of_a_table_keep_to_the_folders(workspace: Workspace, slides: Path, tmp_path: Path) -> None:
    table = write_csv(
        tmp_path / "rois.csv",
        ("image", "organ", "source", "licence"),
        [(str(slides / "slide-0.tiff"), "liver", "drawn", "CC0-1.0"), ("/etc/passwd", "liver", "x", "CC0-1.0")],
    )
    with pytest.raises(InputError) as refused:
        import_rois(as_author(workspace, slides), table, who="ann")
    assert any("/etc/passwd: lies outside" in problem for problem in refused.value.problems)
    assert not list_slides(workspace)
