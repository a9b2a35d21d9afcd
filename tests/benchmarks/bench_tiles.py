"""Tiles per second for 20 clients against openslide-python's deep-zoom example, on the same slide in the same run.

Fresh tiles, and a replay in which people come back to places that were shown before. Both servers are processes of
their own; the clients are threads, each with a connection that it keeps where the server does.
"""

from __future__ import annotations

import http.client
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import tifffile

from curator_app.identity import Access, secret_key
from pipeline.ingest import SlideMetadata, add_slides, list_slides
from tests.curator_app.served import free_port, serving
from tests.curator_app.visitors import cookie_of, opened_session
from tests.databases import new_workspace

CLIENTS = 20
SIDE = int(os.environ.get("HISTOCURATOR_BENCH_SIDE", "30000"))
FRESH = int(os.environ.get("HISTOCURATOR_BENCH_TILES", "1500"))
"""Tiles that nobody asked for before."""

REPLAY = 2 * FRESH
"""Requests of the replay: people follow each other over the same places."""

PLACES = FRESH // 10
"""Different tiles of the replay: each is asked for 20 times, as by 20 people in a course."""

ROUNDS = 3
TILE = 512
LEVELS = 6

Address = tuple[int, int, int]


def draw_large_slide(path: Path, side: int) -> Path:
    """Write a JPEG pyramid of blobs on glass, block by block: it is never whole in memory."""
    rng = np.random.default_rng(0)
    block = rng.normal(238, 3, (TILE * 4, TILE * 4, 3))
    rows, columns = np.mgrid[: block.shape[0], : block.shape[1]]
    for _ in range(400):
        y, x, radius = rng.integers(0, block.shape[0]), rng.integers(0, block.shape[1]), rng.integers(5, 60)
        block[(rows - y) ** 2 + (columns - x) ** 2 < radius**2] *= rng.uniform(0.6, 0.95, 3)
    pattern = np.clip(block, 0, 255).astype(np.uint8)
    with tifffile.TiffWriter(path, bigtiff=True) as writer:
        for level in range(LEVELS):
            width = side >> level
            tiles = math.ceil(width / TILE)
            small = pattern[:: 1 << min(level, 2), :: 1 << min(level, 2)]
            across = small.shape[0] // TILE

            def blocks(tiles: int = tiles, small: np.ndarray = small, across: int = across) -> Iterator[np.ndarray]:
                for row in range(tiles):
                    for column in range(tiles):
                        y, x = (row % across) * TILE, (column % across) * TILE
                        yield small[y : y + TILE, x : x + TILE]

            writer.write(
                blocks(),
                shape=(width, width, 3),
                dtype=np.uint8,
                tile=(TILE, TILE),
                photometric="ycbcr",
                compression="jpeg",
                subfiletype=1 if level else 0,
                resolution=(20_000 / (1 << level), 20_000 / (1 << level)),
                resolutionunit="CENTIMETER",
                metadata=None,
            )
    return path


@dataclass(frozen=True)
class Measured:
    """How quickly requests were answered, and how many of them from a cache."""

    per_second: float
    p95_ms: float
    kept: float


def _addresses(side: int, count: int, seed: int) -> list[Address]:
    """Different tiles of the finest levels, as a walk over a slide asks for them."""
    top = math.ceil(math.log2(side))
    every = [
        (top - zoom, column, row)
        for zoom in (0, 1, 2)
        for column in range((side >> zoom) // 254)
        for row in range((side >> zoom) // 254)
    ]
    return random.Random(seed).sample(every, count)


def _ask(port: int, paths: Sequence[str], headers: dict[str, str]) -> list[tuple[float, bool]]:
    """Ask for the paths one after the other, and return for each the seconds and whether it was kept."""
    taken = []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for path in paths:
        start = time.perf_counter()
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, path
        taken.append((time.perf_counter() - start, "kept" in (answer.getheader("Server-Timing") or "")))
    connection.close()
    return taken


def _measure(port: int, pattern: str, addresses: Sequence[Address], headers: dict[str, str]) -> Measured:
    paths = [pattern.format(*address) for address in addresses]
    with ThreadPoolExecutor(CLIENTS) as pool:
        start = time.perf_counter()
        parts = list(pool.map(lambda n: _ask(port, paths[n::CLIENTS], headers), range(CLIENTS)))
        seconds = time.perf_counter() - start
    taken = [one for part in parts for one in part]
    times = np.array([one for one, _ in taken])
    return Measured(
        len(taken) / seconds, float(np.quantile(times, 0.95)) * 1000, sum(kept for _, kept in taken) / len(taken)
    )


@contextmanager
def _peer(slide: Path) -> Iterator[int]:
    port = free_port()
    command = [sys.executable, "-m", "tests.benchmarks.tile_peer", str(slide), str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(300):
                try:
                    _ask(port, ["/0/0_0.jpeg"], {})
                    break
                except OSError:
                    time.sleep(0.2)
            yield port
        finally:
            process.terminate()


def _said(name: str, ours: Measured, theirs: Measured) -> str:
    return (
        f"{name}: {ours.per_second:.0f}/s against {theirs.per_second:.0f}/s, ratio "
        f"{ours.per_second / theirs.per_second:.2f}; p95 {ours.p95_ms:.0f} ms against {theirs.p95_ms:.0f} ms; "
        f"kept {ours.kept:.0%}"
    )


def test_tiles_against_the_deep_zoom_example(tmp_path: Path) -> None:
    pytest.importorskip("flask", reason="the peer of this benchmark is a Flask app")
    slide = draw_large_slide(tmp_path / "large.tiff", SIDE)
    workspace = new_workspace(tmp_path / "workspace")
    report = add_slides(workspace, [slide], SlideMetadata(organ="liver", source="drawn", licence="CC0-1.0"), who="test")
    assert not report.problems
    cookie = cookie_of(Access(workspace, secret_key(workspace)), opened_session(workspace, workspace.actor.name))
    own = f"/api/slides/{list_slides(workspace)[0].id}/tiles/{{}}/{{}}_{{}}.jpeg"
    walk = random.Random(1)
    lines = []
    with serving(workspace, tmp_path) as served, _peer(slide) as peer:
        tiles = _addresses(SIDE, ROUNDS * (FRESH + PLACES), seed=0)
        for number in range(ROUNDS):
            part = tiles[number * (FRESH + PLACES) : (number + 1) * (FRESH + PLACES)]
            replay = [walk.choice(part[FRESH:]) for _ in range(REPLAY)]
            for name, addresses in (("fresh", part[:FRESH]), ("replay", replay)):
                theirs = _measure(peer, "/{}/{}_{}.jpeg", addresses, {})
                ours = _measure(served.port, own, addresses, {"Cookie": cookie})
                lines.append(_said(f"round {number + 1}, {name}", ours, theirs))
    print("\n" + "\n".join(lines))
