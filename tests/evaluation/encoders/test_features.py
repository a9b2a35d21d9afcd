"""Feature files survive crashes, resume, and never mix encoders."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from evaluation.encoders import (
    DEFAULT_ENCODER,
    FeatureFileError,
    FeatureRows,
    StoredFeatures,
    append_features,
    get_encoder,
    missing_ids,
    read_features,
    write_features,
)

ENCODER = get_encoder(DEFAULT_ENCODER)


def rows(*numbers: int, mpp: float = 0.5, size: int = 1024) -> FeatureRows:
    n = len(numbers)
    features = [np.random.default_rng(number).normal(size=ENCODER.dimension) for number in numbers]
    return FeatureRows(
        ids=tuple(f"roi_{number}" for number in numbers),
        slide_ids=tuple(f"slide_ä{number % 2}" for number in numbers),
        features=np.array(features, dtype=np.float32).reshape(n, ENCODER.dimension),
        coords=np.array([(number, 2 * number) for number in numbers], dtype=np.int64).reshape(n, 2),
        size=np.full(n, size, dtype=np.int64),
        mpp=np.full(n, mpp),
        patch_level0=np.full(n, 1026.05),
    )


def same(one: FeatureRows, other: FeatureRows) -> bool:
    return (one.ids, one.slide_ids) == (other.ids, other.slide_ids) and all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
        for name in ("features", "coords", "size", "mpp", "patch_level0")
    )


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "liver-colour-texture.h5"
    stored = append_features(path, encoder=ENCODER, rows=rows(1, 2, 3))
    assert same(stored, rows(1, 2, 3))
    again = read_features(path)
    assert same(again, stored)
    assert (again.encoder, again.encoder_version) == (ENCODER.name, ENCODER.version)


def test_embedding_resumes_with_what_is_missing_and_changes_nothing_stored(tmp_path: Path) -> None:
    path = tmp_path / "features.h5"
    wanted = [f"roi_{number}" for number in range(5)]
    assert missing_ids(path, wanted) == wanted
    append_features(path, encoder=ENCODER, rows=rows(0, 3))
    assert missing_ids(path, wanted) == ["roi_1", "roi_2", "roi_4"]
    changed = rows(3, 1)
    changed.features[0] += 1
    merged = append_features(path, encoder=ENCODER, rows=changed)
    assert same(merged, rows(0, 3, 1))
    assert same(read_features(path), merged)


def test_what_is_not_known_of_a_row_is_stored_as_unknown(tmp_path: Path) -> None:
    full = rows(1)
    bare = FeatureRows(ids=("roi_9",), features=full.features, coords=full.coords, size=full.size, mpp=full.mpp)
    append_features(tmp_path / "f.h5", encoder=ENCODER, rows=full)
    merged = append_features(tmp_path / "f.h5", encoder=ENCODER, rows=bare)
    assert merged.slide_ids == ("slide_ä1", "")
    assert np.isnan(merged.patch_level0).tolist() == [False, True]


def test_the_layout_is_the_one_that_trident_users_know(tmp_path: Path) -> None:
    append_features(tmp_path / "f.h5", encoder=ENCODER, rows=rows(1, 2))
    with h5py.File(tmp_path / "f.h5") as file:
        assert file["features"].shape == (2, ENCODER.dimension)
        assert file["features"].dtype == np.float32
        assert file["coords"][:].tolist() == [[1, 2], [2, 4]]
        assert dict(file["coords"].attrs) == {"patch_size": 1024, "patch_size_level0": 1026}
        assert file.attrs["mpp"] == 0.5
        assert (file.attrs["encoder"], file.attrs["encoder_version"]) == (ENCODER.name, ENCODER.version)
    append_features(tmp_path / "f.h5", encoder=ENCODER, rows=rows(3, mpp=2.0))
    with h5py.File(tmp_path / "f.h5") as file:
        assert "mpp" not in file.attrs
        assert file["patch_mpp"][:].tolist() == [0.5, 0.5, 2.0]


@pytest.mark.parametrize("difference", [{"encoder": "other"}, {"encoder_version": "0"}])
def test_vectors_of_another_encoder_are_never_mixed_in(tmp_path: Path, difference: dict[str, str]) -> None:
    identity = {"encoder": ENCODER.name, "encoder_version": ENCODER.version, **difference}
    full = rows(1)
    columns = {name: getattr(full, name) for name in ("ids", "features", "coords", "size", "mpp")}
    write_features(tmp_path / "f.h5", StoredFeatures(**columns, **identity))
    with pytest.raises(FeatureFileError, match="not of colour-texture version 1") as caught:
        append_features(tmp_path / "f.h5", encoder=ENCODER, rows=rows(2))
    assert caught.value.remedy == "Delete the file and embed again."


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.h5"
    append_features(path, encoder=ENCODER, rows=rows(1))

    def fail(self: Path, target: Path) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        append_features(path, encoder=ENCODER, rows=rows(2))
    assert read_features(path).ids == ("roi_1",)
    assert [file.name for file in tmp_path.iterdir()] == ["f.h5"]


def test_missing_damaged_and_foreign_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FeatureFileError, match=r"absent\.h5: there is no such"):
        read_features(tmp_path / "absent.h5")
    damaged = tmp_path / "damaged.h5"
    damaged.write_bytes(b"not hdf5")
    with pytest.raises(FeatureFileError, match="damaged"):
        read_features(damaged)
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["features"] = np.zeros((2, 3))
    with pytest.raises(FeatureFileError, match="layout 0"):
        read_features(tmp_path / "foreign.h5")


def test_rows_that_do_not_fit_together_are_refused() -> None:
    full = rows(1, 2)
    columns = {name: getattr(full, name) for name in ("ids", "features", "coords", "size", "mpp")}
    for change, message in (
        ({"ids": ("roi_1", "roi_1")}, "every id must occur once"),
        ({"mpp": np.array([0.5])}, "mpp has 1 rows"),
        ({"coords": np.zeros((2, 3), dtype=np.int64)}, "coords must be"),
        ({"features": np.full((2, 3), np.nan, dtype=np.float32)}, "roi_1 hold values that are not finite"),
        ({"features": np.zeros(2, dtype=np.float32)}, "features must be"),
    ):
        with pytest.raises(ValueError, match=message):
            FeatureRows(**{**columns, **change})
