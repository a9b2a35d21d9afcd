"""Slides are accepted with the right facts or refused with a plain reason, never half accepted."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from evaluation.slides import SlideError, check_slide
from tests.evaluation.slides.drawing import glass, write_tiff


def refusal(path: Path, **options: float) -> SlideError:
    with pytest.raises(SlideError) as caught:
        check_slide(path, **options)
    error = caught.value
    assert error.path == path
    assert str(error).startswith(f"{path}: ")
    assert error.remedy
    return error


@pytest.fixture
def pyramid(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (300, 420, 3), dtype=np.uint8)
    return write_tiff(tmp_path / "pyramid.tiff", image, levels=3)


def test_the_real_slide_is_accepted_with_its_facts(shared_data: Path) -> None:
    path = shared_data / "slides" / "cmu-1-small-region.svs"
    info = check_slide(path)
    assert (info.width, info.height, info.mpp) == (2220, 2967, 0.499)
    assert (info.vendor, info.objective_power, info.mpp_source) == ("aperio", 20.0, "openslide.mpp-x/-y")
    assert info.content_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("broken.svs", "text file"),
        ("unopenable.tiff", "does not open"),
        ("unreadable.svs", "cannot be read"),
        ("boxes.tiff", "352.8 µm/px"),
    ],
)
def test_each_broken_file_is_refused_with_its_reason(shared_data: Path, name: str, reason: str) -> None:
    assert reason in refusal(shared_data / "slides" / name).reason


def test_a_stated_resolution_replaces_an_impossible_one(shared_data: Path) -> None:
    info = check_slide(shared_data / "slides" / "boxes.tiff", mpp=0.5)
    assert info.mpp == 0.5
    assert "given" in info.mpp_source
    assert "352.8" in info.mpp_source


def test_levels_and_downsamples_are_those_of_the_file(pyramid: Path) -> None:
    info = check_slide(pyramid)
    assert [(level.width, level.height) for level in info.levels] == [(420, 300), (210, 150), (105, 75)]
    assert [level.downsample for level in info.levels] == [1.0, 2.0, 4.0]
    assert info.mpp == pytest.approx(0.5)


def test_without_a_resolution_the_remedy_is_to_state_it(tmp_path: Path) -> None:
    path = write_tiff(tmp_path / "silent.tiff", glass(100, 100), mpp=None)
    error = refusal(path)
    assert "--mpp" in error.remedy
    info = check_slide(path, mpp=0.25)
    assert (info.mpp, info.mpp_source) == (0.25, "given")


@pytest.mark.parametrize("mpp", [0.04, 11.0, -1.0, float("nan")])
def test_an_absurd_stated_resolution_is_refused(pyramid: Path, mpp: float) -> None:
    assert "--mpp" in refusal(pyramid, mpp=mpp).remedy


def test_a_stated_resolution_may_not_contradict_the_file(pyramid: Path) -> None:
    assert check_slide(pyramid, mpp=0.52).mpp == pytest.approx(0.5)
    assert "contradicts" in refusal(pyramid, mpp=0.53).reason


def test_pixels_must_be_square(tmp_path: Path) -> None:
    path = write_tiff(tmp_path / "flat.tiff", glass(100, 100), mpp=(0.5, 0.55))
    assert "not square" in refusal(path).reason


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_real_slide_that_was_cut_off_is_refused(shared_data: Path, tmp_path: Path, share: float) -> None:
    whole = (shared_data / "slides" / "cmu-1-small-region.svs").read_bytes()
    path = tmp_path / "cut.svs"
    path.write_bytes(whole[: int(len(whole) * share)])
    assert "cut off" in refusal(path).reason


@pytest.mark.parametrize("lost", [1, 1_000, 100_000, 400_000])
@pytest.mark.parametrize("bigtiff", [False, True])
def test_a_drawn_pyramid_that_was_cut_off_is_refused(tmp_path: Path, lost: int, bigtiff: bool) -> None:
    path = write_tiff(tmp_path / "cut.tiff", glass(300, 420), levels=2, bigtiff=bigtiff)
    assert check_slide(path).width == 420
    data = path.read_bytes()
    path.write_bytes(data[:-lost])
    assert "cut off" in refusal(path).reason


def test_other_files_are_called_what_they_are(tmp_path: Path) -> None:
    png = tmp_path / "image.svs"
    Image.fromarray(glass(20, 20)).save(png, "PNG")
    assert "PNG" in refusal(png).reason
    text = tmp_path / "notes.tiff"
    text.write_text("Leber, Präparat 3\n" * 20, encoding="utf-8")
    assert "text file" in refusal(text).reason
    archive = tmp_path / "slides.svs"
    archive.write_bytes(b"PK\x03\x04" + bytes(100))
    assert "ZIP" in refusal(archive).reason
    noise = tmp_path / "noise.svs"
    noise.write_bytes(bytes(range(256)) * 4)
    assert "no slide format" in refusal(noise).reason
    empty = tmp_path / "empty.svs"
    empty.touch()
    assert "0 bytes" in refusal(empty).reason
    assert "no such file" in refusal(tmp_path / "absent.svs").reason
    assert "cannot be reached" in refusal(tmp_path / ("x" * 300)).reason
    pipe = tmp_path / "pipe.svs"
    os.mkfifo(pipe)
    assert "neither a file nor a folder" in refusal(pipe).reason


def test_a_header_that_claims_too_many_pixels_is_refused(tmp_path: Path) -> None:
    side, tile = 800_000, 65_520
    tiles = (-(-side // tile)) ** 2
    values = {
        256: (4, 1, side), 257: (4, 1, side), 258: (3, 1, 8), 259: (3, 1, 1), 262: (3, 1, 1), 277: (3, 1, 1),
        322: (4, 1, tile), 323: (4, 1, tile), 324: (4, tiles, 1000), 325: (4, tiles, 1000),
    }  # fmt: skip
    entries = b"".join(struct.pack("<HHII", tag, *value) for tag, value in sorted(values.items()))
    head = b"II*\x00" + struct.pack("<IH", 8, len(values)) + entries + struct.pack("<I", 0)
    path = tmp_path / "vast.tiff"
    path.write_bytes(head.ljust(1000, b"\x00") + bytes(4 * tiles))
    assert "800,000 × 800,000" in refusal(path, mpp=0.5).reason


class TestDicom:
    @pytest.fixture
    def folder(self, shared_data: Path, tmp_path: Path) -> Path:
        folder = tmp_path / "series"
        folder.mkdir()
        for name in ("boxes_0.dcm", "boxes_1.dcm"):
            shutil.copyfile(shared_data / "slides" / name, folder / name)
        return folder

    def test_folder_and_either_file_are_the_same_slide(self, folder: Path) -> None:
        infos = [check_slide(path) for path in (folder, folder / "boxes_0.dcm", folder / "boxes_1.dcm")]
        assert len({info.content_sha256 for info in infos}) == 1
        assert infos[0].mpp == 0.499

    def test_the_digest_ignores_names_and_strangers_but_not_content(self, folder: Path) -> None:
        before = check_slide(folder).content_sha256
        (folder / "boxes_0.dcm").rename(folder / "zzz.dcm")
        (folder / "notes.txt").write_text("not part of the slide")
        assert check_slide(folder).content_sha256 == before
        data = (folder / "boxes_1.dcm").read_bytes()
        (folder / "boxes_1.dcm").write_bytes(data + b"\x00\x00")
        assert check_slide(folder / "zzz.dcm").content_sha256 != before

    def test_a_folder_of_two_slides_asks_which(self, folder: Path) -> None:
        series = b"1.3.6.1.4.1.5962.99.1.1747645553.419656796.1689669825649.4.0"
        for name in ("boxes_0.dcm", "boxes_1.dcm"):
            data = (folder / name).read_bytes()
            assert series in data
            (folder / f"other_{name}").write_bytes(data.replace(series, series[:-1] + b"9"))
        error = refusal(folder)
        assert "2 DICOM slides" in error.reason
        assert "boxes_0.dcm" in error.remedy

    def test_a_folder_without_slides_is_refused(self, tmp_path: Path) -> None:
        assert "no DICOM slide" in refusal(tmp_path).reason
