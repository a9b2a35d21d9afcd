"""`histocurator seeds`: import and list seed questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from curator_app.cli._output import (
    JsonOption,
    WorkspaceOption,
    check_choice,
    opened_workspace,
    print_json,
    print_table,
    print_text,
)

seeds_app = typer.Typer(help="Seed questions that pathologists write.", no_args_is_help=True)


@seeds_app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="CSV: roi, question, answer, category, author and, if wanted, notes.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import seed questions. All rows are good, or every bad one is listed with its line and none is imported."""
    with opened_workspace(workspace) as opened:
        from pipeline.seeds import import_seeds

        seeds = import_seeds(opened, file, who=opened.actor.name)
        if as_json:
            print_json({"imported": [seed.id for seed in seeds]})
        else:
            print_text(f"{len(seeds)} seeds imported.")


@seeds_app.command("list")
def list_(
    state: Annotated[
        str | None, typer.Option(help="Only this state: written, generating, ready, failed or dropped.")
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List seed questions with their state and, where generation failed, why."""
    with opened_workspace(workspace) as opened:
        from pipeline.seeds import list_seeds
        from pipeline.states import SEED_TRANSITIONS

        check_choice("--state", state, SEED_TRANSITIONS)
        entries = list_seeds(opened, states=(state,) if state else ())
        if as_json:
            print_json(
                [
                    {
                        "id": entry.seed.id,
                        "roi": entry.roi.id,
                        "organ": entry.roi.organ,
                        "category": entry.seed.category,
                        "question": entry.seed.question,
                        "answer": entry.seed.answer,
                        "author": entry.seed.author,
                        "state": entry.seed.state,
                        "reason": entry.seed.reason,
                    }
                    for entry in entries
                ]
            )
        elif not entries:
            print_text("No seeds yet. Write them in the app, or import a CSV file with 'seeds import'.")
        else:
            print_table(
                f"{len(entries)} seeds",
                ("id", "organ", "category", "question", "answer", "state", "reason"),
                [
                    (
                        e.seed.id,
                        e.roi.organ,
                        e.seed.category,
                        e.seed.question,
                        e.seed.answer,
                        e.seed.state,
                        e.seed.reason,
                    )
                    for e in entries
                ],
                cut=("question", "answer", "reason"),
            )
