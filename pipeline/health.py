"""Whether a workspace is whole: database, audit trail, the files that rows refer to, and room to go on."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sqlmodel import select

from db import faults_of_database, schema_revision
from db.audit import verify_chain
from db.tables import Slide
from pipeline.stored_files import PICTURE_FOLDERS, referenced_files, stray_folders, stray_pictures
from pipeline.workspace import DRAFTS, Workspace

MINIMUM_FREE_BYTES = 1_000_000_000
MINIMUM_FREE_SHARE = 0.05

SETTLED_S = 3600
"""A younger file may still be waiting for its row, or for being whole."""

State = Literal["ok", "warning", "broken"]


@dataclass(frozen=True)
class Finding:
    """One thing looked at: what was found, what to do unless `state` is ok, and all places that it is about."""

    what: str
    state: State
    found: str
    remedy: str = ""
    details: tuple[str, ...] = ()


def check_workspace(workspace: Workspace) -> list[Finding]:
    """Look at everything that could be lost or damaged; nothing is changed.

    Says how much of what is wrong, by row numbers, ids and paths, and nothing of what people wrote.
    """
    with workspace.reading() as session:
        wanted = referenced_files(session)
        stray = [*stray_pictures(workspace.root, session), *stray_folders(workspace.root, session)]
        slides = {slide.name: Path(slide.path) for slide in session.exec(select(Slide).where(Slide.kind == "slide"))}
    files = list(_files_below(workspace.root))
    return [
        _database(workspace),
        _audit_trail(workspace),
        _missing_pictures(workspace.root, wanted),
        _stray(stray),
        _missing_slides(slides),
        _orphans(files, workspace.root, set(wanted)),
        _unfinished(files, workspace.root),
        _free_space(workspace.root),
    ]


def _database(workspace: Workspace) -> Finding:
    faults = faults_of_database(workspace.engine)
    revision = schema_revision(workspace.engine)
    if faults:
        return Finding(
            "database",
            "broken",
            f"{workspace.engine.dialect.name}: {_first(faults)}",
            "stop everything, keep a copy of the folder, restore the last backup",
            tuple(faults),
        )
    return Finding("database", "ok", f"{workspace.engine.dialect.name}, schema {revision}, whole")


def _audit_trail(workspace: Workspace) -> Finding:
    rows, found = verify_chain(workspace.engine, workspace.audit_head)
    if not found:
        return Finding("audit trail", "ok", f"{rows:,} rows, head, triggers and texts in order")
    faults = [str(fault) for fault in found]
    return Finding(
        "audit trail",
        "broken",
        _first(faults),
        "find out who could write to the database ('histocurator audit verify', docs/audit.md); keep the last backup",
        tuple(faults),
    )


def _missing_pictures(root: Path, wanted: dict[str, str]) -> Finding:
    missing = [f"{name} ({what})" for name, what in sorted(wanted.items()) if not (root / name).is_file()]
    if not missing:
        return Finding("images of rows", "ok", f"{len(wanted):,} files, none missing")
    return Finding(
        "images of rows",
        "broken",
        f"{len(missing):,} of {len(wanted):,} missing: {_first(missing)}",
        "put them back from a backup; the image of a ROI is also read from its slide again when it is needed",
        tuple(missing),
    )


def _stray(stray: Sequence[str]) -> Finding:
    if not stray:
        return Finding("places of files", "ok", "rows name files where the workspace keeps them")
    return Finding(
        "places of files",
        "broken",
        f"{len(stray):,} elsewhere: {_first(stray)}",
        "nothing there is read; find out who wrote these rows or made these links, and restore a backup of your own",
        tuple(stray),
    )


def _missing_slides(slides: dict[str, Path]) -> Finding:
    missing = [f"{name} ({path})" for name, path in sorted(slides.items()) if not path.exists()]
    if not missing:
        return Finding("slide files", "ok", f"{len(slides):,} files, none missing")
    return Finding(
        "slide files",
        "warning",
        f"{len(missing):,} of {len(slides):,} missing: {_first(missing)}",
        "put them back, or mount the disk that they are on; nothing new can be read from them until then",
        tuple(missing),
    )


def _orphans(files: Sequence[Path], root: Path, wanted: set[str]) -> Finding:
    names = [
        path.relative_to(root).as_posix()
        for path in files
        if path.relative_to(root).parts[0] in PICTURE_FOLDERS and not path.name.startswith(".") and _settled(path)
    ]
    orphans = sorted(name for name in names if name not in wanted)
    if not orphans:
        return Finding("files without a row", "ok", "none")
    return Finding(
        "files without a row",
        "warning",
        f"{len(orphans):,}: {_first(orphans)}",
        "left by work that was ended halfway; harmless, delete them when nothing runs if you need the room",
        tuple(orphans),
    )


def _unfinished(files: Sequence[Path], root: Path) -> Finding:
    found = sorted(path.relative_to(root).as_posix() for path in files if _is_unfinished(path, root) and _settled(path))
    if not found:
        return Finding("unfinished files", "ok", "none")
    return Finding(
        "unfinished files",
        "warning",
        f"{len(found):,}: {_first(found)}",
        "left by a crash or a full disk before they were whole; delete them when nothing runs",
        tuple(found),
    )


def _free_space(root: Path) -> Finding:
    disk = shutil.disk_usage(root)
    found = f"{disk.free / 1e9:,.1f} GB of {disk.total / 1e9:,.1f} GB"
    if disk.free < MINIMUM_FREE_BYTES or disk.free < MINIMUM_FREE_SHARE * disk.total:
        return Finding("free space", "warning", found, "make room: a full disk stops all work")
    return Finding("free space", "ok", found)


def _files_below(root: Path) -> Iterator[Path]:
    """Yield the files that a crash could leave behind; logs, caches, and what lies in releases and runs by itself."""
    for name in (*PICTURE_FOLDERS, "features", DRAFTS):
        yield from (path for path in (root / name).rglob("*") if path.is_file())
    for folder in (root, root / "releases", root / "runs"):
        yield from (path for path in folder.glob(".*"))


def _is_unfinished(path: Path, root: Path) -> bool:
    in_drafts = path.relative_to(root).parts[0] == DRAFTS
    return path.name.startswith(".") or (in_drafts and path.suffix != ".json")


def _settled(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > SETTLED_S
    except FileNotFoundError:
        return False


def _first(faults: Sequence[str], count: int = 3) -> str:
    return "; ".join(faults[:count]) + (" …" if len(faults) > count else "")
