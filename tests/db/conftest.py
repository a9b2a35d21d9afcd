"""Databases of both kinds, empty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from db import connect, new_id
from tests.pipeline.test_postgresql import postgresql_url

__all__ = ["postgresql_url"]


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An empty SQLite file, then an empty database of a real PostgreSQL."""
    if request.param == "sqlite":
        engine = connect(f"sqlite:///{tmp_path / 'a.db'}")
    else:
        url = request.getfixturevalue("postgresql_url")
        name = new_id("test")
        server = connect(url)
        with server.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        made = server.url.set(database=name)
        server.dispose()
        engine = connect(made.render_as_string(hide_password=False))
    yield engine
    engine.dispose()
