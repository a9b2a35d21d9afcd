"""Review: a person approves, edits or rejects an item's current version, and can take the decision back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlmodel import Session, col, select

from db import new_id
from db.tables import AuditEvent, GuessTrial, Item, ItemVersion, ReviewDecision, Roi, Seed, Slide
from evaluation.items import FreeText, KPrim, MultipleChoice
from evaluation.items.prompts import PromptLibrary
from evaluation.models import run_models
from pipeline.conflicts import standing_of_item
from pipeline.errors import ConflictError, InputError, NotFoundError
from pipeline.guessability import Checker, check_version
from pipeline.ingest import checked_field
from pipeline.item_store import add_version, content_of, escalate, load_checked_content, store_trials
from pipeline.last_change import said_change
from pipeline.model_choice import choose_models, prompt_folder
from pipeline.notes import checked_note
from pipeline.permissions import Permission, needs
from pipeline.seed_holds import process_hold
from pipeline.states import move
from pipeline.steps import ForegroundSteps
from pipeline.workspace import Workspace, operating_system_user

REVIEWABLE = ("passed", "escalated")
"""States in which an item waits for a person."""

TEXT_OF = "text_of"
"""In a version's provenance: the version that first had this text, and whose image-free trials are its own."""


@dataclass(frozen=True)
class ItemEntry:
    """An item as lists show it: its current text and where it comes from."""

    item: Item
    version: ItemVersion
    content: MultipleChoice | KPrim | FreeText
    seed: Seed
    roi: Roi
    slide: Slide


@dataclass(frozen=True)
class ItemHistory:
    """Everything that happened to an item: versions oldest first, their trials, the decisions.

    A version that only brings an older text back has the trials of that text.
    """

    versions: list[ItemVersion]
    trials: dict[str, list[GuessTrial]]
    decisions: list[ReviewDecision]


_DECISIONS = {"approved": "approve", "rejected": "reject"}
"""The decision that leaves an item in a state."""


@needs(Permission.VIEW_ITEMS)
def list_items(
    workspace: Workspace,
    *,
    states: Sequence[str] = (),
    item_format: str | None = None,
    organ: str | None = None,
    category: str | None = None,
) -> list[ItemEntry]:
    """Return the items that exist, oldest seed first; withdrawn ones only if `states` names them."""
    query = (
        select(Item, ItemVersion, Seed, Roi)
        .where(
            Item.current_version_id == ItemVersion.id,
            Item.seed_id == Seed.id,
            Seed.roi_id == Roi.id,
        )
        .order_by(col(Seed.created_at), col(Seed.id), col(Item.format).desc(), col(Item.id))
    )
    if states:
        query = query.where(col(Item.state).in_(states))
    else:
        query = query.where(Item.state != "withdrawn")
    if item_format is not None:
        query = query.where(Item.format == item_format)
    if organ is not None:
        query = query.where(Roi.organ == organ)
    if category is not None:
        query = query.where(Seed.category == category)
    with workspace.reading() as session:
        slides = {slide.id: slide for slide in session.exec(select(Slide))}
        return [
            ItemEntry(item, version, content_of(version), seed, roi, slides[roi.slide_id])
            for item, version, seed, roi in session.exec(query)
        ]


@needs(Permission.VIEW_ITEMS)
def item_history(workspace: Workspace, item_id: str) -> ItemHistory:
    """Return an item's versions, image-free trials and review decisions."""
    with workspace.reading() as session:
        versions = list(
            session.exec(select(ItemVersion).where(ItemVersion.item_id == item_id).order_by(col(ItemVersion.number)))
        )
        trials: dict[str, list[GuessTrial]] = {version.id: [] for version in versions}
        for trial in session.exec(
            select(GuessTrial).where(col(GuessTrial.item_version_id).in_(trials)).order_by(col(GuessTrial.trial))
        ):
            trials[trial.item_version_id].append(trial)
        for version in versions:
            if (checked := version.provenance.get(TEXT_OF)) is not None:
                trials[version.id] = trials[checked] + trials[version.id]
        decisions = list(
            session.exec(
                select(ReviewDecision).where(ReviewDecision.item_id == item_id).order_by(col(ReviewDecision.created_at))
            )
        )
    return ItemHistory(versions, trials, decisions)


