"""An OpenID Connect provider on this machine, and workspaces that trust it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

from oidc_provider_mock import run_server_in_thread

from pipeline.people import add_account
from pipeline.settings import SETTINGS_FILE
from pipeline.workspace import Workspace, open_workspace

CLIENT = "histocurator-tests"
CLIENT_SECRET = "client-secret-of-the-tests"
NAME = "the institute's account"
PASSWORD = "a long enough test password"


@dataclass(frozen=True)
class TestProvider:
    """A running provider; whoever types a subject into its page is signed in as that one."""

    url: str

    __test__ = False

    def know(self, subject: str, **claims: object) -> None:
        """Set what the provider says of a subject; a claim of the protocol, such as `aud`, replaces the right one."""
        request = Request(  # noqa: S310
            f"{self.url}/users/{subject}",
            data=json.dumps(claims).encode(),
            headers={"Content-Type": "application/json"},
            method="PUT",
        )
        with urlopen(request, timeout=10):  # noqa: S310
            pass


@contextmanager
def running_provider() -> Iterator[TestProvider]:
    """Run a provider until the block ends."""
    with run_server_in_thread() as server:
        yield TestProvider(f"http://localhost:{server.server_port}")


def secrets_file(folder: Path, url: str, *, more: str = "") -> Path:
    """Write a secrets file for a provider."""
    file = folder / "oidc.toml"
    text = f"""\
        [auth]
        client_id = "{CLIENT}"
        client_secret = "{CLIENT_SECRET}"
        server_metadata_url = "{url}/.well-known/openid-configuration"
        """
    file.write_text(textwrap.dedent(text) + more)
    file.chmod(0o600)
    return file


def trusting(workspace: Workspace, folder: Path, url: str) -> Workspace:
    """Return the workspace with an administrator and settings that name the provider."""
    file = secrets_file(folder, url)
    with (workspace.root / SETTINGS_FILE).open("a") as settings:
        settings.write(
            f'\noidc_secrets = "{file}"\noidc_name = "{NAME}"\n'
            'oidc_roles = { "pathologists" = "author", "readers" = "reader" }\n'
        )
    add_account(workspace, "boss", roles=["admin"], password=PASSWORD, who="test")
    return open_workspace(workspace.root)
