"""The routes of a slide's ROIs: the frames that a viewer draws, drawing one, taking it back, and GeoJSON."""

from __future__ import annotations

from dataclasses import asdict, astuple
from http import HTTPStatus
from urllib.parse import quote

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from curator_app.routes._answers import json_error
from curator_app.routes._pictures import ASK_AGAIN
from curator_app.routes._protected import ProtectedRoute, who_asks
from curator_app.routes._saves import Asked, answering, saved_answer
from evaluation.slides import SlideError
from pipeline.acts import once
from pipeline.drawn_rois import draw_roi, withdraw_drawn_roi
from pipeline.errors import NotFoundError
from pipeline.permissions import Permission
from pipeline.roi_exchange import export_geojson
from pipeline.roi_frames import around_roi, frames_mark, slide_frames
from pipeline.states import ROI_TRANSITIONS
from pipeline.workspace import Workspace

TAKEN_BACK = "taken back in the viewer"
"""The reason that the audit trail has for a drawn ROI that somebody takes back with one click."""

_MOST_PIXELS = 2**31 - 1


class _FieldAsked(Asked):
    slide: str = Field(max_length=64, pattern=r"^[A-Za-z0-9_]+$")
    x: int = Field(strict=True, ge=-_MOST_PIXELS, le=_MOST_PIXELS)
    y: int = Field(strict=True, ge=-_MOST_PIXELS, le=_MOST_PIXELS)
    size: int = Field(strict=True, ge=1, le=_MOST_PIXELS)
    magnification: float


class _WithdrawalAsked(Asked):
    version: int = Field(ge=1)


def slide_roi_routes(workspace: Workspace) -> list[ProtectedRoute]:
    """Return the routes of the ROIs on a workspace's slides."""

    def frames(request: Request) -> Response:
        own, slide = workspace.acting_as(who_asks(request).actor), request.path_params["id"]
        headers = {"ETag": f'"{frames_mark(own, slide)}"', **ASK_AGAIN}
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        try:
            found = slide_frames(own, slide)
        except NotFoundError as error:
            return json_error(HTTPStatus.NOT_FOUND, error.message)
        return JSONResponse({"frames": [astuple(frame) for frame in found]}, headers=headers)

    def around(request: Request) -> Response:
        own = workspace.acting_as(who_asks(request).actor)
        try:
            found = around_roi(own, request.path_params["id"])
        except NotFoundError as error:
            return json_error(HTTPStatus.NOT_FOUND, error.message)
        return JSONResponse(asdict(found), headers={"Cache-Control": "no-store"})

    def geojson(request: Request) -> Response:
        own = workspace.acting_as(who_asks(request).actor)
        states = request.query_params.get("states", "selected").split(",")
        if not set(states) <= set(ROI_TRANSITIONS):
            return json_error(HTTPStatus.BAD_REQUEST, f"A ROI is one of: {', '.join(ROI_TRANSITIONS)}.")
        slide = request.path_params["id"]
        try:
            data = export_geojson(own, slide, states=states)
        except NotFoundError as error:
            return json_error(HTTPStatus.NOT_FOUND, error.message)
        return Response(
            data,
            media_type="application/geo+json",
            headers={
                "Content-Disposition": f"attachment; filename*=UTF-8''{quote(f'{slide}.geojson', safe='')}",
                "Cache-Control": "private, no-store",
            },
        )

    view, choose = Permission.VIEW_SLIDES, Permission.CHOOSE_ROIS
    return [
        ProtectedRoute("/api/slides/{id}/frames", frames, view, methods=["GET"]),
        ProtectedRoute("/api/slides/{id}/rois.geojson", geojson, view, methods=["GET"]),
        ProtectedRoute("/api/rois/{id}/around", around, view, methods=["GET"]),
        ProtectedRoute("/api/rois", answering(workspace, _FieldAsked, _draw), choose, methods=["POST"]),
        ProtectedRoute(
            "/api/rois/{roi}/withdrawal", answering(workspace, _WithdrawalAsked, _withdraw), choose, methods=["POST"]
        ),
    ]


def geojson_address(slide_id: str, *, states: tuple[str, ...] = ("selected",)) -> str:
    """Return where the ROIs of a slide are downloaded as GeoJSON."""
    return f"/api/slides/{quote(slide_id)}/rois.geojson?states={','.join(states)}"


def _draw(own: Workspace, _request: Request, asked: _FieldAsked) -> JSONResponse:
    try:
        made = once(
            own,
            asked.act,
            lambda within: draw_roi(
                within,
                asked.slide,
                x=asked.x,
                y=asked.y,
                magnification=asked.magnification,
                size=asked.size,
                who=own.actor.name,
            ),
        )
    except SlideError as error:
        return json_error(HTTPStatus.UNPROCESSABLE_ENTITY, f"The slide cannot be read: {error.reason} {error.remedy}")
    return saved_answer(made, "roi")


def _withdraw(own: Workspace, request: Request, asked: _WithdrawalAsked) -> JSONResponse:
    roi = request.path_params["roi"]
    made = once(
        own,
        asked.act,
        lambda within: withdraw_drawn_roi(
            within, roi, who=own.actor.name, reason=TAKEN_BACK, expected_version=asked.version
        ),
    )
    return saved_answer(made, "roi")
