"""The files of a release for who may have them: what its manifest names, and nothing else of its folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from urllib.parse import quote
from zipfile import ZIP_STORED, ZipFile

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from curator_app.routes._answers import json_error
from curator_app.routes._protected import ProtectedRoute
from db.tables import Release
from pipeline.errors import InputError
from pipeline.permissions import Permission
from pipeline.release_folder import MANIFEST_FILE, SIGNATURE_FILE, file_inside, manifest_files
from pipeline.stored_files import release_folder
from pipeline.workspace import Workspace

CHUNK = 1 << 20


def download_routes(workspace: Workspace) -> list[ProtectedRoute]:
    """Return the route of the files of a workspace's releases."""

    def download(request: Request) -> Response:
        release = _release(workspace, request.path_params["id"])
        if release is None:
            return json_error(HTTPStatus.NOT_FOUND, "There is no such release in this workspace.")
        folder, wanted = Path(release.path), str(request.path_params["file"])
        if wanted not in downloadable(folder):
            return json_error(HTTPStatus.NOT_FOUND, "The release has no such file.")
        path = file_inside(folder, wanted)
        if path is None:
            return json_error(HTTPStatus.NOT_FOUND, "The release has no such file.")
        if not path.is_file():
            return json_error(HTTPStatus.NOT_FOUND, f"{wanted} is missing from the release's folder.")
        name = f"{release.name}-{release.version}-{path.name}"
        return FileResponse(
            path,
            media_type="application/octet-stream",
            headers=_saved_as(name),
        )

    def archive(request: Request) -> Response:
        release = _release(workspace, request.path_params["id"])
        if release is None:
            return json_error(HTTPStatus.NOT_FOUND, "There is no such release in this workspace.")
        files = _files_there(Path(release.path))
        if not files:
            return json_error(HTTPStatus.NOT_FOUND, "The release's folder cannot be read.")
        name = f"{release.name}-{release.version}"
        packed = _packed(files, name)
        return StreamingResponse(
            iter(lambda: packed.read(CHUNK), b""),
            media_type="application/zip",
            headers={**_saved_as(f"{name}.zip"), "Content-Length": str(_size_of(packed))},
            background=BackgroundTask(packed.close),
        )

    return [
        ProtectedRoute("/api/releases/{id}/files/{file:path}", download, Permission.VIEW_RELEASES, methods=["GET"]),
        ProtectedRoute("/api/releases/{id}/archive.zip", archive, Permission.VIEW_RELEASES, methods=["GET"]),
    ]


def _files_there(folder: Path) -> dict[str, Path]:
    """Return the files that may be downloaded and are there, by their name in the release."""
    found = {name: file_inside(folder, name) for name in downloadable(folder)}
    return {name: path for name, path in found.items() if path is not None and path.is_file()}


def _packed(files: Mapping[str, Path], folder: str) -> IO[bytes]:
    """Return a ZIP of files in one folder, open at its beginning. Nothing is compressed: the images are already."""
    packed = TemporaryFile()  # noqa: SIM115  (closed once the answer is sent)
    with ZipFile(packed, "w", ZIP_STORED) as archive:
        for name, path in files.items():
            archive.write(path, f"{folder}/{name}")
    packed.seek(0)
    return packed


def _size_of(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _saved_as(name: str) -> dict[str, str]:
    return {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "Cache-Control": "private, no-store",
    }


def downloadable(folder: Path) -> list[str]:
    """Return the files of a release that may be downloaded: those of its manifest, the manifest, its signatures."""
    try:
        named = [entry.path for entry in manifest_files(folder)]
    except InputError:
        return []
    own = [name for name in named if file_inside(folder, name) is not None]
    return [*own, MANIFEST_FILE, *([SIGNATURE_FILE] if (folder / SIGNATURE_FILE).is_file() else [])]


def download_address(release_id: str, file: str) -> str:
    """Return where a file of a release is downloaded."""
    return f"/api/releases/{release_id}/files/{quote(file)}"


def archive_address(release_id: str) -> str:
    """Return where all files of a release are downloaded at once."""
    return f"/api/releases/{release_id}/archive.zip"


def _release(workspace: Workspace, identifier: str) -> Release | None:
    with workspace.reading() as session:
        release = session.get(Release, identifier)
    if release is not None:
        try:
            release_folder(workspace.root, release)
        except InputError:
            return None
    return release
