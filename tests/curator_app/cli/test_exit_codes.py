"""Exit codes, messages and machine-readable output of the commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.curator_app.cli.conftest import Command
from tests.databases import on_new_database

pytestmark = pytest.mark.sqlite("codes and messages of the command line, whatever its database")


@pytest.fixture
def workspace(histocurator: Command, tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    assert on_new_database(folder, lambda: histocurator("init", folder)).code == 0
    return folder


ADD = ("--organ", "liver", "--source", "test", "--licence", "CC0-1.0")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("unreadable.svs", "unreadable.svs"),
        ("unopenable.tiff", "unopenable.tiff"),
        ("broken.svs", "broken.svs"),
        ("boxes.tiff", "352.8"),
    ],
)
def test_broken_slides_are_named_and_leave_nothing(
    histocurator: Command, workspace: Path, shared_data: Path, name: str, said: str
) -> None:
    ran = histocurator("slides", "add", shared_data / "slides" / name, *ADD, "--workspace", workspace, "--json")
    assert ran.code == 2
    assert said in ran.err
    assert ran.json["added"] == []
    assert histocurator("slides", "list", "--json", "--workspace", workspace).json == []
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("slides", "list"),
        ("rois", "list"),
        ("rois", "list", "--candidates"),
        ("seeds", "list"),
        ("items", "list"),
        ("release", "list"),
    ],
)
def test_lists_of_an_empty_workspace(histocurator: Command, workspace: Path, arguments: tuple[str, ...]) -> None:
    assert histocurator(*arguments, "--json", "--workspace", workspace).json == []
    assert histocurator(*arguments, "--workspace", workspace).out.startswith("No ")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("rois", "sample", "--organ", "liver", "--count", "5"), 2, "slides add"),
        (("rois", "bin", "--organ", "liver"), 2, "rois sample"),
        (("rois", "select", "--organ", "liver", "--per-bin", "1"), 2, "rois bin"),
        (("items", "generate"), 1, "No seed"),
        (("items", "approve", "--passed", "--as", "x"), 1, "No item"),
        (("items", "generate", "--model", "nonsense/model"), 2, "nonsense"),
        (("items", "generate", "--model", "nomodel"), 2, "nomodel"),
        (("seeds", "import", "/nowhere.csv"), 2, "/nowhere.csv"),
        (("release", "build", "--name", "Bad Name", "--version", "1"), 2, "Bad Name"),
        (("rois", "bin", "--organ", "liver", "--encoder", "nothing"), 2, "colour-texture"),
    ],
)
def test_what_cannot_be_done_says_what_to_do(
    histocurator: Command, workspace: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    ran = histocurator(*arguments, "--workspace", workspace)
    assert ran.code == code, ran.err
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_no_workspace_named(histocurator: Command) -> None:
    ran = histocurator("slides", "list")
    assert (ran.code, "HISTOCURATOR_WORKSPACE" in ran.err) == (2, True)


def test_doctor_knows_a_workspace_and_a_machine(histocurator: Command, workspace: Path) -> None:
    ran = histocurator("doctor", "--json", "--workspace", workspace, OPENAI_API_KEY="sk-never-shown")
    checks = {check["what"]: check for check in ran.json}
    assert checks["read slides"]["status"] == "ok"
    assert checks["workspace"]["status"] == "ok"
    assert checks["OpenAI models"]["status"] == "ok"
    assert "sk-never-shown" not in ran.out + ran.err


def test_the_log_has_the_commands_and_no_key(histocurator: Command, workspace: Path) -> None:
    histocurator(
        "items", "generate", "--model", "openai/gpt-5.2", "--workspace", workspace, OPENAI_API_KEY="sk-never-shown"
    )
    log = (workspace / "logs" / "histocurator.log").read_text()
    assert "items generate" in log
    assert "sk-never-shown" not in log


def test_version(histocurator: Command) -> None:
    assert histocurator("--version").out.strip() == "0.1.0"


@pytest.mark.parametrize(
    "arguments",
    [
        ("rois", "bin", "--organ", "liver", "--seed", "-1"),
        ("items", "list", "--state", "nonsense"),
        ("seeds", "import", "/nowhere.csv"),
        ("release", "build", "--name", "a", "--version", "1", "--out", "/dev/null/a"),
        ("eval", "vqa", "--benchmark", "/nowhere", "--model", "offline/first", "--out", "/dev/null/a"),
        ("eval", "vqa", "--benchmark", "/nowhere", "--model", "offline/first", "--out", "a", "--seed", "-1"),
        ("rois", "sample", "--organ", "liver"),
    ],
)
def test_an_error_is_one_json_document_too(histocurator: Command, workspace: Path, arguments: tuple[str, ...]) -> None:
    ran = histocurator(*arguments, "--workspace", workspace, "--json")
    assert ran.code == 2
    assert list(ran.json) == ["error"]
    assert "see the message" not in ran.json["error"]
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("audit", "list", "--limit", "none"), "'none' is not a valid"),
        (("audit", "list", "--nonsense"), "No such option"),
        (("audit", "export"), "Missing argument"),
        (("audit", "nonsense"), "No such command"),
    ],
)
def test_a_usage_error_says_what_is_wrong_in_json_too(here: Command, arguments: tuple[str, ...], says: str) -> None:
    ran = here(*arguments, "--json")
    assert ran.code == 2
    assert says in ran.json["error"]
    assert says in ran.err
    assert "Usage:" in ran.err


def test_the_doctor_says_how_to_get_a_workspace(here: Command, tmp_path: Path) -> None:
    ran = here("doctor", "--json", "--workspace", tmp_path)
    assert ran.code == 2
    (found,) = (check for check in ran.json if check["what"] == "workspace")
    assert "histocurator init" in found["remedy"]


def test_a_folder_that_takes_no_files_is_a_message(histocurator: Command, workspace: Path, shared_data: Path) -> None:
    ran = histocurator("init", "/dev/null/workspace", "--json")
    assert (ran.code, list(ran.json)) == (2, ["error"])
    # Nobody, not even an administrator, makes a folder where a file lies.
    (workspace / "slides").rmdir()
    (workspace / "slides").write_text("")
    slide = shared_data / "slides" / "cmu-1-small-region.svs"
    ran = histocurator("slides", "add", slide, *ADD, "--workspace", workspace)
    assert (ran.code, "Traceback" in ran.err) == (2, False)