def _load(session: Session, item_id: str, expected_version: int | None, who: str) -> Item:
    item = session.get(Item, item_id)
    if item is None:
        raise NotFoundError(f"There is no item {item_id} in this workspace.")
    if expected_version is not None and item.row_version != expected_version:
        raise ConflictError(
            f"{said_change(session, item, who=who)} Nothing was saved; look at it again.",
            standing_of_item(session, item),
        )
    return item


@needs(Permission.DECIDE_ITEMS)
def decide(
    workspace: Workspace,
    item_id: str,
    decision: str,
    *,
    who: str,
    note: str = "",
    recorded_by: str = "app",
    expected_version: int | None = None,
) -> Item:
    """Approve or reject an item's current version.

    Args:
        workspace: where.
        item_id: the item.
        decision: `approve`, or `reject`, which needs a note.
        who: the account that decides.
        note: what the reviewer says.
        recorded_by: how the decision came in.
        expected_version: the row version that the reviewer saw; another one now is a conflict.

    Raises:
        InputError: the item does not wait for a decision, or a rejection has no note.
        ConflictError: the item was changed in between.
    """
    targets = {name: state for state, name in _DECISIONS.items()}
    if decision not in targets:
        raise InputError(f"{decision!r} is no decision; use approve or reject")
    needed = "A rejection needs a note that says what is wrong" if decision == "reject" else None
    note = checked_note(note, name="note", most=workspace.settings.max_text_length, needed=needed)
    with workspace.writing() as session:
        item = _load(session, item_id, expected_version, who)
        _record(session, item, decision, who=who, note=note, recorded_by=recorded_by)
        move(session, item, "in_review", who=who)
        move(session, item, targets[decision], who=who, reason=note or None, about=_text_of(session, item))
        return item


def _text_of(session: Session, item: Item) -> dict[str, int]:
    """Return which text a decision is on, for the audit trail."""
    return {"version": session.get_one(ItemVersion, item.current_version_id).number}


def _record(session: Session, item: Item, decision: str, *, who: str, note: str, recorded_by: str) -> None:
    session.add(
        ReviewDecision(
            id=new_id("dec"),
            created_by=who,
            item_id=item.id,
            item_version_id=item.current_version_id or "",
            decision=decision,
            state_before=item.state,
            note=note,
            recorded_by=recorded_by,
        )
    )


@needs(Permission.DECIDE_ITEMS)
def undo_decision(workspace: Workspace, item_id: str, *, who: str, expected_version: int | None = None) -> Item:
    """Take back the last approval or rejection of an item; the decision stays in its history.

    Raises:
        InputError: there is nothing to take back, or the item is released.
        ConflictError: the item was changed since `expected_version` was seen.
    """
    with workspace.writing() as session:
        item = _load(session, item_id, expected_version, who)
        if item.state not in _DECISIONS:
            raise InputError(f"Item {item_id} is {item.state}: there is no decision to take back")
        before = _state_before_review(session, item_id)
        reason = f"{_DECISIONS[item.state]} taken back"
        _record(session, item, "undo", who=who, note="", recorded_by="app")
        move(session, item, before, who=who, reason=reason, about=_text_of(session, item))
        return item


def _state_before_review(session: Session, item_id: str) -> str:
    """Return the state from which an item last came into review: by the order of the trail, whatever clocks said."""
    changes = session.exec(
        select(AuditEvent)
        .where(AuditEvent.object_id == item_id, AuditEvent.object_type == "item", AuditEvent.action == "state")
        .order_by(col(AuditEvent.sequence).desc())
    )
    came = next(change for change in changes if (change.new or {}).get("state") == "in_review")
    return str((came.old or {})["state"])


