"""Where a workspace lies: when its folder was moved or copied, the paths in its database follow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlmodel import Session, select

from db import record_event
from db.tables import Release, Run, Slide

if TYPE_CHECKING:
    from pipeline.workspace import Workspace

_RECORD = "location"
"""File in the workspace's cache that holds where the workspace was when it was opened last."""


def follow_move(workspace: Workspace, *, who: str) -> None:
    """Rewrite the paths of slides, releases and runs inside the workspace if it lies elsewhere than before.

    Files outside the workspace stay where they are, so that their paths do.

    Args:
        workspace: where it lies now.
        who: the account that opens it.
    """
    root, record = workspace.root, workspace.cache / _RECORD
    former = Path(record.read_text(encoding="utf-8")) if record.is_file() else root
    if former != root:
        move_paths(workspace, former, root, who=who)
    if former != root or not record.is_file():
        note_location(workspace.cache, root)


def move_paths(workspace: Workspace, former: Path, root: Path, *, who: str) -> None:
    """Rewrite the paths of slides, releases and runs inside one folder, so that they lie in another."""
    with workspace.writing() as session:
        rows = (*session.exec(select(Slide)), *session.exec(select(Release)), *session.exec(select(Run)))
        for row in rows:
            _rewrite(session, row, former, root, who)


def note_location(cache: Path, root: Path) -> None:
    """Say in a workspace's cache where it lay, so that its paths follow when it is opened."""
    cache.mkdir(exist_ok=True)
    (cache / _RECORD).write_text(str(root), encoding="utf-8")


def _rewrite(session: Session, row: Slide | Release | Run, former: Path, root: Path, who: str) -> None:
    path = Path(row.path)
    if former != root and path.is_relative_to(former):
        old, row.path = row.path, str(root / path.relative_to(former))
        record_event(session, who=who, action="move", row=row, old={"path": old}, new={"path": row.path})
        session.add(row)
