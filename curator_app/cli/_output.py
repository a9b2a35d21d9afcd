"""What commands share: options, machine-readable output on stdout, everything else on stderr."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from pipeline.workspace import Workspace

EXIT_DONE = 0
EXIT_NOTHING_USABLE = 1
EXIT_FAULT_FOUND = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130

MOST_LISTED = 1_000_000
"""More rows than anybody lists, and a number that every database takes."""

WIDE = 1_000
"""Columns of output that no terminal shows."""

LONG_CELL = 120
"""So many characters of a long text stand in a table that goes to a file or a pipe, a line each row; --json has all."""

SECONDS_BETWEEN_LINES = 10.0
"""How often progress is said where there is no terminal to draw a bar on."""

_NUMBER = re.compile(r"[\d.,]+|–|")

WorkspaceOption = Annotated[
    Path | None,
    typer.Option("--workspace", help="Folder of the workspace; HISTOCURATOR_WORKSPACE where not given."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Machine-readable output on stdout.")]

_stderr = Console(stderr=True, soft_wrap=True)
# Away from a terminal nothing is folded: a reader of files and pipes wants whole lines.
_stdout = Console(soft_wrap=True, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDE)

DISPLAY_NAME_OPTION = "--display-name"


APP_PACKAGES = ("sqlmodel", "alembic", "argon2", "pydantic_settings", "dbos")


class MissingExtraError(Exception):
    """A command needs an optional part that is not installed."""


_last_error = "see the messages on stderr"


def to_stderr(text: str) -> None:
    """Print a line for a person, away from machine-readable output; the last "Error: …" is kept for that."""
    if text.startswith("Error: "):
        keep_error(text.removeprefix("Error: "))
    _stderr.print(text, markup=False, highlight=False)


def keep_error(message: str) -> None:
    """Keep what went wrong for the JSON document of a command that ends without one of its own."""
    global _last_error
    _last_error = message


def require_app() -> None:
    """Raise MissingExtraError where the app's packages are absent (a core install)."""
    missing = missing_app_packages()
    if missing:
        raise MissingExtraError(
            f"This command works on a workspace and needs the app extra ({missing[0]} is missing): {how_to_get('app')}"
        )


def how_to_get(extra: str) -> str:
    """Return how an optional part is installed: from the checkout, as the program itself is."""
    return f"pip install -e '.[{extra}]' in the checkout"


def own_command() -> str:
    """Return what to type to run this program again: its name where the shell finds it, else its path."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{sys.executable} -m {called.parent.name}"
    found = shutil.which(called.name)
    if found is not None and called.exists() and Path(found).resolve() != called.resolve():
        found = None
    return called.name if found is not None or not called.exists() else str(called)


def missing_app_packages() -> list[str]:
    """Return which of the app's packages this installation lacks."""
    return [package for package in APP_PACKAGES if importlib.util.find_spec(package) is None]


def is_input_error(error: Exception) -> bool:
    """Say whether an error tells a person what to do, rather than being a fault of the program."""
    from evaluation.encoders import EncoderError
    from evaluation.extraction import FeatureFileError
    from evaluation.items.prompts import PromptError
    from evaluation.models import ModelConfigurationError
    from evaluation.slides import SlideError
    from evaluation.stains import StainError
    from evaluation.vqa import BenchmarkError, PredictionsError, RunFolderError

    known: tuple[type[Exception], ...] = (
        SlideError,
        EncoderError,
        FeatureFileError,
        StainError,
        PromptError,
        ModelConfigurationError,
        BenchmarkError,
        PredictionsError,
        RunFolderError,
    )
    if "pipeline.errors" in sys.modules:
        from pipeline.errors import InputError

        known += (InputError,)
    return isinstance(error, known)


def in_words(error: Exception) -> str | None:
    """Return what to tell a person of an error that is no fault of the program, else None."""
    if is_input_error(error):
        return str(error)
    from pipeline.troubles import trouble_of

    trouble = trouble_of(error)
    return trouble.in_words if trouble is not None else None


def check_choice(option: str, value: str | None, known: Collection[str]) -> None:
    """Refuse a value that is none of the known ones, naming them."""
    if value is not None and value not in known:
        to_stderr(f"Error: {option} {value!r} is unknown; it is one of {', '.join(known)}.")
        raise typer.Exit(EXIT_BAD_INPUT)


