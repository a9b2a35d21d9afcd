"""Which files on the server a person may name: a path typed in a browser must not read whatever the server can."""

from __future__ import annotations

from pathlib import Path

from pipeline.permissions import Permission
from pipeline.workspace import Workspace


def reason_to_refuse(workspace: Workspace, path: Path) -> str | None:
    """Return why the workspace's actor may not use a file or folder, or None where they may.

    Who manages the workspace may name any; everybody else what lies below one of the setting `slide_folders`, with
    links followed. Whether the path exists is not said.
    """
    if workspace.actor.may(Permission.MANAGE_WORKSPACE):
        return None
    folders = workspace.settings.slide_folders
    if not folders:
        return f"{path}: only an administrator may add files, until the setting slide_folders names folders for all."
    resolved = path.expanduser().resolve()
    if any(resolved.is_relative_to(folder.expanduser().resolve()) for folder in folders):
        return None
    return f"{path}: lies outside the folders that files may be added from ({', '.join(map(str, folders))})."
