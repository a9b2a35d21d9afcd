"""Every command × every role: who is allowed, and that a refusal says what to do and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import click
import pytest
import typer

from curator_app.cli import app
from db import new_id
from db.tables import Account
from pipeline.permissions import GRANTS, Permission, Role
from pipeline.rois import list_rois
from pipeline.workspace import Workspace
from tests.curator_app.cli.conftest import Command
from tests.databases import content_of

pytestmark = pytest.mark.sqlite("who may do what is decided before a database is asked")

W = "WORKSPACE"
"""Stands for the workspace's folder in the arguments below."""

NOWHERE = "/dev/null/nowhere"


@dataclass(frozen=True)
class Asked:
    """What a command needs, and arguments with which it fails soon where it is allowed."""

    permission: Permission | None
    arguments: tuple[str, ...] = (f"--workspace={W}",)


def _needs(permission: Permission, *arguments: str) -> Asked:
    return Asked(permission, (*arguments, f"--workspace={W}"))


COMMANDS: dict[str, list[Asked]] = {
    "doctor": [Asked(None)],
    "init": [Asked(None, (NOWHERE,))],
    "demo": [Asked(None, ("--no-serve", f"--workspace={NOWHERE}"))],
    "serve": [_needs(Permission.MANAGE_WORKSPACE, "--host=0.0.0.0", "--no-browser")],
    "worker": [_needs(Permission.MANAGE_WORKSPACE)],
    "retention": [_needs(Permission.OWN_ACCOUNT), _needs(Permission.MANAGE_WORKSPACE, "--apply")],
    "backup": [_needs(Permission.MANAGE_WORKSPACE, f"{NOWHERE}.tar")],
    "restore": [Asked(None, (f"{NOWHERE}.tar", NOWHERE))],
    "slides add": [
        _needs(Permission.ADD_SLIDES, f"{NOWHERE}.svs", "--organ=liver", "--source=test", "--licence=CC0-1.0"),
        _needs(Permission.ADD_SLIDES, f"--table={NOWHERE}.csv"),
    ],
    "slides list": [_needs(Permission.VIEW_SLIDES), _needs(Permission.VIEW_SLIDES, "--withdrawn")],
    "slides edit": [_needs(Permission.EDIT_SLIDES, "sld_none", "--study=x")],
    "slides withdraw": [_needs(Permission.EDIT_SLIDES, "sld_none", "--reason=x")],
    "slides restore": [_needs(Permission.EDIT_SLIDES, "sld_none")],
    "rois sample": [_needs(Permission.CHOOSE_ROIS, "--organ=liver", "--count=3")],
    "rois embed": [_needs(Permission.CHOOSE_ROIS, "--organ=liver")],
    "rois bin": [_needs(Permission.CHOOSE_ROIS, "--organ=liver")],
    "rois select": [_needs(Permission.CHOOSE_ROIS, "--organ=liver", "--per-bin=1")],
    "rois list": [_needs(Permission.VIEW_SLIDES)],
    "rois draw": [_needs(Permission.CHOOSE_ROIS, "sld_none", "--x=0", "--y=0")],
    "rois withdraw": [_needs(Permission.CHOOSE_ROIS, "roi_none", "--reason=x")],
    "rois export": [_needs(Permission.VIEW_SLIDES, "sld_none", f"--geojson={NOWHERE}.geojson")],
    "rois import-geojson": [_needs(Permission.CHOOSE_ROIS, "sld_none", f"{NOWHERE}.geojson")],
    "rois bins": [_needs(Permission.VIEW_SLIDES, "--organ=liver")],
    "rois quota": [
        _needs(Permission.CHOOSE_ROIS, "--organ=liver", "--total=4"),
        _needs(Permission.CHOOSE_ROIS, "--organ=liver", "--bin=1=4"),
    ],
    "rois pick": [_needs(Permission.CHOOSE_ROIS, "roi_none")],
    "rois reject": [_needs(Permission.CHOOSE_ROIS, "roi_none", "--reason=artefact")],
    "rois numbers": [_needs(Permission.VIEW_SLIDES, "--organ=liver")],
    "rois diversity": [_needs(Permission.CHOOSE_ROIS, "--organ=liver", "--encoder=colour-texture")],
    "rois import": [_needs(Permission.CHOOSE_ROIS, f"{NOWHERE}.csv")],
    "seeds import": [_needs(Permission.WRITE_SEEDS, f"{NOWHERE}.csv")],
    "seeds list": [_needs(Permission.VIEW_SEEDS)],
    "items generate": [_needs(Permission.GENERATE_ITEMS)],
    "items list": [_needs(Permission.VIEW_ITEMS)],
    "items approve": [_needs(Permission.DECIDE_ITEMS, "--passed", "--as=somebody")],
    "release build": [_needs(Permission.BUILD_RELEASES, "--name=liver", "--version=1")],
    "release sign": [_needs(Permission.SIGN_RELEASES, "liver", "1", "--password-stdin")],
    "release list": [_needs(Permission.VIEW_RELEASES)],
    "eval vqa": [
        Asked(None, (f"--benchmark={NOWHERE}", "--model=offline/first", f"--out={NOWHERE}")),
        _needs(Permission.EVALUATE, f"--benchmark={NOWHERE}", "--model=offline/first", f"--out={NOWHERE}"),
        _needs(
            Permission.EVALUATE,
            f"--benchmark={NOWHERE}",
            "--model=offline/first",
            "--judge=offline/synonyms",
            f"--out={NOWHERE}",
        ),
    ],
    "encoders list": [Asked(None, ())],
    "encoders show": [Asked(None, ("uni",))],
    "jobs list": [_needs(Permission.VIEW_JOBS)],
    "jobs show": [_needs(Permission.VIEW_JOBS, "no-such-job")],
    "jobs cancel": [_needs(Permission.VIEW_JOBS, "no-such-job")],
    "users add": [_needs(Permission.MANAGE_PEOPLE, "new", "--role=admin", "--password-stdin")],
    "users list": [_needs(Permission.VIEW_PEOPLE)],
    "users invite": [
        _needs(Permission.INVITE_READERS, "--role=reader"),
        _needs(Permission.MANAGE_PEOPLE, "--role=author"),
        _needs(Permission.MANAGE_PEOPLE, "--role=reader", "--role=admin"),
    ],
    "users invitations": [_needs(Permission.INVITE_READERS)],
    "users withdraw-invitation": [_needs(Permission.INVITE_READERS, "inv_none")],
    "users reset": [_needs(Permission.MANAGE_PEOPLE, "ghost")],
    "users roles": [_needs(Permission.MANAGE_PEOPLE, "ghost", "author")],
    "users close": [_needs(Permission.MANAGE_PEOPLE, "ghost", "--reason=x")],
    "users sign-out": [_needs(Permission.MANAGE_PEOPLE, "ghost")],
    "users unlock": [_needs(Permission.MANAGE_PEOPLE, "ghost")],
    "users conflicts": [_needs(Permission.VIEW_PEOPLE, "ghost")],
    "users permissions": [Asked(None, ())],
    "audit verify": [_needs(Permission.VIEW_AUDIT)],
    "audit list": [_needs(Permission.VIEW_AUDIT)],
    "audit export": [_needs(Permission.VIEW_AUDIT, f"{NOWHERE}.csv")],
}
"""Every command of the program; one that is not here fails the first test."""

