"""The audit trail for people: filters, check and export."""

from __future__ import annotations

import csv
import json
from datetime import timedelta
from pathlib import Path

import pytest

from db import utc_now
from pipeline.audit import EventFilter, count_events, event_choices, export_trail, list_events, verify_trail
from pipeline.errors import InputError
from pipeline.seeds import drop_seed, list_seeds
from pipeline.workspace import Workspace


def test_every_change_of_a_workspace_is_in_one_chain(with_seeds: Workspace) -> None:
    check = verify_trail(with_seeds)
    assert check.faults == []
    assert check.rows == check.head.sequence == count_events(with_seeds)
    assert check.rows >= 10
    newest = list_events(with_seeds, limit=1)[0]
    assert (newest.action, newest.object_type, newest.role) == ("write", "seed", "admin")


def test_filters_and_reading_on(with_seeds: Workspace) -> None:
    drop_seed(with_seeds, list_seeds(with_seeds)[0].seed.id, reason="=cmd|' /C calc'!A0", who="ann")
    assert [event.reason for event in list_events(with_seeds, EventFilter(who="ann"))] == ["=cmd|' /C calc'!A0"]
    assert not list_events(with_seeds, EventFilter(who="ann", object_type="roi"))
    hour = timedelta(hours=1)
    assert count_events(with_seeds, EventFilter(since=utc_now() + hour)) == 0
    assert count_events(with_seeds, EventFilter(until=utc_now() + hour)) == count_events(with_seeds)
    first = list_events(with_seeds, limit=3)
    then = list_events(with_seeds, limit=3, before=first[-1].sequence)
    assert [event.sequence for event in [*first, *then]] == list(range(first[0].sequence, first[0].sequence - 6, -1))
    assert "ann" in event_choices(with_seeds)["who"]
    with pytest.raises(InputError, match="limit is 0"):
        list_events(with_seeds, limit=0)


def test_an_export_holds_every_row_and_no_formula(with_seeds: Workspace, tmp_path: Path) -> None:
    drop_seed(with_seeds, list_seeds(with_seeds)[0].seed.id, reason="=cmd|' /C calc'!A0", who="ann")
    lines, table = tmp_path / "trail.jsonl", tmp_path / "trail.csv"
    count = export_trail(with_seeds, lines)
    assert export_trail(with_seeds, table) == count == count_events(with_seeds)
    rows = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    assert [row["sequence"] for row in rows] == list(range(1, count + 1))
    assert rows[-1]["reason"] == "=cmd|' /C calc'!A0"
    with table.open(encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    assert [row["sha256"] for row in cells] == [row["sha256"] for row in rows]
    assert cells[-1]["reason"].startswith("'=")
    with pytest.raises(InputError, match="exists"):
        export_trail(with_seeds, table)
    with pytest.raises(InputError, match=r"as \.csv or \.jsonl"):
        export_trail(with_seeds, tmp_path / "trail.xlsx")
