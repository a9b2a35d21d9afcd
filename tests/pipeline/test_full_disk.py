"""A disk that is full: said clearly, nothing lost, nothing half-written, and work goes on when there is room again."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy.exc import OperationalError

from curator_app.cli._output import in_words
from db import connect, count_rows, faults_of_database, migrate, new_id, record_event, write_session
from db.audit import HEAD_FILE, START, begin_head, verify_chain
from db.tables import Account
from pipeline.audit import verify_trail
from pipeline.backup import restore_backup, write_backup
from pipeline.errors import InputError
from pipeline.health import check_workspace
from pipeline.ingest import add_slides
from pipeline.rois import list_rois, select_roi
from pipeline.sampling import sample_candidates
from pipeline.seeds import SeedText, list_seeds, save_seed
from pipeline.workspace import DATABASE_FILE, Workspace, create_workspace, open_workspace
from tests.pipeline.conftest import METADATA
from tests.small_disk import SmallDisk, small_disk

__all__ = ["small_disk"]

pytestmark = pytest.mark.sqlite("the database lies in the workspace, on the disk that is full")


@pytest.fixture
def on_small_disk(
    small_disk: SmallDisk, drawn_slides: list[Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workspace]:
    """A workspace with a selected ROI on a small disk."""
    monkeypatch.delenv("HISTOCURATOR_DATABASE_URL", raising=False)
    made = create_workspace(small_disk.path / "workspace")
    add_slides(made, drawn_slides, METADATA, who="test")
    sample_candidates(made, organ="liver", count=2, size=64, who="test")
    select_roi(made, list_rois(made, states=("candidate",))[0][0].id, who="test")
    yield made
    made.engine.dispose()


def is_whole(workspace: Workspace) -> bool:
    """Whether nothing that the doctor looks at is wrong, but for the room."""
    return all(finding.state == "ok" for finding in check_workspace(workspace) if finding.what != "free space")


def files_below(folder: Path) -> dict[str, bytes]:
    """All files with what they hold, but for SQLite's marks of who reads."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("-shm"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_saving_a_seed(on_small_disk: Workspace, small_disk: SmallDisk) -> None:
    roi = list_rois(on_small_disk)[0][0]
    small_disk.fill()
    saved = 0

    def save_until_full() -> None:
        nonlocal saved
        for number in range(500):
            text = SeedText(f"Question {number}? " + "x" * 3000, "necrosis", "identify_pathology")
            save_seed(on_small_disk, text, roi_id=roi.id, who="ann")
            saved += 1

    with pytest.raises(OperationalError) as failed:
        save_until_full()
    said = in_words(failed.value) or ""
    assert "database or disk is full" in said or "disk I/O error" in said
    assert "What was finished is kept" in said
    assert len(list_seeds(on_small_disk)) == saved, "what was acknowledged is there, and nothing else"
    assert faults_of_database(on_small_disk.engine) == []
    assert verify_trail(on_small_disk).faults == []
    small_disk.free()
    save_seed(on_small_disk, SeedText("Again?", "necrosis", "identify_pathology"), roi_id=roi.id, who="ann")
    assert len(list_seeds(on_small_disk)) == saved + 1
    assert is_whole(on_small_disk)


def test_sampling(on_small_disk: Workspace, small_disk: SmallDisk) -> None:
    before, rows = files_below(on_small_disk.thumbnails), count_rows(on_small_disk.engine)
    small_disk.fill(leave=200_000)
    with pytest.raises(OSError, match="No space left on device") as failed:
        sample_candidates(on_small_disk, organ="liver", count=20, size=256, who="ann")
    assert "No space left on device. What was finished is kept." in (in_words(failed.value) or "")
    assert files_below(on_small_disk.thumbnails) == before
    assert count_rows(on_small_disk.engine) == rows
    assert verify_trail(on_small_disk).faults == []
    small_disk.free()
    report = sample_candidates(on_small_disk, organ="liver", count=20, size=256, who="ann")
    assert report.added == report.drawn > 0
    assert is_whole(on_small_disk)


