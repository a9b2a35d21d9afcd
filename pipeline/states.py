"""The states of seeds and items: which change is allowed is data, and one function makes it.

`python -m pipeline.states` draws the tables below; docs/states.md is its output.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sqlmodel import Session

from db import record_event
from db.tables import Item, Roi, Seed
from pipeline.errors import InputError

SeedState = Literal["open", "written", "generating", "ready", "failed", "dropped"]
ItemState = Literal[
    "drafted",
    "checking",
    "guessable",
    "regenerating",
    "escalated",
    "passed",
    "in_review",
    "approved",
    "revise",
    "rejected",
    "released",
    "withdrawn",
]
RoiState = Literal["candidate", "selected", "rejected"]

ROI_TRANSITIONS: Mapping[str, frozenset[str]] = {
    "candidate": frozenset({"selected", "rejected"}),
    "selected": frozenset({"candidate", "rejected"}),
    "rejected": frozenset({"candidate", "selected"}),
}

SEED_TRANSITIONS: Mapping[str, frozenset[str]] = {
    "open": frozenset({"written", "dropped"}),
    "written": frozenset({"generating", "dropped", "open"}),
    "generating": frozenset({"ready", "failed", "written"}),
    "ready": frozenset({"generating", "dropped"}),
    "failed": frozenset({"generating", "written", "dropped"}),
    "dropped": frozenset({"written"}),
}

ITEM_TRANSITIONS: Mapping[str, frozenset[str]] = {
    "drafted": frozenset({"checking", "passed", "withdrawn"}),
    "checking": frozenset({"guessable", "passed", "escalated", "withdrawn"}),
    "guessable": frozenset({"regenerating", "escalated", "withdrawn"}),
    "regenerating": frozenset({"checking", "escalated", "withdrawn"}),
    "escalated": frozenset({"checking", "in_review", "withdrawn"}),
    "passed": frozenset({"in_review", "withdrawn"}),
    "in_review": frozenset({"approved", "revise", "rejected", "withdrawn"}),
    "approved": frozenset({"released", "passed", "escalated", "withdrawn"}),
    "revise": frozenset({"checking", "passed", "escalated", "withdrawn"}),
    "rejected": frozenset({"passed", "escalated", "withdrawn"}),
    "released": frozenset({"withdrawn"}),
    "withdrawn": frozenset(),
}
"""From `approved`, `revise` and `rejected` the way back to `passed` or `escalated` is the undo of a decision.

From `escalated` back to `checking` goes an item whose check came to nothing and is made again."""

_TABLES: Mapping[type, Mapping[str, frozenset[str]]] = {
    Roi: ROI_TRANSITIONS,
    Seed: SEED_TRANSITIONS,
    Item: ITEM_TRANSITIONS,
}


def move(
    session: Session,
    row: Roi | Seed | Item,
    to: str,
    *,
    who: str,
    reason: str | None = None,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Change a row's state and write the audit row, in the open transaction.

    Args:
        session: the transaction.
        row: what changes.
        to: its new state.
        who: who changes it.
        reason: why.
        about: what else the audit row says of the new state, such as the version that a decision is on.

    Raises:
        InputError: the change is not in the table.
    """
    what = type(row).__name__.lower()
    if to not in _TABLES[type(row)].get(row.state, frozenset()):
        allowed = ", ".join(sorted(_TABLES[type(row)].get(row.state, ()))) or "nothing"
        raise InputError(f"{what} {row.id} is {row.state}; it can become {allowed}, not {to}")
    new = {"state": to, **(about or {})}
    record_event(session, who=who, action="state", row=row, old={"state": row.state}, new=new, reason=reason)
    row.state = to
    if not isinstance(row, Roi):
        row.reason = reason
    session.add(row)


def states_as_mermaid(table: Mapping[str, frozenset[str]]) -> str:
    """Return a Mermaid state diagram of a table of transitions."""
    lines = ["stateDiagram-v2"]
    lines += [f"    {state} --> {to}" for state, targets in table.items() for to in sorted(targets)]
    return "\n".join(lines)


def states_document() -> str:
    """Return docs/states.md: what the states are and the diagrams drawn from the tables."""
    parts = ["# States", "", "Drawn from the tables in `pipeline/states.py` by `make docs`.", ""]
    for title, table in (("ROI", ROI_TRANSITIONS), ("Seed", SEED_TRANSITIONS), ("Item", ITEM_TRANSITIONS)):
        parts += [f"## {title}", "", "```mermaid", states_as_mermaid(table), "```", ""]
    return "\n".join(parts)


if __name__ == "__main__":
    print(states_document(), end="")  # noqa: T201  (this is what the command is for)
