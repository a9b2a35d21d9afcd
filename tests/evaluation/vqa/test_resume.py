"""A run folder belongs to one configuration, is gone on with after a fault, and is never overwritten."""

from __future__ import annotations

import hashlib
import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.vqa import Predictions, PredictionsError, RunFolderError
from evaluation.vqa._run_folder import RunFolder
from tests.evaluation.vqa import drawn, scripted
from tests.evaluation.vqa.conftest import Runner

STOPPED_RUN = """
import os, signal, sys
from pathlib import Path
from evaluation.vqa import VqaConfig, run_vqa
from tests.evaluation.vqa import scripted

benchmark, out, how = sys.argv[1:]

def stops(text, image):
    if len(scripted.CALLS) == 20:
        if how == "killed":
            os._exit(9)
        os.kill(os.getpid(), signal.SIGINT)
    return scripted.always_first(text, image)

scripted.SCRIPTS.update(given=stops, judge=scripted.full_marks)
run_vqa(VqaConfig(benchmark=benchmark, out=Path(out), model="scripted/given", judge="scripted/judge"))
"""


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_only_failed_calls_are_made_again(run: Runner, tmp_path: Path) -> None:
    def broken(text: str, image: bytes | None) -> str:
        if "MCQ 1?" in text or "2-3 is false" in text:
            raise ConnectionError("down")
        return scripted.knows_all(text, image)

    assert not run(broken).complete
    scripted.CALLS.clear()
    results = run(scripted.knows_all)
    assert results.complete
    assert results.metrics["overall"].mean == 1.0
    assert results.provenance.sittings == 2
    assert len(scripted.CALLS) == 5 + 1
    assert len((tmp_path / "run" / "predictions.jsonl").read_text().splitlines()) == 47


def test_an_unmarked_free_text_is_only_marked_again(run: Runner) -> None:
    scripted.SCRIPTS["judge"] = lambda _text, _image: "no verdict"
    assert run("knowing").n_failed == 3
    scripted.CALLS.clear()
    scripted.SCRIPTS["judge"] = scripted.full_marks
    assert run("knowing").metrics["free_text"].mean == 1.0
    assert len(scripted.CALLS) == 3


def test_a_complete_run_is_read_not_repeated(run: Runner, tmp_path: Path) -> None:
    first = run("first")
    before = contents(tmp_path / "run")
    scripted.CALLS.clear()
    assert run("first") == first
    assert scripted.CALLS == []
    assert contents(tmp_path / "run") == before


@pytest.mark.parametrize(("how", "codes"), [("killed", {9}), ("interrupted", {130, -signal.SIGINT})])
def test_a_stopped_run_goes_on_where_it_was(
    run: Runner, release: Path, tmp_path: Path, how: str, codes: set[int]
) -> None:
    stopped = subprocess.run(
        [sys.executable, "-c", STOPPED_RUN, str(release), str(tmp_path / "run"), how],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        check=False,
        timeout=120,
        # A test runner may itself ignore interrupts, which a child would inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert stopped.returncode in codes, stopped.stderr.decode()
    kept = (tmp_path / "run" / "predictions.jsonl").read_text().splitlines()
    assert 10 <= len(kept) < 47
    assert not (tmp_path / "run" / "results.json").exists()
    results = run(scripted.always_first)
    assert results.complete
    assert results.metrics["mcq"].mean == pytest.approx(0.2)
    assert len(scripted.CALLS) == 47 - len(kept)


def test_a_line_that_was_cut_is_asked_again(run: Runner, tmp_path: Path) -> None:
    complete = run("first")
    folder = tmp_path / "run"
    (folder / "results.json").unlink()
    lines = (folder / "predictions.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "predictions.jsonl").write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
    scripted.CALLS.clear()
    results = run("first")
    assert len(scripted.CALLS) == 1
    assert results.metrics == complete.metrics


def test_a_damaged_line_is_named(run: Runner, tmp_path: Path) -> None:
    run("first")
    folder = tmp_path / "run"
    (folder / "results.json").unlink()
    lines = (folder / "predictions.jsonl").read_text().splitlines()
    lines[4] = "not JSON"
    (folder / "predictions.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(PredictionsError, match="line 5 is damaged"):
        run("first")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"rotations": 1}, "rotations: 5 before, 1 now"),
        ({"model": "scripted/knowing"}, "model: scripted/first before"),
        ({"ablation": "black"}, "ablation: normal before, black now"),
        ({"limit": 3}, "limit: None before, 3 now"),
    ],
)
def test_another_configuration_is_refused_and_nothing_touched(
    run: Runner, tmp_path: Path, change: dict[str, object], named: str
) -> None:
    run("first")
    before = contents(tmp_path / "run")
    with pytest.raises(RunFolderError, match=named):
        run("first", **change)
    assert contents(tmp_path / "run") == before


def test_an_edited_benchmark_is_another_configuration(run: Runner, tmp_path: Path, release: Path) -> None:
    run("first")
    drawn.write(release, [*drawn.ROWS[:-1], drawn.free_text(2, answer="something else")])
    with pytest.raises(RunFolderError, match="benchmark_sha256"):
        run("first")


def test_a_moved_benchmark_is_the_same(run: Runner, release: Path, tmp_path: Path) -> None:
    first = run("first")
    moved = release.rename(tmp_path / "elsewhere")
    assert run("first", benchmark=str(moved)) == first


def test_a_folder_with_other_things_is_refused(run: Runner, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(RunFolderError, match=r"not empty and holds no run\.json"):
        run("first")
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_a_file_in_the_folder_s_place_is_refused(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(RunFolderError, match="is a file"):
        run("first")


def test_a_run_of_a_later_version_is_refused(run: Runner, tmp_path: Path) -> None:
    run("first")
    path = tmp_path / "run" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 99}))
    with pytest.raises(RunFolderError, match="version 99"):
        run("first")


def test_a_sitting_that_died_at_once_does_not_close_the_folder(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".run.json.partial").write_text("{")
    assert run("knowing", limit=1).complete


def test_a_second_process_is_kept_out(run: Runner, tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run").held(), pytest.raises(RunFolderError, match="Another process"):
        run("knowing", limit=1)
    assert run("knowing", limit=1).complete


def test_a_reply_that_cannot_be_kept_whole_leaves_no_half_line(run: Runner, tmp_path: Path) -> None:
    run("knowing", limit=1)
    file = tmp_path / "run" / "predictions.jsonl"
    kept, before = Predictions(file), file.read_bytes()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    # A file that may not grow further, as on a full disk.
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, limit[1]))
        with pytest.raises(OSError, match=r"large|whole"):
            kept.append(next(iter(kept)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    assert file.read_bytes() == before
    assert kept.fault is not None
