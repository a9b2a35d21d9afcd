"""`serve --host`: what is needed before the app is shown beyond this computer, and what doctor says of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curator_app import server
from curator_app.listening import check_port, shown_url
from pipeline.errors import InputError
from pipeline.people import add_account
from pipeline.workspace import Workspace
from tests.curator_app.cli.conftest import Command, Ran

KEY = "0123456789abcdef0123456789abcdef"
EVERYWHERE = "0.0.0.0"  # noqa: S104  (what is refused)
VARIABLE = "HISTOCURATOR_SECRET_KEY"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The options with which a server was started, instead of starting it."""
    options: list[dict[str, Any]] = []

    class App:
        def run(self, *, config: dict[str, Any]) -> None:
            options.append(config)

    monkeypatch.setattr(server.st, "App", lambda *_arguments, **_options: App())
    return options


@pytest.fixture
def serve(here: Command, workspace: Workspace) -> Callable[..., Ran]:
    def run(*arguments: str) -> Ran:
        return here("serve", "--no-browser", "--port=58731", f"--workspace={workspace.root}", *arguments)

    return run


@pytest.fixture
def account(workspace: Workspace) -> None:
    add_account(workspace, "ana", roles=["admin"], password="correct horse battery", who="test")


@pytest.mark.parametrize("host", [EVERYWHERE, "::", "127.0.0.2"])
def test_beyond_this_computer_needs_accounts_and_a_key(
    serve: Callable[..., Ran], started: list[dict[str, Any]], host: str
) -> None:
    ran = serve(f"--host={host}")
    assert ran.code == 2
    assert "beyond this computer" in ran.err
    assert "histocurator users add NAME --role admin" in ran.err
    assert f"{VARIABLE} is not set" in ran.err
    assert started == []


def test_accounts_alone_are_not_enough(
    serve: Callable[..., Ran], started: list[dict[str, Any]], account: None, workspace: Workspace
) -> None:
    ran = serve(f"--host={EVERYWHERE}")
    assert ran.code == 2
    assert f"{VARIABLE} is not set" in ran.err
    assert "there are no accounts" not in ran.err
    # The key that the workspace keeps for this computer does not count: whoever has a copy of the folder has it.
    (workspace.root / "session.key").write_text(KEY)
    assert serve(f"--host={EVERYWHERE}").code == 2
    assert started == []


def test_a_key_alone_is_not_enough(
    serve: Callable[..., Ran], started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    ran = serve(f"--host={EVERYWHERE}")
    assert (ran.code, "there are no accounts" in ran.err, KEY in ran.err) == (2, True, False)
    assert started == []


def test_a_short_key_is_refused_and_not_repeated(
    serve: Callable[..., Ran], started: list[dict[str, Any]], account: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, KEY[:31])
    ran = serve(f"--host={EVERYWHERE}")
    assert ran.code == 2
    assert "31 characters" in ran.err
    assert KEY[:31] not in ran.err
    assert started == []


def test_with_both_it_listens_and_warns_of_passwords_unencrypted(
    serve: Callable[..., Ran],
    started: list[dict[str, Any]],
    account: None,
    monkeypatch: pytest.MonkeyPatch,
    workspace: Workspace,
) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    ran = serve("--host=127.0.0.2")
    assert ran.code == 0, ran.err
    assert started[0]["server.address"] == "127.0.0.2"
    assert "unencrypted" in ran.err
    monkeypatch.setenv("HISTOCURATOR_PUBLIC_URL", "http://lab.example.org")
    assert "unencrypted" in serve("--host=127.0.0.2").err
    monkeypatch.setenv("HISTOCURATOR_PUBLIC_URL", "https://lab.example.org")
    assert "unencrypted" not in serve("--host=127.0.0.2").err
    assert started[-1]["browser.serverAddress"] == "lab.example.org"
    assert not any(KEY.encode() in path.read_bytes() for path in workspace.root.rglob("*") if path.is_file())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_computer_needs_neither(serve: Callable[..., Ran], started: list[dict[str, Any]], host: str) -> None:
    ran = serve(f"--host={host}")
    assert (ran.code, "Warning" in ran.err) == (0, False), ran.err
    assert started[0]["server.address"] == host


def test_a_proxy_in_front_is_beyond_this_computer_too(
    serve: Callable[..., Ran], started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HISTOCURATOR_PUBLIC_URL", "https://lab.example.org")
    ran = serve()
    assert (ran.code, "public_url https://lab.example.org" in ran.err) == (2, True)
    assert started == []


@pytest.mark.parametrize("host", ["nowhere.invalid", "203.0.113.77", "a b", "x" * 70])
def test_a_host_that_is_not_of_this_machine(host: str) -> None:
    with pytest.raises(InputError, match="is no address of this machine"):
        check_port(host, 58731)


def test_the_address_that_is_shown(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = workspace.settings
    monkeypatch.setattr("curator_app.listening.socket.gethostname", lambda: "lab")
    assert shown_url(settings, "127.0.0.1", 8501) == "http://127.0.0.1:8501"
    assert shown_url(settings, "::1", 8501) == "http://[::1]:8501"
    assert shown_url(settings, EVERYWHERE, 8501) == "http://lab:8501"
    public = settings.model_copy(update={"public_url": "https://lab.example.org"})
    assert shown_url(public, EVERYWHERE, 8501) == "https://lab.example.org"


def doctor(here: Command, workspace: Workspace) -> dict[str, dict[str, str]]:
    return {check["what"]: check for check in here("doctor", "--json", f"--workspace={workspace.root}").json}


def test_doctor_says_whether_people_sign_in(
    here: Command, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    checks = doctor(here, workspace)
    assert checks["accounts"]["status"] == "optional"
    assert checks["passwords"]["status"] == "ok"
    assert checks["single sign-on library"]["status"] == "ok"
    assert checks["single sign-on"]["found"] == "not configured"
    assert checks["serve beyond this computer"]["status"] == "optional"
    add_account(workspace, "ana", roles=["admin"], password="correct horse battery", who="test")
    monkeypatch.setenv(VARIABLE, KEY)
    monkeypatch.setenv("HISTOCURATOR_OIDC_SECRETS", str(tmp_path / "oidc.toml"))
    checks = doctor(here, workspace)
    assert checks["accounts"]["found"] == "everybody signs in"
    assert checks["serve beyond this computer"] == {
        "what": "serve beyond this computer",
        "status": "ok",
        "found": f"{VARIABLE} is set",
        "remedy": "",
    }
    assert checks["single sign-on"]["status"] == "broken"
    assert "cannot be read" in checks["single sign-on"]["found"]
    (tmp_path / "oidc.toml").write_text(
        '[auth]\nclient_id = "histocurator"\nclient_secret = "hidden from all"\n'
        'server_metadata_url = "https://login.example.org/.well-known/openid-configuration"\n'
    )
    (tmp_path / "oidc.toml").chmod(0o600)
    monkeypatch.setenv(VARIABLE, "eleven-more")
    checks = doctor(here, workspace)
    assert checks["single sign-on"]["found"] == "configured: single sign-on, back to http://127.0.0.1:8501"
    assert checks["serve beyond this computer"]["status"] == "broken"
    said = str(checks)
    assert "eleven-more" not in said
    assert "hidden from all" not in said
