"""The commands that check and export the audit trail, and those that back up and restore."""

from __future__ import annotations

import csv
import io
import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from curator_app.cli import _output
from db import record_event
from db.audit import drop_triggers
from db.tables import Account
from pipeline.audit import count_events
from pipeline.errors import InputError
from pipeline.in_use import having_alone
from pipeline.people import invite
from pipeline.seeds import drop_seed, list_seeds
from pipeline.workspace import Workspace
from tests.curator_app.cli.conftest import Command
from tests.curator_app.visitors import actor, add_person
from tests.databases import on_new_database, on_postgresql

PATIENCE_S = 60


def at(workspace: Workspace) -> str:
    return f"--workspace={workspace.root}"


def test_a_whole_trail(here: Command, with_seeds: Workspace) -> None:
    ran = here("audit", "verify", at(with_seeds))
    assert ran.code == 0, ran.err
    assert f"is whole: {count_events(with_seeds)} rows" in ran.out
    report = here("audit", "verify", "--json", at(with_seeds)).json
    assert (report["whole"], report["rows"], report["faults"]) == (True, count_events(with_seeds), [])
    assert report["noted"] == report["rows"]


def test_a_trail_that_is_not_whole_is_exit_1_and_names_every_fault(here: Command, with_seeds: Workspace) -> None:
    with with_seeds.engine.begin() as connection:
        drop_triggers(connection)
        connection.exec_driver_sql("UPDATE audit_event SET who = 'mallory' WHERE sequence = 2")
        connection.exec_driver_sql("DELETE FROM audit_event WHERE sequence = (SELECT max(sequence) FROM audit_event)")
    ran = here("audit", "verify", at(with_seeds))
    assert (ran.code, ran.out) == (1, "")
    for fault in ("row 2: its content", "audit_event_keeps_rows", "audit_event_keeps_content", "rows at its end"):
        assert fault in ran.err
    report = here("audit", "verify", "--json", at(with_seeds))
    assert report.code == 1
    assert report.json["whole"] is False
    assert {fault["row"] for fault in report.json["faults"]} == {2, None}


def test_the_list_and_its_filters(here: Command, with_seeds: Workspace) -> None:
    seed = list_seeds(with_seeds)[0].seed
    drop_seed(with_seeds, seed.id, reason="not good", who="ann")

    def listed(*filters: str) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = here("audit", "list", "--json", *filters, at(with_seeds)).json
        return rows

    everything = listed("--limit=1000")
    assert len(everything) == count_events(with_seeds)
    assert everything[0]["reason"] == "not good"
    assert [row["sequence"] for row in everything] == sorted((row["sequence"] for row in everything), reverse=True)
    assert listed("--who=ann") == everything[:1]
    assert listed("--limit=2") == everything[:2]
    assert listed("--object=seed") == [row for row in everything if row["object_type"] == "seed"]
    assert listed(f"--object={seed.id}") == [row for row in everything if row["object_id"] == seed.id]
    assert listed("--action=add") == [row for row in everything if row["action"] == "add"]
    day = str(everything[0]["at"])[:10]
    assert listed(f"--since={day}", f"--until={day}", "--limit=1000") == everything, "the whole day counts"
    assert listed(f"--until={day}T00:00") == []
    assert listed("--since=2999-01-01") == []
    shown = here("audit", "list", "--who=ann", at(with_seeds))
    assert "1 of 1 row" in shown.out
    assert "not good" in shown.out
    assert here("audit", "list", "--who=nobody", at(with_seeds)).out == "No rows of the audit trail fit.\n"
    wrong = here("audit", "list", "--since=yesterday", at(with_seeds))
    assert (wrong.code, "is no time" in wrong.err) == (2, True)


def test_exports(here: Command, with_seeds: Workspace, tmp_path: Path) -> None:
    lines, table = tmp_path / "a.jsonl", tmp_path / "a.csv"
    assert here("audit", "export", lines, "--json", at(with_seeds)).json["rows"] == count_events(with_seeds)
    assert here("audit", "export", table, "--object=seed", at(with_seeds)).code == 0
    assert len(lines.read_text().splitlines()) == count_events(with_seeds)
    assert json.loads(lines.read_text().splitlines()[0])["sequence"] == 1
    with table.open(newline="") as file:
        assert {row["object_type"] for row in csv.DictReader(file)} == {"seed"}
    again = here("audit", "export", table, at(with_seeds))
    assert (again.code, "exists" in again.err) == (2, True)


def test_an_export_is_private_and_makes_no_folder(here: Command, with_seeds: Workspace, tmp_path: Path) -> None:
    nowhere = tmp_path / "none" / "trail.csv"
    refused = here("audit", "export", nowhere, at(with_seeds))
    assert (refused.code, f"{nowhere.parent} is no folder; make it first" in refused.err) == (2, True)
    assert not nowhere.parent.exists()
    trail = tmp_path / "trail.jsonl"
    assert here("audit", "export", trail, at(with_seeds)).code == 0
    assert trail.stat().st_mode & 0o777 == 0o600


def test_a_trail_of_no_row_and_of_one(here: Command, workspace: Workspace) -> None:
    assert here("audit", "verify", at(workspace)).out == "The audit trail is whole: it holds no row yet.\n"
    with workspace.writing() as session:
        owner = session.get_one(Account, workspace.owner().id)
        record_event(session, who="ann", action="count", row=owner, new={"text": "long " * 200, "lines": "a\nb"})
    assert "is whole: 1 row, the last one is" in here("audit", "verify", at(workspace)).out
    said = here("audit", "list", at(workspace)).out.splitlines()
    assert len(said) == 3, "a title, the heads, and one line a row where no terminal is"
    assert len(said[2]) < 300


