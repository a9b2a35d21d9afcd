"""What generation and checking write: each function is one transaction that can be repeated without harm.

A durable job repeats a write whose end it did not see. Ids are therefore derived from what the row is about,
and a row that exists already is left as it is.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Sequence
from typing import Any

from sqlmodel import Session, col, select

from db import record_event
from db.audit import document_digest
from db.tables import GuessTrial, Item, ItemVersion, ModelCall
from evaluation.items import (
    FreeText,
    KPrim,
    KPrimDraft,
    MultipleChoice,
    MultipleChoiceDraft,
    VariantsDraft,
    parse_item,
)
from evaluation.models import ModelReply
from pipeline.errors import InputError, NotFoundError
from pipeline.states import move
from pipeline.workspace import Workspace


def derived_id(prefix: str, *parts: object) -> str:
    """Return the id of the row that is about `parts`; the same parts give the same id."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()
    return f"{prefix}_{digest[:20]}"


def provenance_of(reply: ModelReply, **more: Any) -> dict[str, Any]:
    """Return what is kept of a call beside its text: model, prompt hash, parameters, tokens, cost."""
    kept = reply.model_dump(mode="json", exclude={"text", "error"})
    return {**kept, **more}


def record_call(
    workspace: Workspace,
    *,
    seed_id: str,
    generation_id: str,
    number: int,
    purpose: str,
    reply: ModelReply,
    error: str | None,
    who: str,
) -> None:
    """Keep one reply of the writing model as it came, with why it was not used if it was not."""
    with workspace.writing() as session:
        identifier = derived_id("call", generation_id, number)
        if session.get(ModelCall, identifier) is None:
            session.add(
                ModelCall(
                    id=identifier,
                    created_by=who,
                    seed_id=seed_id,
                    generation_id=generation_id,
                    purpose=purpose,
                    outcome="invalid" if error and reply.outcome == "answered" else reply.outcome,
                    reply=reply.text,
                    error=error or reply.error,
                    provenance=provenance_of(reply),
                )
            )


def store_drafts(
    workspace: Workspace,
    *,
    seed_id: str,
    generation_id: str,
    draft: VariantsDraft,
    provenance: dict[str, Any],
    kept: Collection[str] = (),
    who: str,
) -> dict[str, str]:
    """Store the items of a seed with their first versions; formats in `kept` have an item already.

    Returns:
        ids of the stored items by format.
    """
    contents: list[MultipleChoice | KPrim | FreeText] = [
        draft.mcq.to_item(random.Random(f"{generation_id}/mcq")),
        draft.kprim.to_item(random.Random(f"{generation_id}/kprim")),
        draft.free_text.to_item(),
    ]
    ids: dict[str, str] = {}
    with workspace.writing() as session:
        for content in contents:
            if content.format in kept:
                continue
            identifier = derived_id("item", generation_id, content.format)
            ids[content.format] = identifier
            if session.get(Item, identifier) is not None:
                continue
            item = Item(
                id=identifier,
                created_by=who,
                seed_id=seed_id,
                generation_id=generation_id,
                format=content.format,
            )
            session.add(item)
            session.flush()
            version = _add_version(session, item, content, provenance=provenance, reason=None, who=who)
            new = {"format": content.format, **_text_in_trail(version)}
            record_event(session, who=who, action="generate", row=item, new=new)
            if content.format == "free_text":
                # VIPER section 3.2: free text is not filtered, the author validates it.
                move(session, item, "passed", who=who)
            else:
                move(session, item, "checking", who=who)
    return ids


def _add_version(
    session: Session,
    item: Item,
    content: MultipleChoice | KPrim | FreeText,
    *,
    provenance: dict[str, Any],
    reason: str | None,
    who: str,
) -> ItemVersion:
    number = 1
    if item.current_version_id is not None:
        number = session.get_one(ItemVersion, item.current_version_id).number + 1
    version = ItemVersion(
        id=derived_id("ver", item.id, number),
        created_by=who,
        item_id=item.id,
        number=number,
        content=content.model_dump(mode="json"),
        provenance=provenance,
        parent_id=item.current_version_id,
        reason=reason,
    )
    session.add(version)
    session.flush()
    item.current_version_id = version.id
    return version


