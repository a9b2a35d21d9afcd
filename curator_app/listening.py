"""Where the server listens: on this computer, or beyond it where accounts and a secret key protect it."""

from __future__ import annotations

import errno
import socket
from urllib.parse import urlsplit

from curator_app.identity import MIN_KEY_LENGTH, SECRET_KEY_VARIABLE, given_key
from pipeline.errors import InputError
from pipeline.people import accounts_exist
from pipeline.settings import Settings
from pipeline.workspace import Workspace

THIS_COMPUTER = frozenset({"127.0.0.1", "localhost", "::1"})
EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104  (compared with, not listened on)


_ADDRESS_FILE = "address"
"""In the workspace's cache: where the app was shown last."""

ADDRESS = "127.0.0.1"
DEFAULT_PORT = 8501


def check_host(workspace: Workspace, host: str) -> None:
    """Refuse to listen beyond this computer unless everybody signs in and nobody can forge a cookie.

    Raises:
        InputError: what is missing, and how to get it.
    """
    public = workspace.settings.public_url
    if host in THIS_COMPUTER and (public is None or urlsplit(public).hostname in THIS_COMPUTER):
        return
    missing = []
    if not accounts_exist(workspace):
        missing.append(
            "there are no accounts, so that whoever reaches it would be its administrator: "
            "histocurator users add NAME --role admin"
        )
    if given_key() is None:
        missing.append(
            f"{SECRET_KEY_VARIABLE} is not set: put at least {MIN_KEY_LENGTH} random characters into it, such as "
            "those that 'python -c \"import secrets; print(secrets.token_hex(32))\"' prints, and keep them"
        )
    if missing:
        # A proxy with a public address shows the app to others as well, wherever the app itself listens.
        what = f"--host {host}" if host not in THIS_COMPUTER else f"public_url {public}"
        raise InputError(f"{what} would show {workspace.root} beyond this computer. Not started:", missing)


def warning_of_host(settings: Settings, host: str) -> str | None:
    """Return what to say where passwords would travel over the network unencrypted, as far as we can know."""
    if host in THIS_COMPUTER or (settings.public_url or "").startswith("https://"):
        return None
    return (
        f"Warning: --host {host} without https: passwords and slides travel unencrypted. Put a proxy with TLS in "
        "front and set public_url to its https address (docs/people.md)."
    )


def check_port(host: str, port: int) -> None:
    """Refuse a port that cannot be listened on.

    Raises:
        InputError: it is in use or out of range, or the host is no address of this machine.
    """
    if not 1 <= port <= 65535:
        raise InputError(f"--port is {port}; it must lie between 1 and 65535")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError):
        raise InputError(f"--host {host!r} is no address of this machine") from None
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(place)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise InputError(f"Port {port} is in use; choose another one with --port") from None
            if error.errno == errno.EADDRNOTAVAIL:
                raise InputError(f"--host {host!r} is no address of this machine") from None
            raise InputError(f"Port {port} cannot be used ({error.strerror}); choose another with --port") from None


def shown_address(settings: Settings, host: str) -> str:
    """Return the host name that people type: the public one, or that of this machine where it listens everywhere."""
    if settings.public_url is not None:
        return urlsplit(settings.public_url).hostname or host
    return socket.gethostname() if host in EVERY_ADDRESS else host


def note_address(workspace: Workspace, url: str) -> None:
    """Note where the app is shown, so that commands can name the address in a link."""
    (workspace.cache / _ADDRESS_FILE).write_text(url, encoding="utf-8")


def link_base(workspace: Workspace) -> str:
    """Return the address that links begin with: the public one, else where the app was shown last."""
    if workspace.settings.public_url is not None:
        return workspace.settings.public_url
    try:
        return (workspace.cache / _ADDRESS_FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return f"http://{ADDRESS}:{DEFAULT_PORT}"


def opens_here_only(url: str) -> bool:
    """Say whether an address means another computer wherever it is opened."""
    return urlsplit(url).hostname in THIS_COMPUTER


def shown_url(settings: Settings, host: str, port: int) -> str:
    """Return the address of the first page, as people open it."""
    if settings.public_url is not None:
        return settings.public_url
    name = shown_address(settings, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
