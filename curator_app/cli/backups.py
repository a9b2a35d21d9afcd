"""`histocurator backup` and `restore`: a copy of a workspace while it is in use, and a workspace from it."""

from __future__ import annotations

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
    require_app,
    to_stderr,
)

BackupArgument = Annotated[Path, typer.Argument(metavar="FILE.tar", help="The backup.")]


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE.tar", help="A new file outside the workspace.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy database, images and files into one file, also while the app runs. Keep it where others cannot read it."""
    with opened_workspace(workspace) as opened:
        from pipeline.backup import write_backup

        with progress_bar("Backup") as progress:
            made = write_backup(opened, file, progress=progress)
        _warn("The audit trail is not whole", made.faults)
        _warn("The workspace lacks files that its rows refer to", made.missing)
        _warn("Left out", made.left_out)
        if as_json:
            print_json(
                {
                    "backup": made.path,
                    "files": made.files,
                    "bytes": made.bytes,
                    "rows": made.rows,
                    "audit_rows": made.head.sequence,
                    "audit_head": made.head.sha256,
                    "audit_faults": made.faults,
                    "missing": made.missing,
                    "left_out": made.left_out,
                }
            )
        else:
            print_text(
                f"{made.path}: {made.files:,} files, {sum(made.rows.values()):,} rows, {made.bytes / 1e6:,.1f} MB"
            )
            print_text(f"The audit trail in it ends with row {made.head.sequence}, SHA-256 {made.head.sha256}.")


def restore(
    file: BackupArgument,
    folder: Annotated[Path, typer.Argument(help="A new or empty folder; with --replace, a workspace.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Move the workspace that is there aside; it is not deleted.")
    ] = False,
    jobs: Annotated[
        bool,
        typer.Option(
            "--jobs",
            help="Bring back the job queue too: what waited or ran goes on and may call models again. Only from a "
            "backup that nobody else could write to.",
        ),
    ] = False,
    accept_audit_faults: Annotated[
        bool, typer.Option("--accept-audit-faults", help="Restore although the audit trail in it is not whole.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a workspace from a backup; everything in it is checked before anything is replaced."""
    require_app()
    from pipeline.backup import restore_backup

    with progress_bar("Restore") as progress:
        done = restore_backup(
            file,
            folder,
            replace=replace,
            jobs=jobs,
            accept_audit_faults=accept_audit_faults,
            progress=progress,
        )
    _warn("The audit trail is not whole, as you accepted", done.faults)
    _warn("Files that rows refer to were missing in the backup too", done.missing)
    _warn("It reads files outside its folder; if the backup is not your own, look what they are", done.outside)
    if as_json:
        print_json(
            {
                "workspace": done.root,
                "files": done.files,
                "rows": done.rows,
                "audit_rows": done.head.sequence,
                "audit_head": done.head.sha256,
                "audit_faults": done.faults,
                "missing": done.missing,
                "outside": done.outside,
                "former": done.former,
                "jobs": done.jobs,
                "sessions_ended": done.sessions_ended,
                "links_withdrawn": done.links_withdrawn,
            }
        )
        return
    print_text(f"{done.root}: {done.files:,} files, {sum(done.rows.values()):,} rows, checked.")
    print_text(f"The audit trail of the backup ends with row {done.head.sequence}, SHA-256 {done.head.sha256}.")
    if done.former is not None:
        print_text(f"The workspace that was there is in {done.former} now.")
    _say_where_the_rows_are(done.root)
    if done.sessions_ended or done.links_withdrawn:
        print_text("Everybody signs in again; open invitations and reset links no longer work.")
    if not done.jobs:
        print_text("Jobs were not restored; start again what you want to go on.")


def _say_where_the_rows_are(root: Path) -> None:
    """Name a database outside the folder, since only the variable leads to it; never who signs in there and how."""
    from sqlalchemy import make_url

    from pipeline.settings import Settings

    given = Settings.load(root).database_url
    if given is not None:
        url = make_url(given)
        print_text(
            f"The rows are in the PostgreSQL database {url.database} on {url.host or 'this machine'}. "
            "HISTOCURATOR_DATABASE_URL must stay set to it whenever this workspace is used."
        )


def _warn(what: str, lines: list[str]) -> None:
    for line in lines:
        to_stderr(f"Warning: {what}: {line}")
