"""The files of a release for who may have them: what its manifest names, and nothing else of its folder."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from curator_app.routes._protected import ProtectedRoute
from db.tables import Release
from pipeline.errors import InputError
from pipeline.permissions import Permission
from pipeline.release_folder import MANIFEST_FILE, SIGNATURE_FILE, file_inside, manifest_files
from pipeline.workspace import Workspace


def download_routes(workspace: Workspace) -> list[ProtectedRoute]:
    """Return the route of the files of a workspace's releases."""

    def download(request: Request) -> Response:
        release = _release(workspace, request.path_params["id"])
        if release is None:
            return _not_found("There is no such release in this workspace.")
        folder, wanted = Path(release.path), str(request.path_params["file"])
        if wanted not in downloadable(folder):
            return _not_found("The release has no such file.")
        path = file_inside(folder, wanted)
        if path is None:
            return _not_found("The release has no such file.")
        if not path.is_file():
            return _not_found(f"{wanted} is missing from the release's folder.")
        name = f"{release.name}-{release.version}-{path.name}"
        return FileResponse(
            path,
            media_type="application/octet-stream",
            headers={
                "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
                "Cache-Control": "private, no-store",
            },
        )

    return [ProtectedRoute("/api/releases/{id}/files/{file:path}", download, Permission.VIEW_RELEASES, methods=["GET"])]


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


def _release(workspace: Workspace, identifier: str) -> Release | None:
    with workspace.reading() as session:
        return session.get(Release, identifier)


def _not_found(message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status_code=HTTPStatus.NOT_FOUND, headers={"Cache-Control": "no-store"})
