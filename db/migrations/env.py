"""Alembic's entry: runs migrations on the engine that db._schema hands over, foreign keys off, checked after."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Engine
from sqlmodel import SQLModel

import db.tables  # noqa: F401  (fills the metadata)


def _run(engine: Engine) -> None:
    with engine.connect() as connection:
        sqlite = engine.dialect.name == "sqlite"
        if sqlite:
            # Only outside a transaction does SQLite take this setting.
            raw = connection.connection.dbapi_connection
            if raw is not None:
                raw.execute("PRAGMA foreign_keys=OFF")
        context.configure(
            connection=connection,
            target_metadata=SQLModel.metadata,
            render_as_batch=sqlite,
            compare_type=True,
        )
        with context.begin_transaction():
            context.run_migrations()
            if sqlite:
                broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
                if broken:
                    raise RuntimeError(f"The migration would leave rows that refer to nothing: {broken[:5]}")
        connection.commit()
        if sqlite:
            raw = connection.connection.dbapi_connection
            if raw is not None:
                raw.execute("PRAGMA foreign_keys=ON")


_run(context.config.attributes["engine"])
