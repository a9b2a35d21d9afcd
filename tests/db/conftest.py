"""Databases of both kinds, empty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from db import connect


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An empty SQLite file, then an empty database of a real PostgreSQL."""
    if request.param == "sqlite":
        engine = connect(f"sqlite:///{tmp_path / 'a.db'}")
    else:
        engine = connect(request.getfixturevalue("postgresql_url"))
    yield engine
    engine.dispose()
