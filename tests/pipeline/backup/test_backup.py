"""A backup holds all that cannot be made again, as it was at one moment, and no secret."""

from __future__ import annotations

import hashlib
import json
import stat
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine
from sqlmodel import Session, select

from db import connect, count_rows, read_session
from db.audit import HEAD_FILE, create_triggers, drop_triggers, read_head, verify_chain
from db.tables import AuditEvent, Item, ReviewDecision, Roi, Seed
from pipeline.audit import EventFilter, list_events, verify_trail
from pipeline.backup import write_backup
from pipeline.errors import InputError
from pipeline.jobs import submit
from pipeline.review import decide, list_items, undo_decision
from pipeline.rois import list_rois
from pipeline.sampling import sample_candidates
from pipeline.seeds import SeedText, drop_seed, list_seeds, save_seed
from pipeline.settings import SETTINGS_FILE
from pipeline.stored_files import referenced_files
from pipeline.workspace import DATABASE_FILE, QUEUE_FILE, Workspace, open_workspace
from tests.databases import restored

MANIFEST = "backup-manifest.json"


def names_in(backup: Path) -> set[str]:
    with tarfile.open(backup) as tar:
        return set(tar.getnames())


def content_of(backup: Path, name: str) -> bytes:
    with tarfile.open(backup) as tar:
        file = tar.extractfile(name)
        assert file is not None
        return file.read()


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.both_engines
def test_everything_comes_back_as_it_was(either: Workspace, tmp_path: Path) -> None:
    write(either.root / "drafts" / "acc_1" / "seed_roi_1.json", '{"fields": {}}')
    write(either.root / "prompts" / "generation_user.md", "our own")
    write(either.runs / "first" / "results.json", "{}")
    seen: list[tuple[int, int, str]] = []
    made = write_backup(either, tmp_path / "b.tar", progress=lambda *said: seen.append(said))
    assert (made.faults, made.missing, made.left_out) == ([], [], [])
    assert seen[-1][0] == seen[-1][1] == made.files
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600, "it holds hashes of passwords and the keys of items"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar", "workspace"]

    done = restored(made.path, tmp_path / "again")
    assert done.rows == made.rows == count_rows(either.engine)
    assert (done.former, done.missing, done.head) == (None, [], made.head)
    again = open_workspace(tmp_path / "again")
    assert again.engine.dialect.name == "sqlite"
    assert {item.item.id: item.item.state for item in list_items(again)} == {
        item.item.id: item.item.state for item in list_items(either)
    }
    with either.reading() as session:
        pictures = referenced_files(session)
    assert len(pictures) == 6 + 4 + 2 * 2
    for name in (*pictures, "drafts/acc_1/seed_roi_1.json", "prompts/generation_user.md", "runs/first/results.json"):
        assert (again.root / name).read_bytes() == (either.root / name).read_bytes(), name
    check = verify_trail(again)
    assert check.faults == []
    assert check.noted == check.head
    again.engine.dispose()


def test_the_manifest_names_every_file_with_its_sum_and_the_head_of_the_trail(full: Workspace, tmp_path: Path) -> None:
    made = write_backup(full, tmp_path / "b.tar")
    manifest = json.loads(content_of(made.path, MANIFEST))
    assert {entry["path"] for entry in manifest["files"]} | {MANIFEST} == names_in(made.path)
    for entry in manifest["files"]:
        data = content_of(made.path, entry["path"])
        assert (len(data), hashlib.sha256(data).hexdigest()) == (entry["bytes"], entry["sha256"])
    trail = verify_trail(full)
    assert (manifest["audit_rows"], manifest["audit_head"]) == (trail.head.sequence, trail.head.sha256)
    assert manifest["rows"] == count_rows(full.engine)


def test_secrets_caches_links_and_unfinished_files_stay_behind(full: Workspace, tmp_path: Path) -> None:
    for name in (
        "session.key",
        "cache/replies/1",
        "logs/old.log",
        "copies/a.sqlite",
        "rois/.roi_1.png.x7",
        ".git/a",
        "runs/.h/x",
    ):
        write(full.root / name, "not for others")
    write(full.root / "drafts" / "a" / f"seed_roi_1.{'0' * 32}", "half")
    outside = write(tmp_path / "secret.txt", "not for others")
    (full.root / "runs" / "link.txt").symlink_to(outside)
    (full.root / "runs" / "folder").symlink_to(tmp_path, target_is_directory=True)
    write(full.root / "runs" / "a\nb.txt", "odd")
    made = write_backup(full, tmp_path / "b.tar")
    tops = {name.split("/")[0] for name in names_in(made.path)}
    assert tops == {DATABASE_FILE, HEAD_FILE, SETTINGS_FILE, MANIFEST, "slides", "thumbnails", "rois"}
    assert [line.split("'")[1] for line in made.left_out if "hidden" in line] == [".git", "runs/.h"]
    assert len(made.left_out) == 5, made.left_out
    assert b"not for others" not in made.path.read_bytes()


