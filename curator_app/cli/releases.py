"""`histocurator release`: freeze approved items as a benchmark, and sign it."""

from __future__ import annotations

from dataclasses import asdict
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
from curator_app.cli._passwords import PasswordStdinOption, read_password

release_app = typer.Typer(help="Releases: approved items frozen as a benchmark.", no_args_is_help=True)

COMMAND_LINE = "command line"
"""Stands for a network address where wrong passwords are counted."""


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

        result = build_release(
            opened,
            name=name,
            version=version,
            out=out,
            annotation_licence=annotation_licence,
            who=opened.actor.name,
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


@release_app.command("sign")
def sign(
    name: Annotated[str, typer.Argument(help="Name of the release.")],
    version: Annotated[str, typer.Argument(help="Version of the release.")],
    as_account: Annotated[
        str | None, typer.Option("--as", help="The account that signs; its password is asked. Yours where not given.")
    ] = None,
    meaning: Annotated[str, typer.Option(help="What the signature says.")] = "approved for use",
    password_stdin: PasswordStdinOption = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sign a release: its files are verified, and the password is asked again."""
    with opened_workspace(workspace) as opened:
        from pipeline.people import actor_of, find_account, sign_release, system_actor
        from pipeline.permissions import Permission
        from pipeline.releases import find_release

        if as_account is not None:
            account = find_account(opened, as_account)
            # Somebody unknown may do nothing, like somebody who may not sign.
            opened = opened.acting_as(actor_of(account) if account is not None else system_actor(as_account))
        opened.actor.require(Permission.SIGN_RELEASES)
        release = find_release(opened, name, version)
        password = read_password(f"Password of {opened.actor.name}", from_stdin=password_stdin)
        signature = sign_release(opened, release.id, password=password, meaning=meaning, address=COMMAND_LINE)
        if as_json:
            print_json(
                {
                    "id": signature.id,
                    "name": opened.actor.name,
                    "display_name": opened.actor.display_name,
                    "role": signature.role,
                    "meaning": signature.meaning,
                    "signed_at": signature.created_at,
                    "manifest_sha256": signature.content_sha256,
                    "path": release.path,
                }
            )
        else:
            print_text(
                f"Release {name} {version} is signed by {opened.actor.name} as {signature.role}: {signature.meaning}."
            )


@release_app.command("list")
def list_(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the releases of the workspace, with who signed them."""
    with opened_workspace(workspace) as opened:
        from pipeline.people import list_signatures
        from pipeline.releases import list_releases

        releases = list_releases(opened)
        signatures = {release.id: list_signatures(opened, release.id) for release in releases}
        if as_json:
            print_json(
                [
                    {
                        "name": release.name,
                        "version": release.version,
                        "items": release.item_count,
                        "images": release.image_count,
                        "signed": release.signed,
                        "signatures": [asdict(signature) for signature in signatures[release.id]],
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
                ("name", "version", "items", "images", "built", "signed by", "folder"),
                [
                    (
                        r.name,
                        r.version,
                        r.item_count,
                        r.image_count,
                        f"{r.created_at.astimezone():%Y-%m-%d %H:%M}",
                        ", ".join(f"{one.display_name} ({one.role})" for one in signatures[r.id]) or "–",
                        r.path,
                    )
                    for r in releases
                ],
            )
