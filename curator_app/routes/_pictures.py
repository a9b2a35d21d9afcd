"""The routes of ROI images, thumbnails and deep-zoom tiles; ids come from the database, never a path from outside."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TypeVar

from sqlmodel import select
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from curator_app.routes._answers import json_error
from curator_app.routes._open_slides import OpenSlides
from curator_app.routes._protected import ProtectedRoute
from curator_app.routes._tile_cache import TileCache
from db.tables import Roi, Slide
from evaluation.slides import SlideError, TileNotFoundError, TissueMask, tissue_overlay
from pipeline.errors import InputError
from pipeline.permissions import Permission
from pipeline.stored_files import picture_file
from pipeline.workspace import Workspace

KEEP = {"Cache-Control": "private, max-age=86400, immutable", "Vary": "Cookie"}
"""What an id shows never changes, so the browser may keep it for a day, for the person who is signed in; shared
caches may not."""

ASK_AGAIN = {"Cache-Control": "private, no-cache", "Vary": "Cookie"}
"""What may be measured anew: the browser asks each time whether it is still the same."""

VIEWER_SCRIPT = "components/viewer/vendor/openseadragon.min.js"

_Row = TypeVar("_Row", Roi, Slide)


def picture_routes(workspace: Workspace, slides: OpenSlides, tiles: TileCache | None = None) -> list[Route]:
    """Return the routes of a workspace's pictures and of the viewer's script."""
    kept = tiles or TileCache(workspace.settings.tile_cache_mb * 2**20)
    pictures = _Pictures(workspace, slides, kept)
    paths = {
        "/api/rois/{id}/image": pictures.roi_image,
        "/api/rois/{id}/thumbnail": pictures.roi_thumbnail,
        "/api/slides/{id}/thumbnail": pictures.slide_thumbnail,
        "/api/slides/{id}/tissue": pictures.tissue,
        "/api/slides/{id}/deepzoom.dzi": pictures.descriptor,
        "/api/slides/{id}/deepzoom.json": pictures.descriptor_json,
        "/api/slides/{id}/tiles/{level:int}/{column:int}_{row:int}.jpeg": pictures.tile,
    }
    return [
        *(ProtectedRoute(path, handler, Permission.VIEW_SLIDES, methods=["GET"]) for path, handler in paths.items()),
        Route("/vendor/openseadragon.min.js", viewer_script, methods=["GET"]),
        Route("/vendor/icon.svg", icon, methods=["GET"]),
    ]


def icon(_request: Request) -> Response:
    """Return the picture of the browser's tab."""
    data = resources.files("curator_app").joinpath("icon.svg").read_bytes()
    return Response(data, media_type="image/svg+xml", headers={"Cache-Control": "private, max-age=86400"})


def viewer_script(_request: Request) -> Response:
    """Return OpenSeadragon, or say how to get it."""
    script = resources.files("curator_app").joinpath(VIEWER_SCRIPT)
    if not script.is_file():
        return json_error(404, "The slide viewer's script is missing: run 'make viewer'.")
    return Response(
        script.read_bytes(), media_type="text/javascript", headers={"Cache-Control": "private, max-age=3600"}
    )


def _png(request: Request, root: Path, name: str, *, what: str) -> Response:
    """Return a PNG of the workspace, or 304 where the browser holds it already."""
    try:
        data = picture_file(root, name).read_bytes()
    except InputError as error:
        return json_error(404, f"The picture of {what} cannot be shown: {error.message}.")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return json_error(404, f"The picture of {what} is missing from the workspace.")
    etag = _etag(data)
    headers = {"ETag": etag, **KEEP}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(data, media_type="image/png", headers=headers)


def _etag(data: bytes) -> str:
    return f'"{hashlib.sha256(data).hexdigest()[:32]}"'


