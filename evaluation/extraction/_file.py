"""Feature vectors of one slide by one encoder on disk, laid out as TRIDENT users know it."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.extraction._journal import Journal
from evaluation.extraction._key import FeatureKey, Frame

LAYOUT_VERSION = 2
_ROWS_PER_CHUNK = 64
_ROWS_AT_ONCE = 1024
_REMEDY = "Delete the file and embed again."


class FeatureFileError(Exception):
    """A feature file cannot be used: which one, why, and what to do about it."""

    def __init__(self, path: Path, reason: str, remedy: str) -> None:
        super().__init__(f"{path}: {reason} {remedy}")
        self.path = path
        self.reason = reason
        self.remedy = remedy


class FeatureFile:
    """The vectors of one slide's places by one encoder after one normalisation.

    Datasets `features` float32 (n, d), `coords` int64 (n, 2) (level-0 pixel of the top-left corner), `patch_size`
    (side in output pixels), `patch_mpp` (µm per output pixel); attributes of the key, and `layout_version`. Each chunk
    has a sum. Where all rows share their size, `coords` carries TRIDENT's attribute `patch_size`.

    Batches go into a journal beside it first and into the file at the end, in one step.
    """

    def __init__(self, path: Path, key: FeatureKey) -> None:
        self.path = path
        self.key = key

    @classmethod
    def below(cls, folder: Path, key: FeatureKey) -> FeatureFile:
        """Return the file of a key in a folder of features."""
        return cls(key.file_below(folder), key)

    @contextmanager
    def writing(self, dimension: int) -> Iterator[FeatureWriter]:
        """Keep other processes from writing, and take in what a killed run left in the journal.

        Raises:
            FeatureFileError: the file is damaged, another encoder's, or its vectors have another dimension.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            journal = Journal(self.path.with_suffix(".journal"), self.key, dimension)
            self._take_in(journal, dimension)
            yield FeatureWriter(journal, dimension)
            self._take_in(journal, dimension)

    def frames(self) -> list[Frame]:
        """Return the places whose vectors are in the file, in its order; none where there is no file.

        Raises:
            FeatureFileError: the file is damaged or another encoder's.
        """
        if not self.path.exists():
            return []
        with self._opened() as file:
            return _frames(file)

    def missing(self, frames: Sequence[Frame]) -> list[Frame]:
        """Return those places, each once, that the file has no vector of.

        Raises:
            FeatureFileError: the file is damaged or another encoder's.
        """
        known = set(self.frames())
        return [frame for frame in dict.fromkeys(frames) if frame not in known]

    def read(self, frames: Sequence[Frame]) -> NDArray[np.float32]:
        """Return the vectors of places in their order, float32 (n, dimension).

        Raises:
            FeatureFileError: there is no file, it is damaged, another encoder's, or has no vector of a place.
        """
        with self._opened() as file:
            place = {frame: row for row, frame in enumerate(_frames(file))}
            absent = next((frame for frame in frames if frame not in place), None)
            if absent is not None:
                raise FeatureFileError(self.path, f"it has no vector of {absent}.", "Embed the ROIs first.")
            rows = np.array([place[frame] for frame in frames], dtype=np.int64)
            vectors = np.empty((len(rows), file["features"].shape[1]), dtype=np.float32)
            order = np.argsort(rows, kind="stable")
            for start in range(0, len(order), _ROWS_AT_ONCE):
                wanted = order[start : start + _ROWS_AT_ONCE]
                low, high = int(rows[wanted[0]]), int(rows[wanted[-1]]) + 1
                vectors[wanted] = file["features"][low:high][rows[wanted] - low]
        return vectors

    def check(self, *, deep: bool = False) -> None:
        """Open the file and compare its parts; with `deep`, read every vector and compare its sum.

        Raises:
            FeatureFileError: it is damaged or another encoder's.
        """
        with self._opened() as file:
            count = len(_frames(file))
            if file["features"].shape[0] != count:
                raise ValueError(f"there are {count} places and {file['features'].shape[0]} vectors")
            if deep:
                for start in range(0, count, _ROWS_AT_ONCE):
                    if not np.isfinite(file["features"][start : start + _ROWS_AT_ONCE]).all():
                        raise ValueError("features hold values that are not finite")

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        with _opened(self.path) as file:
            _require_key(self.path, file, self.key)
            yield file

    def _take_in(self, journal: Journal, dimension: int) -> None:
        """Put what waits in the journal behind what the file holds: the new file replaces the old one in one step."""
        known = set(self.frames())
        if known:
            self._require_dimension(dimension)
        if not journal.count():
            journal.clear()
            return
        import h5py

        descriptor, name = tempfile.mkstemp(prefix=f".{self.path.name}.", suffix=".tmp", dir=self.path.parent)
        os.close(descriptor)
        temporary = Path(name)
        try:
            with h5py.File(temporary, "w") as file:
                _lay_out(file, self.key, dimension)
                if self.path.exists():
                    with self._opened() as old:
                        _copy(old, file)
                for frames, vectors in journal.read():
                    # A run that was killed between the two steps below left rows that are in the file already.
                    fresh = [row for row, frame in enumerate(frames) if frame not in known]
                    known.update(frames)
                    _append(file, [frames[row] for row in fresh], vectors[fresh])
                _note_size(file)
            with temporary.open("rb+") as stream:
                os.fsync(stream.fileno())
            temporary.replace(self.path)
        finally:
            temporary.unlink(missing_ok=True)
        journal.clear()

    def _require_dimension(self, dimension: int) -> None:
        with self._opened() as file:
            stored = int(file["features"].shape[1])
        if stored != dimension:
            raise FeatureFileError(self.path, f"its vectors have {stored} dimensions, not {dimension}.", _REMEDY)


