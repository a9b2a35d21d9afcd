"""Feature vectors on disk: one HDF5 file for an organ and an encoder, laid out as TRIDENT users know it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.encoders._protocol import Encoder

LAYOUT_VERSION = 1


class FeatureFileError(Exception):
    """A feature file cannot be used: which one, why, and what to do about it."""

    def __init__(self, path: Path, reason: str, remedy: str) -> None:
        super().__init__(f"{path}: {reason} {remedy}")
        self.path = path
        self.reason = reason
        self.remedy = remedy


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureRows:
    """Vectors of n ROIs and where each ROI lies.

    `features` is float32 (n, d), `ids` names each row's ROI. `coords` is int64 (n, 2), the level-0 pixel
    (x, y) of the top-left corner; `size` int64 (n,), the ROI's side in pixels; `mpp` float64 (n,), the
    micrometres per such pixel. `slide_ids` and `patch_level0`, float64 (n,), the ROI's side in level-0
    pixels, may be left out: they are then "" and NaN in every row.
    """

    ids: tuple[str, ...]
    features: NDArray[np.float32]
    coords: NDArray[np.int64]
    size: NDArray[np.int64]
    mpp: NDArray[np.float64]
    slide_ids: tuple[str, ...] = ()
    patch_level0: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        n = len(self.ids)
        if not self.slide_ids:
            object.__setattr__(self, "slide_ids", ("",) * n)
        if not self.patch_level0.size:
            object.__setattr__(self, "patch_level0", np.full(n, np.nan))
        if self.features.ndim != 2:
            raise ValueError(f"features must be (n, d), not {self.features.shape}")
        if self.coords.shape != (n, 2):
            raise ValueError(f"coords must be ({n}, 2), not {self.coords.shape}")
        for name in ("features", "size", "mpp", "slide_ids", "patch_level0"):
            if len(getattr(self, name)) != n:
                raise ValueError(f"there are {n} ids, but {name} has {len(getattr(self, name))} rows")
        if len(set(self.ids)) != n:
            raise ValueError("every id must occur once")
        bad = np.flatnonzero(~np.isfinite(self.features).all(axis=1))
        if bad.size:
            raise ValueError(f"the features of {self.ids[int(bad[0])]} hold values that are not finite")


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredFeatures(FeatureRows):
    """The rows of a feature file and the encoder that made them."""

    encoder: str
    encoder_version: str


def write_features(path: Path, features: StoredFeatures) -> None:
    """Write a feature file, replacing an older one in one step: a crash leaves the old or the new one whole.

    Datasets `features`, `coords`, `patch_level0`, `patch_size`, `patch_mpp`, `ids`, `slide_ids`; attributes
    `encoder`, `encoder_version`, `layout_version`, and `mpp` where all rows share it. Where all rows share
    their size, `coords` carries TRIDENT's attributes `patch_size` and `patch_size_level0`.
    """
    import h5py

    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        with h5py.File(temporary, "w") as file:
            _fill(file, features)
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_features(path: Path) -> StoredFeatures:
    """Read a feature file.

    Raises:
        FeatureFileError: there is none, it is damaged, or it has another layout.
    """
    import h5py

    if not path.is_file():
        raise FeatureFileError(path, "there is no such feature file.", "Embed the ROIs first.")
    try:
        with h5py.File(path, "r") as file:
            layout = int(file.attrs.get("layout_version", 0))
            if layout != LAYOUT_VERSION:
                raise FeatureFileError(
                    path, f"it has layout {layout}, not {LAYOUT_VERSION}.", "Delete the file and embed again."
                )
            return StoredFeatures(
                encoder=str(file.attrs["encoder"]),
                encoder_version=str(file.attrs["encoder_version"]),
                ids=tuple(file["ids"].asstr()[...].tolist()),
                slide_ids=tuple(file["slide_ids"].asstr()[...].tolist()),
                features=np.asarray(file["features"], dtype=np.float32),
                coords=np.asarray(file["coords"], dtype=np.int64),
                patch_level0=np.asarray(file["patch_level0"], dtype=np.float64),
                size=np.asarray(file["patch_size"], dtype=np.int64),
                mpp=np.asarray(file["patch_mpp"], dtype=np.float64),
            )
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise FeatureFileError(
            path, f"the feature file is damaged ({error}).", "Delete the file and embed again."
        ) from error


def missing_ids(path: Path, ids: Sequence[str]) -> list[str]:
    """Return those of `ids` that the file does not hold, in their order; all where there is no file.

    Raises:
        FeatureFileError: the file is damaged or has another layout.
    """
    if not path.exists():
        return list(ids)
    stored = set(read_features(path).ids)
    return [name for name in ids if name not in stored]


def append_features(path: Path, *, encoder: Encoder, rows: FeatureRows) -> StoredFeatures:
    """Add the rows whose ids the file does not hold yet and return all rows; a stored row is never changed.

    The file is written anew in one step, so append in batches of a few hundred rows rather than singly.

    Raises:
        FeatureFileError: the file is damaged or comes from another encoder, version or dimension.
        ValueError: the rows do not have the encoder's dimension.
    """
    if rows.features.shape[1] != encoder.dimension:
        raise ValueError(f"rows have {rows.features.shape[1]} features, {encoder.name} gives {encoder.dimension}")
    new = StoredFeatures(encoder=encoder.name, encoder_version=encoder.version, **_columns(rows))
    if path.exists():
        stored = read_features(path)
        _require_comparable(path, stored, new)
        known = set(stored.ids)
        added = [index for index, name in enumerate(new.ids) if name not in known]
        if not added:
            return stored
        new = _joined(stored, new, added)
    write_features(path, new)
    return new


def _columns(rows: FeatureRows) -> dict[str, Any]:
    return {column.name: getattr(rows, column.name) for column in fields(FeatureRows)}


def _joined(stored: StoredFeatures, new: StoredFeatures, added: list[int]) -> StoredFeatures:
    """Return all of `stored`, then the rows `added` of `new`."""
    columns: dict[str, Any] = {}
    for name, before in _columns(stored).items():
        after = getattr(new, name)
        if isinstance(before, tuple):
            columns[name] = before + tuple(after[index] for index in added)
        else:
            columns[name] = np.concatenate([before, after[added]])
    return StoredFeatures(encoder=stored.encoder, encoder_version=stored.encoder_version, **columns)


def _require_comparable(path: Path, stored: StoredFeatures, new: StoredFeatures) -> None:
    def identity(features: StoredFeatures) -> str:
        return f"{features.encoder} version {features.encoder_version}, {features.features.shape[1]} dimensions"

    if identity(stored) != identity(new):
        raise FeatureFileError(
            path,
            f"it holds vectors of {identity(stored)}, not of {identity(new)}.",
            "Delete the file and embed again.",
        )


def _fill(file: Any, features: StoredFeatures) -> None:
    import h5py

    file.attrs["layout_version"] = LAYOUT_VERSION
    file.attrs["encoder"] = features.encoder
    file.attrs["encoder_version"] = features.encoder_version
    text = h5py.string_dtype("utf-8")
    file.create_dataset("features", data=features.features)
    coords = file.create_dataset("coords", data=features.coords)
    file.create_dataset("patch_level0", data=features.patch_level0)
    file.create_dataset("patch_size", data=features.size)
    file.create_dataset("patch_mpp", data=features.mpp)
    file.create_dataset("ids", data=np.array(features.ids, dtype=object), dtype=text)
    file.create_dataset("slide_ids", data=np.array(features.slide_ids, dtype=object), dtype=text)
    if len(set(features.mpp.tolist())) == 1:
        file.attrs["mpp"] = float(features.mpp[0])
    if len(set(features.size.tolist())) == 1:
        coords.attrs["patch_size"] = int(features.size[0])
    level0 = {round(side) for side in features.patch_level0[np.isfinite(features.patch_level0)].tolist()}
    if len(level0) == 1 and np.isfinite(features.patch_level0).all():
        coords.attrs["patch_size_level0"] = level0.pop()