class _Pictures:
    """The handlers; Starlette runs them in its thread pool, since they read files and decode slides."""

    def __init__(self, workspace: Workspace, slides: OpenSlides, tiles: TileCache) -> None:
        self._workspace = workspace
        self._slides = slides
        self._tiles = tiles

    def _row(self, table: type[_Row], identifier: str) -> _Row | None:
        with self._workspace.reading() as session:
            row: _Row | None = session.exec(
                select(table).where(table.id == identifier, table.withdrawn_at.is_(None))  # type: ignore[union-attr]
            ).first()
            return row

    def _with_slide(self, request: Request, answer: Callable[[Slide], Response]) -> Response:
        identifier = request.path_params["id"]
        row = self._row(Slide, identifier)
        if row is None or row.kind != "slide":
            return json_error(404, f"There is no slide {identifier} in this workspace.")
        try:
            return answer(row)
        except TileNotFoundError as error:
            return json_error(404, f"{error.reason}")
        except SlideError as error:
            return json_error(503, f"{row.name} cannot be read any more: {error.reason} {error.remedy}")

    def roi_image(self, request: Request) -> Response:
        """The PNG of a selected ROI."""
        identifier = request.path_params["id"]
        roi = self._row(Roi, identifier)
        if roi is None or roi.image_path is None:
            return json_error(404, f"There is no selected ROI {identifier} in this workspace.")
        return _png(request, self._workspace.root, roi.image_path, what=f"ROI {identifier}")

    def roi_thumbnail(self, request: Request) -> Response:
        """The small picture of a candidate; an imported ROI has only its image."""
        identifier = request.path_params["id"]
        roi = self._row(Roi, identifier)
        path = roi and (roi.thumbnail_path or roi.image_path)
        if not path:
            return json_error(404, f"There is no ROI {identifier} in this workspace.")
        return _png(request, self._workspace.root, path, what=f"ROI {identifier}")

    def slide_thumbnail(self, request: Request) -> Response:
        """The small picture of a whole slide."""
        return self._with_slide(
            request,
            lambda row: _png(request, self._workspace.root, f"slides/{row.id}/thumbnail.png", what=row.name),
        )

    def tissue(self, request: Request) -> Response:
        """Where tissue was found, as a picture; the header Level-0-Pixels says what a side of its pixels spans."""

        def answer(row: Slide) -> Response:
            try:
                data = picture_file(self._workspace.root, f"slides/{row.id}/tissue.png").read_bytes()
                mask = TissueMask.from_png_bytes(data)
            except (InputError, OSError, ValueError):
                return json_error(404, f"The tissue of {row.name} is missing from the workspace or damaged.")
            headers = {"ETag": _etag(data), "Level-0-Pixels": repr(mask.scale), **ASK_AGAIN}
            if request.headers.get("if-none-match") == headers["ETag"]:
                return Response(status_code=304, headers=headers)
            return Response(tissue_overlay(mask), media_type="image/png", headers=headers)

        return self._with_slide(request, answer)

    def descriptor(self, request: Request) -> Response:
        """The Deep Zoom descriptor as XML."""

        def answer(row: Slide) -> Response:
            with self._slides.using(row) as slide:
                xml = slide.deepzoom_descriptor
            return Response(xml, media_type="application/xml", headers=KEEP)

        return self._with_slide(request, answer)

    def descriptor_json(self, request: Request) -> Response:
        """Size and resolution of a slide: level-0 pixels and µm per level-0 pixel."""
        return self._with_slide(
            request,
            lambda row: JSONResponse(
                {"id": row.id, "name": row.name, "width": row.width, "height": row.height, "mpp": row.mpp}
            ),
        )

    def tile(self, request: Request) -> Response:
        """One tile as JPEG; level 0 is the single-pixel end of the pyramid."""
        level, column, line = (request.path_params[name] for name in ("level", "column", "row"))

        def answer(row: Slide) -> Response:
            key = (row.id, level, column, line)
            data = self._tiles.get(key)
            timing = {"Server-Timing": f"tiles;desc={'read' if data is None else 'kept'}"}
            if data is None:
                with self._slides.using(row) as slide:
                    data = slide.tile(level, column, line)
                self._tiles.put(key, data)
            return Response(data, media_type="image/jpeg", headers={**KEEP, **timing})

        return self._with_slide(request, answer)
