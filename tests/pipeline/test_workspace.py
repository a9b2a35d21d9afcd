"""Making and opening workspaces; settings from file, environment and flags."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import inspect

from db import connect, migrate
from pipeline.errors import InputError
from pipeline.workspace import (
    DATABASE_FILE,
    Workspace,
    create_workspace,
    find_workspace,
    open_workspace,
    write_atomically,
)
from tests.databases import new_workspace, on_postgresql


def test_a_new_workspace_has_an_owner_and_one_db_file(workspace: Workspace) -> None:
    assert workspace.owner().operating_system_owner
    assert [path.name for path in workspace.root.rglob("*.db")] == ([] if on_postgresql() else [DATABASE_FILE])
    assert workspace.is_operating_system_owner()


def test_a_folder_with_other_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="not an empty folder"):
        create_workspace(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_workspace_is_not_made_twice(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="workspace already"):
        create_workspace(workspace.root)


def test_a_folder_that_is_no_workspace_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no settings\.toml"):
        open_workspace(tmp_path)
    assert not list(tmp_path.iterdir())


def test_option_wins_over_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HISTOCURATOR_WORKSPACE", "/from/environment")
    assert find_workspace(tmp_path) == tmp_path
    assert find_workspace(None) == Path("/from/environment")
    monkeypatch.delenv("HISTOCURATOR_WORKSPACE")
    with pytest.raises(InputError, match="--workspace"):
        find_workspace(None)


def test_settings_file_then_environment_then_flag(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with (workspace.root / "settings.toml").open("a") as file:
        file.write('species = "mouse"\nstain = "PAS"\nmodel_concurrency = 3\n')
    monkeypatch.setenv("HISTOCURATOR_STAIN", "Masson")
    monkeypatch.setenv("HISTOCURATOR_MODEL_CONCURRENCY", "5")
    settings = open_workspace(workspace.root, model_concurrency=7).settings
    assert (settings.species, settings.stain, settings.model_concurrency) == ("mouse", "Masson", 7)
    assert open_workspace(workspace.root).settings.model_concurrency == 5


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('speceis = "mouse"', "speceis"),
        ("model_concurrency = 0", "model_concurrency"),
        ("species = ", "not valid TOML"),
    ],
)
def test_a_wrong_setting_is_named(workspace: Workspace, text: str, named: str) -> None:
    (workspace.root / "settings.toml").write_text(text)
    with pytest.raises(InputError, match=named):
        open_workspace(workspace.root)


@pytest.mark.parametrize("url", ["mysql://user:secret@host/name", "a/file.db", "nonsense", "postgresql://"])
def test_a_database_url_that_cannot_be_used_is_an_error_without_its_password(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("HISTOCURATOR_DATABASE_URL", url)
    with pytest.raises(InputError) as caught:
        open_workspace(workspace.root)
    assert "secret" not in str(caught.value)


def test_a_database_of_a_newer_program_is_refused(workspace: Workspace) -> None:
    with workspace.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(InputError, match="newer"):
        open_workspace(workspace.root)


@pytest.mark.sqlite("the file itself is damaged")
def test_a_broken_database_is_an_error_that_names_it(workspace: Workspace) -> None:
    workspace.engine.dispose()
    for path in workspace.root.glob("histocurator.db*"):
        path.unlink()
    (workspace.root / DATABASE_FILE).write_bytes(b"this is no database, but long enough to be read as one" * 50)
    with pytest.raises(InputError, match="cannot be opened"):
        open_workspace(workspace.root)


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.json"
    write_atomically(file, b"old")

    def fail(_descriptor: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(file, b"new")
    assert file.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_making_that_was_interrupted_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name_new_database: Callable[[], None]
) -> None:
    name_new_database()
    root = tmp_path / "workspace"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pipeline.workspace.write_atomically", killed)
        with pytest.raises(KeyboardInterrupt):
            create_workspace(root)
    made = create_workspace(root)
    assert made.owner().operating_system_owner
    made.engine.dispose()


@pytest.mark.sqlite("the file itself is lost")
@pytest.mark.parametrize("left", [None, b""])
def test_a_lost_database_is_named_and_not_replaced_by_an_empty_one(workspace: Workspace, left: bytes | None) -> None:
    workspace.engine.dispose()
    for path in workspace.root.glob("histocurator.db*"):
        path.unlink()
    if left is not None:
        (workspace.root / DATABASE_FILE).write_bytes(left)
    with pytest.raises(InputError, match="missing or empty"):
        open_workspace(workspace.root)


def test_a_setting_that_is_none_is_named_without_its_value(workspace: Workspace) -> None:
    (workspace.root / "settings.toml").write_text('openai_api_key = "sk-somebody-s-key"')
    with pytest.raises(InputError, match="openai_api_key") as caught:
        open_workspace(workspace.root)
    assert "somebody" not in str(caught.value)


def test_settings_that_are_no_text_are_an_error(workspace: Workspace) -> None:
    (workspace.root / "settings.toml").write_bytes(b"\xff\xfes\x00")
    with pytest.raises(InputError, match="not valid TOML"):
        open_workspace(workspace.root)


def test_a_folder_that_cannot_be_made_is_an_error(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be used"):
        create_workspace(tmp_path / "file" / "workspace")
    workspace.thumbnails.rmdir()
    workspace.thumbnails.write_text("")
    with pytest.raises(InputError, match="cannot be used"):
        open_workspace(workspace.root)


def test_a_new_workspace_is_for_its_maker_alone_and_a_folder_that_was_there_stays_as_it_is(tmp_path: Path) -> None:
    new_workspace(tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o750)
    new_workspace(shared)
    assert shared.stat().st_mode & 0o777 == 0o750


@pytest.mark.both_engines
def test_an_empty_database_is_not_the_one_of_a_workspace_that_was_made(
    workspace: Workspace, postgresql_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the wrong one would be filled with tables, and the trail would seem to have been cut off."""
    other = tmp_path / "other.db"
    for url in (postgresql_url, f"sqlite:///{other}"):
        monkeypatch.setenv("HISTOCURATOR_DATABASE_URL", url)
        with pytest.raises(InputError, match=r"is empty: it is not the one that .* belongs to"):
            open_workspace(workspace.root)
    assert not other.exists()
    engine = connect(postgresql_url)
    assert inspect(engine).get_table_names() == []
    migrate(engine)
    monkeypatch.setenv("HISTOCURATOR_DATABASE_URL", postgresql_url)
    with pytest.raises(InputError, match="is empty"):
        open_workspace(workspace.root)
    engine.dispose()


def test_an_empty_variable_counts_as_unset(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "SPECIES", "MODEL_CONCURRENCY"):
        monkeypatch.setenv(f"HISTOCURATOR_{name}", "")
    again = open_workspace(workspace.root)
    assert again.engine.url == workspace.engine.url
    assert (again.settings.species, again.settings.model_concurrency) == ("rat", 8)
    again.engine.dispose()
