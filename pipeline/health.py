"""Whether a workspace is whole: database, audit trail, the files that rows refer to, and room to go on."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sqlmodel import col, select

from db import faults_of_database, faults_of_rows, faults_of_schema, schema_revision
from db.audit import UNREADABLE, verify_chain
from db.tables import Roi, Slide
from evaluation.extraction import FeatureFileError, check_feature_file
from pipeline.bin_check import faults_of_bins
from pipeline.errors import InputError
from pipeline.queue_file import HOW_TO_GO_ON, faults_of_queue
from pipeline.stored_files import PICTURE_FOLDERS, picture_file, referenced_files, stray_folders, stray_pictures
from pipeline.workspace import DRAFTS, QUEUE_FILE, Workspace

MINIMUM_FREE_BYTES = 1_000_000_000
MINIMUM_FREE_SHARE = 0.05

SETTLED_S = 3600
"""A younger file may still be waiting for its row, or for being whole."""

_PNG_BEGINS = b"\x89PNG\r\n\x1a\n"
_PNG_ENDS = b"\x00\x00\x00\x00IEND\xaeB`\x82"

State = Literal["ok", "warning", "broken"]


@dataclass(frozen=True)
class Finding:
    """One thing looked at: what was found, what to do unless `state` is ok, and all places that it is about."""

    what: str
    state: State
    found: str
    remedy: str = ""
    details: tuple[str, ...] = ()


def check_workspace(workspace: Workspace, *, deep: bool = False) -> list[Finding]:
    """Look at everything that could be lost or damaged; nothing is changed.

    With `deep`, images of ROIs are read whole and compared with their sums; else only their two ends are looked at.
    Says how much of what is wrong, by row numbers, ids and paths, and nothing of what people wrote.
    """
    files = list(_files_below(workspace.root))
    return [
        _database(workspace),
        _audit_trail(workspace),
        *_what_rows_say(workspace, files, deep=deep),
        _queue(workspace),
        _embeddings(files, workspace.features, deep=deep),
        _unfinished(files, workspace.root),
        _free_space(workspace.root),
    ]


def _what_rows_say(workspace: Workspace, files: Sequence[Path], *, deep: bool) -> list[Finding]:
    """Compare rows and files; where rows cannot be read, that is what is found."""
    root = workspace.root
    try:
        with workspace.reading() as session:
            wanted = referenced_files(session)
            selected = select(Roi.image_path, Roi.image_sha256).where(col(Roi.image_path).is_not(None))
            sums = {str(name): sha256 for name, sha256 in session.exec(selected)}
            stray = [*stray_pictures(root, session), *stray_folders(root, session)]
            paths = session.exec(select(Slide.name, Slide.path).where(Slide.kind == "slide"))
            slides = {name: Path(path) for name, path in paths}
            changed_bins = faults_of_bins(session)
    except UNREADABLE:
        return [
            Finding("files of rows", "broken", "not looked at, since rows cannot be read", "mend the database first")
        ]
    return [
        _missing_pictures(root, wanted),
        _damaged_pictures(root, sums, deep=deep),
        _stray(stray),
        _missing_slides(slides),
        _orphans(files, root, set(wanted)),
        _bins(changed_bins),
    ]


def _database(workspace: Workspace) -> Finding:
    faults = faults_of_database(workspace.engine) or faults_of_schema(workspace.engine)
    faults = faults or faults_of_rows(workspace.engine)
    if faults:
        return Finding(
            "database",
            "broken",
            f"{workspace.engine.dialect.name}: {_first(faults)}",
            "stop everything, keep a copy of the folder, restore the last backup",
            tuple(faults),
        )
    revision = schema_revision(workspace.engine)
    return Finding("database", "ok", f"{workspace.engine.dialect.name}, schema {revision}, whole")


def _queue(workspace: Workspace) -> Finding:
    faults = faults_of_queue(workspace)
    if not faults:
        return Finding("waiting jobs", "ok", "the queue can be read")
    return Finding("waiting jobs", "broken", f"{QUEUE_FILE}: {_first(faults)}", HOW_TO_GO_ON, tuple(faults))


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


def _damaged_pictures(root: Path, sums: dict[str, str | None], *, deep: bool) -> Finding:
    damaged = [name for name, sha256 in sorted(sums.items()) if not _is_whole_picture(root, name, sha256, deep=deep)]
    if not damaged:
        how = "each is the one that was selected" if deep else "none cut off ('doctor --deep' compares their sums)"
        return Finding("content of images", "ok", f"{len(sums):,} of ROIs, {how}")
    return Finding(
        "content of images",
        "broken",
        f"{len(damaged):,} of {len(sums):,} of ROIs are not as they were selected: {_first(damaged)}",
        "put them back from a backup, or move them away: they are read from their slides again when they are needed",
        tuple(damaged),
    )


def _is_whole_picture(root: Path, name: str, sha256: str | None, *, deep: bool) -> bool:
    """Say whether a PNG begins and ends as one, or has its sum; one that is missing or elsewhere is found by others."""
    try:
        with picture_file(root, name).open("rb") as file:
            if deep:
                return hashlib.file_digest(file, "sha256").hexdigest() == sha256
            begins = file.read(len(_PNG_BEGINS)) == _PNG_BEGINS
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(_PNG_ENDS)))
            return begins and file.read() == _PNG_ENDS
    except InputError:
        return True
    except OSError as error:
        return isinstance(error, FileNotFoundError)


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


def _bins(changed: Sequence[str]) -> Finding:
    if not changed:
        return Finding("bins", "ok", "as the audit trail tells of them")
    return Finding(
        "bins",
        "broken",
        f"changed past the program: {_first(changed)}",
        "make the bins again ('rois bin'), or restore the last backup",
        tuple(changed),
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


def _embeddings(files: Sequence[Path], folder: Path, *, deep: bool) -> Finding:
    """Open every file of embeddings; with `deep`, read each vector."""
    stored = sorted(
        path for path in files if path.suffix == ".h5" and path.is_relative_to(folder) and path.name[0] != "."
    )
    faults: list[str] = []
    for path in stored:
        try:
            check_feature_file(path, deep=deep)
        except FeatureFileError as error:
            faults.append(f"{path.relative_to(folder).as_posix()}: {error.reason}")
    if not faults:
        return Finding("embeddings", "ok", f"{len(stored):,} files{', read whole' if deep else ''}")
    return Finding(
        "embeddings",
        "broken",
        f"{len(faults):,} of {len(stored):,} cannot be used: {_first(faults)}",
        "delete them: embeddings are made again when they are needed",
        tuple(faults),
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
