"""Extraction reads and encodes each place once, also when it is killed in the middle."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.encoders import get_encoder
from evaluation.extraction import FeatureFile, FeatureKey, Frame, ReadsRegions, extract_features
from evaluation.slides import Region
from evaluation.stains import get_normaliser
from tests.evaluation.encoders.pictures import tissue

KEY = FeatureKey("ab" * 32, "colour-texture", "1")
FRAMES = [Frame(number, 0, 64, 0.5) for number in range(20)]
PICTURE = tissue(0, size=256)


class DrawnSlide:
    """Each place shows another part of one picture."""

    def read_region(self, region: Region) -> NDArray[np.uint8]:
        if region.x == 13:
            return np.full((region.size, region.size, 3), 250, dtype=np.uint8)
        return np.ascontiguousarray(PICTURE[region.x * 4 : region.x * 4 + region.size, : region.size])


@contextmanager
def drawn_slide() -> Iterator[ReadsRegions]:
    yield DrawnSlide()


class CountingEncoder:
    """The default encoder, which notes in a file how many images each batch held, and may kill its process."""

    def __init__(self, log: Path, die_at: int | None = None) -> None:
        self._real = get_encoder("colour-texture")
        self._log, self._die_at = log, die_at

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)

    def encode(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        if self._die_at is not None and len(counts(self._log)) == self._die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        with self._log.open("a") as log:
            log.write(f"{len(images)}\n")
        return self._real.encode(images)


def counts(log: Path) -> list[int]:
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def run(folder: Path, die_at: int | None = None, normalisation: str = "none") -> tuple[int, int]:
    normaliser = get_normaliser(normalisation)
    key = FeatureKey(KEY.slide_sha256, KEY.encoder, KEY.encoder_version, normaliser.version)
    done = extract_features(
        FeatureFile.below(folder, key),
        FRAMES,
        open_slide=drawn_slide,
        encoder=CountingEncoder(folder / "log", die_at),  # type: ignore[arg-type]
        normaliser=normaliser,
        batch_size=4,
    )
    return done.encoded, done.blank


def test_a_killed_run_goes_on_behind_its_last_batch_with_equal_vectors(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    assert run(whole) == (20, 0)
    process = multiprocessing.get_context("fork").Process(target=run, args=(killed, 3))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert counts(killed / "log") == [4, 4, 4]
    assert run(killed) == (8, 0)
    assert counts(killed / "log") == [4, 4, 4, 4, 4]
    one, other = (FeatureFile.below(folder, KEY).read(FRAMES) for folder in (whole, killed))
    np.testing.assert_array_equal(one, other)
    assert run(killed) == (0, 0)


def test_vectors_are_those_of_the_encoder_and_a_blank_place_is_counted(tmp_path: Path) -> None:
    assert run(tmp_path, normalisation="reinhard") == (20, 1)
    normaliser = get_normaliser("reinhard")
    images = [DrawnSlide().read_region(Region(frame.x, 0, 64, 0.5)) for frame in FRAMES]
    expected = get_encoder("colour-texture").encode([normaliser.apply(image).image for image in images])
    key = FeatureKey(KEY.slide_sha256, KEY.encoder, KEY.encoder_version, "reinhard")
    np.testing.assert_array_equal(FeatureFile.below(tmp_path, key).read(FRAMES), expected)


def test_a_place_is_read_at_the_encoders_size_and_never_finer(tmp_path: Path) -> None:
    from evaluation.extraction._extract import region_for

    assert region_for(Frame(3, 4, 1024, 0.5), 256) == Region(3, 4, 256, 2.0)
    assert region_for(Frame(3, 4, 128, 0.5), 256) == Region(3, 4, 128, 0.5)


def test_a_slide_that_cannot_be_read_ends_the_run_and_keeps_what_was_done(tmp_path: Path) -> None:
    @contextmanager
    def failing() -> Iterator[ReadsRegions]:
        class Slide(DrawnSlide):
            def read_region(self, region: Region) -> NDArray[np.uint8]:
                if region.x == 9:
                    raise OSError("the disk went away")
                return super().read_region(region)

        yield Slide()

    file = FeatureFile.below(tmp_path, KEY)
    with pytest.raises(OSError, match="went away"):
        extract_features(
            file,
            FRAMES,
            open_slide=failing,
            encoder=get_encoder("colour-texture"),
            normaliser=get_normaliser("none"),
            batch_size=4,
        )
    assert run(tmp_path) == (12, 0)
