"""Has the restored database in PostgreSQL, where one is named, from just before the workspace takes its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine

from db import NotEmptyError, SchemaError, UnstorableTextError, connect, load_copy, migrate
from pipeline.errors import InputError
from pipeline.workspace import DATABASE_FILE


@contextmanager
def loaded(staged: Path, url: str | None) -> Iterator[None]:
    """Have the checked database in the PostgreSQL that is named, if one is; it is empty again where the block fails."""
    if url is None:
        yield
        return
    try:
        engine = connect(url)
    except ValueError as error:
        raise InputError(f"HISTOCURATOR_DATABASE_URL: {error}") from None
    try:
        _load(staged, engine)
        try:
            # The file is not needed beside it.
            (staged / DATABASE_FILE).unlink()
            yield
        except BaseException:
            # Else the next try would be refused, since the database holds rows already.
            migrate(engine, to="base")
            raise
    finally:
        engine.dispose()


def _load(staged: Path, engine: Engine) -> None:
    try:
        load_copy(staged / DATABASE_FILE, engine)
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