def _text_in_trail(version: ItemVersion) -> dict[str, Any]:
    """Return what the trail says of a text, which stays in its version: `audit verify` compares the two."""
    return {"version": version.number, "text_sha256": document_digest(version.content)}


def add_version(
    session: Session,
    item: Item,
    content: MultipleChoice | KPrim | FreeText,
    *,
    provenance: dict[str, Any],
    reason: str,
    who: str,
) -> ItemVersion:
    """Add a version of an item in an open transaction and make it the current one."""
    old = {"version": session.get_one(ItemVersion, item.current_version_id).number}
    version = _add_version(session, item, content, provenance=provenance, reason=reason, who=who)
    record_event(session, who=who, action="version", row=item, old=old, new=_text_in_trail(version), reason=reason)
    return version


def current_content(session: Session, item: Item) -> tuple[ItemVersion, MultipleChoice | KPrim | FreeText]:
    """Return an item's current version and its text."""
    if item.current_version_id is None:
        raise NotFoundError(f"Item {item.id} has no version.")
    version = session.get_one(ItemVersion, item.current_version_id)
    return version, content_of(version)


def content_of(version: ItemVersion) -> MultipleChoice | KPrim | FreeText:
    """Return the text of a stored version."""
    return parse_item(version.content)


def load_item(workspace: Workspace, item_id: str) -> tuple[Item, ItemVersion, MultipleChoice | KPrim | FreeText]:
    """Return an item, its current version and its text.

    Raises:
        NotFoundError: there is none of this id.
    """
    with workspace.reading() as session:
        item = session.get(Item, item_id)
        if item is None:
            raise NotFoundError(f"There is no item {item_id} in this workspace.")
        version, content = current_content(session, item)
        return item, version, content


def store_trials(
    workspace: Workspace,
    *,
    version_id: str,
    trials: Sequence[GuessTrial],
    verdict: str,
    reason: str | None,
    who: str,
) -> None:
    """Store a version's image-free trials and verdict, and move the item accordingly."""
    with workspace.writing() as session:
        version = session.get_one(ItemVersion, version_id)
        if version.guess_verdict is not None:
            return
        session.add_all(trials)
        version.guess_verdict = verdict
        item = session.get_one(Item, version.item_id)
        to = {"passed": "passed", "guessable": "guessable", "incomplete": "escalated"}[verdict]
        move(session, item, to, who=who, reason=reason)


def load_checked_content(workspace: Workspace, version_id: str) -> MultipleChoice | KPrim:
    """Return the text of a version that the image-free check applies to.

    Raises:
        InputError: the version is free text.
    """
    with workspace.reading() as session:
        content = content_of(session.get_one(ItemVersion, version_id))
    if isinstance(content, FreeText):
        raise InputError(f"Version {version_id} is free text, which is not checked without the image")
    return content


def store_regeneration(
    workspace: Workspace,
    *,
    item_id: str,
    draft: MultipleChoiceDraft | KPrimDraft,
    order_key: str,
    provenance: dict[str, Any],
    reason: str,
    who: str,
) -> None:
    """Store the version that replaces a guessed one; the item is checked again.

    `order_key` decides the order of its options or statements.
    """
    with workspace.writing() as session:
        item = session.get_one(Item, item_id)
        if item.state != "guessable":
            return
        move(session, item, "regenerating", who=who)
        content = draft.to_item(random.Random(order_key))
        add_version(session, item, content, provenance=provenance, reason=reason, who=who)
        move(session, item, "checking", who=who)


def escalate(workspace: Workspace, *, item_id: str, reason: str, who: str) -> None:
    """Hand an item to a person: it stayed guessable, or the check or a regeneration came to nothing."""
    with workspace.writing() as session:
        item = session.get_one(Item, item_id)
        if item.state in ("guessable", "regenerating", "checking"):
            move(session, item, "escalated", who=who, reason=reason)


def list_trials(workspace: Workspace, version_ids: Sequence[str]) -> list[GuessTrial]:
    """Return the stored trials of versions, in order."""
    query = (
        select(GuessTrial)
        .where(col(GuessTrial.item_version_id).in_(version_ids))
        .order_by(col(GuessTrial.item_version_id), col(GuessTrial.trial))
    )
    with workspace.reading() as session:
        return list(session.exec(query))
