"""The app as it is started for a person: its own process with its worker, on a free port."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from pipeline.workspace import Workspace

START_S = 60
END_S = 20


@dataclass(frozen=True)
class Served:
    """A running server: where it listens, its workspace, and where its output goes."""

    url: str
    port: int
    workspace: Workspace
    process: subprocess.Popen[bytes]
    log: Path


def free_port() -> int:
    """Return a port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(workspace: Workspace, folder: Path) -> Iterator[Served]:
    """Run `histocurator serve` in an unrelated folder until the block ends."""
    port = free_port()
    log = folder / "serve.log"
    command = [sys.executable, "-m", "curator_app", "serve", "--no-browser", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--workspace", str(workspace.root)], cwd=folder, stdout=output, stderr=output
        )
    served = Served(f"http://127.0.0.1:{port}", port, workspace, process, log)
    try:
        wait_until_up(served)
        yield served
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(END_S)


def wait_until_up(served: Served) -> None:
    """Wait until a server answers."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if served.process.poll() is not None:
            break
        try:
            with urlopen(f"{served.url}/_stcore/health", timeout=5):  # noqa: S310
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(f"the server did not start:\n{served.log.read_text()}")