class FeatureWriter:
    """Takes batches of vectors for a file."""

    def __init__(self, journal: Journal, dimension: int) -> None:
        self._journal = journal
        self._dimension = dimension

    def add(self, frames: Sequence[Frame], vectors: NDArray[np.float32]) -> None:
        """Keep a batch of vectors (n, dimension); they outlive the process at once.

        Raises:
            ValueError: the vectors have another dimension, or are not finite.
        """
        if vectors.shape != (len(frames), self._dimension):
            raise ValueError(f"vectors are {vectors.shape}, not ({len(frames)}, {self._dimension})")
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if bad.size:
            raise ValueError(f"the vector of {frames[int(bad[0])]} holds values that are not finite")
        self._journal.append(frames, vectors)


def check_feature_file(path: Path, *, deep: bool = False) -> None:
    """Check a feature file by what it says of itself.

    Raises:
        FeatureFileError: it is damaged, or has another layout.
    """
    with _opened(path) as file:
        key = FeatureKey(
            slide_sha256=str(file.attrs["slide_sha256"]),
            encoder=str(file.attrs["encoder"]),
            encoder_version=str(file.attrs["encoder_version"]),
            normalisation=str(file.attrs["normalisation"]),
        )
    if key.file_below(path.parent.parent) != path:
        raise FeatureFileError(path, f"it holds vectors of {key}.", "Put it back in its place, or delete it.")
    FeatureFile(path, key).check(deep=deep)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    import h5py

    if not path.is_file():
        raise FeatureFileError(path, "there is no such feature file.", "Embed the ROIs first.")
    try:
        with h5py.File(path, "r") as file:
            layout = int(file.attrs.get("layout_version", 0))
            if layout != LAYOUT_VERSION:
                raise FeatureFileError(path, f"it has layout {layout}, not {LAYOUT_VERSION}.", _REMEDY)
            yield file
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise FeatureFileError(path, f"the feature file is damaged ({error}).", _REMEDY) from error


def _require_key(path: Path, file: Any, key: FeatureKey) -> None:
    for name, wanted in _attributes(key).items():
        if file.attrs[name] != wanted:
            raise FeatureFileError(path, f"its {name} is {file.attrs[name]}, not {wanted}.", _REMEDY)


def _attributes(key: FeatureKey) -> dict[str, str]:
    return {
        "slide_sha256": key.slide_sha256,
        "encoder": key.encoder,
        "encoder_version": key.encoder_version,
        "normalisation": key.normalisation,
    }


def _frames(file: Any) -> list[Frame]:
    coords, sizes, mpps = file["coords"][...].tolist(), file["patch_size"][...].tolist(), file["patch_mpp"][...]
    return [Frame(int(x), int(y), int(size), float(mpp)) for (x, y), size, mpp in zip(coords, sizes, mpps, strict=True)]


def _lay_out(file: Any, key: FeatureKey, dimension: int) -> None:
    file.attrs["layout_version"] = LAYOUT_VERSION
    for name, value in _attributes(key).items():
        file.attrs[name] = value
    for name, width, kind in (
        ("features", (dimension,), "f4"),
        ("coords", (2,), "i8"),
        ("patch_size", (), "i8"),
        ("patch_mpp", (), "f8"),
    ):
        file.create_dataset(
            name,
            shape=(0, *width),
            maxshape=(None, *width),
            chunks=(_ROWS_PER_CHUNK, *width),
            dtype=kind,
            fletcher32=True,
        )


def _copy(old: Any, new: Any) -> None:
    frames = _frames(old)
    for start in range(0, len(frames), _ROWS_AT_ONCE):
        end = start + _ROWS_AT_ONCE
        _append(new, frames[start:end], old["features"][start:end])


def _append(file: Any, frames: Sequence[Frame], vectors: NDArray[np.float32]) -> None:
    if not frames:
        return
    count = file["features"].shape[0]
    columns = {
        "features": vectors,
        "coords": [(frame.x, frame.y) for frame in frames],
        "patch_size": [frame.size for frame in frames],
        "patch_mpp": [frame.mpp for frame in frames],
    }
    for name, values in columns.items():
        file[name].resize(count + len(frames), axis=0)
        file[name][count:] = values


def _note_size(file: Any) -> None:
    sizes = set(file["patch_size"][...].tolist())
    if len(sizes) == 1:
        file["coords"].attrs["patch_size"] = sizes.pop()
