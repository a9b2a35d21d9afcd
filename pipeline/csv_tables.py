"""Reading CSV tables that people bring: every bad row is listed with its line, or all rows are good."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from evaluation.items import normalise_text
from pipeline.errors import InputError

MAX_FILE_MB = 25
MAX_ROWS = 100_000
MAX_COLUMNS = 100
"""A table is read as a whole: what is larger is no table that people wrote, and would fill the memory."""


@dataclass(frozen=True)
class TableRow:
    """One row: the line of the file that it begins on, and its cells by column name, normalised.

    `fault` says why the row cannot be read, for example since it has another number of cells than the header.
    """

    line: int
    cells: dict[str, str]
    fault: str | None = None

    def get(self, column: str) -> str:
        """Return a cell, or "" where the column is absent."""
        return self.cells.get(column, "")


def read_table(path: Path, *, required: Collection[str], known: Collection[str]) -> list[TableRow]:
    """Read a CSV file with a header.

    Args:
        path: a UTF-8 file, with or without byte-order mark; comma, semicolon or tab separated.
        required: columns that must be there.
        known: all columns that mean something; another one is an error, since it is likely misspelt.

    Raises:
        InputError: no such file, not a table, too large, missing or unknown columns, or no rows.
    """
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    if path.stat().st_size > MAX_FILE_MB * 1_000_000:
        raise InputError(f"{path}: is larger than {MAX_FILE_MB} MB")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start}); save it as CSV UTF-8") from None
    if "\x00" in text:
        raise InputError(f"{path}: holds NUL bytes, so it is no CSV file")
    # A file with the old Mac's line ends counts as well.
    header_line = text.replace("\r", "\n").split("\n", 1)[0]
    delimiter = max(",;\t", key=header_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        if len(header) > MAX_COLUMNS:
            raise InputError(f"{path}: the header has {len(header):,} columns; at most {MAX_COLUMNS} are allowed")
        columns = [normalise_text(name).casefold() for name in header]
        _check_columns(path, columns, required, known)
        rows = []
        before = reader.line_num
        for record in reader:
            line, before = before + 1, reader.line_num
            if not record:
                continue
            cells = {column: normalise_text(value) for column, value in zip(columns, record, strict=False)}
            uneven = len(record) != len(columns)
            if any(cells.values()) or uneven:
                fault = "it has another number of cells than the header" if uneven else None
                rows.append(TableRow(line=line, cells=cells, fault=fault))
            if len(rows) > MAX_ROWS:
                raise InputError(f"{path}: has more than {MAX_ROWS:,} rows; nothing was imported. Import it in parts")
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num}: {error}") from None
    if not rows:
        raise InputError(f"{path}: holds no rows")
    return rows


def _check_columns(path: Path, columns: list[str], required: Collection[str], known: Collection[str]) -> None:
    if len(set(columns)) != len(columns):
        raise InputError(f"{path}: a column name stands twice in the header")
    missing = sorted(set(required) - set(columns))
    unknown = sorted(set(columns) - set(known))
    if missing or unknown:
        problems = [f"column {name} is missing" for name in missing]
        problems += [f"column {name!r} is unknown (known: {', '.join(sorted(known))})" for name in unknown]
        raise InputError(f"{path}: the header is wrong; nothing was imported", problems)
