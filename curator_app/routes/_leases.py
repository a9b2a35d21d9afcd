"""The route by which a closed page gives back what its reader worked on."""

from __future__ import annotations

from http import HTTPStatus

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from curator_app.routes._answers import TooLongError, body_of, json_error
from curator_app.routes._protected import ProtectedRoute, who_asks
from pipeline.leases import release_lease
from pipeline.permissions import Permission
from pipeline.workspace import Workspace

MAX_BYTES = 1_000


class _Asked(BaseModel):
    """Who worked on it, when the page was opened."""

    model_config = ConfigDict(extra="forbid")

    account: str = Field(max_length=64)


def lease_routes(workspace: Workspace) -> list[ProtectedRoute]:
    """Return the route that ends leases of a workspace, each by its holder alone."""

    async def end(request: Request) -> Response:
        try:
            asked = _Asked.model_validate_json(await body_of(request, most=MAX_BYTES))
        except TooLongError:
            return json_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"This takes at most {MAX_BYTES} bytes.")
        except ValidationError:
            return json_error(HTTPStatus.UNPROCESSABLE_ENTITY, "Say whose account it is, as JSON.")
        actor = who_asks(request).actor
        if asked.account != actor.account_id:
            # The page was opened by somebody who has signed out since.
            return json_error(HTTPStatus.UNAUTHORIZED, "This was asked for by somebody else.")
        await run_in_threadpool(release_lease, workspace.acting_as(actor), request.path_params["object"])
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return [ProtectedRoute("/api/leases/{object}/end", end, Permission.OWN_ACCOUNT, methods=["POST"])]
