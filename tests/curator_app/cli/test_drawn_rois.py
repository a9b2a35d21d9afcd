"""Drawing, withdrawing and exchanging ROIs on the command line."""

from __future__ import annotations

from pathlib import Path

from pipeline.workspace import Workspace
from tests.curator_app.cli.conftest import Command


def test_draw_list_export_withdraw_and_import(here: Command, with_slides: Workspace, tmp_path: Path) -> None:
    where = ("--workspace", with_slides.root)
    large = here(
        "rois", "draw", "slide-0.tiff", "--x", 0, "--y", 0, "--magnification", 5, "--size", 256, "--json", *where
    )
    assert large.code == 0, large.err
    small = here("rois", "draw", "slide-0.tiff", "--x", 300, "--y", 310, "--size", 256, "--json", *where)
    listed = {row["id"]: row for row in here("rois", "list", "--json", *where).json}
    assert listed[large.json["id"]]["holds"] == [small.json["id"]]
    assert listed[small.json["id"]]["within"] == [large.json["id"]]
    assert (listed[small.json["id"]]["x"], listed[small.json["id"]]["y"]) == (300, 310)

    file = tmp_path / "rois.geojson"
    assert here("rois", "export", "slide-0.tiff", "--geojson", file, "--json", *where).json["rois"] == 2
    twice = here("rois", "export", "slide-0.tiff", "--geojson", file, *where)
    assert (twice.code, "exists already" in twice.err) == (2, True)
    known = here("rois", "import-geojson", "slide-0.tiff", file, "--json", *where)
    assert (known.json["imported"], len(known.json["skipped"])) == ([], 2)
    assert "skipped: feature 1 is the selected ROI" in known.err
    other = here("rois", "import-geojson", "slide-1.tiff", file, *where)
    assert (other.code, "feature 1: its metadata say that it lies on another slide" in other.err) == (2, True)

    gone = here("rois", "withdraw", small.json["id"], "--reason", "beside the lesion", *where)
    assert gone.code == 0, gone.err
    assert len(here("rois", "list", "--json", *where).json) == 1
    outside = here("rois", "draw", "slide-0.tiff", "--x", 1000, "--y", 0, *where)
    assert (outside.code, "beyond the slide" in outside.err) == (2, True)
