"""The cache of tiles: never more bytes than it may have, the least used ones go first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from curator_app.identity import Access
from curator_app.routes import OpenSlides, TileCache, picture_routes
from curator_app.routes._tile_cache import OVERHEAD
from pipeline.ingest import list_slides
from pipeline.workspace import Workspace
from tests.curator_app.visitors import KEY, browser_of, guarded


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 400)), max_size=60), st.integers(0, 3_000))
def test_it_keeps_within_its_bound_and_gives_back_what_was_put(puts: list[tuple[int, int]], most: int) -> None:
    cache, last = TileCache(most), {}
    for column, length in puts:
        key = ("sld_1", 0, column, 0)
        last[key] = bytes([column]) * length
        cache.put(key, last[key])
        assert cache.size <= most
        if length + OVERHEAD <= most:
            assert cache.get(key) == last[key]
    there = [key for key in last if cache.get(key) is not None]
    assert cache.size == sum(len(cache.get(key) or b"") + OVERHEAD for key in there)


def test_the_one_not_used_for_longest_goes_first() -> None:
    cache = TileCache(2 * (100 + OVERHEAD))
    one, two, three = (("sld_1", 0, number, 0) for number in range(3))
    for key in (one, two):
        cache.put(key, b"x" * 100)
    assert cache.get(one)
    cache.put(three, b"x" * 100)
    assert [cache.get(key) is not None for key in (one, two, three)] == [True, False, True]
    assert (cache.hits, cache.misses, cache.hit_share) == (3, 1, 0.75)
    assert TileCache(0).hit_share is None


def test_threads_lose_nothing() -> None:
    cache = TileCache(10_000_000)
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(
                lambda n: (cache.put(("s", 0, n % 50, 0), b"x" * 10), cache.get(("s", 0, n % 50, 0))), range(2_000)
            )
        )
    assert (cache.hits, cache.misses, cache.size) == (2_000, 0, 50 * (10 + OVERHEAD))


def test_a_tile_that_is_asked_for_again_is_not_read_again(with_slides: Workspace) -> None:
    slides, tiles = OpenSlides(), TileCache(1_000_000)
    client: TestClient = browser_of(guarded(Access(with_slides, KEY), picture_routes(with_slides, slides, tiles)))
    client.get("/")
    slide = list_slides(with_slides)[0]
    address = f"/api/slides/{slide.id}/tiles/10/1_2.jpeg"
    first, again = client.get(address), client.get(address)
    assert first.content == again.content
    assert [one.headers["server-timing"] for one in (first, again)] == ["tiles;desc=read", "tiles;desc=kept"]
    assert (tiles.hits, tiles.misses) == (1, 1)
    assert client.get(f"/api/slides/{slide.id}/tiles/10/99_2.jpeg").status_code == 404
    slides.close()
