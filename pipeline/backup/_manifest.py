"""What a backup says of itself: which files it holds, with their sums, and how far its audit trail reaches."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePosixPath
from typing import Literal

from pydantic import BaseModel, Field

from db.audit import HEAD_FILE
from pipeline.workspace import DATABASE_FILE, QUEUE_FILE

MANIFEST_FILE = "backup-manifest.json"
MAX_MANIFEST_BYTES = 512 * 1024 * 1024
"""Two million files need less."""

LEFT_OUT = ("cache", "logs", "copies", "session.key")
"""What a backup holds nothing of: what is made again, what is a copy already, and the key that signs cookies."""

_MADE_APART = (DATABASE_FILE, QUEUE_FILE, HEAD_FILE)
"""Copied in ways of their own, since they change while they are read."""


class BackupFile(BaseModel):
    """One file: its path within the workspace, its size and its SHA-256."""

    path: str
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class BackupManifest(BaseModel):
    """The last file of a backup; without it, a backup is incomplete."""

    kind: Literal["histocurator backup"] = "histocurator backup"
    layout: Literal[1] = 1
    made_at: datetime
    program: str
    workspace: str
    """Where the workspace lay: paths inside it are rewritten when it is restored elsewhere."""
    database: Literal["sqlite", "postgresql"]
    """What the workspace ran on; the backup holds a SQLite file either way."""
    schema_revision: str
    audit_rows: int = Field(ge=0)
    audit_head: str
    """SHA-256 of the last row of the audit trail."""
    rows: dict[str, int]
    """How many rows each table has."""
    files: list[BackupFile]


def belongs_in_backup(path: PurePosixPath) -> bool:
    """Say whether a file of a workspace, by its path within it, is copied as it stands."""
    top = path.parts[0]
    if top in LEFT_OUT or any(top == name or top.startswith(f"{name}-") for name in (*_MADE_APART, MANIFEST_FILE)):
        return False
    if any(part.startswith(".") for part in path.parts):
        return False  # Unfinished files have such names until they are whole.
    return top != "drafts" or path.suffix == ".json"


def fault_of_name(name: str) -> str | None:
    """Return why a backup may not hold a file of this name, or None where it may."""
    path = PurePosixPath(name)
    if not path.parts or name != path.as_posix() or path.is_absolute() or ".." in path.parts:
        return "it leads out of the workspace"
    if "\\" in name or not name.isprintable():
        return "its name has characters that no file of a backup has"
    if name in _MADE_APART or belongs_in_backup(path):
        return None
    return "it is none of the files that a backup holds"
