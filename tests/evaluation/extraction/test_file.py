"""Feature files survive crashes, go on, and never mix slides, encoders or normalisations."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.extraction import FeatureFile, FeatureFileError, FeatureKey, Frame, check_feature_file

KEY = FeatureKey("ab" * 32, "colour-texture", "1")
DIMENSION = 5


def frames(*numbers: int, size: int = 1024) -> list[Frame]:
    return [Frame(number, 2 * number, size, 0.5) for number in numbers]


def vectors(*numbers: int) -> NDArray[np.float32]:
    return np.array([[number + place / 8 for place in range(DIMENSION)] for number in numbers], dtype=np.float32)


@pytest.fixture
def file(tmp_path: Path) -> FeatureFile:
    return FeatureFile.below(tmp_path, KEY)


def add(file: FeatureFile, *numbers: int) -> None:
    with file.writing(DIMENSION) as writer:
        writer.add(frames(*numbers), vectors(*numbers))


def killed_after(file: FeatureFile, *batches: list[int]) -> Path:
    """What a run leaves that was killed after these batches."""

    def run() -> None:
        with file.writing(DIMENSION) as writer:
            for numbers in batches:
                writer.add(frames(*numbers), vectors(*numbers))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    return file.path.with_suffix(".journal")


def test_vectors_come_back_in_the_order_they_are_asked_for(file: FeatureFile) -> None:
    assert file.frames() == []
    assert file.missing(frames(1, 1, 2)) == frames(1, 2)
    add(file, 3, 1, 2)
    add(file, 9)
    np.testing.assert_array_equal(file.read(frames(9, 1, 3, 1)), vectors(9, 1, 3, 1))
    assert file.read([]).shape == (0, DIMENSION)
    assert file.missing(frames(1, 4)) == frames(4)
    check_feature_file(file.path, deep=True)
    with pytest.raises(FeatureFileError, match="has no vector of"):
        file.read(frames(4))


def test_a_place_at_another_size_or_resolution_is_another_place(file: FeatureFile) -> None:
    add(file, 1)
    assert file.missing([Frame(1, 2, 512, 0.5), Frame(1, 2, 1024, 0.25), Frame(1, 2, 1024, 0.5)]) == [
        Frame(1, 2, 512, 0.5),
        Frame(1, 2, 1024, 0.25),
    ]


def test_what_a_killed_run_had_encoded_is_taken_in(file: FeatureFile) -> None:
    journal = killed_after(file, [1, 2], [3])
    assert file.frames() == []
    with file.writing(DIMENSION):
        assert file.missing(frames(1, 2, 3, 4)) == frames(4)
    assert not journal.exists()
    np.testing.assert_array_equal(file.read(frames(1, 2, 3)), vectors(1, 2, 3))


@pytest.mark.parametrize("torn", [1, 20, 50])
def test_a_record_that_was_cut_off_is_made_again_and_the_next_ones_are_whole(file: FeatureFile, torn: int) -> None:
    journal = killed_after(file, [1], [2])
    journal.write_bytes(journal.read_bytes()[:-torn])
    add(file, 3)
    assert file.frames() == frames(1, 3)
    np.testing.assert_array_equal(file.read(frames(1, 3)), vectors(1, 3))


def test_a_damaged_record_and_what_stands_behind_it_are_not_believed(file: FeatureFile) -> None:
    journal = killed_after(file, [1], [2], [3])
    data = bytearray(journal.read_bytes())
    data[-70] ^= 1  # within the record of 2
    journal.write_bytes(bytes(data))
    add(file, 4)
    assert file.frames() == frames(1, 4)


def test_a_journal_of_vectors_of_another_length_is_dropped(file: FeatureFile) -> None:
    killed_after(file, [1])
    with file.writing(DIMENSION + 1) as writer:
        writer.add(frames(2), np.zeros((1, DIMENSION + 1), dtype=np.float32))
    assert file.frames() == frames(2)


def test_a_run_killed_between_file_and_journal_leaves_nothing_twice(file: FeatureFile) -> None:
    journal = killed_after(file, [1], [2])
    kept = journal.read_bytes()
    add(file, 3)
    journal.write_bytes(kept)
    add(file, 4)
    assert file.frames() == frames(1, 2, 3, 4)


def test_the_layout_is_the_one_that_trident_users_know(file: FeatureFile) -> None:
    add(file, 1, 2)
    with h5py.File(file.path) as stored:
        assert stored["features"].shape == (2, DIMENSION)
        assert stored["features"].dtype == np.float32
        assert stored["coords"][:].tolist() == [[1, 2], [2, 4]]
        assert dict(stored["coords"].attrs) == {"patch_size": 1024}
        assert stored["patch_mpp"][:].tolist() == [0.5, 0.5]
        assert (stored.attrs["encoder"], stored.attrs["encoder_version"]) == ("colour-texture", "1")
    with file.writing(DIMENSION) as writer:
        writer.add(frames(3, size=256), vectors(3))
    with h5py.File(file.path) as stored:
        assert "patch_size" not in stored["coords"].attrs
        assert stored["patch_size"][:].tolist() == [1024, 1024, 256]


def test_each_slide_encoder_version_and_normalisation_has_its_own_file(tmp_path: Path) -> None:
    keys = [
        KEY,
        FeatureKey("cd" * 32, KEY.encoder, KEY.encoder_version),
        FeatureKey(KEY.slide_sha256, "uni", KEY.encoder_version),
        FeatureKey(KEY.slide_sha256, KEY.encoder, "2"),
        FeatureKey(KEY.slide_sha256, KEY.encoder, KEY.encoder_version, "macenko"),
    ]
    for number, key in enumerate(keys):
        add(FeatureFile.below(tmp_path, key), number)
    assert [FeatureFile.below(tmp_path, key).frames() for key in keys] == [frames(number) for number in range(5)]


def test_another_files_content_in_its_place_is_noticed(tmp_path: Path, file: FeatureFile) -> None:
    other = FeatureFile.below(tmp_path, FeatureKey(KEY.slide_sha256, "uni", "1"))
    add(other, 1)
    file.path.parent.mkdir(parents=True)
    file.path.write_bytes(other.path.read_bytes())
    with pytest.raises(FeatureFileError, match="its encoder is uni, not colour-texture"):
        file.frames()
    with pytest.raises(FeatureFileError, match="it holds vectors of"):
        check_feature_file(file.path)


def test_missing_damaged_and_foreign_files_are_named(file: FeatureFile, tmp_path: Path) -> None:
    with pytest.raises(FeatureFileError, match="there is no such feature file"):
        file.read(frames(1))
    add(file, *range(200))
    whole = file.path.read_bytes()
    file.path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FeatureFileError, match=r"damaged.*embed again"):
        file.frames()
    changed = bytearray(whole)
    place = whole.index(vectors(100).tobytes())
    changed[place] ^= 255
    file.path.write_bytes(bytes(changed))
    check_feature_file(file.path)
    with pytest.raises(FeatureFileError, match="damaged"):
        check_feature_file(file.path, deep=True)
    with h5py.File(tmp_path / "foreign.h5", "w") as foreign:
        foreign["features"] = np.zeros((2, 3))
    with pytest.raises(FeatureFileError, match="layout 0"):
        check_feature_file(tmp_path / "foreign.h5")


def test_vectors_that_do_not_fit_are_refused(file: FeatureFile) -> None:
    with file.writing(DIMENSION) as writer:
        with pytest.raises(ValueError, match="vectors are"):
            writer.add(frames(1, 2), vectors(1))
        with pytest.raises(ValueError, match="not finite"):
            writer.add(frames(1), np.full((1, DIMENSION), np.nan, dtype=np.float32))
        writer.add(frames(3), vectors(3))
    with pytest.raises(FeatureFileError, match="have 5 dimensions, not 4"), file.writing(DIMENSION - 1):
        pass


def test_a_failed_write_leaves_the_old_file_the_journal_and_no_litter(
    file: FeatureFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(file, 1)

    def fail(self: Path, target: Path) -> Path:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(OSError, match="disk full"):
            add(file, 2)
    assert file.frames() == frames(1)
    assert sorted(path.suffix for path in file.path.parent.iterdir()) == [".h5", ".journal", ".lock"]
    with file.writing(DIMENSION):
        assert file.frames() == frames(1, 2)
