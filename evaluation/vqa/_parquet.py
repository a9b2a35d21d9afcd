"""Reads and writes benchmark rows as Parquet in the column layout of VIPER's public dataset."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluation.vqa._benchmark import BenchmarkError
from evaluation.vqa._rows import BenchmarkRow

if TYPE_CHECKING:
    import pyarrow as pa

VIPER_COLUMNS = (
    "image",
    "question",
    "question_type",
    "answer",
    "choices",
    "synonyms",
    "scoring_rubric",
    "organ",
    "category",
    "magnification",
    "source",
    "image_id",
    "image_license",
    "annotation_license",
)
"""The columns of VIPER's public dataset, in its order."""

ADDED_COLUMNS = ("item_id", "item_version_id", "points", "slide_id", "subject_id")
"""Columns that our releases add; one that no row fills is left out of the file."""

REQUIRED_COLUMNS = frozenset(VIPER_COLUMNS[:12]) - {"synonyms", "scoring_rubric", "magnification", "source"}
"""Without these a row cannot be asked or scored; the other columns may be absent or empty."""

_ROWS_AT_ONCE = 64


def write_benchmark(rows: Sequence[BenchmarkRow], path: Path) -> None:
    """Write `rows` to the Parquet file `path`, replacing it as a whole.

    Equal rows give equal bytes. The file carries Hugging Face feature metadata, so that
    `datasets.load_dataset` shows `image` as an image.

    Raises:
        ValueError: there is no row.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not rows:
        raise ValueError("a benchmark needs at least one row")
    columns = [*VIPER_COLUMNS, *(name for name in ADDED_COLUMNS if any(getattr(row, name) for row in rows))]
    types = _arrow_types()
    schema = pa.schema(
        [pa.field(name, types[name]) for name in columns],
        metadata={"huggingface": json.dumps({"info": {"features": {name: _feature(name) for name in columns}}})},
    )
    table = pa.Table.from_pylist([_record(row, columns) for row in rows], schema=schema)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        pq.write_table(table, partial, compression="zstd", row_group_size=_ROWS_AT_ONCE, store_schema=True)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_rows(paths: Sequence[Path]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield each row's place in words (counted from 1) and its fields by `BenchmarkRow`'s names.

    Raises:
        BenchmarkError: a file is no Parquet or lacks a column.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                check_columns(str(path), file.schema_arrow.names)
                number = 0
                for batch in file.iter_batches(_ROWS_AT_ONCE, columns=_known(file.schema_arrow.names)):
                    for record in batch.to_pylist():
                        number += 1
                        place = f"row {number}" if len(paths) == 1 else f"{path.name} row {number}"
                        yield place, fields_of(record)
        except (pa.ArrowInvalid, OSError) as error:
            raise BenchmarkError(
                str(path),
                [f"it does not read as Parquet ({error})"],
                "Give a Parquet file in VIPER's columns.",
            ) from error


def check_columns(where: str, names: Iterable[str]) -> None:
    """Make sure that the columns to ask and score an item are there.

    Raises:
        BenchmarkError: names the missing columns.
    """
    missing = sorted(REQUIRED_COLUMNS - set(names))
    if missing:
        raise BenchmarkError(
            where,
            [f"the column {name!r} is missing" for name in missing],
            f"The columns must be VIPER's: {', '.join(VIPER_COLUMNS)}.",
        )


def fields_of(record: dict[str, Any]) -> dict[str, object]:
    """Return a stored record's fields as `BenchmarkRow` takes them, without other columns and nulls."""
    fields = {name: record[name] for name in _known(record) if record[name] is not None}
    image = fields.get("image")
    if isinstance(image, dict):
        fields["image"] = image.get("bytes") or b""
    if "synonyms" in fields:
        fields["synonyms"] = _synonyms(fields["synonyms"])
    return fields


def _known(names: Iterable[str]) -> list[str]:
    return [name for name in names if name in VIPER_COLUMNS or name in ADDED_COLUMNS]


def _synonyms(stored: object) -> object:
    """Decode the JSON list; what is none is handed on, so that the row is reported as bad."""
    if not isinstance(stored, str):
        return stored
    if not stored.strip():
        return ()
    try:
        return json.loads(stored)
    except (ValueError, RecursionError):
        return stored


def _record(row: BenchmarkRow, columns: Sequence[str]) -> dict[str, object]:
    record: dict[str, object] = {name: getattr(row, name) for name in columns}
    suffix = "jpg" if row.image.startswith(b"\xff\xd8") else "png"
    record["image"] = {"bytes": row.image, "path": f"{hashlib.sha256(row.image).hexdigest()[:16]}.{suffix}"}
    record["choices"] = list(row.choices)
    record["synonyms"] = json.dumps(list(row.synonyms), ensure_ascii=False)
    return record


def _arrow_types() -> dict[str, pa.DataType]:
    import pyarrow as pa

    types: dict[str, pa.DataType] = dict.fromkeys((*VIPER_COLUMNS, *ADDED_COLUMNS), pa.string())
    types["image"] = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    types["choices"] = pa.list_(pa.string())
    types["points"] = pa.int64()
    return types


def _feature(name: str) -> dict[str, object]:
    text: dict[str, object] = {"dtype": "string", "_type": "Value"}
    if name == "image":
        return {"_type": "Image"}
    if name == "choices":
        return {"feature": text, "_type": "Sequence"}
    return {"dtype": "int64", "_type": "Value"} if name == "points" else text
