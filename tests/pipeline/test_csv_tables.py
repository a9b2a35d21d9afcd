"""Tables that people bring: lines are counted as an editor counts them, whatever the line ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.csv_tables import read_table

COLUMNS = ("roi", "question")


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"roi,question\n\n\na,b\n\nc,d\n", [4, 6]),
        (b'roi,question\r\n"a\r\nand more",b\r\n\r\nc,d\r\n', [2, 5]),
        (b"roi;question\ra;b\r\rc;d, e\r", [2, 4]),
        (b"\xef\xbb\xbfroi\tquestion\na\tb\n,\nc\td\n", [2, 4]),
    ],
)
def test_rows_know_the_line_that_they_begin_on(tmp_path: Path, content: bytes, lines: list[int]) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(content)
    rows = [row for row in read_table(file, required=COLUMNS, known=COLUMNS) if row.fault is None]
    assert [row.line for row in rows] == lines
    assert rows[-1].get("roi") == "c"
