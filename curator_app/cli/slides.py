"""`histocurator slides`: add slides and list them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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

slides_app = typer.Typer(help="Whole-slide images of the workspace.", no_args_is_help=True)


@slides_app.command("add")
def add(
    paths: Annotated[list[Path], typer.Argument(help="Slide files, or folders of them.")],
    organ: Annotated[str, typer.Option(help="Organ that the slides show.")],
    source: Annotated[str, typer.Option(help="Where the slides come from.")],
    licence: Annotated[str, typer.Option("--licence", "--license", help="Licence of the images.")],
    species: Annotated[str | None, typer.Option(help="Species; the project's where not given.")] = None,
    stain: Annotated[str | None, typer.Option(help="Stain; the project's where not given.")] = None,
    institution: Annotated[str | None, typer.Option()] = None,
    study: Annotated[str | None, typer.Option()] = None,
    mpp: Annotated[float | None, typer.Option(help="Micrometres per level-0 pixel, for files that do not say.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add slides. A file that cannot be used is named with its reason and left out; the rest is added."""
    with opened_workspace(workspace) as opened:
        from pipeline.ingest import SlideMetadata, add_slides

        metadata = SlideMetadata(organ, source, licence, species, stain, institution, study)
        with progress_bar("Reading slides") as progress:
            report = add_slides(opened, paths, metadata, mpp=mpp, who=opened.actor.name, progress=progress)
        if as_json:
            print_json({"added": [_as_dict(slide) for slide in report.added], "problems": report.problems})
        else:
            for slide in report.added:
                print_text(f"added {slide.id}  {slide.name}  {slide.width} × {slide.height} px, {slide.mpp} µm/px")
        for problem in report.problems:
            to_stderr(f"not added: {problem}")
        if report.problems:
            raise typer.Exit(EXIT_BAD_INPUT)


def _as_dict(slide: Any) -> dict[str, Any]:
    return {
        "id": slide.id,
        "name": slide.name,
        "path": slide.path,
        "organ": slide.organ,
        "source": slide.source,
        "licence": slide.licence,
        "species": slide.species,
        "stain": slide.stain,
        "institution": slide.institution,
        "study": slide.study,
        "width": slide.width,
        "height": slide.height,
        "mpp": slide.mpp,
        "tissue_share": slide.tissue_share,
        "content_sha256": slide.content_sha256,
    }


@slides_app.command("list")
def list_(
    organ: Annotated[str | None, typer.Option(help="Only this organ.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the slides of the workspace."""
    with opened_workspace(workspace) as opened:
        from pipeline.ingest import list_slides

        slides = list_slides(opened, organ=organ)
        if as_json:
            print_json([_as_dict(slide) for slide in slides])
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
