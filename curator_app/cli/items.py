"""`histocurator items`: generate, list and approve items."""

from __future__ import annotations

from typing import Annotated

import typer

from curator_app.cli._output import (
    EXIT_NOTHING_USABLE,
    JsonOption,
    WorkspaceOption,
    check_choice,
    opened_workspace,
    print_json,
    print_table,
    print_text,
    progress_bar,
    to_stderr,
)

items_app = typer.Typer(help="Items: three formats of each seed.", no_args_is_help=True)


@items_app.command("generate")
def generate(
    model: Annotated[str | None, typer.Option(help="Writing model (an inspect_ai name).")] = None,
    checker: Annotated[str | None, typer.Option(help="Image-free checker (an inspect_ai name).")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the items of every seed that waits, check them without the image, rewrite those that are guessed."""
    with opened_workspace(workspace) as opened:
        from pipeline.permissions import Permission
        from pipeline.variants import choose_models, generate_items, pending_seeds

        opened.actor.require(Permission.GENERATE_ITEMS)
        models = choose_models(opened, generator=model, checker=checker)
        waiting = pending_seeds(opened)
        with progress_bar("Writing and checking") as progress:
            report = generate_items(opened, models=models, seed_ids=waiting, who=opened.actor.name, progress=progress)
        for name in report.offline:
            to_stderr(f"Note: {name} is built in and is no language model.")
        failed = [result for result in report.results if result.state != "ready"]
        for result in failed:
            to_stderr(f"{result.seed_id} {result.state}: {result.reason}")
        if as_json:
            print_json(
                {
                    "generator": models.generator,
                    "checker": models.checker,
                    "ready": report.ready,
                    "failed": [
                        {"seed": result.seed_id, "state": result.state, "reason": result.reason} for result in failed
                    ],
                    "offline": list(report.offline),
                }
            )
        else:
            print_text(f"{report.ready} of {len(report.results)} seeds have items now, {len(failed)} failed.")
        if not waiting:
            to_stderr("No seed waits for items. Write seeds in the app, or import some.")
        if report.ready == 0:
            raise typer.Exit(EXIT_NOTHING_USABLE)


@items_app.command("list")
def list_(
    state: Annotated[str | None, typer.Option(help="Only this state, such as passed or approved.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the items that exist; a failed seed has none."""
    with opened_workspace(workspace) as opened:
        from pipeline.review import list_items
        from pipeline.states import ITEM_TRANSITIONS

        check_choice("--state", state, ITEM_TRANSITIONS)
        entries = list_items(opened, states=(state,) if state else ())
        if as_json:
            print_json(
                [
                    {
                        "id": e.item.id,
                        "seed": e.seed.id,
                        "roi": e.roi.id,
                        "organ": e.roi.organ,
                        "category": e.seed.category,
                        "format": e.item.format,
                        "state": e.item.state,
                        "reason": e.item.reason,
                        "version": e.version.number,
                        "content": e.content.model_dump(mode="json"),
                        "provenance": e.version.provenance,
                    }
                    for e in entries
                ]
            )
        elif not entries:
            print_text("No items yet. Write them with 'histocurator items generate'.")
        else:
            print_table(
                f"{len(entries)} items",
                ("id", "organ", "format", "state", "version", "stem"),
                [
                    (e.item.id, e.roi.organ, e.item.format, e.item.state, e.version.number, e.content.stem)
                    for e in entries
                ],
                cut=("stem",),
            )


@items_app.command("approve")
def approve(
    passed: Annotated[bool, typer.Option("--passed", help="Approve every item that passed the image-free check.")],
    as_user: Annotated[str, typer.Option("--as", help="In whose name; your own is recorded with it.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Approve items on the command line; for the workspace's operating-system owner, and recorded as such."""
    if not passed:
        raise typer.BadParameter("say which items: --passed")
    with opened_workspace(workspace) as opened:
        from pipeline.review import approve_passed

        items = approve_passed(opened, as_user=as_user)
        if as_json:
            print_json({"approved": [item.id for item in items]})
        else:
            print_text(f"{len(items)} items approved in the name of {as_user}.")
        if not items:
            to_stderr("No item waits that passed the check; 'histocurator items list' shows their states.")
            raise typer.Exit(EXIT_NOTHING_USABLE)