def test_selecting_a_roi(on_small_disk: Workspace, small_disk: SmallDisk) -> None:
    roi = list_rois(on_small_disk, states=("candidate",))[0][0]
    small_disk.fill()
    with pytest.raises((OSError, OperationalError)):
        select_roi(on_small_disk, roi.id, who="ann")
    small_disk.free()
    assert [one.id for one, _ in list_rois(on_small_disk, states=("candidate",))] == [roi.id]
    select_roi(on_small_disk, roi.id, who="ann")
    assert is_whole(on_small_disk)


def enough(_place: object) -> SimpleNamespace:
    """A disk that seems to have room: what else writes on it takes that away meanwhile."""
    return SimpleNamespace(free=10**12, total=10**12)


@pytest.mark.parametrize("leave", [0, 100_000, 700_000])
def test_a_backup(with_rois: Workspace, small_disk: SmallDisk, monkeypatch: pytest.MonkeyPatch, leave: int) -> None:
    with_rois.runs.joinpath("big.bin").write_bytes(b"x" * 20_000_000)
    small_disk.fill(leave=leave)
    before = files_below(with_rois.root)
    with pytest.raises(InputError, match="MB free and the backup needs"):
        write_backup(with_rois, small_disk.path / "b.tar")
    monkeypatch.setattr("pipeline.backup._write.shutil.disk_usage", enough)
    with pytest.raises(InputError, match=r"There is no space left in .* for the backup; no part of it was kept"):
        write_backup(with_rois, small_disk.path / "b.tar")
    assert small_disk.names() == []
    assert files_below(with_rois.root) == before
    assert is_whole(with_rois)


@pytest.mark.parametrize("leave", [0, 100_000, 700_000])
def test_a_restore(
    with_rois: Workspace, small_disk: SmallDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leave: int
) -> None:
    with_rois.runs.joinpath("big.bin").write_bytes(b"x" * 20_000_000)
    made = write_backup(with_rois, tmp_path / "b.tar")
    there = create_workspace(small_disk.path / "workspace")
    there.engine.dispose()
    small_disk.fill(leave=leave)
    before = files_below(there.root)
    with pytest.raises(InputError, match="MB free and the backup holds"):
        restore_backup(made.path, there.root, replace=True)
    monkeypatch.setattr("pipeline.backup._restore.shutil.disk_usage", enough)
    with pytest.raises(InputError, match=r"There is no space left in .*; nothing was replaced"):
        restore_backup(made.path, there.root, replace=True)
    assert small_disk.names() == ["workspace"]
    assert files_below(there.root) == before
    small_disk.free()
    again = open_workspace(there.root)
    assert is_whole(again)
    again.engine.dispose()


def test_the_head_of_the_trail(small_disk: SmallDisk, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A head that is there is written in place and needs no more room; one that is not there is not begun later."""
    engine = connect(f"sqlite:///{tmp_path / DATABASE_FILE}")
    migrate(engine)
    head = small_disk.path / HEAD_FILE

    def write(name: str) -> None:
        with write_session(engine, head_file=head) as session:
            account = Account(id=new_id("acc"), created_by="a", name=name, display_name=name, roles=["reader"])
            session.add(account)
            record_event(session, who="a", action="add", row=account)

    small_disk.fill()
    with pytest.raises(OSError, match="No space left on device"):
        begin_head(head, START)
    small_disk.free()
    begin_head(head, START)
    small_disk.fill()
    for name in ("one", "two"):
        write(name)
    assert caplog.text == ""
    assert verify_chain(engine, head) == (2, [])
    head.unlink()
    with caplog.at_level(logging.ERROR):
        write("three")
    assert "could not be noted" in caplog.text, "the change itself is on another disk and is kept"
    rows, faults = verify_chain(engine, head)
    assert rows == 3
    assert ["is missing" in str(fault) for fault in faults] == [True]
    engine.dispose()
