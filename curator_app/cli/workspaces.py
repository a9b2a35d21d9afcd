"""`histocurator init`, `serve`, `worker`, `demo` and `retention`: make a workspace, open it, keep it."""

from __future__ import annotations

import os
import signal
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated

import typer

from curator_app.cli._output import (
    EXIT_NOTHING_USABLE,
    JsonOption,
    WorkspaceOption,
    opened_with_queue,
    opened_workspace,
    own_command,
    print_json,
    print_table,
    print_text,
    progress_bar,
    require_app,
    to_stderr,
)

if TYPE_CHECKING:
    from pipeline.workspace import Workspace

PortOption = Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65_535)]
DEFAULT_PORT = 8501
DEFAULT_HOST = "127.0.0.1"


def init(
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.")],
    as_json: JsonOption = False,
    workspace: Annotated[Path | None, typer.Option("--workspace", hidden=True)] = None,
) -> None:
    """Make a workspace."""
    require_app()
    from pipeline.errors import InputError
    from pipeline.workspace import create_workspace

    if workspace is not None and workspace.absolute() != folder.absolute():
        raise InputError("init makes the workspace in the folder it is given; leave --workspace away")
    created = create_workspace(folder)
    if as_json:
        print_json({"workspace": created.root, "owner": created.owner().name})
    else:
        print_text(f"Workspace made in {created.root}. Add slides next, or open it:")
        print_text(f"  {own_command()} slides add PATH --organ … --source … --licence … --workspace {created.root}")
        print_text(f"  {own_command()} serve --workspace {created.root}")


def serve(
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; beyond this computer only with accounts and a secret key."),
    ] = DEFAULT_HOST,
    port: PortOption = DEFAULT_PORT,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    workspace: WorkspaceOption = None,
) -> None:
    """Open the app, for this computer unless --host says otherwise, with a worker for long work."""
    with opened_with_queue(workspace) as opened:
        _serve(opened, host, port, browser)


def _serve(opened: Workspace, host: str, port: int, browser: bool) -> None:
    from curator_app.server import serve as serve_app
    from pipeline.permissions import Permission

    opened.actor.require(Permission.MANAGE_WORKSPACE)
    serve_app(opened.root, host=host, port=port, open_browser=browser)


class Queue(StrEnum):
    """Which queues a worker serves."""

    ALL = "all"
    JOBS = "jobs"
    SEEDS = "seeds"


def worker(
    queue: Annotated[
        Queue,
        typer.Option(
            help="What to take: whole jobs, the single seeds and items of them, or all. Other than all needs "
            "PostgreSQL."
        ),
    ] = Queue.ALL,
    until_stdin_ends: Annotated[bool, typer.Option(hidden=True)] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Run queued jobs until stopped; `serve` starts one of its own."""
    with opened_with_queue(workspace) as opened:
        from pipeline.permissions import Permission
        from pipeline.worker_process import check_queue_choice, run_worker

        opened.actor.require(Permission.MANAGE_WORKSPACE)
        check_queue_choice(opened.queue_url, queue.value)
        stop = Event()
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda *_: stop.set())
        if until_stdin_ends:
            # A server that is killed cannot end its worker: the pipe that ends with it does.
            Thread(target=_stop_with_stdin, args=(stop,), daemon=True).start()
        waits_for = {"all": "jobs", "jobs": "whole jobs", "seeds": "seeds and items of jobs"}[queue.value]
        to_stderr(f"The worker waits for {waits_for} of {opened.root}.")
        run_worker(opened, stop=stop, queue=queue.value)


def _stop_with_stdin(stop: Event) -> None:
    # Not by sys.stdin: a thread that waits in it when the program ends takes its lock along, and Python aborts.
    while os.read(0, 4096):
        pass
    stop.set()


def demo(
    serve_app: Annotated[bool, typer.Option("--serve/--no-serve", help="Open the app at the end.")] = True,
    port: PortOption = DEFAULT_PORT,
    real_slide: Annotated[
        bool,
        typer.Option("--real-slide", help="Also fetch OpenSlide's CC0 test slide CMU-1-Small-Region.svs."),
    ] = False,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    workspace: Annotated[
        Path | None,
        typer.Option("--workspace", help="Folder for the demo; one among your user data where not given."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Build the demo workspace from drawn slides, run every step on built-in models, open the app."""
    require_app()
    from pipeline.demo import build_demo, demo_folder

    root = workspace or demo_folder()
    with progress_bar("Demo") as progress:
        summary = build_demo(root, real_slide=real_slide, progress=progress)
    for note in summary.notes:
        to_stderr(note)
    if as_json:
        print_json(summary.as_dict())
    else:
        print_table("Demo workspace", ("step", "count"), list(summary.counts.items()))
        print_table(
            "Baselines (built in, no language models)",
            ("model", "mcq", "kprim", "free text", "overall"),
            [
                (row.model, *(f"{score:.3f}" if score is not None else "–" for score in row.scores))
                for row in summary.baselines
            ],
        )
        print_text(f"Workspace: {summary.root}")
        if not serve_app:
            print_text(f"Open it: {own_command()} serve --workspace {summary.root}")
    if not summary.counts.get("released"):
        raise typer.Exit(EXIT_NOTHING_USABLE)
    if serve_app:
        with opened_workspace(summary.root) as opened:
            _serve(opened, DEFAULT_HOST, port, browser)


def retention(
    apply: Annotated[bool, typer.Option("--apply", help="Delete what was kept long enough.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is kept of people, for how long and why; --apply deletes what was kept long enough."""
    with opened_workspace(workspace) as opened:
        from pipeline.people import apply_retention, retention_rules
        from pipeline.permissions import Permission

        if apply:
            counts = apply_retention(opened)
            if as_json:
                print_json({"deleted": counts})
            else:
                print_text(f"Deleted: {', '.join(f'{count} {what}' for what, count in counts.items())}.")
            return
        opened.actor.require(Permission.OWN_ACCOUNT)
        rules = retention_rules(opened.settings)
        if as_json:
            print_json([asdict(rule) for rule in rules])
        else:
            print_table(
                "What is kept of people",
                ("what", "how long", "setting", "why"),
                [(rule.what, rule.how_long, rule.setting, rule.why) for rule in rules],
            )