def test_on_a_terminal_a_table_is_folded_to_its_width(
    here: Command, with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = io.StringIO()
    terminal = Console(file=read, force_terminal=True, width=100, soft_wrap=True)
    with monkeypatch.context() as patched:
        patched.setattr(_output, "_stdout", terminal)
        _output.print_table("Rows", ("id", "text"), [("seed_1", "word " * 100)], cut=("text",))
    lines = Text.from_ansi(read.getvalue()).plain.splitlines()
    assert max(map(len, lines)) <= 100
    assert sum(line.count("word") for line in lines) == 100, "nothing is cut"


def test_who_was_signed_in_hears_of_it_after_a_restore(here: Command, workspace: Workspace, tmp_path: Path) -> None:
    add_person(workspace, "ana")
    invite(workspace.acting_as(actor(workspace, "ana")), roles=["reader"], who="ana")
    assert here("backup", tmp_path / "b.tar", at(workspace)).code == 0
    again = tmp_path / "again"
    restored = on_new_database(again, lambda: here("restore", tmp_path / "b.tar", again))
    assert "Everybody signs in again" in restored.out


def test_there_and_back(here: Command, with_seeds: Workspace, tmp_path: Path) -> None:
    backup = tmp_path / "b.tar"
    made = here("backup", backup, "--json", at(with_seeds))
    assert made.code == 0, made.err
    assert made.json["backup"] == str(backup)
    assert (made.json["missing"], made.json["audit_faults"]) == ([], [])
    again = tmp_path / "again"
    restored = on_new_database(again, lambda: here("restore", backup, again, "--json"))
    assert restored.code == 0, restored.err
    assert restored.json["rows"] == made.json["rows"]
    assert restored.json["audit_head"] == made.json["audit_head"]
    assert here("audit", "verify", f"--workspace={again}").code == 0
    assert len(here("seeds", "list", "--json", f"--workspace={again}").json) == 4
    refused = here("restore", backup, again)
    assert (refused.code, "--replace" in refused.err) == (2, True)
    replaced = on_new_database(again, lambda: here("restore", backup, again, "--replace"))
    assert replaced.code == 0, replaced.err
    assert "The workspace that was there is in" in replaced.out
    assert "signs in again" not in replaced.out, "nobody was signed in"
    if on_postgresql():
        assert "The rows are in the PostgreSQL database" in replaced.out
        assert "must stay set" in replaced.out
        assert "://" not in replaced.out, "no password, and nothing near it"
    else:
        assert "PostgreSQL" not in replaced.out


def test_warnings_go_to_stderr(here: Command, with_seeds: Workspace, tmp_path: Path) -> None:
    (with_seeds.runs / "link").symlink_to(tmp_path)
    with_seeds.audit_head.unlink()
    ran = here("backup", tmp_path / "b.tar", "--json", at(with_seeds))
    assert ran.code == 0
    assert "Warning: Left out: 'runs/link': it is a link" in ran.err
    assert "Warning: The audit trail is not whole" in ran.err
    assert len(ran.json["audit_faults"]) == 1
    refused = here("restore", tmp_path / "b.tar", tmp_path / "again")
    assert (refused.code, "--accept-audit-faults" in refused.err) == (2, True)
    again = tmp_path / "again"
    accepted = on_new_database(again, lambda: here("restore", tmp_path / "b.tar", again, "--accept-audit-faults"))
    assert accepted.code == 0


@pytest.mark.parametrize("command", ["worker", "serve"])
def test_what_runs_on_a_workspace_keeps_it_from_being_replaced(
    here: Command, workspace: Workspace, tmp_path: Path, command: str
) -> None:
    backup = tmp_path / "b.tar"
    assert here("backup", backup, at(workspace)).code == 0
    options = [f"--port={free_port()}", "--no-browser"] if command == "serve" else []
    process = subprocess.Popen(
        [sys.executable, "-m", "curator_app", command, *options, at(workspace)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until_in_use(workspace)
        refused = here("restore", backup, workspace.root, "--replace")
        assert refused.code == 2
        assert "in use by a server, a worker or another command" in refused.err
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
    replaced = on_new_database(workspace.root, lambda: here("restore", backup, workspace.root, "--replace"))
    assert replaced.code == 0


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def wait_until_in_use(workspace: Workspace) -> None:
    """Wait for the process to say that it works on the workspace."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            with having_alone(workspace.root):
                pass
        except InputError:
            return
        time.sleep(0.1)
    raise AssertionError("it never started")


def test_a_command_waits_for_no_restore(here: Command, workspace: Workspace) -> None:
    with having_alone(workspace.root):
        ran = here("slides", "list", at(workspace))
    assert (ran.code, "is being replaced by a restore" in ran.err) == (2, True)
    assert here("slides", "list", at(workspace)).code == 0


def test_the_doctor_says_what_is_wrong_in_a_workspace(here: Command, with_seeds: Workspace) -> None:
    image = next(iter(with_seeds.rois.iterdir()))
    image.unlink()
    ran = here("doctor", "--json", at(with_seeds))
    checks = {check["what"]: check for check in ran.json}
    assert ran.code == 2
    assert checks["audit trail"]["status"] == checks["database"]["status"] == "ok"
    assert checks["images of rows"]["status"] == "broken"
    assert checks["images of rows"]["details"] == [f"rois/{image.name} (image of ROI {image.stem})"]
    assert "restore" in checks["images of rows"]["remedy"] or "backup" in checks["images of rows"]["remedy"]
    assert "put them back from a backup" in here("doctor", at(with_seeds)).out
