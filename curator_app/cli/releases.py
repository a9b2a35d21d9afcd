"""`histocurator release`: freeze approved items as a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from curator_app.cli._output import (
    JsonOption,
    WorkspaceOption,
    opened_workspace,
    print_json,
    print_table,
    print_text,
)

release_app = typer.Typer(help="Releases: approved items frozen as a benchmark.", no_args_is_help=True)


@release_app.command("build")
def build(
    name: Annotated[str, typer.Option(help="Name, such as liver-vqa.")],
    version: Annotated[str, typer.Option(help="Version, such as 1.0.0; one version never changes.")],
    out: Annotated[Path | None, typer.Option(help="Folder to write; releases/NAME/VERSION where not given.")] = None,
    annotation_licence: Annotated[str, typer.Option(help="Licence of questions and keys.")] = "CC-BY-4.0",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Build an unsigned release of all approved items."""
    with opened_workspace(workspace) as opened:
        from pipeline.releases import build_release
        from pipeline.workspace import operating_system_user

        result = build_release(
            opened,
            name=name,
            version=version,
            out=out,
            annotation_licence=annotation_licence,
            who=operating_system_user(),
        )
        if as_json:
            print_json(
                {
                    "path": result.path,
                    "items": result.release.item_count,
                    "images": result.release.image_count,
                    "content_sha256": result.release.content_sha256,
                    "existed": result.existed,
                }
            )
        else:
            how = "was there already, unchanged" if result.existed else "written"
            print_text(
                f"Release {name} {version} {how}: {result.release.item_count} items on "
                f"{result.release.image_count} images in {result.path}"
            )


@release_app.command("list")
def list_(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the releases of the workspace."""
    with opened_workspace(workspace) as opened:
        from pipeline.releases import list_releases

        releases = list_releases(opened)
        if as_json:
            print_json(
                [
                    {
                        "name": release.name,
                        "version": release.version,
                        "items": release.item_count,
                        "images": release.image_count,
                        "signed": release.signed,
                        "built_at": release.created_at,
                        "path": release.path,
                        "content_sha256": release.content_sha256,
                    }
                    for release in releases
                ]
            )
        elif not releases:
            print_text("No releases yet. Build one with 'histocurator release build'.")
        else:
            print_table(
                f"{len(releases)} releases",
                ("name", "version", "items", "images", "built", "folder"),
                [
                    (
                        r.name,
                        r.version,
                        r.item_count,
                        r.image_count,
                        f"{r.created_at.astimezone():%Y-%m-%d %H:%M}",
                        r.path,
                    )
                    for r in releases
                ],
            )
