"""The server: what it refuses to start with, and the options that it sets whatever the folder it runs in."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from curator_app import server
from curator_app.identity import KEY_FILE, secret_key
from pipeline.errors import InputError
from pipeline.jobs import job_status, submit
from pipeline.workspace import Workspace
from tests.curator_app.served import serving


def test_a_port_in_use_is_said_with_what_to_do(workspace: Workspace) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=rf"Port {port} is in use.*--port"):
            server.serve(workspace.root, port=port, open_browser=False, start_worker=False)


@pytest.mark.parametrize("port", [0, -1, 65_536])
def test_a_port_out_of_range_is_refused(workspace: Workspace, port: int) -> None:
    with pytest.raises(InputError, match="--port"):
        server.serve(workspace.root, port=port, open_browser=False)


def test_no_workspace_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no workspace"):
        server.create_app(tmp_path)


def test_options_keep_the_app_on_this_machine(workspace: Workspace) -> None:
    options = server._server_options(workspace, server.ADDRESS, 8765)
    assert options["server.address"] == "127.0.0.1"
    assert options["server.port"] == 8765
    assert options["browser.gatherUsageStats"] is False
    assert options["server.fileWatcherType"] == "none"
    assert options["server.maxUploadSize"] == workspace.settings.max_upload_mb


def test_no_message_is_left_to_the_cache_of_a_tab(workspace: Workspace) -> None:
    """A tab whose cache lost what the server still refers to is dead; quick saving brought it there."""
    options = server._server_options(workspace, server.ADDRESS, 8765)
    assert options["global.minCachedMessageSize"] > workspace.settings.max_upload_mb * 1e6


def test_the_session_key_is_kept_and_private(workspace: Workspace) -> None:
    key = secret_key(workspace)
    assert len(key) == 64
    assert secret_key(workspace) == key
    mode = stat.S_IMODE((workspace.root / KEY_FILE).stat().st_mode)
    assert mode == 0o600


def test_the_command_says_that_the_port_is_in_use(workspace: Workspace) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        command = [sys.executable, "-m", "curator_app", "serve", "--workspace", str(workspace.root)]
        done = subprocess.run([*command, "--port", port], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"Port {port} is in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_served_workspace_runs_jobs_and_ends_with_its_worker(workspace: Workspace, tmp_path: Path) -> None:
    with serving(workspace, tmp_path) as served:
        job = submit(workspace, "add_slides", paths=["/nowhere/x.svs"], metadata=METADATA_FIELDS)
        deadline = time.monotonic() + 30
        while job_status(workspace, job).active and time.monotonic() < deadline:
            time.sleep(0.2)
        status = job_status(workspace, job)
        assert status.state == "done"
        assert "no such file" in str(status.result)
        worker = _children(served.process.pid)
        assert len(worker) == 1
        assert _listens_only_here(served.port)
    assert served.process.returncode == -signal.SIGTERM
    assert not Path(f"/proc/{worker[0]}").exists()


def test_a_worker_that_dies_is_started_again(workspace: Workspace, tmp_path: Path) -> None:
    with serving(workspace, tmp_path) as served:
        (first,) = _wait_for_children(served.process.pid)
        os.kill(first, signal.SIGKILL)
        deadline = time.monotonic() + 20
        while _children(served.process.pid) in ([first], []) and time.monotonic() < deadline:
            time.sleep(0.2)
        (second,) = _children(served.process.pid)
        assert second != first


METADATA_FIELDS = {"organ": "liver", "source": "tests", "licence": "CC0-1.0"}


def _children(parent: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def _wait_for_children(parent: int) -> list[int]:
    deadline = time.monotonic() + 20
    while not (found := _children(parent)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def _listens_only_here(port: int) -> bool:
    """Whether the port is bound to 127.0.0.1 and to nothing else."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    local = [row[1] for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == port]
    return local == [f"0100007F:{port:04X}"]
