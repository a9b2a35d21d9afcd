"""The schema's version: brought up to date by Alembic, a newer one refused, a copy made first."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Engine
from sqlmodel import Session

from db._time import utc_now
from db.audit import START, begin_head, is_row, read_head, trail_head

CHAIN_REVISION = "0003"
"""The revision that links the rows of the audit trail; below it there is no chain that a head could be noted of."""


class SchemaError(Exception):
    """The database's schema cannot be used by this version of the program."""


def _configuration(engine: Engine) -> Config:
    configuration = Config()
    configuration.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    configuration.attributes["engine"] = engine
    return configuration


def schema_revision(engine: Engine) -> str | None:
    """Return the revision that the database is at, or None for an empty database.

    Raises:
        SchemaError: it says that it is at several.
    """
    with engine.connect() as connection:
        try:
            return MigrationContext.configure(connection).get_current_revision()
        except CommandError:
            raise SchemaError(
                "The database says that it is at several schemas at once (table alembic_version): it was changed "
                "without this program."
            ) from None


def migrate(
    engine: Engine, *, copies: Path | None = None, to: str = "head", head_file: Path | None = None
) -> Path | None:
    """Bring the schema to revision `to` and return the copy of the SQLite file made before, if one was made.

    Args:
        engine: the database.
        copies: folder for the copy; none is made of an empty database, nor of PostgreSQL, whose
            administrators take their own dumps.
        to: an Alembic revision; "head" is what this program needs.
        head_file: where the head of the audit trail is noted. It is noted when rows that are there are linked, unless
            another is: then the chain was undone without this program. It goes where the chain is undone.

    Raises:
        SchemaError: the database was written by a newer program.
        OSError: the head cannot be noted.
    """
    configuration = _configuration(engine)
    scripts = ScriptDirectory.from_config(configuration)
    known = {script.revision for script in scripts.walk_revisions()}
    current = schema_revision(engine)
    if current is not None and current not in known:
        raise SchemaError(
            f"The database is at schema {current}, which this version does not know: it was written by a newer "
            "Histocurator. Update the program; nothing was changed."
        )
    target = scripts.get_current_head() if to == "head" else to
    if current == target:
        return None
    copy = None
    if current is not None and copies is not None and engine.dialect.name == "sqlite":
        copy = _copy_sqlite(engine, copies, current)
    was_chained = _is_chained(scripts, current)
    noted = was_chained and head_file is not None and _fits(engine, head_file)
    if to == "base" or (to != "head" and current is not None and _is_older(scripts, to, current)):
        command.downgrade(configuration, to)
    else:
        command.upgrade(configuration, to)
    if head_file is not None and current is not None:
        is_chained = _is_chained(scripts, schema_revision(engine))
        if is_chained and not was_chained:
            with Session(engine) as session:
                begin_head(head_file, trail_head(session))
        elif noted and not is_chained:
            head_file.unlink(missing_ok=True)
    return copy


def _is_chained(scripts: ScriptDirectory, revision: str | None) -> bool:
    return revision is not None and _is_older(scripts, CHAIN_REVISION, revision)


def _fits(engine: Engine, head_file: Path) -> bool:
    """Say whether what is noted is a row of the trail; a note that is not must go on showing that."""
    try:
        noted = read_head(head_file)
    except ValueError:
        return False
    if noted is None:
        return False
    with engine.connect() as connection:
        return noted == START or is_row(connection, noted)


def _is_older(scripts: ScriptDirectory, revision: str, current: str) -> bool:
    return revision in {script.revision for script in scripts.iterate_revisions(current, "base")}


def _copy_sqlite(engine: Engine, copies: Path, revision: str) -> Path:
    copies.mkdir(parents=True, exist_ok=True)
    target = copies / f"before-migration-{revision}-{utc_now():%Y%m%dT%H%M%SZ}.sqlite"
    source = engine.url.database
    if source is None:
        raise SchemaError("The SQLite URL names no file.")
    with sqlite3.connect(source) as old, sqlite3.connect(target) as new:
        old.backup(new)
    return target