def test_a_folder_that_lies_on_another_disk_is_in_it(full: Workspace, tmp_path: Path) -> None:
    full.rois.rename(tmp_path / "other-disk")
    full.rois.symlink_to(tmp_path / "other-disk", target_is_directory=True)
    made = write_backup(full, tmp_path / "b.tar")
    assert made.missing == []
    assert sum(name.startswith("rois/") for name in names_in(made.path)) == 4


@pytest.mark.parametrize(
    "line", ['database_url = "postgresql://u:hush@h/n"', ' "database_url"="postgresql://u:hush@h/n"']
)
def test_the_url_of_the_database_is_left_out(full: Workspace, tmp_path: Path, line: str) -> None:
    settings = full.root / SETTINGS_FILE
    settings.write_text(settings.read_text() + f'{line}\nspecies = "mouse"\n')
    made = write_backup(full, tmp_path / "b.tar")
    assert b"hush" not in made.path.read_bytes()
    restored(made.path, tmp_path / "again")
    again = open_workspace(tmp_path / "again")
    assert again.settings.species == "mouse"
    again.engine.dispose()
    settings.write_text('database_url = """\npostgresql://u:hush@h/n"""\n')
    with pytest.raises(InputError, match="on one line"):
        write_backup(full, tmp_path / "c.tar")
    assert not (tmp_path / "c.tar").exists()


def test_where_it_may_not_go(full: Workspace, tmp_path: Path) -> None:
    taken = write(tmp_path / "taken.tar", "mine")
    for target, said in (
        (taken, "exists"),
        (tmp_path / "b.zip", "ending"),
        (tmp_path / "none" / "b.tar", "is no folder"),
        (full.root / "b.tar", "inside the workspace"),
        (full.runs / "b.tar", "inside the workspace"),
    ):
        with pytest.raises(InputError, match=said):
            write_backup(full, target)
    assert taken.read_text() == "mine"


