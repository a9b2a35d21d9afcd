"""Tables of slides: every fault is said before anything is added; what was added is passed over the next time."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import tifffile

from pipeline.errors import InputError
from pipeline.ingest import SlideMetadata, list_slides
from pipeline.permissions import Actor, Role
from pipeline.slide_tables import add_slides_from_table
from pipeline.workspace import Workspace
from tests.evaluation.slides.drawing import glass, write_tiff
from tests.pipeline.conftest import METADATA, draw_slide, write_csv

NOTHING = SlideMetadata(organ="", source="", licence="")
HEADER = ("path", "organ", "source", "licence", "study", "subject", "dose_group", "sacrifice", "mpp")


def test_a_row_is_a_slide_with_its_fields(workspace: Workspace, tmp_path: Path) -> None:
    draw_slide(tmp_path / "a.tiff")
    write_tiff(tmp_path / "silent.tiff", glass(256, 256), mpp=None)
    table = write_csv(
        tmp_path / "slides.csv",
        HEADER,
        [
            ("a.tiff", "Kidney", "", "CC0-1.0", "TG-1", "7", "high", "Unscheduled", ""),
            (str(tmp_path / "silent.tiff"), "liver", "lab", "", "TG-1", "8", "control", "", "0.25"),
        ],
    )
    report = add_slides_from_table(workspace, table, for_all=METADATA, who="test")
    assert (report.problems, len(report.added)) == ([], 2)
    kidney, liver = list_slides(workspace)
    assert (kidney.organ_system, kidney.study, kidney.subject) == ("Urinary", "TG-1", "7")
    assert (kidney.dose_group, kidney.sacrifice, kidney.source) == ("high", "unscheduled", METADATA.source)
    assert (liver.mpp, liver.mpp_source, liver.source, liver.licence) == (0.25, "given", "lab", METADATA.licence)


def test_all_faults_of_all_rows_come_before_anything_is_added(workspace: Workspace, tmp_path: Path) -> None:
    draw_slide(tmp_path / "a.tiff")
    (tmp_path / "several").mkdir()
    for name in ("b.tiff", "c.tiff"):
        (tmp_path / "several" / name).write_bytes(b"x")
    table = write_csv(
        tmp_path / "slides.csv",
        HEADER,
        [
            ("a.tiff", "liver", "lab", "CC0-1.0", "", "", "", "", ""),
            ("./a.tiff", "liver", "lab", "CC0-1.0", "", "", "", "", ""),
            ("gone.tiff", "", "lab", "CC0-1.0", "", "", "", "soon", "fine"),
            ("several", "liver", "lab", "CC0-1.0", "", "", "", "", "70"),
            ("", "liver", "lab", "CC0-1.0", "", "", "", "", ""),
            ("a.tiff", "liver"),
        ],
    )
    with pytest.raises(InputError) as error:
        add_slides_from_table(workspace, table, for_all=NOTHING, who="test")
    assert [problem.split(":")[0] for problem in error.value.problems] == [
        f"line {line}" for line in (3, 4, 4, 4, 4, 5, 5, 6, 7)
    ]
    said = "\n".join(error.value.problems)
    for words in (
        "line 3: ",
        "stands in line 2 already",
        "no such file",
        "organ is required",
        "sacrifice 'soon'",
        "mpp 'fine'",
        "the folder holds 2 slides",
        "mpp '70'",
        "path is empty",
        "another number of cells",
    ):
        assert words in said
    assert list_slides(workspace) == []


def test_a_column_that_means_nothing_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "slides.csv", ("path", "dosegroup"), [("a.tiff", "high")])
    with pytest.raises(InputError, match="'dosegroup' is unknown"):
        add_slides_from_table(workspace, table, for_all=METADATA, who="test")


def test_bad_slides_are_named_with_their_line_and_a_second_run_goes_on(workspace: Workspace, tmp_path: Path) -> None:
    draw_slide(tmp_path / "a.tiff")
    shutil.copy(tmp_path / "a.tiff", tmp_path / "same.tiff")
    (tmp_path / "text.svs").write_text("no slide")
    rows = [("a.tiff",), ("same.tiff",), ("text.svs",)]
    table = write_csv(tmp_path / "slides.csv", ("path",), rows)
    report = add_slides_from_table(workspace, table, for_all=METADATA, who="test")
    assert [slide.name for slide in report.added] == ["a.tiff"]
    assert report.problems[0].startswith("line 3: ")
    assert "same.tiff: was added before as a.tiff" in report.problems[0]
    assert report.problems[1].startswith("line 4: ")
    draw_slide(tmp_path / "text.svs", seed=4)
    again = add_slides_from_table(workspace, table, for_all=METADATA, who="test")
    assert ([slide.name for slide in again.known], [slide.name for slide in again.added]) == (["a.tiff"], ["text.svs"])
    assert len(again.problems) == 1, "the copy is named each time"


def test_a_missing_or_impossible_resolution_is_asked_for(workspace: Workspace, tmp_path: Path) -> None:
    write_tiff(tmp_path / "silent.tiff", glass(256, 256), mpp=None)
    with tifffile.TiffWriter(tmp_path / "screen.tiff") as writer:
        writer.write(glass(256, 256, seed=1), tile=(64, 64), photometric="rgb", resolution=(72, 72), resolutionunit=2)
    table = write_csv(tmp_path / "slides.csv", ("path",), [("silent.tiff",), ("screen.tiff",)])
    report = add_slides_from_table(workspace, table, for_all=METADATA, who="test")
    assert [missing.path.name for missing in report.without_resolution] == ["silent.tiff", "screen.tiff"]
    assert report.without_resolution[0].stated is None
    assert report.without_resolution[1].stated == pytest.approx(352.8, abs=0.1)
    assert all("--mpp" in problem for problem in report.problems)
    stated = {str(tmp_path / "silent.tiff"): 0.5, str(tmp_path / "screen.tiff"): 0.25}
    told = add_slides_from_table(workspace, table, for_all=METADATA, mpps=stated, who="test")
    assert told.problems == []
    assert sorted(slide.mpp or 0 for slide in told.added) == [0.25, 0.5]


def test_who_may_not_read_a_file_is_told_by_line(workspace: Workspace, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    draw_slide(tmp_path / "elsewhere.tiff")
    table = write_csv(allowed / "slides.csv", ("path",), [("../elsewhere.tiff",)])
    settings = workspace.settings.model_copy(update={"slide_folders": [allowed]})
    author = replace(workspace, settings=settings).acting_as(Actor("ann", frozenset({Role.AUTHOR})))
    with pytest.raises(InputError) as error:
        add_slides_from_table(author, table, for_all=METADATA, who="ann")
    assert "line 2: " in error.value.problems[0]
    assert "lies outside the folders" in error.value.problems[0]
    with pytest.raises(InputError, match="lies outside the folders"):
        add_slides_from_table(author, tmp_path / "other.csv", for_all=METADATA, who="ann")


def test_a_copy_of_a_dicom_folder_is_known_again(workspace: Workspace, shared_data: Path, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        for number in (0, 1):
            name = f"boxes_{number}.dcm"
            shutil.copy(shared_data / "slides" / name, tmp_path / folder / f"{folder}-{name}")
    table = write_csv(tmp_path / "slides.csv", ("path", "mpp"), [("one", "0.5"), ("two", "0.5")])
    report = add_slides_from_table(workspace, table, for_all=METADATA, who="test")
    assert len(report.added) == 1
