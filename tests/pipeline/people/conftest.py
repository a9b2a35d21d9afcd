"""A clock that can be put forward, and people to test with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pytest
from sqlmodel import col, select

from db.tables import AuditEvent
from pipeline.people import OpenedSession, actor_of, add_account, find_account, sign_in
from pipeline.permissions import Role
from pipeline.workspace import Workspace
from tests.databases import content_of

PASSWORD = "correct horse battery"
ADDRESS = "192.0.2.1"

T = TypeVar("T")


@dataclass
class Clock:
    """How far the program's clock is put forward."""

    ahead: timedelta = field(default_factory=timedelta)

    def forward(self, **how_far: float) -> None:
        """Put the clock forward by so much (as timedelta takes it)."""
        self.ahead += timedelta(**how_far)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of everything that asks `utc_now`."""
    made = Clock()

    class Ahead(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + made.ahead

    monkeypatch.setattr("db._time.datetime", Ahead)
    return made


def add(workspace: Workspace, name: str, *roles: str, display_name: str = "") -> Workspace:
    """Make an account with PASSWORD and return the workspace in its hands; an author where no role is named."""
    add_account(workspace, name, roles=roles or [Role.AUTHOR], password=PASSWORD, display_name=display_name, who="test")
    return in_the_hands_of(workspace, name)


def in_the_hands_of(workspace: Workspace, name: str) -> Workspace:
    """The workspace as the person may use it now."""
    account = find_account(workspace, name)
    assert account is not None
    return workspace.acting_as(actor_of(account))


def enter(workspace: Workspace, name: str, *, password: str = PASSWORD, address: str = ADDRESS) -> OpenedSession:
    """Sign in from a browser."""
    return sign_in(workspace, name, password, address=address, browser="Test/1.0")


def at_once(threads: int, work: Callable[[int], T]) -> list[T | Exception]:
    """Do the same in several threads; what each returned or raised."""

    def caught(number: int) -> T | Exception:
        try:
            return work(number)
        except Exception as error:  # every outcome is looked at by the test
            return error

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(caught, range(threads)))


def audit(workspace: Workspace) -> list[AuditEvent]:
    """The audit trail, oldest first."""
    with workspace.reading() as session:
        return list(session.exec(select(AuditEvent).order_by(col(AuditEvent.sequence))))


def database_bytes(workspace: Workspace) -> bytes:
    """Everything that the database holds, and what lies in the workspace's folder, its journal before all."""
    files = (path.read_bytes() for path in sorted(workspace.root.rglob("*")) if path.is_file())
    return str(content_of(workspace.engine)).encode() + b"".join(files)


def messages(outcomes: Sequence[object]) -> set[str]:
    """What the errors among outcomes say."""
    return {str(one) for one in outcomes if isinstance(one, Exception)}
