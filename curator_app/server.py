"""The local server: pages, pictures and the worker of one workspace, on this machine's own address only."""

from __future__ import annotations

import asyncio
import logging
import os
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

from curator_app.identity import Access, secret_key
from curator_app.listening import (
    ADDRESS,
    DEFAULT_PORT,
    check_host,
    check_port,
    note_address,
    shown_address,
    shown_url,
    warning_of_host,
)
from curator_app.rail import addresses
from curator_app.routes import (
    Guard,
    OpenSlides,
    PageShell,
    ProviderAnswers,
    Troubles,
    account_routes,
    answered_names,
    audit_routes,
    download_routes,
    draft_routes,
    lease_routes,
    nothing_else,
    picture_routes,
    provider_routes,
    save_routes,
    script_routes,
    slide_roi_routes,
)
from curator_app.session import use_workspace
from curator_app.single_sign_on import HandOver, load_provider, use_hand_over
from curator_app.theme import streamlit_options
from curator_app.troubles import show_trouble
from pipeline.jobs import prepare_queue
from pipeline.log import scrub_consoles
from pipeline.people import apply_retention
from pipeline.workspace import Workspace, open_workspace

WORKER_END_S = 10
WORKER_CHECK_S = 2
MAX_WORKER_RESTARTS = 5
RETENTION_S = 24 * 3600

NO_MESSAGE = 1e12
"""Bytes that no message to a browser has: Streamlit keeps those beyond in a cache of the tab."""

_APP_SCRIPT = Path(__file__).parent / "script" / "app.py"
_log = logging.getLogger(__name__)


def create_app(
    root: Path,
    *,
    host: str = ADDRESS,
    port: int = DEFAULT_PORT,
    open_browser: bool = False,
    start_worker: bool = False,
) -> st.App:
    """Return the ASGI app of a workspace.

    Args:
        root: the workspace's folder.
        host: where it will listen.
        port: where it will listen; only for the address that is printed and opened.
        open_browser: open the first page when the server is up.
        start_worker: run the worker as a child process while the server runs.

    Raises:
        InputError: no workspace there, its database cannot be used, it may not be shown beyond this computer, or
            the identity provider's secrets file is wrong.
    """
    workspace = open_workspace(root)
    check_host(workspace, host)
    access = Access(workspace, secret_key(workspace))
    use_workspace(workspace, access)
    prepare_queue(workspace)
    slides = OpenSlides()
    url = shown_url(workspace.settings, host, port)
    hand_over = _hand_over(workspace, url)
    provider = hand_over.provider if hand_over is not None else None

    @asynccontextmanager
    async def lifespan(_app: st.App) -> AsyncIterator[None]:
        scrub_consoles()
        worker = asyncio.create_task(_keep_worker(workspace)) if start_worker else None
        tidying = asyncio.create_task(_delete_what_was_kept_long_enough(workspace))
        note_address(workspace, url)
        typer.echo(f"Histocurator shows {workspace.root} at {url} (Ctrl+C ends it)", err=True)
        if open_browser:
            asyncio.get_running_loop().call_later(0.5, webbrowser.open, url)
        try:
            yield
        finally:
            for task in (tidying, worker):
                if task is not None:
                    task.cancel()
                    with suppress(asyncio.CancelledError):
                        await task
            slides.close()

    return st.App(
        _APP_SCRIPT,
        routes=[
            *account_routes(
                workspace, access, pages=addresses(), provider_name=provider.name if provider is not None else None
            ),
            *picture_routes(workspace, slides),
            *draft_routes(workspace),
            *save_routes(workspace),
            *slide_roi_routes(workspace),
            *lease_routes(workspace),
            *download_routes(workspace),
            *audit_routes(workspace),
            *(provider_routes(workspace, access, hand_over, pages=addresses()) if hand_over is not None else []),
            *script_routes(),
            nothing_else("/sign-in"),
            nothing_else("/api"),
            nothing_else("/vendor"),
        ],
        middleware=[
            Middleware(Troubles),
            Middleware(
                Guard, access=access, hosts=answered_names(workspace.settings, host), provider=provider is not None
            ),
            Middleware(PageShell, pages=addresses()),
            *([Middleware(ProviderAnswers, hand_over=hand_over)] if hand_over is not None else []),
        ],
        on_script_error=show_trouble,
        secrets=provider.secrets if provider is not None else None,
        lifespan=lifespan,
    )


def _hand_over(workspace: Workspace, url: str) -> HandOver | None:
    """Return the hand-over from the provider that the settings name; the app's script finds the same one."""
    provider = load_provider(workspace, url)
    found = HandOver(provider) if provider is not None else None
    use_hand_over(found)
    return found


def serve(
    root: Path,
    *,
    host: str = ADDRESS,
    port: int = DEFAULT_PORT,
    open_browser: bool = True,
    start_worker: bool = True,
) -> None:
    """Serve a workspace until Ctrl+C.

    Raises:
        InputError: no workspace there, the port is in use, or it may not be shown beyond this computer.
    """
    check_port(host, port)
    app = create_app(root, host=host, port=port, open_browser=open_browser, start_worker=start_worker)
    workspace = open_workspace(root)
    if (warning := warning_of_host(workspace.settings, host)) is not None:
        typer.echo(warning, err=True)
    # uvicorn would believe X-Forwarded-For of everybody on this computer; the setting `trusted_proxies` says whom to.
    os.environ["FORWARDED_ALLOW_IPS"] = ""
    app.run(config=_server_options(workspace, host, port))


def _server_options(workspace: Workspace, host: str, port: int) -> dict[str, Any]:
    return {
        "server.address": host,
        "server.port": port,
        "server.headless": True,  # we print the address and open the browser
        "server.fileWatcherType": "none",
        "server.enableCORS": True,
        "server.enableXsrfProtection": True,
        "server.trustedUserHeaders": {},  # whom a header names is nobody's word
        "secrets.files": [],  # only what the settings name
        "server.maxUploadSize": workspace.settings.max_upload_mb,
        "browser.gatherUsageStats": False,
        "browser.serverAddress": shown_address(workspace.settings, host),
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
        "client.showErrorLinks": False,
        "runner.magicEnabled": False,
        # After a trouble, choices are put back into their fields, which have their defaults as well.
        "global.disableWidgetStateDuplicationWarning": True,
        # A message of the cache that a quick rerun still refers to may have left the browser: the tab is dead then.
        "global.minCachedMessageSize": NO_MESSAGE,
        "logger.hideWelcomeMessage": True,
        **streamlit_options(),
    }


async def _delete_what_was_kept_long_enough(workspace: Workspace) -> None:
    """Carry out the rules of retention when the server starts and once a day."""
    while True:
        try:
            deleted = await asyncio.to_thread(apply_retention, workspace)
        except Exception:
            _log.exception("What was kept long enough could not be deleted; it is tried again tomorrow")
        else:
            _log.info("kept long enough and deleted: %s", deleted)
        await asyncio.sleep(RETENTION_S)


async def _keep_worker(workspace: Workspace) -> None:
    """Run the worker and start it again if it dies; end it when this task is cancelled."""
    command = [sys.executable, "-m", "curator_app", "worker", "--workspace", str(workspace.root), "--until-stdin-ends"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)  # noqa: S603
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
            process = subprocess.Popen(command, stdin=subprocess.PIPE)  # noqa: S603
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
