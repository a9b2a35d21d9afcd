"""The files of a workspace: which ones its rows refer to, which they may, and how one survives a power cut."""

from __future__ import annotations

import os
import uuid
from pathlib import Path, PurePosixPath

from sqlmodel import Session, select

from db.tables import Release, Roi, Run, Slide
from pipeline.errors import InputError

PICTURE_FOLDERS = ("rois", "thumbnails", "slides")
"""Folders of the workspace in which every file belongs to a row."""


_RELEASES, _RUNS = "releases", "runs"

_NO_PLACE = frozenset({*PICTURE_FOLDERS, _RELEASES, _RUNS, "features", "drafts", "copies", "logs", "cache"})
"""Folders of the workspace that hold something of their own, and so neither a release nor a run of another."""


def picture_file(root: Path, name: str) -> Path:
    """Return where a picture lies that a row names; who reads, serves or writes it asks here.

    Rows may come from a backup that somebody made up, and a file may have been replaced by a link: neither leads to a
    file outside the folders of pictures. One of those folders may itself be a link to another disk.

    Args:
        root: the workspace's folder.
        name: the path within it, as the row has it.

    Raises:
        InputError: it lies elsewhere.
    """
    parts = PurePosixPath(name).parts
    stray = InputError(f"{name!r} leads out of the folders of pictures ({', '.join(PICTURE_FOLDERS)}): it is not read")
    if "\0" in name or len(parts) < 2 or parts[0] not in PICTURE_FOLDERS or ".." in parts:
        raise stray
    path = root / name
    try:
        inside = path.resolve().is_relative_to((root / parts[0]).resolve())
    except (OSError, RuntimeError):  # Links that lead in a circle.
        raise stray from None
    if not inside:
        raise stray
    return path


def stray_pictures(root: Path, session: Session) -> list[str]:
    """Return the pictures of rows that lie where no picture may, one line each."""
    found = []
    for name, what in sorted(referenced_files(session).items()):
        try:
            picture_file(root, name)
        except InputError:
            found.append(f"{what}: {name!r} leads out of the workspace's folders of pictures")
    return found


def release_folder(root: Path, release: Release) -> Path:
    """Return the folder of a release, which may lie outside the workspace, but nowhere else inside than releases do.

    Raises:
        InputError: it is a folder that holds something else.
    """
    return _folder(root, release.path, _RELEASES, f"release {release.name} {release.version}")


def stray_folders(root: Path, session: Session, *, now: Path | None = None) -> list[str]:
    """Return the folders of releases and runs that are none, one line each.

    Args:
        root: the workspace's folder as the rows know it.
        session: where the rows are read.
        now: where that folder lies at the moment, if elsewhere.
    """
    found = []
    named = [
        *((row.path, _RELEASES, f"release {row.name} {row.version}") for row in session.exec(select(Release))),
        *((row.path, _RUNS, f"run {row.id}") for row in session.exec(select(Run))),
    ]
    for path, own, what in named:
        there = Path(path)
        if now is not None and there.is_relative_to(root):
            there = now / there.relative_to(root)
        try:
            _folder(now or root, str(there), own, what)
        except InputError as error:
            found.append(error.message)
    return found


def _folder(root: Path, path: str, own: str, what: str) -> Path:
    stray = InputError(f"{what}: its folder {path!r} holds something else of the workspace: it is not read")
    try:
        folder, inside = Path(path).resolve(), root.resolve()
    except (OSError, RuntimeError, ValueError):
        raise stray from None
    if not Path(path).is_absolute() or inside.is_relative_to(folder):
        raise stray
    # A folder of the workspace may be a link to another disk, so that what lies in it lies elsewhere.
    closed = ((inside / name).resolve() for name in _NO_PLACE - {own})
    if any(folder.is_relative_to(one) for one in closed) or folder == (inside / own).resolve():
        raise stray
    return Path(path)


def outside_folders(root: Path, session: Session) -> list[str]:
    """Return the folders outside the workspace that its rows refer to, with what is read there."""
    found: dict[str, set[str]] = {}
    for path, what in (
        *((Path(path).parent, "slides and images") for path in session.exec(select(Slide.path))),
        *((Path(path), "a release") for path in session.exec(select(Release.path))),
        *((Path(path), "a run") for path in session.exec(select(Run.path))),
    ):
        if not path.is_relative_to(root):
            found.setdefault(str(path), set()).add(what)
    return [f"{path} ({', '.join(sorted(what))})" for path, what in sorted(found.items())]


def referenced_files(session: Session) -> dict[str, str]:
    """Return the files that rows refer to, as paths within the workspace, with what each one is."""
    found: dict[str, str] = {}
    for identifier, image, thumbnail in session.exec(select(Roi.id, Roi.image_path, Roi.thumbnail_path)):
        if image:
            found[image] = f"image of ROI {identifier}"
        if thumbnail:
            found[thumbnail] = f"thumbnail of ROI {identifier}"
    for identifier, name in session.exec(select(Slide.id, Slide.name).where(Slide.kind == "slide")):
        found[f"slides/{identifier}/tissue.png"] = f"tissue mask of slide {name}"
        found[f"slides/{identifier}/thumbnail.png"] = f"thumbnail of slide {name}"
    return found


def write_durably(path: Path, data: bytes) -> None:
    """Write a small file whole; after the return a power cut does not lose it. Before, what was there stays.

    Raises:
        OSError: it cannot be written; nothing unfinished is left.
    """
    unfinished = path.with_suffix(f".{uuid.uuid4().hex}")
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have the disk keep the names in a folder, so that a file that was renamed is there after a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
