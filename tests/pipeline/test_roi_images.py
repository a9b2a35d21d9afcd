"""Images come from the slide that was added, and from no other file in its place."""

from __future__ import annotations

import shutil
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from evaluation.slides import SlideError
from pipeline import rois, sampling
from pipeline.bins import bin_candidates
from pipeline.errors import InputError
from pipeline.ingest import add_slides
from pipeline.roi_images import open_added_slide
from pipeline.roi_import import ROI_COLUMNS, import_rois
from pipeline.rois import list_rois, select_across_bins, select_roi
from pipeline.sampling import sample_candidates
from pipeline.workspace import Workspace
from tests.databases import new_workspace
from tests.evaluation.slides.drawing import glass, write_tiff
from tests.pipeline.conftest import METADATA, draw_slide, write_csv


@pytest.fixture
def slide_file(workspace: Workspace, tmp_path: Path) -> Path:
    """The file of a slide with bins, beside another slide."""
    file = draw_slide(tmp_path / "mine.tiff")
    other = draw_slide(tmp_path / "other.tiff", seed=5)
    assert not add_slides(workspace, [file, other], METADATA, who="test").problems
    sample_candidates(workspace, organ="liver", count=12, size=128, who="test")
    bin_candidates(workspace, organ="liver", bins=3, who="test")
    return file


def test_a_slide_that_was_replaced_gives_no_image(workspace: Workspace, slide_file: Path, tmp_path: Path) -> None:
    kept = shutil.copy(slide_file, tmp_path / "kept.tiff")
    draw_slide(slide_file, seed=9)
    with pytest.raises(InputError, match="was replaced"):
        select_across_bins(workspace, organ="liver", per_bin=12, who="test")
    selected = {slide.name for _, slide in list_rois(workspace)}
    assert selected == {"other.tiff"}, "what can be read is selected"
    write_tiff(slide_file, glass(600, 600, seed=0), levels=1)
    candidate, slide = next(row for row in list_rois(workspace, states=("candidate",)) if row[1].name == "mine.tiff")
    with pytest.raises(SlideError, match="not the slide that was added"):
        open_added_slide(slide)
    shutil.copy(kept, slide_file)
    assert select_roi(workspace, candidate.id, who="test").state == "selected"


def test_a_place_that_somebody_else_takes_meanwhile_is_left_to_them(
    workspace: Workspace, slide_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = True

    def overtaken(inner: Workspace, roi_id: str, *, who: str, **more: str) -> object:
        nonlocal first
        if first:
            first = False
            select_roi(inner, roi_id, who="somebody else")
        return select_roi(inner, roi_id, who=who, **more)

    monkeypatch.setattr(rois, "select_roi", overtaken)
    assert slide_file.is_file()
    added = select_across_bins(workspace, organ="liver", per_bin=12, who="test")
    assert len(added) == 11
    assert len(list_rois(workspace)) == 12


def test_places_that_another_process_draws_meanwhile_are_drawn_once(
    with_slides: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = {"organ": "liver", "count": 6, "size": 128, "who": "test"}
    known = sampling._known_places
    asked: list[int] = []

    def behind(*arguments: object) -> object:
        asked.append(1)
        if len(asked) == 1:
            monkeypatch.setattr(sampling, "_known_places", known)
            sample_candidates(with_slides, **draw)  # type: ignore[arg-type]
            return set()
        return known(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(sampling, "_known_places", behind)
    sample_candidates(with_slides, **draw)  # type: ignore[arg-type]
    assert len(list_rois(with_slides, states=("candidate",))) == 6


def test_a_draw_that_fails_leaves_no_pictures(with_slides: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    written = sampling.write_atomically
    left = 3

    def fills_up(path: Path, data: bytes) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise OSError(28, "No space left on device")
        written(path, data)

    monkeypatch.setattr(sampling, "write_atomically", fills_up)
    with pytest.raises(OSError, match="No space"):
        sample_candidates(with_slides, organ="liver", count=10, size=128, who="test")
    assert list(with_slides.thumbnails.iterdir()) == []
    assert list_rois(with_slides, states=("candidate",)) == []


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def test_images_of_sixteen_bits_or_a_few_pixels_are_refused(tmp_path: Path) -> None:
    header = struct.pack(">IIBBBBB", 40, 40, 16, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + bytes(40 * 6) for _ in range(40)))
    signature = b"\x89PNG\r\n\x1a\n"
    (tmp_path / "deep.png").write_bytes(
        signature + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )
    Image.new("RGB", (1, 1)).save(tmp_path / "dot.png")
    Image.new("RGB", (40, 40)).save(tmp_path / "fine.png")
    rows = [
        (name, "", "", "", "", "", "liver", "My lab", "CC0-1.0", "", "", "", "")
        for name in ("deep.png", "dot.png", "fine.png")
    ]
    workspace = new_workspace(tmp_path / "workspace")
    with pytest.raises(InputError) as caught:
        import_rois(workspace, write_csv(tmp_path / "rois.csv", ROI_COLUMNS, rows), who="test")
    deep, dot = caught.value.problems
    assert "8 bits" in deep
    assert "1 × 1" in dot
    assert list(workspace.rois.iterdir()) == [], "the good row's image does not stay"
