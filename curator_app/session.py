"""Which workspace this server serves, and which account the person at the browser works under."""

from __future__ import annotations

from pipeline.errors import InputError
from pipeline.workspace import Workspace

_served: Workspace | None = None


def use_workspace(workspace: Workspace) -> None:
    """Set the workspace that the pages of this process show; the server and tests call it once."""
    global _served
    _served = workspace


def workspace() -> Workspace:
    """Return the workspace that the pages show.

    Raises:
        InputError: the page runs outside the server.
    """
    if _served is None:
        raise InputError("No workspace is open: start the app with 'histocurator serve --workspace DIR'")
    return _served


def who() -> str:
    """Return the account name that changes are recorded under: the person who made the workspace."""
    return workspace().owner().name
