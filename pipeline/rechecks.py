"""The image-free check made again of items whose check came to nothing: a call failed, or its process was lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from db import record_event
from db.tables import GuessTrial, Item, ItemVersion, Roi, Seed
from evaluation.items import FreeText, KPrim, MultipleChoice
from evaluation.items.prompts import PromptLibrary
from pipeline.guessability import Checker, check_version
from pipeline.item_store import content_of
from pipeline.model_choice import prompt_folder
from pipeline.permissions import Permission, needs
from pipeline.states import move
from pipeline.steps import Steps
from pipeline.workspace import Workspace

OF_JOB = "job"
"""In the provenance of a trial: the job that made it, where that job checks and does nothing else."""

_GUESSED = "guessed without the image"


@dataclass(frozen=True)
class CheckedItem:
    """What came of one item: `passed`, `guessable`, `incomplete` or `skipped`, and why."""

    item_id: str
    verdict: str
    reason: str | None = None

    @property
    def failed(self) -> bool:
        """Whether the check came to nothing again."""
        return self.verdict in ("incomplete", "skipped")


@dataclass(frozen=True)
class _Waiting:
    """What is checked: a version, its text, the trials that there are, and the organ that the checker is told."""

    version_id: str
    content: MultipleChoice | KPrim
    trials: list[GuessTrial]
    organ: str


@needs(Permission.VIEW_ITEMS)
def items_to_check(workspace: Workspace) -> list[str]:
    """Return the ids of items that wait for a person because the check of their current text came to nothing."""
    query = (
        select(Item.id)
        .join(ItemVersion, col(ItemVersion.id) == Item.current_version_id)
        .where(*_came_to_nothing())
        .order_by(col(Item.created_at), col(Item.id))
    )
    with workspace.reading() as session:
        return list(session.exec(query))


def _came_to_nothing() -> Sequence[ColumnElement[bool]]:
    return (
        col(Item.state) == "escalated",
        col(Item.format) != "free_text",
        col(ItemVersion.guess_verdict).is_(None) | (col(ItemVersion.guess_verdict) == "incomplete"),
    )


@needs(Permission.GENERATE_ITEMS)
async def check_again(
    workspace: Workspace, item_id: str, *, checker: str, steps: Steps, job_id: str, who: str
) -> CheckedItem:
    """Check the current text of an item without the image, asking only for the trials that brought no answer.

    The item stays with the person it was handed to until the verdict is there: who decides on it meanwhile
    decides, and the trials are kept beside that decision.
    """
    waiting = await steps.write(_load, workspace, item_id)
    if waiting is None:
        return CheckedItem(item_id, "skipped", "it waits for no check any more")
    check = await check_version(
        waiting.content,
        version_id=waiting.version_id,
        checker=Checker(checker, PromptLibrary(prompt_folder(workspace)), waiting.organ, workspace.settings.audience),
        steps=steps,
        who=who,
        before=waiting.trials,
    )
    for trial in check.trials:
        trial.provenance = {**trial.provenance, OF_JOB: job_id}
    await steps.write(
        _store,
        workspace,
        waiting.version_id,
        [GuessTrial(**trial.model_dump()) for trial in check.trials],
        check.verdict,
        check.reason,
        who,
    )
    return CheckedItem(item_id, check.verdict, check.reason)


def _load(workspace: Workspace, item_id: str) -> _Waiting | None:
    query = (
        select(ItemVersion, Roi.organ)
        .join(Item, col(Item.current_version_id) == ItemVersion.id)
        .join(Seed, col(Seed.id) == Item.seed_id)
        .join(Roi, col(Roi.id) == Seed.roi_id)
        .where(Item.id == item_id, *_came_to_nothing())
    )
    with workspace.reading() as session:
        found = session.exec(query).first()
        if found is None:
            return None
        version, organ = found
        content = content_of(version)
        if isinstance(content, FreeText):
            return None
        return _Waiting(version.id, content, _trials_of(session, version.id), organ)


def _trials_of(session: Session, version_id: str) -> list[GuessTrial]:
    query = select(GuessTrial).where(GuessTrial.item_version_id == version_id).order_by(col(GuessTrial.trial))
    return list(session.exec(query))


def _store(
    workspace: Workspace, version_id: str, trials: Sequence[GuessTrial], verdict: str, reason: str | None, who: str
) -> None:
    """Store trials and verdict in one transaction, and move the item if it still waits for the verdict."""
    with workspace.writing() as session:
        new = [trial for trial in trials if session.get(GuessTrial, trial.id) is None]
        if not new:
            return
        session.add_all(new)
        version = session.get_one(ItemVersion, version_id)
        before, version.guess_verdict = version.guess_verdict, verdict
        item = session.get_one(Item, version.item_id)
        if item.state != "escalated" or item.current_version_id != version_id or verdict == "incomplete":
            # Elsewhere the item's new state says what came of the check.
            record_event(
                session,
                who=who,
                action="check",
                row=item,
                old={"version": version.number, "verdict": before},
                new={"version": version.number, "verdict": verdict},
                reason=reason,
            )
            return
        move(session, item, "checking", who=who, reason="the check without the image was made again")
        if verdict == "passed":
            move(session, item, "passed", who=who, reason=reason)
            return
        move(session, item, "guessable", who=who, reason=_GUESSED)
        move(session, item, "escalated", who=who, reason=_GUESSED)
