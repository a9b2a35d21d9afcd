"""Seed questions: question, answer and category that a pathologist writes for one ROI."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlmodel import Session, col, select

from db import new_id, record_event
from db.tables import Item, Roi, Seed, Slide
from evaluation.items import CATEGORIES, fault_of_text, normalise_text
from pipeline.conflicts import seed_texts, standing_of_seed
from pipeline.csv_tables import read_table
from pipeline.errors import ConflictError, IncompleteError, InputError, NotFoundError, Standing
from pipeline.ingest import checked_field
from pipeline.last_change import require_unchanged, said_change
from pipeline.notes import checked_note
from pipeline.permissions import Permission, needs
from pipeline.states import move
from pipeline.workspace import Workspace

SEED_COLUMNS = ("roi", "question", "answer", "category", "author", "notes")
_REQUIRED = ("roi", "question", "answer", "category", "author")
_TRUTH_WORDS = {"true": True, "false": False}


@dataclass(frozen=True)
class SeedText:
    """What a person writes. A seed that is a statement has the answer `true` or `false`."""

    question: str
    answer: str
    category: str
    notes: str = ""

    @property
    def is_true(self) -> bool | None:
        """The truth value of a statement, None for a question."""
        return _TRUTH_WORDS.get(self.answer.casefold())


def checked_seed(text: SeedText, *, max_length: int) -> SeedText:
    """Return the texts normalised.

    Raises:
        IncompleteError: with what is wrong with each field.
    """
    question, answer = normalise_text(text.question), normalise_text(text.answer)
    notes = normalise_text(text.notes)
    faults: dict[str, str] = {}
    if text.category not in CATEGORIES:
        known = f"(known: {', '.join(CATEGORIES)})"
        faults["category"] = f"{text.category!r} is unknown {known}" if text.category else f"is empty {known}"
    for name, value in (("question", question), ("answer", answer), ("notes", notes)):
        if not value and name != "notes":
            faults[name] = "is empty"
        elif value and (fault := fault_of_text(value)) is not None:
            faults[name] = fault
        elif len(value) > max_length:
            faults[name] = f"has {len(value)} characters; at most {max_length} are allowed"
    if faults:
        raise IncompleteError("The seed question is not complete", faults)
    return SeedText(question=question, answer=answer, category=text.category, notes=notes)


@needs(Permission.WRITE_SEEDS)
def save_seed(
    workspace: Workspace,
    text: SeedText,
    *,
    roi_id: str,
    who: str,
    seed_id: str | None = None,
    expected_version: int | None = None,
) -> Seed:
    """Write a new seed for a selected ROI, or change one that has no items yet.

    Args:
        workspace: where.
        text: question, answer, category and notes.
        roi_id: the selected ROI.
        who: the author.
        seed_id: the seed to change; None writes a new one.
        expected_version: the row version that the editor saw; another one now is a conflict.

    Raises:
        InputError: the text is not complete, or the seed cannot be edited any more.
        ConflictError: somebody else changed the seed in between.
    """
    text = checked_seed(text, max_length=workspace.settings.max_text_length)
    with workspace.writing() as session:
        roi = session.get(Roi, roi_id)
        if roi is None:
            raise NotFoundError(f"There is no ROI {roi_id} in this workspace.")
        if roi.withdrawn_at is not None:
            raise InputError(f"ROI {roi_id} is withdrawn: {roi.withdrawn_reason}")
        if roi.state != "selected":
            raise InputError(f"ROI {roi_id} is {roi.state}; only a selected ROI takes a seed question")
        if seed_id is None:
            return _add(session, text, roi_id=roi_id, author=who, who=who)
        seed = get_seed_row(session, seed_id)
        if seed.roi_id != roi_id:
            raise InputError(f"Seed {seed_id} belongs to ROI {seed.roi_id}, not to {roi_id}")
        if expected_version is not None and seed.row_version != expected_version:
            raise ConflictError(
                f"{said_change(session, seed, who=who)} It says now: {seed.question} - {seed.answer}. "
                "Your text was not saved; compare and save again.",
                standing_of_seed(session, seed),
            )
        if seed.state not in ("written", "failed", "dropped"):
            raise InputError(f"The seed is {seed.state}: it has items, edit those instead")
        old = seed_texts(seed)
        seed.question, seed.answer, seed.is_true = text.question, text.answer, text.is_true
        seed.category, seed.notes = text.category, text.notes
        if seed.state != "written":
            move(session, seed, "written", who=who)
        record_event(session, who=who, action="edit", row=seed, old=old, new=seed_texts(seed))
        session.add(seed)
        return seed


def _add(session: Session, text: SeedText, *, roi_id: str, author: str, who: str) -> Seed:
    seed = Seed(
        id=new_id("seed"),
        created_by=who,
        roi_id=roi_id,
        question=text.question,
        answer=text.answer,
        is_true=text.is_true,
        category=text.category,
        author=author,
        notes=text.notes,
    )
    session.add(seed)
    record_event(session, who=who, action="write", row=seed, new=seed_texts(seed))
    return seed


def get_seed_row(session: Session, seed_id: str) -> Seed:
    """Return a seed within an open session.

    Raises:
        NotFoundError: there is none of this id.
    """
    seed = session.get(Seed, seed_id)
    if seed is None:
        raise NotFoundError(f"There is no seed {seed_id} in this workspace.")
    return seed


@needs(Permission.WRITE_SEEDS)
def drop_seed(
    workspace: Workspace, seed_id: str, *, reason: str, who: str, expected_version: int | None = None
) -> Seed:
    """Drop a seed with a reason; its items are withdrawn with it for good. `restore_seed` takes the seed back.

    Raises:
        InputError: no reason is given, the seed is being worked on or dropped already, or an item of it is released.
        ChangedError: the seed was changed since `expected_version` was seen.
    """
    most = workspace.settings.max_text_length
    reason = checked_note(reason, name="reason", most=most, needed="Say why the seed is dropped")
    with workspace.writing() as session:
        seed = get_seed_row(session, seed_id)
        require_unchanged(session, seed, expected_version, who=who)
        items = session.exec(select(Item).where(Item.seed_id == seed_id, Item.state != "withdrawn")).all()
        if any(item.state == "released" for item in items):
            raise InputError(f"Items of seed {seed_id} are released; withdraw them from the release first")
        for item in items:
            move(session, item, "withdrawn", who=who, reason=f"seed dropped: {reason}")
        move(session, seed, "dropped", who=who, reason=reason)
        return seed


@needs(Permission.WRITE_SEEDS)
def restore_seed(workspace: Workspace, seed_id: str, *, who: str, expected_version: int | None = None) -> Seed:
    """Undo a drop: the seed is written again and can be given to the generator.

    Raises:
        InputError: the seed is not dropped.
        ChangedError: the seed was changed since `expected_version` was seen.
    """
    with workspace.writing() as session:
        seed = get_seed_row(session, seed_id)
        require_unchanged(session, seed, expected_version, who=who)
        move(session, seed, "written", who=who)
        return seed


@needs(Permission.VIEW_SEEDS)
def seed_standing(workspace: Workspace, seed_id: str) -> Standing:
    """Return a seed's text and who wrote it when.

    Raises:
        NotFoundError: there is none of this id.
    """
    with workspace.reading() as session:
        return standing_of_seed(session, get_seed_row(session, seed_id))


@needs(Permission.WRITE_SEEDS)
def import_seeds(workspace: Workspace, path: Path, *, who: str) -> list[Seed]:
    """Import seeds from a CSV file with columns roi, question, answer, category, author and, if wanted, notes.

    Raises:
        InputError: a row is wrong; every bad row is listed with its line and nothing is imported.
    """
    rows = read_table(path, required=_REQUIRED, known=SEED_COLUMNS)
    problems: list[str] = []
    texts: list[SeedText] = []
    with workspace.writing() as session:
        selected = dict(session.exec(select(Roi.id, Roi.state).where(col(Roi.withdrawn_at).is_(None))).all())
        written = {
            (seed.roi_id, seed.question, seed.answer)
            for seed in session.exec(select(Seed).where(col(Seed.withdrawn_at).is_(None)))
        }
        for row in rows:
            if row.fault is not None:
                problems.append(f"line {row.line}: {row.fault}")
                continue
            faults: list[str] = []
            state = selected.get(row.get("roi"))
            if state is None:
                faults.append(f"there is no ROI {row.get('roi')!r} in this workspace")
            elif state != "selected":
                faults.append(f"ROI {row.get('roi')} is {state}, not selected")
            if not row.get("author"):
                faults.append("author is empty")
            try:
                checked_field("author", row.get("author"))
            except InputError as error:
                faults.append(error.message)
            try:
                text = checked_seed(
                    SeedText(row.get("question"), row.get("answer"), row.get("category"), row.get("notes")),
                    max_length=workspace.settings.max_text_length,
                )
            except InputError as error:
                faults += error.problems
            else:
                if (row.get("roi"), text.question, text.answer) in written:
                    faults.append("the same question and answer exist for this ROI already")
                written.add((row.get("roi"), text.question, text.answer))
                texts.append(text)
            problems += [f"line {row.line}: {fault}" for fault in faults]
        if problems:
            raise InputError(f"{path}: {len(problems)} problems, nothing was imported", problems)
        return [
            _add(session, text, roi_id=row.get("roi"), author=row.get("author"), who=who)
            for row, text in zip(rows, texts, strict=True)
        ]


@dataclass(frozen=True)
class SeedEntry:
    """A seed with the ROI and slide that it asks about."""

    seed: Seed
    roi: Roi
    slide: Slide


@needs(Permission.VIEW_SEEDS)
def list_seeds(workspace: Workspace, *, states: tuple[str, ...] = ()) -> list[SeedEntry]:
    """Return seeds, oldest first; only those in `states` where given."""
    query = (
        select(Seed, Roi, Slide)
        .where(Seed.roi_id == Roi.id, Roi.slide_id == Slide.id, col(Seed.withdrawn_at).is_(None))
        .order_by(col(Seed.created_at), col(Seed.id))
    )
    if states:
        query = query.where(col(Seed.state).in_(states))
    with workspace.reading() as session:
        return [SeedEntry(seed, roi, slide) for seed, roi, slide in session.exec(query)]