@contextmanager
def opened_workspace(given: Path | None, **flags: Any) -> Iterator[Workspace]:
    """Open the workspace that is named by option or environment, with its log, for the person who runs the command.

    Raises:
        NotAllowedError: the person has no account in it.
    """
    require_app()
    from pipeline.in_use import using
    from pipeline.workspace import find_workspace

    root = find_workspace(given).expanduser().absolute()
    with using(root), _opened_as_caller(root, **flags) as workspace:
        yield workspace


@contextmanager
def opened_with_queue(given: Path | None) -> Iterator[Workspace]:
    """Open the workspace for what works with its jobs.

    Raises:
        NotAllowedError: the person has no account in it.
        InputError: its job queue is damaged.
    """
    with opened_workspace(given) as workspace:
        from pipeline.queue_file import require_queue

        require_queue(workspace)
        yield workspace


@contextmanager
def _opened_as_caller(root: Path, **flags: Any) -> Iterator[Workspace]:
    from pipeline.log import start_log
    from pipeline.people import command_line_actor
    from pipeline.permissions import NotAllowedError
    from pipeline.workspace import open_workspace

    workspace = open_workspace(root, **flags)
    try:
        actor = command_line_actor(workspace)
        if not actor.roles:
            raise NotAllowedError(
                f"{actor.name} has no open account with a role in {workspace.root}. Its owner makes one: "
                f"histocurator users add {actor.name} --role ROLE (the name is that of your operating-system user)."
            )
        start_log(workspace.log_file)
        logging.getLogger("histocurator").info("command: %s", " ".join(command_for_log(sys.argv[1:])))
        yield workspace.acting_as(actor)
    finally:
        workspace.engine.dispose()


def command_for_log(arguments: Sequence[str]) -> list[str]:
    """Return the words of a command without the names of people for others to read, which may be erased one day."""
    if arguments[:1] != ["users"]:
        return list(arguments)
    shown: list[str] = []
    for word in arguments:
        option, equals, _ = word.partition("=")
        if shown and shown[-1] == DISPLAY_NAME_OPTION:
            shown.append("…")
        elif equals and option == DISPLAY_NAME_OPTION:
            shown.append(f"{option}=…")
        else:
            shown.append(word)
    return shown


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar on stderr, or a line now and then where that is no terminal, and yield the callback for it."""
    if not _stderr.is_terminal:
        yield _lines(description)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=_stderr, transient=True) as bar:
        task = bar.add_task(description, total=None)

        def report(done: int, total: int, _message: str, /) -> None:
            bar.update(task, completed=done, total=total)

        yield report


def _lines(description: str) -> Callable[[int, int, str], None]:
    last = time.monotonic()

    def report(done: int, total: int, _message: str, /) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_LINES:
            last = now
            to_stderr(f"{description}: {done} of {total}")

    return report


_document_printed = False


def print_json_error() -> None:
    """Print the last error as the one JSON document, unless the command printed its own."""
    if not _document_printed:
        print_json({"error": _last_error})


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    global _document_printed
    _document_printed = True
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=_as_json) + "\n")


def _as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def print_text(text: str) -> None:
    """Print a line of human-readable results on stdout."""
    _stdout.print(text, markup=False, highlight=False)


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, cut: Collection[str] = ()
) -> None:
    """Print a table on stdout; numbers stand to the right, the first column is never broken.

    On a terminal cells are folded to its width. Elsewhere each row is one line, and long texts are cut.

    Args:
        title: stands above the table.
        columns: the headings.
        rows: one sequence of cells each; None is left blank.
        cut: columns of long texts: of these LONG_CELL characters are shown where there is no terminal.
    """
    table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    on_terminal = _stdout.is_terminal
    for place, name in enumerate(columns):
        numeric = bool(rows) and all(_is_number(row[place]) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold", no_wrap=place == 0 or numeric)
    for row in rows:
        # As Text: a bracket in a name is no markup.
        cells = ("" if cell is None else str(cell) for cell in row)
        table.add_row(
            *(
                Text(cell if on_terminal else _one_line(cell, short=name in cut))
                for name, cell in zip(columns, cells, strict=True)
            )
        )
    _stdout.print(table, soft_wrap=False)


def _one_line(text: str, *, short: bool) -> str:
    line = " ".join(text.split("\n"))
    return f"{line[: LONG_CELL - 1]}…" if short and len(line) > LONG_CELL else line


def _is_number(cell: Any) -> bool:
    return cell is None or isinstance(cell, int | float) or bool(_NUMBER.fullmatch(str(cell)))
