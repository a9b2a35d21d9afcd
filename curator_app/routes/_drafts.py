"""The route that takes what is being typed, so that a closed tab or a reload loses nothing."""

from __future__ import annotations

from http import HTTPStatus

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from curator_app.drafts import DraftStore
from curator_app.routes._answers import TooLongError, body_of, json_error
from curator_app.routes._protected import ProtectedRoute, who_asks
from db import utc_now
from pipeline.errors import InputError
from pipeline.leases import renew_leases
from pipeline.permissions import Permission
from pipeline.troubles import not_needed
from pipeline.workspace import Workspace

MAX_BYTES = 200_000


class _Typed(BaseModel):
    """What the browser sends: who writes, one act of writing, its texts by field, and how new they are."""

    model_config = ConfigDict(extra="forbid")

    account: str = Field(max_length=64)
    writing: str = Field(max_length=64)
    fields: dict[str, str]
    number: int = Field(default=0, ge=0)


def draft_routes(workspace: Workspace) -> list[ProtectedRoute]:
    """Return the route that keeps the drafts of a workspace."""

    async def keep(request: Request) -> Response:
        try:
            typed = _Typed.model_validate_json(await body_of(request, most=MAX_BYTES))
            actor = who_asks(request).actor
            if typed.account != actor.account_id:
                # The page was opened by somebody who has signed out since.
                return json_error(HTTPStatus.UNAUTHORIZED, "This text was typed by somebody else.")
            own = workspace.acting_as(actor)
            kept = await run_in_threadpool(
                DraftStore(own).receive,
                request.path_params["name"],
                typed.writing,
                typed.fields,
                number=typed.number,
            )
            # Who types works on something.
            with not_needed("Nobody is told who works on what"):
                await run_in_threadpool(renew_leases, own)
        except TooLongError:
            return json_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A draft has at most {MAX_BYTES} bytes.")
        except ValidationError:
            return json_error(
                HTTPStatus.UNPROCESSABLE_ENTITY, "This is no draft: an account, a writing and its fields as JSON."
            )
        except InputError as error:
            return json_error(HTTPStatus.UNPROCESSABLE_ENTITY, error.message)
        # The server's time, by which all that is saved is told.
        return JSONResponse({"kept": kept, "at": f"{utc_now().astimezone():%H:%M:%S}"})

    # Whatever it is a draft of, it is kept for its writer alone; saving it asks for more.
    return [ProtectedRoute("/api/drafts/{name}", keep, Permission.OWN_ACCOUNT, methods=["POST"])]
