"""Puts the command groups together and turns errors into a message and an exit code."""

from __future__ import annotations

import logging
import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from curator_app.cli import (
    audit,
    backups,
    doctor,
    evaluate,
    items,
    jobs,
    releases,
    rois,
    seeds,
    slides,
    users,
    workspaces,
)
from curator_app.cli._output import EXIT_BAD_INPUT, MissingExtraError, in_words, print_json_error, to_stderr

app = typer.Typer(
    name="histocurator",
    help="Build, validate, release and run pathology benchmarks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)
app.command("doctor")(doctor.doctor)
app.command("demo")(workspaces.demo)
app.command("init")(workspaces.init)
app.command("serve")(workspaces.serve)
app.command("worker")(workspaces.worker)
app.command("retention")(workspaces.retention)
app.command("backup")(backups.backup)
app.command("restore")(backups.restore)
app.add_typer(slides.slides_app, name="slides")
app.add_typer(rois.rois_app, name="rois")
app.add_typer(seeds.seeds_app, name="seeds")
app.add_typer(items.items_app, name="items")
app.add_typer(releases.release_app, name="release")
app.add_typer(evaluate.eval_app, name="eval")
app.add_typer(users.users_app, name="users")
app.add_typer(audit.audit_app, name="audit")
app.add_typer(jobs.jobs_app, name="jobs")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version("histocurator"))
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Build, validate, release and run pathology benchmarks."""


def main() -> None:
    """Run the command line; exit 0 done, 1 nothing usable came out, 2 bad input."""
    message = ""
    try:
        app()
    except SystemExit as end:
        if end.code in (0, None):
            raise
        code = end.code
    except KeyboardInterrupt:
        code, message = 130, "Stopped. What was finished is kept; run the command again to go on."
    except BrokenPipeError:
        # The reader of our output went away, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MissingExtraError as error:
        code, message = EXIT_BAD_INPUT, f"Error: {error}"
    except Exception as error:
        said = in_words(error)
        if said is None:
            raise
        logging.getLogger("histocurator").info("ended with an error", exc_info=True)
        code, message = EXIT_BAD_INPUT, f"Error: {said}"
    else:
        return
    if message:
        to_stderr(message)
    if "--json" in sys.argv:
        print_json_error()
    sys.exit(code)
