"""Has the restored database in PostgreSQL, where one is named, from just before the workspace takes its place."""

from __future__ import annotations

import logging
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from db import (
    LoadMark,
    LoadUnderWayError,
    NotEmptyError,
    SchemaError,
    UnstorableTextError,
    connect,
    end_load,
    load_copy,
    loading,
    migrate,
    unfinished_load,
)
from db.audit import HEAD_FILE, read_head
from pipeline.errors import InputError
from pipeline.workspace import DATABASE_FILE

_log = logging.getLogger(__name__)


@contextmanager
def loaded(staged: Path, root: Path, url: str | None) -> Iterator[None]:
    """Have the checked database in the PostgreSQL that is named, if one is; it is empty again where the block fails.

    What a restore that was killed left there, whose workspace never took its place, is taken out first.

    Args:
        staged: where the workspace lies, with its database as a SQLite file, which goes.
        root: where it will lie when the block is done.
        url: the PostgreSQL, or None where the database stays in the folder.

    Raises:
        InputError: the database is none, holds rows, or takes these not.
        sqlalchemy.exc.DBAPIError: it does not answer.
    """
    if url is None:
        yield
        return
    try:
        engine = connect(url)
    except ValueError as error:
        raise InputError(f"HISTOCURATOR_DATABASE_URL: {error}") from None
    try:
        with _alone(engine):
            _take_back_unfinished(engine)
            _load(staged, root, engine)
            try:
                # The file is not needed beside it.
                (staged / DATABASE_FILE).unlink()
                yield
            except BaseException:
                # Else the next try would be refused, since the database holds rows already.
                _empty(engine)
                raise
            try:
                end_load(engine)
            except DBAPIError as error:
                # The workspace is in place, and what notes that nothing came of the load is seen to be wrong.
                _log.warning("The mark of the restore stays in the database: %s", error)
    finally:
        engine.dispose()


@contextmanager
def _alone(engine: Engine) -> Iterator[None]:
    try:
        with loading(engine):
            yield
    except LoadUnderWayError:
        raise InputError(
            "Another restore into the database that HISTOCURATOR_DATABASE_URL names is under way; wait for its end, or "
            "name another database. Nothing was changed."
        ) from None


def _take_back_unfinished(engine: Engine) -> None:
    mark = unfinished_load(engine)
    if mark is None:
        return
    if mark.host != platform.node():
        raise InputError(
            f"A restore to {mark.folder} on the machine {mark.host} left rows in the database that "
            "HISTOCURATOR_DATABASE_URL names. Do it again there, or name an empty database. Nothing was changed."
        )
    if not _took_its_place(mark):
        _empty(engine)


def _took_its_place(mark: LoadMark) -> bool:
    """Say whether the workspace is where it was to be; then the rows are in use, though nobody has changed any yet."""
    try:
        return read_head(Path(mark.folder) / HEAD_FILE) == mark.head
    except ValueError:
        return True


def _empty(engine: Engine) -> None:
    migrate(engine, to="base")
    end_load(engine)


def _load(staged: Path, root: Path, engine: Engine) -> None:
    try:
        load_copy(staged / DATABASE_FILE, engine, host=platform.node(), folder=str(root))
    except NotEmptyError as error:
        raise InputError(
            f"The database that HISTOCURATOR_DATABASE_URL names cannot take the backup: {error}. Name an empty one."
        ) from None
    except SchemaError as error:
        raise InputError(str(error)) from None
    except UnstorableTextError as error:
        raise InputError(
            f"A text in the backup holds the character {error.character}, which PostgreSQL cannot store; restore it "
            "without HISTOCURATOR_DATABASE_URL and correct the text first. Nothing was changed."
        ) from None