def test_too_little_space_is_said_before_anything_is_written(
    full: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.backup._write.shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(InputError, match=r"has 0\.0 MB free and the backup needs"):
        write_backup(full, tmp_path / "b.tar")
    assert [path.name for path in tmp_path.iterdir()] == ["workspace"]


def test_what_is_missing_in_the_workspace_is_named(full: Workspace, tmp_path: Path) -> None:
    roi = list_rois(full)[0][0]
    (full.root / str(roi.image_path)).unlink()
    made = write_backup(full, tmp_path / "b.tar")
    assert made.missing == [f"rois/{roi.id}.png (image of ROI {roi.id})"]
    assert restored(made.path, tmp_path / "again").missing == made.missing


def test_a_cut_trail_is_not_made_whole_by_a_backup(full: Workspace, tmp_path: Path) -> None:
    with full.engine.begin() as connection:
        drop_triggers(connection)
        connection.exec_driver_sql("DELETE FROM audit_event WHERE sequence > 5")
        create_triggers(connection)
    noted = read_head(full.audit_head)
    made = write_backup(full, tmp_path / "b.tar")
    assert "ends at row 5, but reached row" in made.faults[0]
    with pytest.raises(InputError, match="audit trail in the backup is not whole"):
        restored(made.path, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    done = restored(made.path, tmp_path / "again", accept_audit_faults=True)
    assert done.faults == made.faults
    assert read_head(tmp_path / "again" / HEAD_FILE) == noted, "what was removed shows for ever"
    again = open_workspace(tmp_path / "again")
    assert any("ends at row" in str(fault) for fault in verify_trail(again).faults)
    again.engine.dispose()


def test_a_missing_head_is_said(full: Workspace, tmp_path: Path) -> None:
    full.audit_head.unlink()
    made = write_backup(full, tmp_path / "b.tar")
    assert made.faults == [f"{full.audit_head} is missing or damaged: nothing shows whether rows were removed"]
    with pytest.raises(InputError, match="audit-head is missing"):
        restored(made.path, tmp_path / "again")
    restored(made.path, tmp_path / "again", accept_audit_faults=True)
    again = open_workspace(tmp_path / "again")
    assert verify_trail(again).faults == [], "who accepts that it is missing begins it anew"
    accepted = list_events(again, EventFilter(action="restore workspace"))[0].new
    assert accepted is not None
    assert "audit-head is missing" in accepted["accepted_faults"][0], "and the trail says so"
    again.engine.dispose()


@pytest.mark.sqlite("what PostgreSQL holds of the queue is in no backup")
def test_the_queue_is_in_it(full: Workspace, tmp_path: Path) -> None:
    submit(full, "sample", organ="liver", count=2)
    made = write_backup(full, tmp_path / "b.tar")
    assert QUEUE_FILE in names_in(made.path)


@pytest.mark.sqlite("the queue is no file")
def test_a_damaged_queue_does_not_keep_the_rest_out(full: Workspace, tmp_path: Path) -> None:
    (full.root / QUEUE_FILE).write_bytes(b"junk" * 1024)
    made = write_backup(full, tmp_path / "b.tar")
    assert ["queue.sqlite" in line and "no job is in the backup" in line for line in made.left_out] == [True]
    assert QUEUE_FILE not in names_in(made.path)
    assert restored(made.path, tmp_path / "again", jobs=True).rows == made.rows


@contextmanager
def snapshot(engine: Engine) -> Iterator[Session]:
    """Everything that is read in it was so at one moment; PostgreSQL would else look anew with each question."""
    options = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with engine.connect().execution_options(**options) as connection, Session(connection) as session:
        yield session


def facts(session: Session) -> dict[str, int]:
    """What is only true of a database in which every change is there with its row in the trail, or not at all."""
    events = session.exec(select(AuditEvent)).all()
    seeds = {seed.id for seed in session.exec(select(Seed))}
    assert {event.object_id for event in events if event.object_type == "seed"} == seeds
    dropped = {event.object_id for event in events if event.action == "dropped" or event.new == {"state": "dropped"}}
    assert dropped == set(session.exec(select(Seed.id).where(Seed.state == "dropped")))
    rois = set(session.exec(select(Roi.id)))
    assert all(seed.roi_id in rois and seed.question and seed.answer for seed in session.exec(select(Seed)))
    decided = session.exec(select(ReviewDecision)).all()
    for item in session.exec(select(Item).where(Item.state == "approved")):
        assert any(one.item_id == item.id and one.decision == "approve" for one in decided)
    return {
        "events": len(events),
        "rois": len(rois),
        "seeds": len(seeds),
        "dropped": len(dropped),
        "decisions": len(decided),
    }


@pytest.mark.both_engines
def test_backups_under_load_are_whole(either: Workspace, tmp_path: Path) -> None:
    """Others write seeds, drop some and decide on items; nothing acknowledged before a backup is missing in it."""
    stop = threading.Event()
    failures: list[Exception] = []
    rois = [roi.id for roi, _ in list_rois(either)]
    items = [entry.item.id for entry in list_items(either, states=("passed", "escalated", "in_review"))]
    assert items

    def seeds(worker: int) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            text = SeedText(f"Question {number} of {worker}?", "necrosis", "identify_pathology")
            seed = save_seed(either, text, roi_id=rois[worker], who=f"w{worker}")
            if number % 3 == 0:
                drop_seed(either, seed.id, reason="not good", who=f"w{worker}")

    def decisions(worker: int) -> None:
        mine = items[worker::2]
        while not stop.is_set():
            for item in mine:
                decide(either, item, "approve", who=f"d{worker}")
                undo_decision(either, item, who=f"d{worker}")

    def candidates(worker: int) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            sample_candidates(either, organ="liver", count=4, size=64, seed=10 * number + worker, who=f"c{worker}")

    def guarded(work: Callable[[int], None], worker: int) -> None:
        try:
            work(worker)
        except Exception as error:
            failures.append(error)

    def grown(last: dict[str, int] | None) -> dict[str, int]:
        """What there is now; asked again until everything became more, so that every backup has a load."""
        for _ in range(600):
            with snapshot(either.engine) as session:
                now = facts(session)
            if failures or (last is not None and all(now[name] > last[name] for name in now)):
                return now
            last = last or now
            time.sleep(0.05)
        raise AssertionError(f"nothing is written: {last}, {now}")

    threads = [
        threading.Thread(target=guarded, args=(work, n)) for work in (seeds, decisions, candidates) for n in range(2)
    ]
    for thread in threads:
        thread.start()
    before: list[dict[str, int]] = []
    made = []
    try:
        for turn in range(4):
            with snapshot(either.engine) as session:
                before.append(facts(session))
            made.append(write_backup(either, tmp_path / f"{turn}.tar"))
        # Beside the workspace that goes on being written to.
        done = restored(made[-1].path, tmp_path / "last")
        with snapshot(either.engine) as session:
            during = facts(session)
        grown(during)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
    with either.reading() as session:
        after = facts(session)
    assert verify_trail(either).faults == []
    for turn, one in enumerate(made):
        root = tmp_path / f"again-{turn}"
        with tarfile.open(one.path) as tar:
            tar.extractall(root, filter="data")
        copy = connect(f"sqlite:///{root / DATABASE_FILE}")
        assert verify_chain(copy, root / HEAD_FILE) == (one.head.sequence, [])
        with read_session(copy) as session:
            found = facts(session)
            assert all((root / name).is_file() for name in referenced_files(session))
        assert all(before[turn][name] <= found[name] <= after[name] for name in found), (before[turn], found, after)
        copy.dispose()
    assert done.rows == made[-1].rows
    assert all(during[name] >= before[-1][name] for name in during)
    again = open_workspace(tmp_path / "last")
    trail = verify_trail(again)
    # The restore itself is a row.
    assert (trail.faults, trail.head.sequence) == ([], made[-1].head.sequence + 1)
    assert len(list_seeds(again)) == made[-1].rows["seed"]
    with snapshot(again.engine) as session:
        assert facts(session)["seeds"] == made[-1].rows["seed"]
        assert all((again.root / name).is_file() for name in referenced_files(session))
    again.engine.dispose()
