"""`histocurator rois draw|withdraw|export|import-geojson`: single fields of a slide, and exchange with QuPath."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from curator_app.cli._output import (
    JsonOption,
    WorkspaceOption,
    opened_workspace,
    print_json,
    print_text,
    progress_bar,
    to_stderr,
)

SlideArgument = Annotated[str, typer.Argument(help="Id of the slide, or its name where only one has it.")]


def draw(
    slide: SlideArgument,
    x: Annotated[int, typer.Option(help="Level-0 pixels from the left edge to the field's corner.")],
    y: Annotated[int, typer.Option(help="Level-0 pixels from the upper edge.")],
    magnification: Annotated[float, typer.Option(help="20 (0.5 µm/px), 5 (2), 2.5 (4) or between.")] = 20.0,
    size: Annotated[int, typer.Option(help="Side in output pixels.")] = 1024,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make one field of a slide a selected ROI."""
    with opened_workspace(workspace) as opened:
        from pipeline.drawn_rois import draw_roi

        roi = draw_roi(opened, slide, x=x, y=y, magnification=magnification, size=size, who=opened.actor.name)
        if as_json:
            print_json({"id": roi.id, "slide": roi.slide_id, "x": roi.x, "y": roi.y, "image": roi.image_path})
        else:
            print_text(f"{roi.id} drawn at {roi.magnification}, {roi.size} px.")


def withdraw(
    roi: Annotated[str, typer.Argument(help="Id of a ROI that was drawn by hand.")],
    reason: Annotated[str, typer.Option(help="Why; it goes into the audit trail.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take back a ROI that was drawn by hand. Drawing the same field again brings it back."""
    with opened_workspace(workspace) as opened:
        from pipeline.drawn_rois import withdraw_drawn_roi

        row = withdraw_drawn_roi(opened, roi, who=opened.actor.name, reason=reason)
        if as_json:
            print_json({"withdrawn": row.id})
        else:
            print_text(f"{row.id} withdrawn.")


def export(
    slide: SlideArgument,
    geojson: Annotated[Path, typer.Option(help="File to write; it must not exist yet.")],
    candidates: Annotated[bool, typer.Option("--candidates", help="The candidates too.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a slide's selected ROIs as GeoJSON for QuPath (level-0 pixels from the top-left corner)."""
    with opened_workspace(workspace) as opened:
        from pipeline.errors import InputError
        from pipeline.roi_exchange import export_geojson

        states = ("selected", "candidate") if candidates else ("selected",)
        data = export_geojson(opened, slide, states=states)
        try:
            with geojson.expanduser().open("xb") as file:
                file.write(data)
        except FileExistsError:
            raise InputError(f"{geojson} exists already; name another file. Nothing was written.") from None
        except OSError as error:
            raise InputError(f"{geojson} cannot be written: {error.strerror}.") from None
        count = len(json.loads(data)["features"])
        if as_json:
            print_json({"file": str(geojson), "rois": count})
        else:
            print_text(f"{count} ROIs in {geojson}.")


def import_squares(
    slide: SlideArgument,
    file: Annotated[Path, typer.Argument(help="GeoJSON of upright squares, as QuPath or 'rois export' writes it.")],
    magnification: Annotated[
        float | None, typer.Option(help="Of squares that state none: 20 (0.5 µm/px), 5 (2), 2.5 (4) or between.")
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import the squares of a GeoJSON file as ROIs. All features are good, or none is imported."""
    with opened_workspace(workspace) as opened:
        from pipeline.roi_exchange import import_geojson, read_file

        with progress_bar("Storing images") as progress:
            done = import_geojson(
                opened,
                slide,
                read_file(opened, file),
                name=file.name,
                magnification=magnification,
                who=opened.actor.name,
                progress=progress,
            )
        for reason in done.skipped:
            to_stderr(f"skipped: {reason}")
        if as_json:
            print_json({"imported": [roi.id for roi in done.added], "skipped": list(done.skipped)})
        else:
            print_text(f"{len(done.added)} ROIs imported, {len(done.skipped)} skipped.")
