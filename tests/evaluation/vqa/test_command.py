"""`histocurator eval vqa`: exit codes, what goes to stdout and what to stderr, and the core install alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from curator_app.cli.evaluate import eval_app
from evaluation.vqa import VqaResults
from tests.evaluation.vqa import scripted

CORE_ALONE = """
import sys
from curator_app.cli.evaluate import eval_app
sys.argv = ["eval", *sys.argv[1:]]
try:
    eval_app()
finally:
    absent = {"streamlit", "sqlmodel", "torch", "dbos", "alembic", "datasets"}
    print("imported:", sorted(absent & set(sys.modules)), file=sys.stderr)
"""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


def evaluate(*arguments: object) -> Result:
    return CliRunner().invoke(eval_app, ["vqa", *map(str, arguments)], env={"HISTOCURATOR_WORKSPACE": None})


def test_a_run_ends_with_a_table_and_zero(release: Path, out: Path) -> None:
    result = evaluate("--benchmark", release, "--model", "scripted/first", "--judge", "scripted/judge", "--out", out)
    assert result.exit_code == 0, result.output
    lines = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line.strip()}
    assert lines["mcq"][1] == "0.200"
    assert lines["kprim"][1] == "0.375"
    assert lines["overall"][1] == "0.525"
    assert "0.188" in lines["kprim"]
    assert f"Run complete: {out}" in result.stdout.replace("\n", "")
    assert VqaResults.model_validate_json((out / "results.json").read_text()).complete


def test_json_alone_goes_to_stdout(release: Path, out: Path) -> None:
    result = evaluate("--benchmark", release, "--model", "scripted/first", "--out", out, "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["metrics"]["mcq"]["mean"] == pytest.approx(0.2)
    assert document["metrics"]["mcq"]["n"] == 5
    assert document["out"] == str(out)


def test_options_reach_the_run(release: Path, out: Path) -> None:
    result = evaluate(
        *("--benchmark", release, "--model", "scripted/first", "--judge", "scripted/judge", "--out", out),
        *("--limit", 3, "--rotations", 1, "--ablation", "no-image", "--kprim-mode", "joint", "--seed", 7),
        *("--organ", "liver", "--category", "identify_pathology", "--json"),
    )
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    configuration = document["provenance"]["configuration"]
    assert document["n_items"] == 3
    assert configuration["rotations"] == 1
    assert configuration["ablation"] == "no-image"
    assert configuration["kprim_mode"] == "joint"
    assert configuration["seed"] == 7
    assert configuration["organ"] == "liver"


def test_the_command_says_when_a_model_is_no_language_model(release: Path, out: Path) -> None:
    result = evaluate("--benchmark", release, "--model", "offline/first", "--out", out)
    assert result.exit_code == 0, result.output
    assert "offline/first is a built-in baseline, not a language model" in result.stdout


def test_nothing_usable_exits_with_one(release: Path, out: Path) -> None:
    def down(text: str, image: bytes | None) -> str:
        raise ConnectionError("down")

    scripted.SCRIPTS["down"] = down
    result = evaluate("--benchmark", release, "--model", "scripted/down", "--out", out)
    assert result.exit_code == 1
    assert "No item could be scored" in result.stderr
    assert "INCOMPLETE" in result.stdout


def test_something_usable_exits_with_zero_and_says_incomplete(release: Path, out: Path) -> None:
    def partly(text: str, image: bytes | None) -> str:
        if "MCQ" in text:
            raise ConnectionError("down")
        return scripted.always_first(text, image)

    scripted.SCRIPTS["partly"] = partly
    result = evaluate("--benchmark", release, "--model", "scripted/partly", "--out", out)
    assert result.exit_code == 0
    assert "INCOMPLETE" in result.stdout
    assert "5 of 12 items are unscored" in result.stdout.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--benchmark", "{tmp}/nowhere"), "no such file or folder"),
        (("--model", "nowhere/model"), "nowhere"),
        (("--model", "noslash"), "names no provider"),
        (("--organ", "spleen"), "kidney, liver"),
        (("--out", "{tmp}/release"), "holds no run.json"),
        (("--workspace", "{tmp}/no-workspace"), "does not exist"),
        (("--prompts", "{tmp}/no-prompts"), "does not exist"),
        (("--rotations", "6"), "rotations"),
        (("--ablation", "upside-down"), "ablation"),
    ],
)
def test_bad_input_exits_with_two_and_names_it(
    release: Path, out: Path, tmp_path: Path, arguments: tuple[str, str], message: str
) -> None:
    fields = {"--benchmark": str(release), "--model": "scripted/first", "--out": str(out)}
    fields |= {arguments[0]: arguments[1].format(tmp=tmp_path)}
    result = evaluate(*(part for pair in fields.items() for part in pair))
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stdout == ""
    assert not out.exists()


def test_it_runs_on_the_core_install_and_leaves_the_working_folder_alone(
    release: Path, out: Path, tmp_path: Path
) -> None:
    working = tmp_path / "working"
    working.mkdir()
    arguments = ["vqa", "--benchmark", release, "--model", "offline/first", "--out", out, "--limit", "6", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", CORE_ALONE, *map(str, arguments)],
        cwd=working,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"]["mcq"]["mean"] == pytest.approx(0.2)
    assert "imported: []" in done.stderr
    assert list(working.iterdir()) == []
