"""The key that signs cookies, the cookies, and whose word counts for an address."""

from __future__ import annotations

import ast
import stat
from pathlib import Path

import pytest

from curator_app import identity
from curator_app.identity import KEY_FILE, SECRET_KEY_VARIABLE, Access, client_address, cookies_of, secret_key
from pipeline.errors import InputError
from pipeline.workspace import Workspace
from tests.curator_app.visitors import KEY, add_person, cookie_of, opened_session


@pytest.fixture(autouse=True)
def _no_key_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SECRET_KEY_VARIABLE, raising=False)


def test_the_workspaces_key_is_kept_and_private(workspace: Workspace) -> None:
    key = secret_key(workspace)
    assert len(key) == 64
    assert secret_key(workspace) == key
    assert stat.S_IMODE((workspace.root / KEY_FILE).stat().st_mode) == 0o600


def test_the_environments_key_comes_first_and_is_kept_nowhere(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET_KEY_VARIABLE, KEY)
    assert secret_key(workspace) == KEY
    assert not (workspace.root / KEY_FILE).exists()


def test_a_short_key_is_refused_and_not_repeated(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET_KEY_VARIABLE, "hunter2")
    with pytest.raises(InputError, match="7 characters; at least 32") as refused:
        secret_key(workspace)
    assert "hunter2" not in str(refused.value)


def test_a_restart_and_another_streamlit_sign_nobody_out(workspace: Workspace) -> None:
    """The cookie is signed by our key and looked up in our database; Streamlit has no part in it."""
    add_person(workspace, "ada")
    cookie = cookies_of(cookie_of(Access(workspace, KEY), opened_session(workspace, "ada")))
    known = Access(workspace, KEY).who_sends(cookie)
    assert known is not None
    assert known.actor.name == "ada"
    tree = ast.parse(Path(identity.__file__).read_text(encoding="utf-8"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [one.name for one in getattr(node, "names", [])]
        )
    }
    assert "streamlit" not in imported


def test_a_session_is_no_visit_and_a_visit_no_session(workspace: Workspace) -> None:
    access = Access(workspace, KEY)
    visit = cookies_of(access.visit_cookie().partition(";")[0])
    assert access.who_sends(visit) is not None
    add_person(workspace, "ada")
    assert access.who_sends(visit) is None
    assert access.who_sends(cookies_of(cookie_of(access, opened_session(workspace, "ada")))) is not None


def test_the_cookies_of_a_session_are_for_no_script_and_no_other_site(workspace: Workspace) -> None:
    add_person(workspace, "ada")
    access = Access(workspace, KEY)
    opened = opened_session(workspace, "ada")
    for cookie in (access.session_cookie(opened), access.no_cookie()):
        for attribute in ("Path=/", "HttpOnly", "SameSite=Lax"):
            assert attribute in cookie
        assert "Secure" not in cookie
    assert opened.secret in access.session_cookie(opened)
    assert "Max-Age=0" in access.no_cookie()


def test_a_form_token_is_for_one_browser_and_one_server(workspace: Workspace) -> None:
    access = Access(workspace, KEY)
    token = access.form_token("one browser")
    assert access.form_token_fits("one browser", token)
    assert not access.form_token_fits("another browser", token)
    assert not access.form_token_fits("", access.form_token(""))
    assert not Access(workspace, "o" * 64).form_token_fits("one browser", token)


@pytest.mark.parametrize(
    ("peer", "forwarded", "trusted", "address"),
    [
        ("10.0.0.9", "", [], "10.0.0.9"),
        ("10.0.0.9", "1.2.3.4", [], "10.0.0.9"),
        ("10.0.0.9", "1.2.3.4", ["10.0.0.1"], "10.0.0.9"),
        ("10.0.0.1", "1.2.3.4", ["10.0.0.1"], "1.2.3.4"),
        ("10.0.0.1", "6.6.6.6, 1.2.3.4", ["10.0.0.1"], "1.2.3.4"),
        ("10.0.0.1", "6.6.6.6, 1.2.3.4, 10.0.0.2", ["10.0.0.1", "10.0.0.2"], "1.2.3.4"),
        ("10.0.0.1", " , ", ["10.0.0.1"], "10.0.0.1"),
    ],
)
def test_only_a_trusted_proxys_word_counts(peer: str, forwarded: str, trusted: list[str], address: str) -> None:
    assert client_address(peer, forwarded, trusted) == address


def test_a_header_that_is_no_cookie_has_none() -> None:
    assert cookies_of("a=1; b=2") == {"a": "1", "b": "2"}
    for header in ("", ";;", "\x00", "=x", "a b c"):
        assert not any(cookies_of(header)), "none with a name"
