"""The local server: pages, pictures and the worker of one workspace, on this machine's own address only."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import secrets
import socket
import subprocess
import sys
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import streamlit as st
import typer
from starlette.middleware import Middleware

from curator_app.rail import addresses
from curator_app.routes import LocalGuard, OpenSlides, PageShell, draft_routes, nothing_else, picture_routes
from curator_app.session import use_workspace
from curator_app.theme import streamlit_options
from pipeline.errors import InputError
from pipeline.jobs import prepare_queue
from pipeline.workspace import Workspace, open_workspace

ADDRESS = "127.0.0.1"
DEFAULT_PORT = 8501
KEY_FILE = "session.key"
"""Signs the visit cookies; kept in the workspace so that an open tab survives a restart of the server."""

WORKER_END_S = 10
WORKER_CHECK_S = 2
MAX_WORKER_RESTARTS = 5

_APP_SCRIPT = Path(__file__).parent / "script" / "app.py"
_log = logging.getLogger(__name__)


def create_app(
    root: Path, *, port: int = DEFAULT_PORT, open_browser: bool = False, start_worker: bool = False
) -> st.App:
    """Return the ASGI app of a workspace.

    Args:
        root: the workspace's folder.
        port: where it will listen; only for the address that is printed and opened.
        open_browser: open the first page when the server is up.
        start_worker: run the worker as a child process while the server runs.

    Raises:
        InputError: no workspace there, or its database cannot be used.
    """
    workspace = open_workspace(root)
    use_workspace(workspace)
    prepare_queue(workspace)
    slides = OpenSlides()
    url = f"http://{ADDRESS}:{port}"

    @asynccontextmanager
    async def lifespan(_app: st.App) -> AsyncIterator[None]:
        worker = asyncio.create_task(_keep_worker(workspace)) if start_worker else None
        typer.echo(f"Histocurator shows {workspace.root} at {url} (Ctrl+C ends it)", err=True)
        if open_browser:
            asyncio.get_running_loop().call_later(0.5, webbrowser.open, url)
        try:
            yield
        finally:
            if worker is not None:
                worker.cancel()
                with suppress(asyncio.CancelledError):
                    await worker
            slides.close()

    return st.App(
        _APP_SCRIPT,
        routes=[
            *picture_routes(workspace, slides),
            *draft_routes(workspace),
            nothing_else("/api"),
            nothing_else("/vendor"),
        ],
        middleware=[
            Middleware(LocalGuard, key=_session_key(workspace)),
            Middleware(PageShell, pages=addresses()),
        ],
        lifespan=lifespan,
    )


def serve(root: Path, *, port: int = DEFAULT_PORT, open_browser: bool = True, start_worker: bool = True) -> None:
    """Serve a workspace until Ctrl+C.

    Raises:
        InputError: no workspace there, or the port is in use.
    """
    _check_port(port)
    app = create_app(root, port=port, open_browser=open_browser, start_worker=start_worker)
    app.run(config=_server_options(open_workspace(root), port))


def _server_options(workspace: Workspace, port: int) -> dict[str, Any]:
    return {
        "server.address": ADDRESS,
        "server.port": port,
        "server.headless": True,  # we print the address and open the browser
        "server.fileWatcherType": "none",
        "server.enableCORS": True,
        "server.enableXsrfProtection": True,
        "server.maxUploadSize": workspace.settings.max_upload_mb,
        "browser.gatherUsageStats": False,
        "browser.serverAddress": ADDRESS,
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
        "client.showErrorLinks": False,
        "runner.magicEnabled": False,
        "logger.hideWelcomeMessage": True,
        **streamlit_options(),
    }


def _check_port(port: int) -> None:
    if not 1 <= port <= 65535:
        raise InputError(f"--port is {port}; it must lie between 1 and 65535")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise InputError(f"Port {port} is in use; choose another one with --port") from None
            raise InputError(f"Port {port} cannot be used ({error.strerror}); choose another with --port") from None


def _session_key(workspace: Workspace) -> str:
    """Return the workspace's signing key; it is made on first use, readable by the owner alone."""
    path = workspace.root / KEY_FILE
    with (
        suppress(FileExistsError),
        os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file,
    ):
        file.write(secrets.token_hex(32))
    return path.read_text(encoding="ascii")


async def _keep_worker(workspace: Workspace) -> None:
    """Run the worker and start it again if it dies; end it when this task is cancelled."""
    command = [sys.executable, "-m", "curator_app", "worker", "--workspace", str(workspace.root)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603
    restarts = 0
    try:
        while True:
            await asyncio.sleep(WORKER_CHECK_S)
            if process.poll() is None:
                continue
            if restarts == MAX_WORKER_RESTARTS:
                _log.error("The worker ended %d times; jobs wait until the server is started again", restarts)
                return
            restarts += 1
            _log.error("The worker ended with code %s and is started again", process.returncode)
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(WORKER_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
