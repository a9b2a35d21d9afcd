"""`histocurator users`, `retention` and `release sign`: every command, bad input, and no secret left behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlmodel import select

from curator_app.cli._output import command_for_log
from curator_app.cli._passwords import read_password
from curator_app.listening import note_address
from db.tables import Account, AuditEvent
from pipeline.errors import InputError
from pipeline.people import find_account, open_invitation, reset_by_link, sign_in
from pipeline.permissions import Permission, Role
from pipeline.workspace import Workspace
from tests.curator_app.cli.conftest import Command, Ran
from tests.databases import content_of
from tests.pipeline.made_release import put_release

PASSWORD = "correct horse battery"
OTHER = "staple battery horse"


@pytest.fixture
def users(here: Command, workspace: Workspace) -> Command:
    """`histocurator users … --workspace W`."""

    def run(*arguments: object, stdin: str = "") -> Ran:
        return here("users", *arguments, "--workspace", workspace.root, stdin=stdin)

    return run


@pytest.fixture
def with_admin(users: Command) -> Command:
    """The same, after the first account."""
    assert add(users, "ana", "admin").code == 0
    return users


def add(users: Command, name: str, *roles: str, password: str = PASSWORD, more: tuple[str, ...] = ()) -> Ran:
    named = [word for role in roles for word in ("--role", role)]
    return users("add", name, *named, "--password-stdin", *more, stdin=f"{password}\n")


def test_the_first_account_must_be_an_administrators(users: Command, workspace: Workspace) -> None:
    refused = add(users, "bo", "author")
    assert refused.code == 2
    assert "histocurator users add bo --role admin" in refused.err
    assert find_account(workspace, "bo") is None
    first = add(users, "ana", "admin", more=("--display-name", "Ana Example"))
    assert (first.code, "From now on everybody signs in" in first.err) == (0, True)
    second = add(users, "bo", "author", "reviewer", password=OTHER, more=("--json",))
    assert second.err == ""
    assert second.json["roles"] == ["author", "reviewer"]
    account = find_account(workspace, "ana")
    assert account is not None
    assert (account.display_name, account.created_by) == ("Ana Example", workspace.owner().name)
    assert sign_in(workspace, "bo", OTHER, address="192.0.2.1", browser="test").secret


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (("bo", "--role", "pathologist"), PASSWORD, "pathologist is no role"),
        (("ana", "--role", "author"), PASSWORD, "'ana' is taken"),
        (("Bo", "--role", "author"), PASSWORD, "'Bo' is not allowed"),
        (("../bo", "--role", "author"), PASSWORD, "is not allowed"),
        (("bo", "--role", "author"), "short", "at least 12"),
        (("bo", "--role", "author"), "", "no line came on stdin"),
        (("bo", "--role", "author"), "\r\n", "no line came on stdin"),
        (("bo", "--role", "author", "--display-name", "x" * 81), PASSWORD, "display name has 81 characters"),
        (("bo",), PASSWORD, "--role"),
    ],
)
def test_an_account_that_cannot_be_made(
    with_admin: Command, workspace: Workspace, arguments: tuple[str, ...], stdin: str, said: str
) -> None:
    ran = with_admin("add", *arguments, "--password-stdin", "--json", stdin=stdin)
    assert ran.code == 2
    assert said in ran.err
    assert list(ran.json) == ["error"]
    assert "Traceback" not in ran.err
    with workspace.reading() as session:
        assert sorted(session.exec(select(Account.name))) == sorted([workspace.owner().name, "ana"])


def test_a_password_is_asked_for_at_a_terminal_only(with_admin: Command) -> None:
    ran = with_admin("add", "bo", "--role", "author", stdin=f"{PASSWORD}\n")
    assert ran.code == 2
    assert "--password-stdin" in ran.err


def test_a_typed_password_is_hidden_and_asked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, dict[str, object]]] = []

    def prompt(text: str, **options: object) -> str:
        asked.append((text, options))
        return PASSWORD

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("curator_app.cli._passwords.typer.prompt", prompt)
    assert read_password("Password of ana", from_stdin=False, twice=True) == PASSWORD
    assert read_password("Password of ana", from_stdin=False) == PASSWORD
    assert [options["hide_input"] for _, options in asked] == [True, True]
    assert [options["err"] for _, options in asked] == [True, True], "stdout belongs to the result"
    assert [bool(options["confirmation_prompt"]) for _, options in asked] == [True, False]


def test_one_line_of_stdin_is_the_password_without_its_line_end(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("  a pass phrase \r\nanother line\n"))
    assert read_password("", from_stdin=True) == "  a pass phrase "


def test_the_list_of_accounts(with_admin: Command, workspace: Workspace) -> None:
    listed = {person["name"]: person for person in with_admin("list", "--json").json}
    assert listed["ana"]["roles"] == ["admin"]
    assert listed["ana"]["signs_in_by"] == "password"
    assert listed[workspace.owner().name]["operating_system_owner"] is True
    assert "password_hash" not in listed["ana"]
    assert "ana" in with_admin("list").out


def test_an_invitation_is_shown_once(with_admin: Command, workspace: Workspace) -> None:
    made = with_admin("invite", "--role", "author", "--role", "reviewer", "--days", "3", "--json").json
    token = made["link"].removeprefix("http://127.0.0.1:8501/invitation/")
    assert open_invitation(workspace, token).roles == (Role.AUTHOR, Role.REVIEWER)
    listed = with_admin("invitations", "--json")
    assert [(row["id"], row["state"]) for row in listed.json] == [(made["id"], "open")]
    assert token not in listed.out + with_admin("invitations").out
    assert with_admin("withdraw-invitation", made["id"]).code == 0
    with pytest.raises(InputError):
        open_invitation(workspace, token)
    again = with_admin("withdraw-invitation", made["id"])
    assert (again.code, "withdrawn already" in again.err) == (2, True)


def test_links_lead_to_the_public_address(
    with_admin: Command, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HISTOCURATOR_PUBLIC_URL", "https://lab.example.org")
    ran = with_admin("invite", "--role", "reader")
    assert ran.out.startswith("https://lab.example.org/invitation/")
    assert len(ran.out.splitlines()) == 1
    assert "works once" in ran.err


def test_without_a_public_address_links_lead_to_where_the_app_was_shown_last(
    with_admin: Command, workspace: Workspace
) -> None:
    first = with_admin("invite", "--role", "reader")
    assert first.out.startswith("http://127.0.0.1:8501/invitation/")
    assert "opens on this computer only" in first.err
    note_address(workspace, "http://10.0.0.5:8602")
    then = with_admin("invite", "--role", "reader")
    assert then.out.startswith("http://10.0.0.5:8602/invitation/")
    assert "opens on this computer only" not in then.err


def test_invitations_that_cannot_be_made(users: Command) -> None:
    early = users("invite", "--role", "admin")
    assert (early.code, "Make the first account" in early.err) == (2, True)
    assert add(users, "ana", "admin").code == 0
    for arguments, said in [
        (("--role", "boss"), "boss is no role"),
        (("--role", "reader", "--days", "0"), "1 to 60"),
        (("--role", "reader", "--days", "61"), "1 to 60"),
        (("--role", "reader", "--display-name", "x" * 81), "81 characters"),
    ]:
        ran = users("invite", *arguments, "--json")
        assert (ran.code, list(ran.json)) == (2, ["error"]), ran.err
        assert said in ran.err
    assert users("invitations", "--json").json == []
    assert users("invitations").out.startswith("No ")


def test_a_reset_link_sets_a_new_password(with_admin: Command, workspace: Workspace) -> None:
    made = with_admin("reset", "ana", "--json").json
    reset_by_link(workspace, made["link"].rpartition("/")[2], password=OTHER)
    assert sign_in(workspace, "ana", OTHER, address="192.0.2.1", browser="test").secret


def test_roles_sign_out_unlock_close(with_admin: Command, workspace: Workspace) -> None:
    assert add(with_admin, "bo", "author", password=OTHER, more=("--display-name", "Bo Example")).code == 0
    assert with_admin("roles", "bo", "reviewer", "author", "--json").json == {
        "name": "bo",
        "roles": ["author", "reviewer"],
    }
    sign_in(workspace, "bo", OTHER, address="192.0.2.1", browser="test")
    assert with_admin("sign-out", "bo", "--json").json == {"name": "bo", "sessions": 1}
    assert with_admin("unlock", "bo", "--json").json == {"unlocked": "bo"}
    closed = with_admin("close", "bo", "--reason", "left the laboratory", "--forget-name", "--json").json
    assert closed["display_name"].startswith("P-")
    person = next(one for one in with_admin("list", "--json").json if one["name"] == "bo")
    assert person["closed_because"] == "left the laboratory"
    assert "left the laboratory" in with_admin("list").out
    with workspace.reading() as session:
        who = set(session.exec(select(AuditEvent.who).where(AuditEvent.object_id == find_id(workspace, "bo"))))
    assert who == {workspace.owner().name}, "commands are recorded under the account that runs them"


def find_id(workspace: Workspace, name: str) -> str:
    account = find_account(workspace, name)
    assert account is not None
    return account.id


@pytest.mark.parametrize(
    "arguments",
    [
        ("reset", "ghost"),
        ("roles", "ghost", "author"),
        ("close", "ghost", "--reason", "x"),
        ("sign-out", "ghost"),
        ("unlock", "ghost"),
        ("conflicts", "ghost"),
        ("withdraw-invitation", "inv_ghost"),
    ],
)
def test_an_unknown_name(with_admin: Command, arguments: tuple[str, ...]) -> None:
    ran = with_admin(*arguments, "--json")
    assert (ran.code, list(ran.json)) == (2, ["error"])
    assert "There is no" in ran.err
    assert "ghost" in ran.err


def test_what_would_lock_everybody_out_is_refused(with_admin: Command, workspace: Workspace) -> None:
    owner = workspace.owner().name
    for arguments, said in [
        (("roles", "ana", "author"), "last administrator"),
        (("close", "ana", "--reason", "x"), "last administrator"),
        (("roles", owner, "author"), "stays admin"),
        (("close", owner, "--reason", "x"), "cannot be closed"),
        (("close", "ana", "--reason", " "), "Say why"),
        (("roles", "ana", "emperor"), "emperor is no role"),
        (("roles", "ana"), "ROLE"),
    ]:
        ran = with_admin(*arguments)
        assert ran.code == 2, arguments
        assert said in ran.err
    assert add(with_admin, "bo", "admin", password=OTHER).code == 0
    assert with_admin("close", "bo", "--reason", "x").code == 0
    for command in (("roles", "bo", "author"), ("close", "bo", "--reason", "x"), ("reset", "bo"), ("sign-out", "bo")):
        ran = with_admin(*command)
        assert (ran.code, "'bo' is closed" in ran.err) == (2, True), command


def test_conflicts_are_the_items_that_somebody_made(here: Command, with_seeds: Workspace) -> None:
    def run(*arguments: object, stdin: str = "") -> Ran:
        return here(*arguments, "--workspace", with_seeds.root, stdin=stdin)

    stdin = f"{PASSWORD}\n"
    assert run("users", "add", "ana", "--role", "admin", "--password-stdin", stdin=stdin).code == 0
    assert run("items", "generate").code == 0
    items = [item["id"] for item in run("items", "list", "--json").json]
    assert run("users", "conflicts", with_seeds.owner().name, "--json").json["items"] == sorted(items)
    assert run("users", "conflicts", "ana", "--json").json["items"] == []
    assert "may answer all" in run("users", "conflicts", "ana").out
    assert run("users", "conflicts", with_seeds.owner().name).out.split() == sorted(items)


def test_the_table_of_permissions(here: Command) -> None:
    table = here("users", "permissions", "--json").json
    assert list(table) == [permission.value for permission in Permission]
    assert table[Permission.SIGN_RELEASES.value] == {
        "admin": True,
        "coordinator": True,
        "author": False,
        "reviewer": False,
        "reader": False,
        "auditor": False,
    }
    assert Permission.SIGN_RELEASES.value in here("users", "permissions").out


def test_retention_shows_and_deletes(here: Command, with_admin: Command, workspace: Workspace) -> None:
    shown = here("retention", "--json", "--workspace", workspace.root).json
    assert {"keep_sessions_days", "keep_drafts_days"} <= {rule["setting"] for rule in shown}
    assert "90 days" in here("retention", "--workspace", workspace.root).out
    deleted = here("retention", "--apply", "--json", "--workspace", workspace.root).json
    assert set(deleted["deleted"].values()) == {0}
    assert "0 sessions" in here("retention", "--apply", "--workspace", workspace.root).out


def test_signing_asks_for_the_password_of_the_account(here: Command, with_admin: Command, workspace: Workspace) -> None:
    folder = Path(put_release(workspace, {"README.md": b"a card"}).path)
    assert add(with_admin, "cy", "author", password=OTHER).code == 0

    def sign(*arguments: object, password: str = PASSWORD) -> Ran:
        words = ("release", "sign", *arguments, "--password-stdin", "--json", "--workspace", workspace.root)
        return here(*words, stdin=f"{password}\n")

    listing = ("release", "list", "--workspace", workspace.root)
    for arguments, password, said in [
        (("liver", "1.0.0"), PASSWORD, "has no password here"),
        (("liver", "1.0.0", "--as", "ana"), OTHER, "Name or password is wrong"),
        (("liver", "1.0.0", "--as", "cy"), OTHER, "cy may not do this (releases: sign)"),
        (("liver", "1.0.0", "--as", "ghost"), PASSWORD, "ghost may not do this"),
        (("liver", "2.0.0", "--as", "ana"), PASSWORD, "no release liver 2.0.0"),
        (("liver", "1.0.0", "--as", "ana", "--meaning", " "), PASSWORD, "Say what the signature means"),
    ]:
        ran = sign(*arguments, password=password)
        assert (ran.code, list(ran.json)) == (2, ["error"]), arguments
        assert said in ran.err
        assert here(*listing, "--json").json[0]["signatures"] == []
    assert not (folder / "signature.json").exists()

    signed = sign("liver", "1.0.0", "--as", "ana", "--meaning", "approved for teaching")
    assert signed.code == 0, signed.err
    assert (signed.json["name"], signed.json["role"]) == ("ana", "admin")
    release = here(*listing, "--json").json[0]
    assert release["signed"] is True
    assert [(one["name"], one["meaning"]) for one in release["signatures"]] == [("ana", "approved for teaching")]
    assert "ana (admin)" in here(*listing).out
    twice = sign("liver", "1.0.0", "--as", "ana")
    assert (twice.code, "already" in twice.err) == (2, True)

    (folder / "README.md").write_text("another card")
    assert add(with_admin, "bo", "coordinator", password=OTHER).code == 0
    changed = sign("liver", "1.0.0", "--as", "bo", password=OTHER)
    assert (changed.code, "README.md: its SHA-256 differs" in changed.err) == (2, True)


def test_no_secret_and_no_display_name_is_left_in_logs_or_database(
    here: Command, with_admin: Command, workspace: Workspace
) -> None:
    put_release(workspace, {"README.md": b"a card"})
    assert add(with_admin, "bo", "author", password=OTHER, more=("--display-name", "Bo Someone")).code == 0
    assert add(with_admin, "bo", "author", password=OTHER, more=("--display-name=Bo Someone",)).code == 2
    links = [
        with_admin("invite", "--role", "reader", "--display-name", "Cy Someone", "--json").json["link"],
        with_admin("invite", "--role", "admin").out.strip(),
        with_admin("reset", "bo", "--json").json["link"],
        with_admin("reset", "ana").out.strip(),
    ]
    words = ("release", "sign", "liver", "1.0.0", "--as", "ana", "--password-stdin", "--workspace", workspace.root)
    assert here(*words, stdin="a wrong pass phrase\n").code == 2
    assert here(*words, stdin=f"{PASSWORD}\n").code == 0
    secrets = [PASSWORD, OTHER, "a wrong pass phrase", *(link.rpartition("/")[2] for link in links)]
    files = [path for path in workspace.root.rglob("*") if path.is_file()]
    assert workspace.log_file in files
    kept = {path.name: path.read_bytes() for path in files} | {"rows": str(content_of(workspace.engine)).encode()}
    for name, data in kept.items():
        assert [secret for secret in secrets if secret.encode() in data] == [], name
    log = workspace.log_file.read_text()
    assert "Someone" not in log
    assert "users add bo --role author --password-stdin --display-name …" in log
    assert "release sign liver 1.0.0 --as ana" in log


def test_a_release_keeps_its_name_in_the_log() -> None:
    words = ["release", "build", "--name", "liver"]
    assert command_for_log(words) == words
    assert command_for_log(["users", "invite", "--display-name=Cy X", "--role", "reader"]) == [
        "users",
        "invite",
        "--display-name=…",
        "--role",
        "reader",
    ]
