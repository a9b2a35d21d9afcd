"""Changes that are made once, however often a browser asks for them because the answer was lost on the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from sqlmodel import Session

from db.audit import last_changed
from db.tables import Act, Item, Roi, Row, Seed
from pipeline.errors import InputError
from pipeline.workspace import Workspace

_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Made:
    """What a change left: an object in its row version, and when; `again` says that an earlier request made it."""

    object_id: str
    row_version: int
    at: datetime
    again: bool = False


class _MadeBeforeError(Exception):
    def __init__(self, made: Act) -> None:
        super().__init__(made.id)
        self.made = made


def once(workspace: Workspace, act: str | None, change: Callable[[Workspace], Roi | Seed | Item]) -> Made:
    """Make a change, unless the actor made it under this act before; then say what that left.

    Args:
        workspace: where.
        act: 32 hexadecimal digits that the browser chose when the person asked; None makes the change in any case.
        change: makes it in the workspace that it is given, in one transaction that writes an audit row.

    Raises:
        InputError: the act is none; or as the change does. Nothing was changed then.
    """
    if act is None:
        row = change(workspace)
        return Made(row.id, row.row_version, row.changed_at)
    if not _ID.fullmatch(act):
        raise InputError("An act is named by 32 hexadecimal digits.")

    @contextmanager
    def noted(session: Session) -> Iterator[None]:
        key = (workspace.actor.account_id, act)
        if (made := session.get(Act, key)) is not None:
            raise _MadeBeforeError(made)
        yield
        # The versions of what was changed are counted when it is written.
        session.flush()
        if isinstance(row := last_changed(session), Row):
            session.add(
                Act(account_id=key[0], id=act, object_id=row.id, row_version=row.row_version, at=row.changed_at)
            )

    try:
        row = change(replace(workspace, around=noted))
    except _MadeBeforeError as error:
        return Made(error.made.object_id, error.made.row_version, error.made.at, again=True)
    return Made(row.id, row.row_version, row.changed_at)
