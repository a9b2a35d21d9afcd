"""The file of the job queue: whether it can be read, and how to go on where it cannot."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from db import faults_of_copy
from pipeline.errors import InputError
from pipeline.workspace import QUEUE_FILE, Workspace

HOW_TO_GO_ON = (
    f"end the app and its workers and move {QUEUE_FILE} away: jobs that wait or run in it are lost, and have to be "
    "started again; nothing else is"
)


def faults_of_queue(workspace: Workspace) -> list[str]:
    """Return what is wrong with the queue's file, page by page; none where the queue is not in a file."""
    file = workspace.root / QUEUE_FILE
    if not workspace.queue_url.startswith("sqlite") or not file.exists():
        return []
    return faults_of_copy(file)


def require_queue(workspace: Workspace) -> None:
    """Refuse to work with a queue whose file is none.

    Raises:
        InputError: it cannot be read.
    """
    file = workspace.root / QUEUE_FILE
    if not workspace.queue_url.startswith("sqlite") or not file.exists():
        return
    try:
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except sqlite3.DatabaseError as error:
        # Others that write at this moment are no fault of the file.
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return
        raise InputError(f"The job queue {file} is damaged ({error}): {HOW_TO_GO_ON}.") from None
