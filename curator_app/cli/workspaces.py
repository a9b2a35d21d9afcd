"""`histocurator init`, `serve`, `worker` and `demo`: make a workspace and open it."""

from __future__ import annotations

import signal
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from curator_app.cli._output import (
    EXIT_NOTHING_USABLE,
    JsonOption,
    WorkspaceOption,
    opened_workspace,
    print_json,
    print_table,
    print_text,
    progress_bar,
    require_app,
    to_stderr,
)

PortOption = Annotated[int, typer.Option(help="Port on 127.0.0.1.", min=1, max=65_535)]
DEFAULT_PORT = 8501


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
        print_text(f"  histocurator slides add PATH --organ … --source … --licence … --workspace {created.root}")
        print_text(f"  histocurator serve --workspace {created.root}")


def serve(
    port: PortOption = DEFAULT_PORT,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    workspace: WorkspaceOption = None,
) -> None:
    """Open the app for this computer (127.0.0.1), with a worker for long work."""
    with opened_workspace(workspace) as opened:
        _serve(opened.root, port, browser)


def _serve(root: Path, port: int, browser: bool) -> None:
    from curator_app.server import serve as serve_app

    serve_app(root, port=port, open_browser=browser)


def worker(workspace: WorkspaceOption = None) -> None:
    """Run queued jobs until stopped; `serve` starts one of its own."""
    with opened_workspace(workspace) as opened:
        from pipeline.worker import run_worker

        stop = Event()
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda *_: stop.set())
        to_stderr(f"The worker waits for jobs of {opened.root}.")
        run_worker(opened, stop=stop)


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
            print_text(f"Open it: histocurator serve --workspace {summary.root}")
    if not summary.counts.get("released"):
        raise typer.Exit(EXIT_NOTHING_USABLE)
    if serve_app:
        with opened_workspace(summary.root) as opened:
            _serve(opened.root, port, browser)
