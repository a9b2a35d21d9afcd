"""Finds a benchmark by path or by dataset name and loads it whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from evaluation.vqa._benchmark import Benchmark, BenchmarkError, build_benchmark
from evaluation.vqa._parquet import check_columns, fields_of, read_rows

_TEST_SPLIT = "test"
_HUB_NAME = re.compile(r"^[A-Za-z0-9][\w.-]*/[\w.-]+$")
_SPLIT_OF_FILE = re.compile(r"^(?P<split>[A-Za-z0-9_]+?)-\d{5}-of-\d{5}\.parquet$")


def load_benchmark(where: str | Path, revision: str | None = None) -> Benchmark:
    """Load and check a benchmark.

    Args:
        where: a release folder (its `data/` holds Parquet), a folder of Parquet files, a `.parquet` file, or
            a dataset name of the Hugging Face hub such as `MahmoodLab/viper` (needs the package `datasets`).
        revision: a branch, tag or commit of a hub dataset.

    Raises:
        BenchmarkError: nothing is there, a column is missing, or rows are bad (all are named).
    """
    path = Path(where).expanduser()
    if path.exists():
        if revision is not None:
            raise BenchmarkError(
                str(path),
                ["a local benchmark has no revision"],
                "Leave the revision out, or name a hub dataset.",
            )
        return build_benchmark(read_rows(_parquet_files(path)), where=str(path))
    name = str(where)
    if not _HUB_NAME.match(name) or name.endswith(".parquet"):
        raise BenchmarkError(
            name,
            ["there is no such file or folder"],
            "Give a release folder, a Parquet file, or a hub dataset as OWNER/NAME.",
        )
    return build_benchmark(_hub_rows(name, revision), where=name, revision=revision)


def _parquet_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    files = sorted((path / "data").glob("*.parquet")) or sorted(path.glob("*.parquet"))
    if not files:
        raise BenchmarkError(
            str(path), ["it holds no .parquet file, nor does its data/ folder"], "Give a release folder."
        )
    splits = {file: match["split"] if (match := _SPLIT_OF_FILE.match(file.name)) else "" for file in files}
    if len(set(splits.values())) == 1:
        return files
    test = [file for file in files if splits[file] == _TEST_SPLIT]
    if not test:
        raise BenchmarkError(
            str(path),
            [f"it holds several splits ({', '.join(file.name for file in files)}) and none is called test"],
            "Give the Parquet file of one split.",
        )
    return test


def _hub_rows(name: str, revision: str | None) -> Iterator[tuple[str, dict[str, object]]]:
    try:
        from datasets import Image, load_dataset
    except ImportError as error:
        raise BenchmarkError(
            name,
            ["it is no file or folder here, and a hub dataset needs the package datasets"],
            "Run: pip install datasets. Or correct the path.",
        ) from error
    try:
        dataset = load_dataset(name, revision=revision, split=_TEST_SPLIT)
    except Exception as error:  # the hub client raises its own, the network's and the parser's errors
        raise BenchmarkError(
            name,
            [f"it is no file or folder here; the hub gave no test split ({type(error).__name__}: {error})"],
            "Correct the path or the dataset's name, or download it and give its folder.",
        ) from error
    check_columns(name, dataset.column_names)
    # Undecoded, so that the digest is of the published bytes.
    for number, record in enumerate(dataset.cast_column("image", Image(decode=False)), start=1):
        yield f"row {number}", fields_of(record)