@needs(Permission.EDIT_ITEMS)
def edit_item(
    workspace: Workspace,
    item_id: str,
    content: MultipleChoice | KPrim | FreeText,
    *,
    who: str,
    note: str = "",
    checker: str | None = None,
    expected_version: int | None = None,
) -> Item:
    """Save a person's text as a new version; MCQ and KPrim are checked without the image again.

    The version is stored before the check runs. An edited text that the checker guesses is escalated, never
    rewritten by a model: a person wrote it, so a person decides.

    Raises:
        InputError: the item does not wait for a decision, the format differs, or nothing was changed.
        ConflictError: the item was changed in between.
    """
    note = checked_note(note, name="note", most=workspace.settings.max_text_length)
    models = choose_models(workspace, generator=None, checker=checker)
    # Held, so that an item whose check dies with this process is found and handed to a person.
    with process_hold(workspace, item_id):
        item, organ = _store_edit(workspace, item_id, content, who, note, expected_version)
        if item.state == "checking":
            return _check_edit(workspace, item, organ, models.checker, who)
    return item


def _store_edit(
    workspace: Workspace,
    item_id: str,
    content: MultipleChoice | KPrim | FreeText,
    who: str,
    note: str,
    expected_version: int | None,
) -> tuple[Item, str]:
    """Store the new version and return the item, as it then is, with its organ."""
    with workspace.writing() as session:
        item = _load(session, item_id, expected_version, who)
        if item.format != content.format:
            raise InputError(f"Item {item_id} is {item.format}; the new text is {content.format}")
        before = session.get_one(ItemVersion, item.current_version_id)
        if content_of(before) == content:
            raise InputError("The text is unchanged; no new version was made")
        _record(session, item, "revise", who=who, note=note, recorded_by="app")
        move(session, item, "in_review", who=who)
        move(session, item, "revise", who=who, reason=note or None, about=_text_of(session, item))
        add_version(
            session,
            item,
            content,
            provenance={"written_by": who},
            reason=note or "edited in review",
            who=who,
        )
        move(session, item, "passed" if isinstance(content, FreeText) else "checking", who=who)
        return item, session.get_one(Roi, session.get_one(Seed, item.seed_id).roi_id).organ


def _check_edit(workspace: Workspace, item: Item, organ: str, checker: str, who: str) -> Item:
    try:
        check_stored_version(workspace, item.current_version_id or "", organ=organ, checker=checker, who=who)
    except BaseException as error:
        reason = f"the check without the image ended early: {type(error).__name__}"
        escalate(workspace, item_id=item.id, reason=reason, who=who)
        raise
    with workspace.writing() as session:
        item = _load(session, item.id, None, who)
        if item.state == "guessable":
            move(session, item, "escalated", who=who, reason="the edited text is guessed without the image")
        return item


def edit_to_undo(item: Item, history: ItemHistory, *, who: str) -> ItemVersion | None:
    """Return the version that `undo_edit` brings back: the one before the person's own last edit, if that stands."""
    current, before = history.versions[-1], {version.id: version for version in history.versions}
    if item.state not in REVIEWABLE or current.provenance.get("written_by") != who or TEXT_OF in current.provenance:
        return None
    return before.get(current.parent_id or "")


