"""The doctor's look at a workspace: each thing that can be wrong is found, named, and nothing else is."""

from __future__ import annotations

import os
import sqlite3
import time
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest

from db.audit import create_triggers, drop_triggers
from pipeline.health import SETTLED_S, Finding, check_workspace
from pipeline.ingest import list_slides
from pipeline.roi_images import require_image
from pipeline.rois import list_rois
from pipeline.workspace import DATABASE_FILE, QUEUE_FILE, Workspace

Disk = namedtuple("Disk", "total used free")


def look(workspace: Workspace) -> dict[str, Finding]:
    return {finding.what: finding for finding in check_workspace(workspace)}


def wrong(workspace: Workspace) -> list[Finding]:
    """What is not in order; whether this machine has room is not the test's business."""
    return [one for one in check_workspace(workspace) if one.state != "ok" and one.what != "free space"]


def old(path: Path, data: bytes = b"x") -> Path:
    """A file that lies there for a while."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    then = time.time() - SETTLED_S - 60
    os.utime(path, (then, then))
    return path


def test_a_workspace_in_use_is_in_order(with_seeds: Workspace) -> None:
    assert wrong(with_seeds) == []
    assert look(with_seeds)["images of rows"].found == "20 files, none missing"


def _drop_trigger(workspace: Workspace) -> None:
    with workspace.engine.begin() as connection:
        of = "" if connection.dialect.name == "sqlite" else " ON audit_event"
        connection.exec_driver_sql(f"DROP TRIGGER audit_event_keeps_rows{of}")


def _change_row(workspace: Workspace) -> None:
    with workspace.engine.begin() as connection:
        drop_triggers(connection)
        connection.exec_driver_sql("UPDATE audit_event SET who = 'mallory' WHERE sequence = 3")
        create_triggers(connection)


def _lose_head(workspace: Workspace) -> None:
    workspace.audit_head.unlink()


def _refer_to_nothing(workspace: Workspace) -> None:
    with sqlite3.connect(workspace.root / DATABASE_FILE) as connection:
        connection.execute("UPDATE seed SET roi_id = 'none'")


def _lose_image(workspace: Workspace) -> None:
    (workspace.root / str(list_rois(workspace)[0][0].image_path)).unlink()


def _lose_mask(workspace: Workspace) -> None:
    (workspace.slides / list_slides(workspace)[0].id / "tissue.png").unlink()


def _leave_orphan(workspace: Workspace) -> None:
    old(workspace.rois / "roi_gone.png")


def _leave_half_image(workspace: Workspace) -> None:
    old(workspace.thumbnails / ".roi_1.png.x7f3")


def _leave_half_draft(workspace: Workspace) -> None:
    old(workspace.root / "drafts" / "acc_1" / f"seed_roi_1.{'0' * 32}")


@pytest.mark.parametrize(
    ("harm", "what", "state", "found"),
    [
        (_drop_trigger, "audit trail", "broken", "the trigger audit_event_keeps_rows is missing"),
        (_change_row, "audit trail", "broken", "row 3: its content does not fit its hash"),
        (_lose_head, "audit trail", "broken", "audit-head is missing"),
        pytest.param(
            *(_refer_to_nothing, "database", "broken", "a row of seed refers to no row of roi"),
            marks=pytest.mark.sqlite("PostgreSQL lets nobody write such a row"),
        ),
        (_lose_image, "images of rows", "broken", "1 of 20 missing: rois/roi_"),
        (_lose_mask, "images of rows", "broken", "1 of 20 missing: slides/sld_"),
        (_leave_orphan, "files without a row", "warning", "1: rois/roi_gone.png"),
        (_leave_half_image, "unfinished files", "warning", "1: thumbnails/.roi_1.png.x7f3"),
        (_leave_half_draft, "unfinished files", "warning", "1: drafts/acc_1/seed_roi_1."),
    ],
)
def test_what_is_wrong_is_named_with_what_to_do(
    with_seeds: Workspace, harm: Callable[[Workspace], None], what: str, state: str, found: str
) -> None:
    harm(with_seeds)
    faults = wrong(with_seeds)
    assert [(one.what, one.state) for one in faults] == [(what, state)]
    assert found in faults[0].found
    assert faults[0].remedy
    assert faults[0].details


@pytest.mark.sqlite("PostgreSQL sees to its pages itself")
def test_damaged_pages_are_found(with_seeds: Workspace) -> None:
    with_seeds.engine.dispose()
    with sqlite3.connect(with_seeds.root / DATABASE_FILE) as connection:
        page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'ix_seed_roi_id'").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with (with_seeds.root / DATABASE_FILE).open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\x55" * size)
    assert look(with_seeds)["database"].state == "broken"


def test_files_of_work_that_goes_on_are_no_orphans(with_seeds: Workspace) -> None:
    (with_seeds.rois / "roi_soon.png").write_bytes(b"x")
    (with_seeds.rois / ".roi_soon.png.x1").write_bytes(b"x")
    old(with_seeds.runs / "run_1" / ".hidden")
    assert wrong(with_seeds) == []


def test_a_slide_that_is_elsewhere_now_is_a_warning(with_seeds: Workspace, drawn_slides: list[Path]) -> None:
    moved = drawn_slides[0].rename(drawn_slides[0].with_suffix(".away"))
    try:
        faults = wrong(with_seeds)
    finally:
        moved.rename(drawn_slides[0])
    assert [(one.what, one.state) for one in faults] == [("slide files", "warning")]
    assert drawn_slides[0].name in faults[0].found


def test_an_image_that_is_lost_can_be_read_again_as_the_remedy_says(with_seeds: Workspace) -> None:
    _lose_image(with_seeds)
    for roi, slide in list_rois(with_seeds):
        require_image(with_seeds, roi, slide)
    assert wrong(with_seeds) == []


@pytest.mark.parametrize(
    ("total", "free", "state"),
    [
        (100_000_000_000, 50_000_000_000, "ok"),
        (100_000_000_000, 4_999_999_999, "warning"),
        (10_000_000_000, 999_999_999, "warning"),
        (2_000_000_000, 1_000_000_001, "ok"),
    ],
)
def test_little_room_is_a_warning(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, total: int, free: int, state: str
) -> None:
    monkeypatch.setattr("pipeline.health.shutil.disk_usage", lambda _: Disk(total, total - free, free))
    assert look(workspace)["free space"].state == state


def test_an_image_that_was_cut_off_is_found_and_a_changed_one_where_it_is_asked_for(with_seeds: Workspace) -> None:
    first, second = (with_seeds.root / str(roi.image_path) for roi, _ in list_rois(with_seeds)[:2])
    first.write_bytes(first.read_bytes()[:10])
    data = bytearray(second.read_bytes())
    data[len(data) // 2] ^= 1
    second.write_bytes(bytes(data))
    assert [one.details for one in wrong(with_seeds)] == [(f"rois/{first.name}",)]
    deep = {one.what: one for one in check_workspace(with_seeds, deep=True)}["content of images"]
    assert (deep.state, deep.details) == ("broken", tuple(sorted(f"rois/{path.name}" for path in (first, second))))


def test_a_link_in_the_place_of_an_image_is_named(with_seeds: Workspace) -> None:
    image = with_seeds.root / str(list_rois(with_seeds)[0][0].image_path)
    image.unlink()
    image.symlink_to("/etc/hostname")
    assert "leads out of the workspace" in look(with_seeds)["places of files"].found


@pytest.mark.sqlite("the queue is no file")
def test_a_damaged_queue_is_named_with_how_to_go_on(with_seeds: Workspace) -> None:
    (with_seeds.root / QUEUE_FILE).write_bytes(b"junk" * 1024)
    found = look(with_seeds)["waiting jobs"]
    assert (found.state, "move queue.sqlite away" in found.remedy) == ("broken", True)


@pytest.mark.sqlite("PostgreSQL takes no such text")
def test_rows_that_cannot_be_read_do_not_stop_the_look(with_seeds: Workspace) -> None:
    with sqlite3.connect(with_seeds.root / DATABASE_FILE) as connection:
        connection.execute("UPDATE slide SET path = CAST(x'ff22' AS TEXT)")
        connection.execute("DROP TRIGGER audit_event_keeps_content")
        connection.execute("UPDATE audit_event SET new = ? WHERE sequence = 2", ("[" * 100_000,))
    found = look(with_seeds)
    assert any(fault.startswith("slide ") and "cannot be read" in fault for fault in found["database"].details)
    assert found["audit trail"].details[0] == "row 2: it cannot be read: it was changed"
    assert found["files of rows"].state == "broken"
    assert found["free space"].found
