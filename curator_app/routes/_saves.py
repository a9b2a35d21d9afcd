"""The routes by which the pages save: the answer comes when the change is in the database.

A browser repeats a request until it is answered; it names its act, so that nothing is made twice (`pipeline.acts`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from http import HTTPStatus
from typing import Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from curator_app.drafts import DRAFT_NAME, DraftStore, note_draft
from curator_app.routes._answers import TooLongError, body_of, json_error
from curator_app.routes._protected import ProtectedRoute, who_asks
from db.tables import Item
from pipeline.acts import Made, once
from pipeline.conflicts import seed_texts
from pipeline.errors import ConflictError, InputError, NotFoundError
from pipeline.leases import renew_leases
from pipeline.permissions import Permission
from pipeline.review import decide, undo_decision
from pipeline.seeds import SeedText, checked_seed, get_seed_row, save_seed
from pipeline.troubles import not_needed
from pipeline.workspace import Workspace

MAX_BYTES = 200_000

_ID = r"^[A-Za-z0-9_]*$"


class Asked(BaseModel):
    """What every save says: who asks, in which act, over which row version, and the act of writing that it ends."""

    model_config = ConfigDict(extra="forbid")

    account: str = Field(max_length=64)
    act: str = Field(pattern="^[0-9a-f]{32}$")
    version: int | None = Field(default=None, ge=1)
    writing: str | None = Field(default=None, max_length=64)


class _SeedAsked(Asked):
    roi: str = Field(max_length=64, pattern=_ID)
    seed: str | None = Field(default=None, max_length=64, pattern=_ID)
    draft: str | None = Field(default=None, pattern=DRAFT_NAME)
    question: str
    answer: str
    category: str
    notes: str = ""

    @model_validator(mode="after")
    def _over_what(self) -> Self:
        if self.seed is not None and self.version is None:
            raise ValueError("a change of a seed names the version that was seen")
        return self

    @property
    def texts(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in ("question", "answer", "category", "notes")}


class _DecisionAsked(Asked):
    version: int = Field(ge=1)
    decision: Literal["approve", "reject", "undo"]
    note: str = ""


_Body = TypeVar("_Body", bound=Asked)
_Save = Callable[[Workspace, Request, _Body], JSONResponse]


def save_routes(workspace: Workspace) -> list[ProtectedRoute]:
    """Return the routes that save seeds and decisions of a workspace."""
    return [
        ProtectedRoute("/api/seeds", answering(workspace, _SeedAsked, _save), Permission.WRITE_SEEDS, methods=["POST"]),
        ProtectedRoute(
            "/api/items/{item}/decisions",
            answering(workspace, _DecisionAsked, _decide),
            Permission.DECIDE_ITEMS,
            methods=["POST"],
        ),
    ]


def _save(own: Workspace, _request: Request, asked: _SeedAsked) -> JSONResponse:
    made = once(
        own,
        asked.act,
        lambda within: save_seed(
            within,
            SeedText(**asked.texts),
            roi_id=asked.roi,
            who=own.actor.name,
            seed_id=asked.seed,
            expected_version=asked.version,
        ),
    )
    if made.again and not _says(own, made, asked):
        return json_error(HTTPStatus.CONFLICT, "This act saved another text; nothing was changed.")
    if asked.draft is not None and asked.writing is not None:
        about = {"saved_as": made.object_id, "saved_version": str(made.row_version)}
        DraftStore(own).mark_saved(asked.draft, asked.writing, asked.texts, about=about)
    return saved_answer(made, "seed")


def _says(own: Workspace, made: Made, asked: _SeedAsked) -> bool:
    """Whether the seed that the act left says what is asked for; somebody may have changed it since."""
    with own.reading() as session:
        seed = get_seed_row(session, made.object_id)
    if seed.row_version != made.row_version:
        return True
    text = checked_seed(SeedText(**asked.texts), max_length=own.settings.max_text_length)
    return seed_texts(seed) == asdict(text)


def _decide(own: Workspace, request: Request, asked: _DecisionAsked) -> JSONResponse:
    item, who, seen = request.path_params["item"], own.actor.name, asked.version

    def change(within: Workspace) -> Item:
        if asked.decision == "undo":
            return undo_decision(within, item, who=who, expected_version=seen)
        return decide(within, item, asked.decision, who=who, note=asked.note, expected_version=seen)

    made = once(own, asked.act, change)
    if asked.writing is not None:
        DraftStore(own).drop(note_draft(item), writing=asked.writing)
    return saved_answer(made, "item")


def saved_answer(made: Made, kind: str) -> JSONResponse:
    """Return what a page is told of a change that was made, or had been made before."""
    return JSONResponse(
        {kind: made.object_id, "version": made.row_version, "at": f"{made.at.astimezone():%H:%M:%S}"},
        headers={"Cache-Control": "no-store"},
    )


def answering(workspace: Workspace, kind: type[_Body], save: _Save[_Body]) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler that reads a body, saves in the name of who sent it, and puts every fault into words."""

    async def answer(request: Request) -> Response:
        try:
            asked = kind.model_validate_json(await body_of(request, most=MAX_BYTES))
            actor = who_asks(request).actor
            if asked.account != actor.account_id:
                # The page was opened by somebody who has signed out since.
                return json_error(HTTPStatus.UNAUTHORIZED, "This was asked for by somebody else.")
            own = workspace.acting_as(actor)
            saved = await run_in_threadpool(save, own, request, asked)
            # Who saves works on something.
            with not_needed("Nobody is told who works on what"):
                await run_in_threadpool(renew_leases, own)
        except TooLongError:
            return json_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A save has at most {MAX_BYTES} bytes.")
        except ValidationError as error:
            problems = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
            return json_error(HTTPStatus.UNPROCESSABLE_ENTITY, "This is no save.", problems=problems)
        except ConflictError as error:
            return json_error(HTTPStatus.CONFLICT, error.message, version=error.now.row_version, state=error.now.state)
        except NotFoundError as error:
            return json_error(HTTPStatus.NOT_FOUND, error.message)
        except InputError as error:
            return json_error(HTTPStatus.UNPROCESSABLE_ENTITY, error.message, problems=list(error.problems))
        return saved

    return answer
