"""Adding slides: good ones are added, bad ones named, the database stays as it was for them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.errors import InputError
from pipeline.ingest import SlideMetadata, add_slides, list_slides
from pipeline.workspace import Workspace
from tests.pipeline.conftest import METADATA, draw_slide


def test_a_slide_keeps_what_it_says_and_what_it_was_told(with_slides: Workspace) -> None:
    slides = list_slides(with_slides)
    assert [slide.name for slide in slides] == ["slide-0.tiff", "slide-1.tiff"]
    assert slides[0].mpp == pytest.approx(0.5, rel=0.01)
    assert (slides[0].organ, slides[0].species, slides[0].stain) == ("liver", "rat", "H&E")
    assert slides[0].tissue_share == pytest.approx(0.55, abs=0.06)
    for name in ("tissue.png", "thumbnail.png"):
        assert (with_slides.slides / slides[0].id / name).is_file()


def test_bad_files_are_named_and_the_rest_is_added(workspace: Workspace, tmp_path: Path) -> None:
    good = draw_slide(tmp_path / "good.tiff")
    copy = shutil.copy(good, tmp_path / "other-name.tiff")
    text = tmp_path / "report.svs"
    text.write_text("not a slide")
    empty = tmp_path / "empty.svs"
    empty.touch()
    report = add_slides(workspace, [text, good, Path(copy), empty, tmp_path / "gone.svs"], METADATA, who="test")
    assert [slide.name for slide in report.added] == ["good.tiff"]
    problems = "\n".join(report.problems)
    for name in ("report.svs", "other-name.tiff", "empty.svs", "gone.svs"):
        assert name in problems
    assert "added before as good.tiff" in problems
    assert len(list_slides(workspace)) == 1
    assert len(list(workspace.slides.iterdir())) == 1, "a refused slide leaves no files"


def test_the_same_slides_again_change_nothing(with_slides: Workspace, drawn_slides: list[Path]) -> None:
    report = add_slides(with_slides, [drawn_slides[0].parent], METADATA, who="test")
    assert report.added == []
    assert all("added before" in problem for problem in report.problems)
    assert len(report.problems) == 2


@pytest.mark.parametrize(
    "name",
    ["unreadable.svs", "unopenable.tiff", "broken.svs", "boxes.tiff"],
)
def test_real_broken_slides(workspace: Workspace, shared_data: Path, name: str) -> None:
    report = add_slides(workspace, [shared_data / "slides" / name], METADATA, who="test")
    assert report.added == []
    assert len(report.problems) == 1
    assert name in report.problems[0]
    assert list_slides(workspace) == []


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        (SlideMetadata(organ="", source="a", licence="b"), "organ"),
        (SlideMetadata(organ="liver", source=" ", licence="b"), "source"),
        (SlideMetadata(organ="liver", source="a", licence=""), "licence"),
        (SlideMetadata(organ="liver", source="a\x00b", licence="b"), "cannot be seen"),
        (SlideMetadata(organ="liver", source="a" * 201, licence="b"), "201 characters"),
    ],
)
def test_missing_metadata_is_named_before_any_file_is_read(
    workspace: Workspace, tmp_path: Path, metadata: SlideMetadata, named: str
) -> None:
    with pytest.raises(InputError, match=named):
        add_slides(workspace, [draw_slide(tmp_path / "a.tiff")], metadata, who="test")
    assert list_slides(workspace) == []


def test_a_folder_may_hold_dicom_slides_in_folders_and_loose_dicom_files_are_named(
    workspace: Workspace, shared_data: Path, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    (study / "notes").mkdir(parents=True)
    (study / "notes" / "readme.txt").write_text("no slide")
    draw_slide(study / "good.tiff")
    (study / "series").mkdir()
    for name in ("boxes_0.dcm", "boxes_1.dcm"):
        shutil.copyfile(shared_data / "slides" / name, study / "series" / name)
    shutil.copyfile(shared_data / "slides" / "boxes_0.dcm", study / "loose.dcm")
    (study / "notes" / "around").symlink_to(study)
    report = add_slides(workspace, [study], METADATA, who="test")
    assert sorted(slide.name for slide in report.added) == ["good.tiff", "series"]
    (problem,) = report.problems
    assert "DICOM files (1 .dcm) lie among other slides" in problem