CASES = [(name, asked) for name, several in COMMANDS.items() for asked in several]


def commands_of(command: click.Command, name: str = "") -> Iterator[str]:
    """Yield the names of a command's innermost commands."""
    if isinstance(command, click.Group):
        for word, inner in command.commands.items():
            yield from commands_of(inner, f"{name} {word}".strip())
    else:
        yield name


def test_every_command_has_its_permission_here() -> None:
    assert sorted(COMMANDS) == sorted(commands_of(typer.main.get_command(app)))


@pytest.fixture
def working_as(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make this process somebody whom the workspace's folder does not belong to; an account for each role exists."""
    with workspace.writing() as session:
        session.add_all(
            Account(
                id=new_id("acc"),
                created_by="test",
                name=role.value,
                display_name=role.value,
                roles=[role.value],
                password_hash="none that fits",
                password_changed_at=workspace.owner().created_at,
            )
            for role in Role
        )
    # Stopped at once where it is allowed; and no test changes how the process takes its signals.
    monkeypatch.setattr("pipeline.worker_process.run_worker", lambda *_, **__: None)
    monkeypatch.setattr("curator_app.cli.workspaces.signal.signal", lambda *_: None)

    def become(name: str) -> None:
        monkeypatch.setattr(Workspace, "is_operating_system_owner", lambda _self: False)
        monkeypatch.setattr("pipeline.people._accounts.operating_system_user", lambda: name)

    return become


def words(name: str, asked: Asked, workspace: Workspace) -> list[str]:
    return [*name.split(), *(word.replace(W, str(workspace.root)) for word in asked.arguments)]


@pytest.mark.parametrize(("name", "asked"), CASES, ids=[f"{name} {asked.permission}" for name, asked in CASES])
def test_who_may_run_it(
    here: Command, workspace: Workspace, working_as: Callable[[str], None], name: str, asked: Asked
) -> None:
    for role in Role:
        working_as(role.value)
        before = content_of(workspace.engine)
        ran = here(*words(name, asked, workspace), stdin="short\n")
        assert "Traceback" not in ran.err
        if asked.permission is None or role in GRANTS[asked.permission]:
            assert "may not do this" not in ran.err, f"{role} is refused"
        else:
            assert ran.code == 2, f"{role} is not refused"
            assert f"{role} may not do this ({asked.permission})" in ran.err
            assert "Ask an administrator" in ran.err
            assert ran.out == ""
            assert content_of(workspace.engine) == before


@pytest.mark.parametrize(("name", "asked"), CASES, ids=[f"{name} {asked.permission}" for name, asked in CASES])
def test_somebody_without_an_account_is_told_how_to_get_one(
    here: Command, workspace: Workspace, working_as: Callable[[str], None], name: str, asked: Asked
) -> None:
    working_as("stranger")
    before = content_of(workspace.engine)
    ran = here(*words(name, asked, workspace), stdin="short\n")
    assert "Traceback" not in ran.err
    if asked.permission is None:
        assert "stranger" not in ran.err
    else:
        assert ran.code == 2
        assert "histocurator users add stranger --role ROLE" in ran.err
        assert content_of(workspace.engine) == before


def test_a_closed_account_is_no_account(here: Command, workspace: Workspace, working_as: Callable[[str], None]) -> None:
    with workspace.writing() as session:
        session.add(
            Account(
                id=new_id("acc"),
                created_by="test",
                name="gone",
                display_name="gone",
                roles=["admin"],
                withdrawn_at=workspace.owner().created_at,
                withdrawn_reason="left",
            )
        )
    working_as("gone")
    ran = here("slides", "list", f"--workspace={workspace.root}")
    assert (ran.code, "gone has no open account" in ran.err) == (2, True)


def test_the_owner_of_the_folder_acts_as_the_account_made_with_it(here: Command, workspace: Workspace) -> None:
    assert here("users", "list", f"--workspace={workspace.root}").code == 0


def test_what_an_account_does_is_recorded_under_it(
    here: Command, with_slides: Workspace, working_as: Callable[[str], None]
) -> None:
    working_as("author")
    ran = here("rois", "sample", "--organ=liver", "--count=2", "--size=128", f"--workspace={with_slides.root}")
    assert ran.code == 0, ran.err
    assert {roi.created_by for roi, _ in list_rois(with_slides, states=("candidate",))} == {"author"}
