"""Which files make up a slide, and the digest over their bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import openslide

from evaluation.slides._tiatoolbox import OME_NGFF, format_of
from evaluation.slides._types import SlideError

_DICOM_MAGIC_OFFSET = 128
_DICOM_HEADER_BYTES = 256 * 1024
"""The series identifier stands before the pixel data, within the first few kilobytes of a DICOM file."""

_SERIES = "dicom.SeriesInstanceUID"


def primary_file(path: Path) -> Path:
    """Return what a library opens for `path`: itself, or the first file of a folder's only DICOM series.

    Raises:
        SlideError: nothing is there, the file is empty, or the folder holds no DICOM slide or several.
    """
    try:
        if not path.exists():
            raise SlideError(path, "there is no such file.", "Check the path.")
        if format_of(path) == OME_NGFF:
            return path
        if path.is_dir():
            return _dicom_file_of_folder(path)
        if not path.is_file():
            raise SlideError(path, "this is neither a file nor a folder.", "Name a slide file.")
        if path.stat().st_size == 0:
            raise SlideError(path, "the file is empty (0 bytes).", "Copy it again from its source.")
    except OSError as error:
        raise SlideError(path, f"the file cannot be reached ({error}).", "Check path and permissions.") from error
    return path


def slide_files(path: Path, vendor: str | None, properties: dict[str, str]) -> tuple[Path, ...]:
    """Return all files that make up the slide that is opened from `path`, sorted by path."""
    if vendor == "dicom":
        return tuple(_series_members(_dicom_files(path.parent), properties[_SERIES]))
    if vendor == OME_NGFF:
        return tuple(sorted(file for file in path.rglob("*") if file.is_file()))
    if vendor == "mirax":
        return (path, *sorted(file for file in path.with_suffix("").rglob("*") if file.is_file()))
    if vendor == "hamamatsu" and path.suffix.lower() in {".vms", ".vmu"}:
        return (path, *_named_in(path))
    return (path,)


def content_digest(files: tuple[Path, ...]) -> str:
    """Return a SHA-256 over the bytes of `files`, whatever their names: of one file, its plain SHA-256."""
    digests = sorted(_file_digest(file) for file in files)
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(digests).encode("ascii")).hexdigest()


def _file_digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _named_in(index_file: Path) -> list[Path]:
    """Return the siblings that a Hamamatsu index file names (`ImageFile=…` and the like)."""
    names = {
        line.partition("=")[2].strip()
        for line in index_file.read_text(encoding="utf-8", errors="replace").splitlines()
        if "=" in line
    }
    return sorted(index_file.parent / name for name in names if name and (index_file.parent / name).is_file())


def _dicom_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file() and _is_dicom(file))


def _is_dicom(file: Path) -> bool:
    with file.open("rb") as stream:
        stream.seek(_DICOM_MAGIC_OFFSET)
        return stream.read(4) == b"DICM"


def _series_members(files: list[Path], series: str) -> list[Path]:
    needle = series.encode("ascii")
    members = []
    for file in files:
        with file.open("rb") as stream:
            if needle in stream.read(_DICOM_HEADER_BYTES):
                members.append(file)
    return members


def _dicom_file_of_folder(folder: Path) -> Path:
    found: list[Path] = []
    remaining = _dicom_files(folder)
    while remaining:
        first, *remaining = remaining
        try:
            with openslide.OpenSlide(first) as slide:
                series = slide.properties[_SERIES]
        except (openslide.OpenSlideError, KeyError):
            continue  # an annotation or a report beside the slide
        found.append(first)
        members = set(_series_members(remaining, series))
        remaining = [file for file in remaining if file not in members]
    if not found:
        raise SlideError(
            folder,
            "the folder holds no DICOM slide that OpenSlide opens.",
            "Name slide files, or the folder of one DICOM slide.",
        )
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise SlideError(
            folder, f"the folder holds {len(found)} DICOM slides.", f"Name one file of each slide: {names}."
        )
    return found[0]
