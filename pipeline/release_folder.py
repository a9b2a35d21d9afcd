"""A release's folder: what its manifest says, whether the files are still those, and the signatures beside it."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ValidationError

from pipeline.errors import InputError

MANIFEST_FILE = "manifest.json"
SIGNATURE_FILE = "signature.json"


class SignatureEntry(BaseModel):
    """One signature as it stands beside the manifest; `id` is that of the workspace's record."""

    id: str
    display_name: str
    role: str
    meaning: str
    signed_at: str
    """UTC, ISO 8601."""
    manifest_sha256: str


class SignatureFile(BaseModel):
    """The signatures of a release, oldest first. They are detached: a manifest never changes."""

    signatures: list[SignatureEntry]


class ManifestEntry(BaseModel):
    """One file of a release as its manifest names it."""

    path: str
    """Relative to the release's folder."""
    sha256: str
    bytes: int


class _Manifest(BaseModel):
    """What is read of a manifest; it says more, of which nothing else reads."""

    files: list[ManifestEntry]


def manifest_files(folder: Path) -> list[ManifestEntry]:
    """Return the files that a release's manifest names; where they lie is not looked at.

    Raises:
        InputError: the manifest is missing or cannot be read.
    """
    try:
        return _Manifest.model_validate_json((folder / MANIFEST_FILE).read_bytes()).files
    except (OSError, ValidationError):
        raise InputError(f"{folder / MANIFEST_FILE} cannot be read") from None


def file_inside(folder: Path, name: str) -> Path | None:
    """Return the file that a manifest names, or None where the name or a link leads out of the release's folder.

    A manifest may come from elsewhere, and who serves or compares its files must touch no others.
    """
    parts = PurePosixPath(name)
    if "\x00" in name or parts.is_absolute() or ".." in parts.parts:
        return None
    path = folder / name
    return path if path.resolve().is_relative_to(folder.resolve()) else None


def manifest_sha256(folder: Path) -> str:
    """Return the SHA-256 of a release's manifest, which is what a signature is about.

    Raises:
        InputError: the folder has no manifest.
    """
    manifest = folder / MANIFEST_FILE
    if not manifest.is_file():
        raise InputError(f"{folder} is no release: it has no {MANIFEST_FILE}")
    return _sha256(manifest)


def verify_release(folder: Path) -> list[str]:
    """Compare a release folder with its manifest and return what differs, one line a file.

    A file that the manifest does not name is a difference too, since whoever opens the folder may read it. Hidden
    files are not looked at: file managers and version control leave them everywhere.

    Raises:
        InputError: the folder has no manifest.
    """
    sha256 = manifest_sha256(folder)
    try:
        listed = {entry.path: entry.sha256 for entry in manifest_files(folder)}
    except InputError:
        return [f"{MANIFEST_FILE}: cannot be read"]
    problems = []
    for name, expected in listed.items():
        path = file_inside(folder, name)
        if path is None:
            problems.append(f"{name}: lies outside the release")
        elif not path.is_file():
            problems.append(f"{name}: is missing")
        elif _sha256(path) != expected:
            problems.append(f"{name}: its SHA-256 differs from the manifest's")
    known = {*listed, MANIFEST_FILE, SIGNATURE_FILE}
    problems += [f"{name}: is not in the manifest" for name in _files(folder) if name not in known]
    return problems + _faults_of_signatures(folder, sha256)


def read_signatures(folder: Path) -> list[SignatureEntry]:
    """Return the signatures that stand beside a manifest; none where there is no such file.

    Raises:
        InputError: the file cannot be read.
    """
    file = folder / SIGNATURE_FILE
    if not file.exists():
        return []
    try:
        return SignatureFile.model_validate_json(file.read_bytes()).signatures
    except (OSError, ValidationError):
        raise InputError(f"{file} cannot be read; move it away and sign again") from None


def _faults_of_signatures(folder: Path, sha256: str) -> list[str]:
    try:
        entries = read_signatures(folder)
    except InputError:
        return [f"{SIGNATURE_FILE}: cannot be read"]
    return [
        f"{SIGNATURE_FILE}: the signature of {entry.display_name} is about another manifest"
        for entry in entries
        if entry.manifest_sha256 != sha256
    ]


def _files(folder: Path) -> list[str]:
    names = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    return [name.as_posix() for name in names if not any(part.startswith(".") for part in name.parts)]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
