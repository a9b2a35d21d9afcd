"""A restore trusts nothing in a backup, replaces nothing before all of it is checked, and deletes nothing."""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlmodel import select

from db import connect, count_rows, loading, migrate
from db.audit import verify_chain
from db.tables import AccountSession
from pipeline.audit import EventFilter, list_events, verify_trail
from pipeline.backup import restore_backup, write_backup
from pipeline.errors import InputError
from pipeline.in_use import using
from pipeline.jobs import list_jobs, submit
from pipeline.people import add_account, invite, list_invitations, sign_in, signed_in
from pipeline.releases import build_release
from pipeline.review import approve_passed
from pipeline.seed_holds import start_generation
from pipeline.seeds import list_seeds
from pipeline.settings import SETTINGS_FILE
from pipeline.workspace import DATABASE_FILE, QUEUE_FILE, Workspace, open_workspace
from tests.databases import URL_VARIABLE, new_workspace, on_postgresql, restored

MANIFEST = "backup-manifest.json"
ELSEWHERE = "/var/tmp/histocurator-evil"  # noqa: S108  (nothing must be written there)

Entries = list[tuple[tarfile.TarInfo, bytes]]
Change = Callable[[Entries, dict[str, Any]], None]


def file(name: str, data: bytes = b"x", **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    """One entry of a tar file; other kinds than files by `type` and `linkname`."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


def named(name: str, data: bytes) -> dict[str, Any]:
    """What a manifest says of a file."""
    return {"path": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def changed(backup: Path, target: Path, change: Change) -> Path:
    """Write a backup anew with something about it changed."""
    with tarfile.open(backup) as tar:
        entries = [(member, (tar.extractfile(member) or io.BytesIO()).read()) for member in tar]
    manifest = json.loads(entries.pop()[1])
    change(entries, manifest)
    if manifest:
        entries.append(file(MANIFEST, json.dumps(manifest).encode()))
    with tarfile.open(target, "w") as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data) if info.isreg() else None)
    return target


def added(name: str, **fields: Any) -> Change:
    """A file more, which the manifest names as it should."""

    def change(entries: Entries, manifest: dict[str, Any]) -> None:
        entries.append(file(name, b"evil", **fields))
        manifest["files"].append(named(name, b"evil"))

    return change


def edited(name: str, data: bytes) -> Change:
    """Another content of a file, which the manifest names as it should."""

    def change(entries: Entries, manifest: dict[str, Any]) -> None:
        entries[:] = [(info, old) for info, old in entries if info.name != name] + [file(name, data)]
        manifest["files"] = [one for one in manifest["files"] if one["path"] != name] + [named(name, data)]

    return change


def edited_without_manifest(entries: Entries, manifest: dict[str, Any]) -> None:
    info, data = entries[-1]
    entries[-1] = (info, b"?" * len(data))


def twice(entries: Entries, manifest: dict[str, Any]) -> None:
    entries.append(entries[-1])


def without_last(entries: Entries, manifest: dict[str, Any]) -> None:
    entries.pop()


def of_another_layout(entries: Entries, manifest: dict[str, Any]) -> None:
    manifest["layout"] = 2


def without_manifest(entries: Entries, manifest: dict[str, Any]) -> None:
    manifest.clear()


def larger_than_named(entries: Entries, manifest: dict[str, Any]) -> None:
    info, data = entries[-1]
    info.size += 1
    entries[-1] = (info, data + b"x")


def without_database(entries: Entries, manifest: dict[str, Any]) -> None:
    entries[:] = [one for one in entries if one[0].name != DATABASE_FILE]
    manifest["files"] = [one for one in manifest["files"] if one["path"] != DATABASE_FILE]


def of_another_head(entries: Entries, manifest: dict[str, Any]) -> None:
    manifest["audit_rows"] += 1


def with_a_database(change: str) -> Change:
    """The database with something done to it, the manifest in order."""

    def in_backup(entries: Entries, manifest: dict[str, Any]) -> None:
        data = next(data for info, data in entries if info.name == DATABASE_FILE)
        connection = sqlite3.connect(":memory:")
        connection.deserialize(data)
        connection.executescript(change)
        edited(DATABASE_FILE, connection.serialize())(entries, manifest)
        connection.close()

    return in_backup


ROW = "created_at, changed_at, created_by, row_version"
OF_ROW = "'2026-01-01 00:00:00.000000', '2026-01-01 00:00:00.000000', 'a', 1"


def with_a_roi(image: str) -> Change:
    """A selected ROI whose image lies there."""
    return with_a_database(
        """
        INSERT INTO slide (id, ROW, kind, name, path, content_sha256, width, height, mpp_source, level_count,
            organ, source, licence, species, stain)
        VALUES ('s', OF_ROW, 'image', 's', '/s', 'x', 1, 1, 'file', 1, 'liver', 's', 'l', 'rat', 'he');
        INSERT INTO roi (id, ROW, slide_id, organ, x, y, size, magnification, state, draw, image_path)
        VALUES ('r', OF_ROW, 's', 'liver', 0, 0, 1, '20x', 'selected', '{}', 'IMAGE')
        """.replace("OF_ROW", OF_ROW)
        .replace("ROW", ROW)
        .replace("IMAGE", image)
    )


def with_a_release(path: str) -> Change:
    """A release whose folder is that one."""

    def change(entries: Entries, manifest: dict[str, Any]) -> None:
        statement = """
            INSERT INTO release (id, ROW, name, version, path, content_sha256, item_count, image_count, signed)
            VALUES ('l', OF_ROW, 'liver', '1', 'PATH', 'x', 0, 0, 0)
            """
        statement = statement.replace("OF_ROW", OF_ROW).replace("ROW", ROW)
        with_a_database(statement.replace("PATH", path.format(root=manifest["workspace"])))(entries, manifest)

    return change


def with_damaged_pages(entries: Entries, manifest: dict[str, Any]) -> None:
    data = bytearray(next(data for info, data in entries if info.name == DATABASE_FILE))
    data[8192 : len(data) - 8192] = b"\x55" * (len(data) - 16384)
    edited(DATABASE_FILE, bytes(data))(entries, manifest)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a small workspace."""
    folder = tmp_path_factory.mktemp("small")
    workspace = new_workspace(folder / "workspace")
    add_account(workspace, "ann", roles=["author"], password="correct horse battery", who="admin")
    (workspace.root / "runs" / "a.txt").write_text("a run")
    made = write_backup(workspace, folder / "b.tar")
    assert made.faults == []
    workspace.engine.dispose()
    return made.path


HOSTILE: list[tuple[Change, str]] = [
    (added("../evil"), "leads out of the workspace"),
    (added("rois/../../evil"), "leads out of the workspace"),
    (added(ELSEWHERE), "leads out of the workspace"),
    (added("./rois/a.png"), "leads out of the workspace"),
    (added("."), "leads out of the workspace"),
    (added("rois//a.png"), "leads out of the workspace"),
    (added("rois\\..\\evil"), "characters"),
    (added("rois/a\nb.png"), "characters"),
    (added("session.key"), "none of the files"),
    (added("cache/location"), "none of the files"),
    (added(f"{DATABASE_FILE}-wal"), "none of the files"),
    (added(".bashrc"), "none of the files"),
    (added("rois/a.png", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "a link"),
    (added("rois", type=tarfile.SYMTYPE, linkname="/etc"), "a link"),
    (added("rois/a.png", type=tarfile.LNKTYPE, linkname=SETTINGS_FILE), "a link"),
    (added("rois/a.png", type=tarfile.CHRTYPE), "a device"),
    (added("rois/a.png", type=tarfile.FIFOTYPE), "a device"),
    (added("rois/deep", type=tarfile.DIRTYPE), "a folder"),
    (added("rois/a.png", pax_headers={"GNU.sparse.map": "0,4", "GNU.sparse.size": "99999999999999"}), "holes"),
    (added("runs/a.txt/b"), "a file and a folder"),
    (edited_without_manifest, "not the file that was backed up"),
    (twice, "comes twice"),
    (without_last, "it is missing"),
    (of_another_layout, "layout"),
    (without_manifest, "it has no backup-manifest.json"),
    (larger_than_named, "bytes, not"),
    (without_database, "histocurator.db': it is missing"),
    (of_another_head, "does not end with the row that the manifest names"),
    (edited(SETTINGS_FILE, b"species = 1 ="), "not valid TOML"),
    (edited(SETTINGS_FILE, b'database_url = "sqlite:////tmp/else.db"'), "names a database"),
    (edited(SETTINGS_FILE, b"no_such = 1"), "no_such is no setting"),
    (edited(DATABASE_FILE, b"no database at all" * 100), "damaged"),
    (edited(DATABASE_FILE, b""), "is at schema None"),
    (with_damaged_pages, "damaged"),
    (with_a_database("UPDATE alembic_version SET version_num = '9999'"), "its manifest says"),
    (with_a_database("DROP TABLE alembic_version"), "is at schema None"),
    (with_a_database("DROP TABLE audit_event"), "the table audit_event is missing"),
    (with_a_database("DROP TRIGGER audit_event_keeps_rows"), "audit_event_keeps_rows is missing"),
    (
        with_a_database("CREATE TRIGGER more AFTER INSERT ON account BEGIN DELETE FROM account; END"),
        "the trigger more, which is none",
    ),
    (with_a_database("INSERT INTO alembic_version VALUES ('0001')"), "several schemas at once"),
    (with_a_database("ALTER TABLE seed RENAME COLUMN question TO asked"), "the column seed.question is missing"),
    (with_a_database("ALTER TABLE seed ADD COLUMN more INTEGER"), "the column seed.more is none of this program's"),
    (with_a_database("DROP TABLE lease"), "the table lease is missing"),
    (with_a_database("DROP INDEX ix_roi_organ_state"), "ix_roi_organ_state"),
    (with_a_database("UPDATE account SET roles = '{'"), "it cannot be read"),
    (with_a_database("UPDATE account SET roles = '" + "[" * 100_000 + "'"), "it cannot be read"),
    (with_a_database("UPDATE account SET display_name = CAST(x'ff22' AS TEXT)"), "it cannot be read"),
    (with_a_database("UPDATE account SET created_at = 'soon'"), "it cannot be read"),
    (with_a_database("UPDATE account SET display_name = x'ff22'"), "display_name is no value of this program's"),
    (with_a_database("UPDATE account SET roles = '{}'"), "roles is no value of this program's"),
    (with_a_database("UPDATE account SET row_version = 'x'"), "row_version is no value of this program's"),
    (with_a_database("""UPDATE account SET roles = '["king"]'"""), "its roles are ['king']"),
    (with_a_database("UPDATE account SET operating_system_owner = 0"), "0 accounts are the owner's"),
    (with_a_database("UPDATE account SET operating_system_owner = 1"), "2 accounts are the owner's"),
    (with_a_roi("/etc/passwd"), "image of ROI r: '/etc/passwd' leads out"),
    (with_a_roi("../../etc/passwd"), "image of ROI r: '../../etc/passwd' leads out"),
    (with_a_roi("rois/../session.key"), "leads out"),
    (with_a_roi("session.key"), "leads out"),
    (with_a_roi("drafts/a.json"), "leads out"),
    (with_a_release("{root}"), "its folder"),
    (with_a_release("/"), "its folder"),
    (with_a_release("{root}/drafts"), "its folder"),
    (with_a_release("{root}/releases/../rois"), "its folder"),
    (with_a_release("releases/liver"), "its folder"),
    (
        with_a_database(
            "INSERT INTO seed (id, created_at, changed_at, created_by, row_version, roi_id, question, answer, "
            "category, author, notes, state) "
            "VALUES ('s', '2026-01-01', '2026-01-01', 'a', 1, 'none', 'q', 'a', 'c', 'a', '', 'x')"
        ),
        "a row of seed refers to no row of roi",
    ),
]


def assert_closed_to_others(root: Path) -> None:
    """A restored workspace is for who restored it, all of it, whatever the umask is."""
    for path in (root, *root.rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def files_below(folder: Path) -> dict[Path, int]:
    """All files, and when they were written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(("change", "said"), HOSTILE, ids=[f"{n}-{said[:25]}" for n, (_, said) in enumerate(HOSTILE)])
def test_a_backup_that_is_not_what_it_says_changes_nothing(
    small: Path, tmp_path: Path, change: Change, said: str, replace: bool
) -> None:
    backup = changed(small, tmp_path / "b.tar", change)
    inner = tmp_path / "inner"
    inner.mkdir()
    if replace:
        new_workspace(inner / "workspace").engine.dispose()
    before = files_below(tmp_path)
    with pytest.raises(InputError) as error:
        restored(backup, inner / "workspace", replace=replace)
    assert said in str(error.value)
    assert files_below(tmp_path) == before
    assert not Path(ELSEWHERE).exists()


def test_a_changed_manifest_with_a_newer_schema_is_refused(small: Path, tmp_path: Path) -> None:
    def newer(entries: Entries, manifest: dict[str, Any]) -> None:
        with_a_database("UPDATE alembic_version SET version_num = '9999'")(entries, manifest)
        manifest["schema_revision"] = "9999"

    backup = changed(small, tmp_path / "b.tar", newer)
    with pytest.raises(InputError, match="newer Histocurator"):
        restored(backup, tmp_path / "workspace")
    assert not (tmp_path / "workspace").exists()


@pytest.mark.parametrize("size", [0, 1, 511, 512, 10_000, -1, -10_240])
def test_a_backup_that_was_cut_off_is_refused(small: Path, tmp_path: Path, size: int) -> None:
    data = small.read_bytes()
    # The end of a tar file is padding; what was cut off lies before it.
    cut = data[:size] if size >= 0 else data[: data.rindex(MANIFEST.encode()) + size]
    (tmp_path / "b.tar").write_bytes(cut)
    with pytest.raises(InputError, match=r"is no backup|incomplete|damaged"):
        restored(tmp_path / "b.tar", tmp_path / "workspace")
    assert [path.name for path in tmp_path.iterdir()] == ["b.tar"]


def test_a_compressed_file_and_no_file_are_refused(small: Path, tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_bytes(gzip.compress(small.read_bytes()))
    with pytest.raises(InputError, match="is no backup"):
        restored(tmp_path / "b.tar", tmp_path / "workspace")
    with pytest.raises(InputError, match="No such file"):
        restored(tmp_path / "none.tar", tmp_path / "workspace")
    os.mkfifo(tmp_path / "pipe.tar")
    for path in (tmp_path / "pipe.tar", tmp_path):
        with pytest.raises(InputError, match="is no backup: it is a folder, a pipe or a device"):
            restored(path, tmp_path / "workspace")


def test_too_little_space_is_said_first(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.backup._restore.shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(InputError, match="the backup holds"):
        restored(small, tmp_path / "workspace")
    assert list(tmp_path.iterdir()) == []


def test_where_it_may_go(small: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for root in (tmp_path / "empty", tmp_path / "new", tmp_path / "some" / "where" / "deep"):
        restored(small, root)
        again = open_workspace(root)
        assert verify_trail(again).faults == []
        assert (root / "runs" / "a.txt").read_text() == "a run"
        again.engine.dispose()
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "letter.txt").write_text("dear")
    for replace in (False, True):
        with pytest.raises(InputError, match="holds something else than a workspace"):
            restored(small, mine, replace=replace)
        with pytest.raises(InputError, match="is no folder"):
            restored(small, mine / "letter.txt", replace=replace)
    with pytest.raises(InputError, match="give --replace"):
        restored(small, tmp_path / "new")
    assert (mine / "letter.txt").read_text() == "dear"


def test_what_is_replaced_is_moved_aside_whole(full: Workspace, tmp_path: Path) -> None:
    made = write_backup(full, tmp_path / "b.tar")
    add_account(full, "late", roles=["author"], password="correct horse battery", who="admin")
    rows, trail = count_rows(full.engine), verify_trail(full)
    full.engine.dispose()
    full.root.chmod(0o755)
    done = restored(made.path, full.root, replace=True)
    assert done.former is not None
    assert done.former.parent == full.root.parent
    assert_closed_to_others(full.root)
    former = open_workspace(done.former)
    assert count_rows(former.engine)["account"] == rows["account"]
    assert verify_trail(former).faults == []
    former.engine.dispose()
    again = open_workspace(full.root)
    assert count_rows(again.engine)["account"] == rows["account"] - 1
    noted = list_events(again, EventFilter(action="restore workspace"))[0]
    assert noted.new is not None
    # What the trail lost by the restore stands in it: up to where the replaced one went.
    assert (noted.new["backup_rows"], noted.new["backup_head"]) == (made.head.sequence, made.head.sha256)
    assert (noted.new["replaced_rows"], noted.new["replaced_head"]) == (trail.head.sequence, trail.head.sha256)
    assert verify_trail(again).faults == []
    again.engine.dispose()


def test_nothing_is_replaced_that_is_in_use(small: Path, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    new_workspace(root).engine.dispose()
    with using(root), using(root), pytest.raises(InputError, match="in use by a server, a worker or another command"):
        restored(small, root, replace=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["workspace"]
    assert restored(small, root, replace=True).former is not None


def test_clearing_the_cache_does_not_end_the_use(small: Path, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    new_workspace(root).engine.dispose()
    with using(root):
        shutil.rmtree(root / "cache")
        with pytest.raises(InputError, match="in use by a server, a worker or another command"):
            restored(small, root, replace=True)
    # Nor does a lock come into being where something only looks.
    assert not list(root.rglob("*.lock"))


def test_who_opened_a_folder_that_was_moved_aside_since_is_told(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "workspace"
    new_workspace(root).engine.dispose()
    flock = fcntl.flock

    def late(handle: int, kind: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        restored(small, root, replace=True)
        flock(handle, kind)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(InputError, match="is being replaced by a restore"), using(root):
        pass
    with using(root):
        pass


def test_nothing_is_replaced_that_belongs_to_somebody_else(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "workspace"
    new_workspace(root).engine.dispose()
    monkeypatch.setattr("pipeline.backup._restore.os.geteuid", lambda: root.stat().st_uid + 1)
    with pytest.raises(InputError, match="belongs to another operating-system user"):
        restored(small, root, replace=True)


def test_a_move_that_fails_halfway_is_taken_back(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "workspace"
    new_workspace(root).engine.dispose()
    before = files_below(root)
    rename = Path.rename

    def fails(self: Path, target: Path) -> Path:
        if self.parent.name.startswith(".workspace."):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(InputError, match=r"Input/output error\. Nothing was changed"):
        restored(small, root, replace=True)
    assert [path.name for path in tmp_path.iterdir()] == ["workspace"]
    assert files_below(root) == before


def test_sessions_and_links_of_the_backup_no_longer_work(workspace: Workspace, tmp_path: Path) -> None:
    add_account(workspace, "ann", roles=["admin"], password="correct horse battery", who="admin")
    opened = sign_in(workspace, "ann", "correct horse battery", address="", browser="")
    invite(workspace, roles=["reader"], who="admin")
    assert signed_in(workspace, opened.secret) is not None
    done = restored(write_backup(workspace, tmp_path / "b.tar").path, tmp_path / "again")
    assert (done.sessions_ended, done.links_withdrawn) == (1, 1)
    again = open_workspace(tmp_path / "again")
    assert signed_in(again, opened.secret) is None
    assert [row.state for row in list_invitations(again)] == ["withdrawn"]
    with again.reading() as session:
        assert session.exec(select(AccountSession)).one().ended_because == "the workspace was restored from a backup"
    assert sign_in(again, "ann", "correct horse battery", address="", browser="").secret
    assert verify_trail(again).faults == []
    again.engine.dispose()


def in_a_process_that_is_killed(rename: Callable[[Path, Path], object], backup: Path, root: Path) -> None:
    """Restore in a process that ends at once, without cleaning up, where the workspace takes its place."""
    child = os.fork()
    if child == 0:
        try:
            Path.rename = rename  # type: ignore[assignment, method-assign]
            restore_backup(backup, root)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.both_engines
def test_a_restore_that_is_killed_right_after_the_swap_is_a_whole_one(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgresql_url: str
) -> None:
    add_account(workspace, "ann", roles=["admin"], password="correct horse battery", who="admin")
    opened = sign_in(workspace, "ann", "correct horse battery", address="", browser="")
    invite(workspace, roles=["admin"], who="admin")
    backup = write_backup(workspace, tmp_path / "b.tar").path
    rename = Path.rename
    root = tmp_path / "again"

    def killed(self: Path, target: Path) -> Path:
        rename(self, target)
        os._exit(9)

    for url in (*([] if on_postgresql() else [None]), postgresql_url):
        if url is not None:
            monkeypatch.setenv(URL_VARIABLE, url)
        in_a_process_that_is_killed(killed, backup, root)
        again = open_workspace(root)
        assert again.engine.dialect.name == ("sqlite" if url is None else "postgresql")
        assert signed_in(again, opened.secret) is None
        assert [row.state for row in list_invitations(again)] == ["withdrawn"]
        assert len(list_events(again, EventFilter(action="restore workspace"))) == 1
        assert verify_trail(again).faults == []
        again.engine.dispose()
        rename(root, tmp_path / f"was-{again.engine.dialect.name}")


def killed_before_the_swap(backup: Path, root: Path) -> None:
    """Restore in a process that ends when all rows are loaded and nothing has taken its place."""
    in_a_process_that_is_killed(lambda *_: os._exit(9), backup, root)
    assert not root.exists()


@pytest.mark.both_engines
def test_what_a_killed_restore_left_in_postgresql_is_taken_back_by_the_next_one(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgresql_url: str
) -> None:
    monkeypatch.setenv(URL_VARIABLE, postgresql_url)
    killed_before_the_swap(small, tmp_path / "again")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("pipeline.backup._load.platform.node", lambda: "another")
        with pytest.raises(InputError, match=r"on the machine .* left rows"):
            restore_backup(small, tmp_path / "other")
    done = restore_backup(small, tmp_path / "again")
    again = open_workspace(done.root)
    assert again.engine.dialect.name == "postgresql"
    assert verify_trail(again).faults == []
    assert len(list_events(again, EventFilter(action="restore workspace"))) == 1
    again.engine.dispose()
    with pytest.raises(InputError, match="holds rows already"):
        restore_backup(small, tmp_path / "other")


@pytest.mark.both_engines
def test_a_restore_that_took_its_place_is_not_taken_back(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgresql_url: str
) -> None:
    monkeypatch.setenv(URL_VARIABLE, postgresql_url)
    monkeypatch.setattr("pipeline.backup._load.end_load", lambda _: None)
    root = restore_backup(small, tmp_path / "again").root
    monkeypatch.undo()
    monkeypatch.setenv(URL_VARIABLE, postgresql_url)
    with pytest.raises(InputError, match="holds rows already"):
        restore_backup(small, tmp_path / "other")
    again = open_workspace(root)
    assert verify_trail(again).faults == []
    add_account(again, "late", roles=["reader"], password="correct horse battery", who="admin")
    again.engine.dispose()
    root.rename(tmp_path / "moved")
    with pytest.raises(InputError, match="holds rows already"):
        restore_backup(small, tmp_path / "other")


@pytest.mark.both_engines
def test_two_restores_into_one_database_do_not_meet(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgresql_url: str
) -> None:
    monkeypatch.setenv(URL_VARIABLE, postgresql_url)
    engine = connect(postgresql_url)
    with loading(engine), pytest.raises(InputError, match=r"Another restore into the database .* is under way"):
        restore_backup(small, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    assert restore_backup(small, tmp_path / "again").root.exists()
    engine.dispose()


@pytest.mark.sqlite("what PostgreSQL holds of the queue is in no backup")
def test_jobs_come_back_only_when_they_are_asked_for(with_seeds: Workspace, tmp_path: Path) -> None:
    job = submit(with_seeds, "generate")
    seed = list_seeds(with_seeds)[0].seed
    start_generation(with_seeds, seed.id, "gen_1", f"job:{job}", "ann")
    made = write_backup(with_seeds, tmp_path / "b.tar")
    restored(made.path, tmp_path / "without")
    restored(made.path, tmp_path / "with", jobs=True)
    without, with_jobs = open_workspace(tmp_path / "without"), open_workspace(tmp_path / "with")
    assert list_jobs(without) == []
    assert {entry.seed.state for entry in list_seeds(without)} == {"written"}, "the seed of the lost job waits again"
    assert [(one.id, one.state) for one in list_jobs(with_jobs)] == [(job, "queued")]
    assert (with_jobs.root / QUEUE_FILE).is_file()
    for opened in (without, with_jobs):
        opened.engine.dispose()


def test_paths_inside_the_workspace_follow(full: Workspace, tmp_path: Path) -> None:
    approve_passed(full, as_user="ann")
    release = build_release(full, name="liver", version="1", who="ann").release
    made = write_backup(full, tmp_path / "b.tar")
    restored(made.path, tmp_path / "again")
    again = open_workspace(tmp_path / "again")
    with again.reading() as session:
        moved = session.get_one(type(release), release.id)
    assert moved.path == str(again.root / "releases" / "liver" / "1")
    result = build_release(again, name="liver", version="1", who="ann")
    assert result.existed, "the release in the backup is this very release"
    again.engine.dispose()


@pytest.mark.both_engines
def test_a_backup_goes_into_an_empty_postgresql(
    either: Workspace, tmp_path: Path, postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write_backup(either, tmp_path / "b.tar")
    monkeypatch.setenv(URL_VARIABLE, postgresql_url)
    done = restored(made.path, tmp_path / "again")
    assert not (done.root / DATABASE_FILE).exists()
    assert_closed_to_others(done.root)
    again = open_workspace(done.root)
    assert again.engine.dialect.name == "postgresql"
    assert {**count_rows(again.engine), "audit_event": 0} == {**made.rows, "audit_event": 0}
    assert verify_trail(again).faults == []
    add_account(again, "ann", roles=["author"], password="correct horse battery", who="admin")
    assert verify_trail(again).faults == []
    again.engine.dispose()
    with pytest.raises(InputError, match="holds rows already"):
        restored(made.path, tmp_path / "another")
    assert not (tmp_path / "another").exists()
    monkeypatch.setenv(URL_VARIABLE, f"sqlite:///{tmp_path / 'else.db'}")
    with pytest.raises(InputError, match="unset the variable"):
        restored(made.path, tmp_path / "another")
    monkeypatch.setenv(URL_VARIABLE, "postgresql://nobody:hush@127.0.0.1:1/none")
    with pytest.raises(InputError) as error:
        restored(made.path, tmp_path / "another")
    assert "hush" not in str(error.value)


def test_a_backup_of_an_older_schema_is_brought_up_to_date_before_it_is_put_in_place(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "old"
    with tarfile.open(small) as tar:
        tar.extractall(root, filter="data")
    engine = connect(f"sqlite:///{root / DATABASE_FILE}")
    migrate(engine, to="0002")
    engine.dispose()
    data = (root / DATABASE_FILE).read_bytes()

    def older(entries: Entries, manifest: dict[str, Any]) -> None:
        edited(DATABASE_FILE, data)(entries, manifest)
        # A trail that is linked only now has no head yet.
        entries[:] = [one for one in entries if one[0].name != "audit-head"]
        manifest["files"] = [one for one in manifest["files"] if one["path"] != "audit-head"]
        manifest["schema_revision"] = "0002"

    backup = changed(small, tmp_path / "b.tar", older)
    done = restored(backup, tmp_path / "again", accept_audit_faults=True)
    again = open_workspace(done.root)
    assert verify_chain(again.engine)[1] == []
    again.engine.dispose()
