"""`histocurator slides`: add slides, list them, change what is said of them, withdraw and restore them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curator_app.cli._output import (
    EXIT_BAD_INPUT,
    JsonOption,
    WorkspaceOption,
    opened_workspace,
    print_json,
    print_table,
    print_text,
    progress_bar,
    to_stderr,
)
from curator_app.cli._slide_options import with_slide_options

if TYPE_CHECKING:
    from db.tables import Slide
    from pipeline.ingest import AddReport

slides_app = typer.Typer(help="Whole-slide images of the workspace.", no_args_is_help=True)

SlideArgument = Annotated[str, typer.Argument(metavar="SLIDE", help="Id of the slide ('slides list').")]


@slides_app.command("add")
@with_slide_options
def add(
    paths: Annotated[list[Path] | None, typer.Argument(help="Slide files, or folders of them.")] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            help="CSV file with a row for each slide: path, any of the fields below, mpp. Options hold for empty cells."
        ),
    ] = None,
    *,
    said: Mapping[str, str],
    mpp: Annotated[float | None, typer.Option(help="Micrometres per level-0 pixel, for files that do not say.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add slides. A file that cannot be used is named with its reason and left out; the rest is added."""
    if bool(paths) == (table is not None):
        raise typer.BadParameter("Name slide files or folders, or a table of slides with --table.")
    if table is not None and mpp is not None:
        raise typer.BadParameter("A table states the resolution of each slide in its column mpp.", param_hint="--mpp")
    with opened_workspace(workspace) as opened:
        from pipeline.ingest import REQUIRED_FIELDS, SlideMetadata, add_slides
        from pipeline.slide_tables import add_slides_from_table

        metadata = SlideMetadata(**{**dict.fromkeys(REQUIRED_FIELDS, ""), **said})
        who = opened.actor.name
        with progress_bar("Reading slides") as progress:
            if table is not None:
                report = add_slides_from_table(opened, table, for_all=metadata, who=who, progress=progress)
            else:
                report = add_slides(opened, paths or [], metadata, mpp=mpp, who=who, progress=progress)
        _say_added(report, as_json, table=table)
        if report.problems:
            raise typer.Exit(EXIT_BAD_INPUT)


def _say_added(report: AddReport, as_json: bool, *, table: Path | None) -> None:
    if as_json:
        print_json(
            {
                "added": [_as_dict(slide) for slide in report.added],
                "known": [slide.id for slide in report.known],
                "problems": report.problems,
                "without_resolution": [
                    {"path": str(missing.path), "stated": missing.stated} for missing in report.without_resolution
                ],
            }
        )
    else:
        for slide in report.added:
            print_text(f"added {slide.id}  {slide.name}  {slide.width} × {slide.height} px, {slide.mpp} µm/px")
        if report.known:
            print_text(f"{len(report.known)} of the table were added before and left as they are")
    for problem in report.problems:
        to_stderr(f"not added: {problem}")
    if table is not None and report.without_resolution:
        to_stderr(f"State the missing resolutions in the column mpp of {table} and add it again.")


def _as_dict(slide: Slide) -> dict[str, Any]:
    from pipeline.ingest import SLIDE_FIELDS

    return {
        "id": slide.id,
        "name": slide.name,
        "path": slide.path,
        **{name: getattr(slide, name) for name in SLIDE_FIELDS},
        "width": slide.width,
        "height": slide.height,
        "mpp": slide.mpp,
        "mpp_source": slide.mpp_source,
        "objective_power": slide.objective_power,
        "vendor": slide.vendor,
        "reader": slide.reader,
        "tissue_share": slide.tissue_share,
        "content_sha256": slide.content_sha256,
        "row_version": slide.row_version,
        "withdrawn_reason": slide.withdrawn_reason,
    }


@slides_app.command("list")
def list_(
    organ: Annotated[str | None, typer.Option(help="Only this organ.")] = None,
    withdrawn: Annotated[bool, typer.Option("--withdrawn", help="Those that were withdrawn.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the slides of the workspace."""
    with opened_workspace(workspace) as opened:
        from pipeline.ingest import list_slides, organ_name
        from pipeline.slide_edits import withdrawn_slides

        if withdrawn:
            slides = [s for s in withdrawn_slides(opened) if organ is None or s.organ == organ_name(organ)]
        else:
            slides = list_slides(opened, organ=organ)
        if as_json:
            print_json([_as_dict(slide) for slide in slides])
        elif not slides and withdrawn:
            print_text("No slide is withdrawn.")
        elif not slides:
            print_text("No slides yet. Add some with 'histocurator slides add PATH --organ … --source … --licence …'.")
        else:
            print_table(
                f"{len(slides)} slides",
                ("id", "organ", "name", "width", "height", "µm/px", "tissue %", "source", "licence"),
                [
                    (
                        s.id,
                        s.organ,
                        s.name,
                        s.width,
                        s.height,
                        s.mpp,
                        round(100 * (s.tissue_share or 0)),
                        s.source,
                        s.licence,
                    )
                    for s in slides
                ],
            )


@slides_app.command("edit")
@with_slide_options
def edit(
    slide: SlideArgument,
    *,
    said: Mapping[str, str],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change what is said of a slide; '' empties a field. Another organ takes the slide's ROIs along."""
    if not said:
        raise typer.BadParameter("Name at least one field to change, such as --study or --organ.")
    with opened_workspace(workspace) as opened:
        from pipeline.slide_edits import edit_slide

        edited = edit_slide(opened, slide, said, who=opened.actor.name)
        _done(edited, as_json, f"{edited.name} ({edited.id}) is changed.")


@slides_app.command("withdraw")
def withdraw(
    slide: SlideArgument,
    reason: Annotated[str, typer.Option(help="Why, for the audit trail.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a slide and its ROIs out of the work; 'slides restore' brings them back."""
    with opened_workspace(workspace) as opened:
        from pipeline.slide_edits import withdraw_slide

        gone = withdraw_slide(opened, slide, reason=reason, who=opened.actor.name)
        _done(gone, as_json, f"{gone.name} ({gone.id}) is withdrawn, with its ROIs.")


@slides_app.command("restore")
def restore(slide: SlideArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Bring a withdrawn slide back, with the ROIs that went with it."""
    with opened_workspace(workspace) as opened:
        from pipeline.slide_edits import restore_slide

        back = restore_slide(opened, slide, who=opened.actor.name)
        _done(back, as_json, f"{back.name} ({back.id}) is back, with its ROIs.")


def _done(slide: Slide, as_json: bool, words: str) -> None:
    if as_json:
        print_json(_as_dict(slide))
    else:
        print_text(words)
