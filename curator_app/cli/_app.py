"""Puts the command groups together and turns errors into a message and an exit code."""

from __future__ import annotations

import logging
import os
import sys
from importlib.metadata import version
from typing import Annotated

import click
import typer

from curator_app.cli import (
    audit,
    backups,
    doctor,
    drawn_rois,
    encoders,
    evaluate,
    items,
    jobs,
    picks,
    releases,
    rois,
    seeds,
    slides,
    users,
    workspaces,
)
from curator_app.cli._output import (
    EXIT_BAD_INPUT,
    EXIT_DONE,
    EXIT_INTERRUPTED,
    EXIT_NOTHING_USABLE,
    MissingExtraError,
    in_words,
    keep_error,
    print_json_error,
    to_stderr,
)

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
rois.rois_app.command("draw")(drawn_rois.draw)
rois.rois_app.command("withdraw")(drawn_rois.withdraw)
rois.rois_app.command("export")(drawn_rois.export)
rois.rois_app.command("import-geojson")(drawn_rois.import_squares)
rois.rois_app.command("bins")(picks.bins)
rois.rois_app.command("quota")(picks.quota)
rois.rois_app.command("pick")(picks.pick)
rois.rois_app.command("reject")(picks.reject)
rois.rois_app.command("numbers")(picks.numbers)
rois.rois_app.command("diversity")(picks.diversity)
app.add_typer(rois.rois_app, name="rois")
app.add_typer(seeds.seeds_app, name="seeds")
app.add_typer(items.items_app, name="items")
app.add_typer(releases.release_app, name="release")
app.add_typer(evaluate.eval_app, name="eval")
app.add_typer(encoders.encoders_app, name="encoders")
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
        ended = app(standalone_mode=False)
        code: int | str | None = ended if isinstance(ended, int) else EXIT_DONE
    except SystemExit as end:
        code = end.code
    except click.ClickException as error:
        # With the usage, as click shows it.
        error.show()
        keep_error(error.format_message())
        code = error.exit_code
    except click.Abort:
        code, message = EXIT_NOTHING_USABLE, "Stopped."
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
    if code in (EXIT_DONE, None):
        return
    if code == EXIT_INTERRUPTED:
        message = "Stopped. What was finished is kept; run the command again to go on."
    if message:
        to_stderr(message)
    if "--json" in sys.argv:
        print_json_error()
    sys.exit(code)
