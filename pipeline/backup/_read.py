"""Reads a backup and trusts nothing in it: names, kinds, sizes and sums are checked before and while it is unpacked."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from pipeline.backup._files import CHUNK
from pipeline.backup._manifest import (
    MANIFEST_FILE,
    MAX_MANIFEST_BYTES,
    BackupFile,
    BackupManifest,
    fault_of_name,
)
from pipeline.errors import InputError
from pipeline.progress import Progress
from pipeline.settings import SETTINGS_FILE
from pipeline.workspace import DATABASE_FILE

MAX_NAMED = 20
"""How many faults of a backup are listed."""


class Backup:
    """An opened backup whose manifest and list of files fit each other; no content was read yet."""

    def __init__(self, path: Path, tar: tarfile.TarFile) -> None:
        self._path = path
        self._tar = tar
        members = self._members()
        self.manifest = self._read_manifest(members.pop(MANIFEST_FILE, None))
        self._entries = self._matched(members)

    @property
    def bytes(self) -> int:
        """Size of all files together."""
        return sum(entry.bytes for entry, _ in self._entries)

    def unpack(self, folder: Path, *, progress: Progress) -> None:
        """Write the files below a folder and check each against the manifest.

        Raises:
            InputError: a file is not what the manifest says.
            OSError: a file cannot be written.
        """
        for number, (entry, member) in enumerate(self._entries, start=1):
            place = folder / entry.path
            place.parent.mkdir(parents=True, exist_ok=True)
            source = self._tar.extractfile(member)
            if source is None or _copy(source, place, entry.bytes) != entry.sha256:
                raise self._refused([f"{entry.path}: it is not the file that was backed up"])
            progress(number, len(self._entries), entry.path)

    def _members(self) -> dict[str, tarfile.TarInfo]:
        found: dict[str, tarfile.TarInfo] = {}
        faults: list[str] = []
        try:
            for member in self._tar:
                fault = None if member.name == MANIFEST_FILE else fault_of_name(member.name)
                if not member.isreg() or member.issparse():
                    fault = "it is a link, a folder, a device or a file with holes"
                elif member.name in found:
                    fault = "it comes twice"
                if fault is not None:
                    faults.append(f"{member.name!r}: {fault}")
                found[member.name] = member
        except (tarfile.TarError, OSError, ValueError) as error:
            raise InputError(f"{self._path} is damaged or incomplete: {error}") from None
        if faults:
            raise self._refused(faults)
        return found

    def _read_manifest(self, member: tarfile.TarInfo | None) -> BackupManifest:
        if member is None:
            raise InputError(f"{self._path} is no backup or an incomplete one: it has no {MANIFEST_FILE}")
        if member.size > MAX_MANIFEST_BYTES:
            raise self._refused([f"{MANIFEST_FILE}: it is larger than any manifest"])
        source = self._tar.extractfile(member)
        try:
            return BackupManifest.model_validate_json(source.read() if source is not None else b"")
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise self._refused([f"{MANIFEST_FILE}: {place}: {first['msg']}"]) from None

    def _matched(self, members: dict[str, tarfile.TarInfo]) -> list[tuple[BackupFile, tarfile.TarInfo]]:
        entries: dict[str, BackupFile] = {}
        faults: list[str] = []
        for entry in self.manifest.files:
            member = members.get(entry.path)
            if entry.path in entries:
                faults.append(f"{entry.path!r}: the manifest names it twice")
            elif member is None:
                faults.append(f"{entry.path!r}: it is missing")
            elif member.size != entry.bytes:
                faults.append(f"{entry.path!r}: it has {member.size:,} bytes, not {entry.bytes:,}")
            entries[entry.path] = entry
        faults += [f"{name!r}: the manifest does not name it" for name in members if name not in entries]
        faults += [f"{name!r}: it is missing" for name in (DATABASE_FILE, SETTINGS_FILE) if name not in entries]
        parents = {parent.as_posix() for name in entries for parent in Path(name).parents}
        faults += [f"{name!r}: it is a file and a folder" for name in entries if name in parents]
        if faults:
            raise self._refused(faults)
        return [(entry, members[entry.path]) for entry in self.manifest.files]

    def _refused(self, faults: list[str]) -> InputError:
        more = [f"and {len(faults) - MAX_NAMED} more"] if len(faults) > MAX_NAMED else []
        return InputError(f"{self._path} cannot be restored; nothing was changed:", [*faults[:MAX_NAMED], *more])


@contextmanager
def opened_backup(path: Path) -> Iterator[Backup]:
    """Open a backup and check everything about it but the content of its files.

    Raises:
        InputError: it is none, it is incomplete, or it holds what no backup holds.
    """
    if path.exists() and not path.is_file():
        # A pipe would be waited for without end.
        raise InputError(f"{path} is no backup: it is a folder, a pipe or a device")
    try:
        # Plain tar only: a compressed one could unfold to any size.
        tar = tarfile.open(path, "r:")  # noqa: SIM115  (closed below)
    except (tarfile.TarError, ValueError) as error:
        raise InputError(f"{path} is no backup: {error}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    with tar:
        yield Backup(path, tar)


def _copy(source: IO[bytes], place: Path, size: int) -> str:
    """Write exactly `size` bytes, or what there is, to a new file and return their SHA-256."""
    digest = hashlib.sha256()
    with place.open("xb") as file:
        left = size
        while left and (data := source.read(min(CHUNK, left))):
            digest.update(data)
            file.write(data)
            left -= len(data)
    return digest.hexdigest()