@needs(Permission.EDIT_ITEMS)
def undo_edit(workspace: Workspace, item_id: str, *, who: str, expected_version: int | None = None) -> Item:
    """Take back the person's own last edit: the text before it is a new version, with its verdict and state.

    The verdict is about the text, which was checked as it is: no model is asked again.

    Raises:
        InputError: the text that stands is no edit of this person, or the item does not wait for a decision.
        ConflictError: the item was changed since `expected_version` was seen.
    """
    with workspace.writing() as session:
        item = _load(session, item_id, expected_version, who)
        current = session.get_one(ItemVersion, item.current_version_id)
        versions = [session.get_one(ItemVersion, current.parent_id)] if current.parent_id else []
        before = edit_to_undo(item, ItemHistory([*versions, current], {}, []), who=who)
        if before is None:
            raise InputError(f"Item {item_id} is {item.state}, and its text is no edit of yours that can be taken back")
        edit = session.exec(
            select(ReviewDecision)
            .where(ReviewDecision.item_version_id == before.id, ReviewDecision.decision == "revise")
            .order_by(col(ReviewDecision.created_at).desc())
        ).first()
        _record(session, item, "undo", who=who, note=f"back to v{before.number}", recorded_by="app")
        move(session, item, "in_review", who=who)
        move(session, item, "revise", who=who, reason=f"edit v{current.number} taken back")
        version = add_version(
            session,
            item,
            content_of(before),
            provenance={"written_by": who, TEXT_OF: before.provenance.get(TEXT_OF, before.id)},
            reason=f"v{current.number} taken back: the text of v{before.number} again",
            who=who,
        )
        version.guess_verdict = before.guess_verdict
        state = edit.state_before if edit is not None else "escalated"
        move(session, item, state, who=who, reason=f"as v{before.number} was" if state == "escalated" else None)
        return item


@needs(Permission.EDIT_ITEMS)
def check_stored_version(workspace: Workspace, version_id: str, *, organ: str, checker: str, who: str) -> None:
    """Run the image-free check of one stored version in this process and store its trials and verdict."""

    async def run() -> None:
        result = await check_version(
            load_checked_content(workspace, version_id),
            version_id=version_id,
            checker=Checker(checker, PromptLibrary(prompt_folder(workspace)), organ, workspace.settings.audience),
            steps=ForegroundSteps(workspace.settings.model_concurrency),
            who=who,
        )
        store_trials(
            workspace,
            version_id=version_id,
            trials=result.trials,
            verdict=result.verdict,
            reason=result.reason,
            who=who,
        )

    run_models(run())


@needs(Permission.DECIDE_ITEMS)
def approve_passed(workspace: Workspace, *, as_user: str) -> list[Item]:
    """Approve every item that passed the check, on the command line, in the name of `as_user`.

    Only the operating-system owner of the workspace may; each decision records both names. Items of a seed that
    is still being generated wait, and what somebody else decides meanwhile is left as it is.

    Raises:
        InputError: somebody else runs the command, or the name is empty.
    """
    name = checked_field("--as (the name of who approves)", as_user, required=True) or ""
    if not workspace.is_operating_system_owner():
        raise InputError(
            f"{workspace.root} belongs to another operating-system user; only its owner may approve on the "
            "command line. Approve in the app instead."
        )
    recorded = f"command line, operating-system user {operating_system_user()}"
    approved: list[Item] = []
    for entry in list_items(workspace, states=("passed",)):
        if entry.seed.state != "ready":
            continue
        seen = entry.item.row_version
        with suppress(ConflictError):
            approved.append(
                decide(workspace, entry.item.id, "approve", who=name, recorded_by=recorded, expected_version=seen)
            )
    return approved


@needs(Permission.WITHDRAW_ITEMS)
def withdraw_item(
    workspace: Workspace, item_id: str, *, reason: str, who: str, expected_version: int | None = None
) -> Item:
    """Withdraw an item for good, with a reason; nothing is deleted.

    Raises:
        InputError: no reason is given, or the item is withdrawn already.
        ConflictError: the item was changed since `expected_version` was seen.
    """
    most = workspace.settings.max_text_length
    reason = checked_note(reason, name="reason", most=most, needed="Say why the item is withdrawn")
    with workspace.writing() as session:
        item = _load(session, item_id, expected_version, who)
        move(session, item, "withdrawn", who=who, reason=reason)
        return item
