"""Compares what the clients were told with what is stored: nothing lost, nothing twice, nothing half-written."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlmodel import Session, col, select

from db.tables import Act, AuditEvent, Item, ItemVersion, ReviewDecision, Seed
from pipeline.audit import verify_trail
from pipeline.conflicts import seed_texts
from pipeline.workspace import DRAFTS, Workspace
from tests.load.notes import DECISIONS, SEEDS, Notes, Save, Seen
from tests.load.scene import Scene

PASSING = ("drafted", "regenerating", "in_review", "revise")
"""States of items that begin and end within one transaction."""

_NUMBER = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True)
class _Stored:
    """The tables at one moment."""

    events: Sequence[AuditEvent]
    seeds: Sequence[Seed]
    items: Sequence[Item]
    versions: Sequence[ItemVersion]
    decisions: Sequence[ReviewDecision]
    acts: Sequence[Act]


def faults_of(scene: Scene, notes: Notes, *, at_work: bool) -> list[str]:
    """Return everything that is wrong, in words.

    Args:
        scene: what the clients worked on.
        notes: what they noted; read before the database is, so that all of it must be there.
        at_work: they still are: acts that were sent and not answered may or may not be stored.
    """
    seen = notes.now()
    with scene.workspace.reading() as session:
        stored = _read(session)
    # Sent before it was stored: read afterwards, so that what arrived meanwhile is among it.
    sent = notes.now().sent
    return [
        *seen.faults,
        *(f"the chain: {fault}" for fault in verify_trail(scene.workspace).faults),
        *_faults_of_acts(seen, stored, sent, at_work=at_work),
        *_faults_of_seeds(scene, seen, stored),
        *_faults_of_decisions(scene, seen, stored, at_work=at_work),
        *_half_written(stored),
        *_faults_of_drafts(scene.workspace, seen, at_work=at_work),
    ]


def _read(session: Session) -> _Stored:
    if session.get_bind().dialect.name == "postgresql":
        # All queries see one moment, as SQLite's do in any transaction.
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
    return _Stored(
        events=session.exec(select(AuditEvent).order_by(col(AuditEvent.sequence))).all(),
        seeds=session.exec(select(Seed)).all(),
        items=session.exec(select(Item)).all(),
        versions=session.exec(select(ItemVersion)).all(),
        decisions=session.exec(select(ReviewDecision)).all(),
        acts=session.exec(select(Act)).all(),
    )


def _faults_of_acts(seen: Seen, stored: _Stored, sent: frozenset[tuple[str, str]], *, at_work: bool) -> Iterator[str]:
    """Each acknowledged act is stored with what it was answered, and no other one is."""
    kept = {(act.account_id, act.id): act for act in stored.acts}
    acknowledged = {(save.account_id, save.act): save for save in seen.saves if save.kind != "draft"}
    for key, save in acknowledged.items():
        act = kept.get(key)
        if act is None:
            yield f"lost: {save.kind} of {save.who} on {save.object_id}"
        elif (act.object_id, act.row_version) != (save.object_id, save.version):
            yield f"{save.kind} of {save.who} was answered {save.object_id} v{save.version}, but is {act}"
    known = sent if at_work else acknowledged
    yield from (f"an act that nobody was told of: {kept[key]}" for key in kept if key not in known)
    yield from (f"an act that was refused is stored: {kept[key]}" for key in kept if key in seen.refused)
    left = Counter((save.object_id, save.version) for save in seen.saves if save.kind != "draft")
    yield from (f"{count} acts left {thing[0]} in version {thing[1]}" for thing, count in left.items() if count > 1)


def _faults_of_seeds(scene: Scene, seen: Seen, stored: _Stored) -> Iterator[str]:
    """Each acknowledged text is in the trail once, over the text that its writer saw."""
    by_text: dict[tuple[str, str], list[AuditEvent]] = defaultdict(list)
    for event in stored.events:
        if event.object_type == "seed" and event.action in ("write", "edit") and event.new is not None:
            by_text[event.object_id, str(event.new["question"])].append(event)
    texts = {(thing.id, thing.version): thing.texts for thing in scene.shared}
    saves = [save for save in seen.saves if save.kind in SEEDS]
    texts |= {(save.object_id, save.version): dict(save.texts) for save in saves}
    for save in saves:
        found = by_text[save.object_id, save.texts["question"]]
        if len(found) != 1:
            yield f"{len(found)} rows of the trail for {save.kind} {save.texts['question']!r} of {save.who}"
            continue
        event = found[0]
        if (event.who, event.new) != (save.who, dict(save.texts)):
            yield f"row {event.sequence} says {event.who}: {event.new}, not {save.who}: {save.texts}"
        if save.over is not None and save.version != save.over + 1:
            yield f"{save.object_id} went from version {save.over} to {save.version} in one save"
        before = texts.get((save.object_id, save.over or 0))
        if before is not None and event.old != before:
            yield f"row {event.sequence} replaced {event.old}, but {save.who} had seen {before}"


def _faults_of_decisions(scene: Scene, seen: Seen, stored: _Stored, *, at_work: bool) -> Iterator[str]:
    """Each acknowledged decision is stored once, with its move in the trail; a note tells it from others."""
    kept = Counter((one.created_by, one.item_id, one.decision) for one in stored.decisions)
    told = Counter((save.who, save.object_id, save.kind) for save in seen.saves if save.kind in DECISIONS)
    people = {person.name for person in scene.reviewers}
    for key in {*kept, *told}:
        if key[0] in people and (kept[key] < told[key] or (kept[key] > told[key] and not at_work)):
            yield f"{key[0]} was told of {told[key]} times {key[2]} on {key[1]}, {kept[key]} are stored"
    noted = Counter((one.created_by, one.item_id, one.note) for one in stored.decisions if one.note)
    moved = Counter((one.who, one.object_id, one.reason) for one in stored.events if one.action == "state")
    for save in seen.saves:
        if save.kind in DECISIONS and save.texts.get("note"):
            key = (save.who, save.object_id, save.texts["note"])
            if (noted[key], moved[key]) != (1, 1):
                yield f"the note {key[2]!r} stands in {noted[key]} decisions and {moved[key]} rows of the trail"


def _half_written(stored: _Stored) -> Iterator[str]:
    """What one transaction writes is there as a whole."""
    texts: dict[str, dict[str, Any] | None] = {}
    states: dict[str, str] = {}
    numbers: Counter[str] = Counter()
    reviewed: Counter[str] = Counter()
    taken_back: Counter[str] = Counter()
    for event in stored.events:
        if event.object_type == "seed" and event.action in ("write", "edit"):
            before = texts.get(event.object_id)
            if event.old != before:
                yield f"row {event.sequence}: the text of {event.object_id} before was {before}, not {event.old}"
            texts[event.object_id] = event.new
        elif event.action == "state" and event.object_type in ("seed", "item"):
            old, new = (event.old or {}).get("state"), (event.new or {}).get("state")
            if event.object_id in states and states[event.object_id] != old:
                yield f"row {event.sequence}: {event.object_id} was {states[event.object_id]}, not {old}"
            states[event.object_id] = str(new)
            reviewed[event.object_id] += new == "in_review"
            taken_back[event.object_id] += (event.reason or "").endswith(" taken back")
        elif event.action in ("generate", "version"):
            numbers[event.object_id] += 1
    for seed in stored.seeds:
        if seed_texts(seed) != texts.get(seed.id):
            yield f"seed {seed.id} holds {seed_texts(seed)}, the trail {texts.get(seed.id)}"
        if seed.state != states.get(seed.id, "written"):
            yield f"seed {seed.id} is {seed.state}, the trail says {states.get(seed.id)}"
    current = {version.id: version.item_id for version in stored.versions}
    made = Counter(version.item_id for version in stored.versions)
    decided = Counter(one.item_id for one in stored.decisions if one.decision != "undo")
    undone = Counter(one.item_id for one in stored.decisions if one.decision == "undo")
    for item in stored.items:
        if item.state in PASSING or item.state != states.get(item.id):
            yield f"item {item.id} is {item.state}, the trail says {states.get(item.id)}"
        if current.get(item.current_version_id or "") != item.id:
            yield f"item {item.id} has no current version"
        rows = (made[item.id], decided[item.id], undone[item.id])
        told = (numbers[item.id], reviewed[item.id], taken_back[item.id])
        if rows != told:
            yield f"item {item.id} has {rows} versions, decisions and undos, the trail {told}"


def _faults_of_drafts(workspace: Workspace, seen: Seen, *, at_work: bool) -> Iterator[str]:
    """The last acknowledged text of each field is in the draft's file, unless a save ended the draft."""
    folder = workspace.root / DRAFTS
    last: dict[tuple[str, str, str], Save] = {}
    ended: dict[tuple[str, str], Save] = {}
    for save in seen.saves:
        if save.kind == "draft":
            last.update({(save.account_id, save.object_id, name): save for name in save.texts})
            ended.pop((save.account_id, save.object_id), None)
        elif save.ended is not None:
            ended[save.account_id, save.ended[0]] = save
    files = {(path.parent.name, path.stem): _document(path) for path in folder.glob("*/*_*.json")}
    yield from (f"the draft {name} of {account} is torn" for (account, name), kept in files.items() if kept is None)
    for (account, name, field), save in last.items():
        by = ended.get((account, name))
        document = files.get((account, name))
        text = (document or {}).get("fields", {}).get(field)
        if by is not None:
            # A seed's draft stays until its page hears of the save, and says what it was saved as.
            is_over = text is None or (document or {}).get("saved") == dict(by.texts)
            if not is_over and not at_work:
                yield f"draft {name} of {save.who} was saved with {by.object_id} and does not say so"
        elif text is None or _number(text) < save.number:
            # Between the reading of the notes and of the file a decision may have ended it.
            if not (at_work and name.startswith("reject_") and not document):
                yield f"lost: draft {name} of {save.who} holds {text!r}, acknowledged was {save.texts[field]!r}"
        elif not at_work and text != save.texts[field]:
            yield f"draft {name} of {save.who} holds {text!r}, acknowledged was {save.texts[field]!r}"


def _document(path: Path) -> Mapping[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}  # a decision ended it just now
    except ValueError:
        return None
    return found if isinstance(found, dict) and {"fields", "own", "about"} <= found.keys() else None


def _number(text: str) -> int:
    found = _NUMBER.match(text)
    return int(found[1]) if found else -1


def unfinished_drafts(workspace: Workspace) -> list[Path]:
    """Return what a kill left of a draft that was being written: a file that no page reads."""
    return [path for path in (workspace.root / DRAFTS).glob("*/*") if path.suffix != ".json"]
