"""The app in processes of its own that can be killed and started again on the same port, with its worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import psutil

from pipeline.workspace import Workspace
from tests.curator_app.served import END_S, Served, free_port, wait_until_up

Target = Literal["app and worker", "app", "worker"]
TARGETS: tuple[Target, ...] = ("app and worker", "app", "worker")


class App:
    """`histocurator serve` of one workspace, started and killed as often as wanted."""

    def __init__(self, workspace: Workspace, folder: Path, *, environment: Mapping[str, str] | None = None) -> None:
        """Choose the port.

        Args:
            workspace: what it serves.
            folder: where it runs and where its output goes.
            environment: what stands in its environment besides this process's own.
        """
        self.workspace = workspace
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "serve.log"
        self._folder = folder
        self._environment = {**os.environ, **(environment or {})}
        self._server: subprocess.Popen[bytes] | None = None
        self._workers: dict[int, psutil.Process] = {}

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "-m", "curator_app", "serve", "--no-browser", "--port", str(self.port)]
        with self.log.open("ab") as output:
            self._server = subprocess.Popen(
                [*command, "--workspace", str(self.workspace.root)],
                cwd=self._folder,
                env=self._environment,
                stdout=output,
                stderr=output,
            )
        wait_until_up(Served(self.url, self.port, self.workspace, self._server, self.log))

    def workers(self) -> list[psutil.Process]:
        """Return the workers that run, those included whose server was killed."""
        if self._server is not None and self._server.poll() is None:
            for child in psutil.Process(self._server.pid).children():
                with suppress(psutil.NoSuchProcess):
                    if "worker" in child.cmdline():
                        self._workers[child.pid] = child
        return [one for one in self._workers.values() if _runs(one)]

    def kill(self, target: Target) -> None:
        """End processes with SIGKILL, all of the target at one moment."""
        doomed = self.workers() if "worker" in target else []
        # Known before the server is gone, so that its worker is found afterwards.
        self.workers()
        if "app" in target and self._server is not None:
            self._server.kill()
        for worker in doomed:
            with suppress(psutil.NoSuchProcess):
                worker.kill()
        if "app" in target and self._server is not None:
            self._server.wait()
        psutil.wait_procs(doomed, timeout=END_S)

    @property
    def is_up(self) -> bool:
        """Whether the server's process runs."""
        return self._server is not None and self._server.poll() is None

    def stop(self) -> None:
        """End it as Ctrl+C does, and workers that outlived a killed server."""
        left = self.workers()
        if self._server is not None and self.is_up:
            self._server.send_signal(signal.SIGTERM)
            self._server.wait(END_S)
        for worker in left:
            with suppress(psutil.NoSuchProcess):
                worker.terminate()
        psutil.wait_procs(left, timeout=END_S)


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@contextmanager
def running(workspace: Workspace, folder: Path, *, environment: Mapping[str, str] | None = None) -> Iterator[App]:
    """Serve a workspace until the block ends."""
    app = App(workspace, folder, environment=environment)
    app.start()
    try:
        yield app
    finally:
        app.stop()
