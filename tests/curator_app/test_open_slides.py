"""Slides that stay open: the least used one is closed, but never under a reader."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from curator_app.routes import OpenSlides
from db.tables import Slide as SlideRow
from evaluation.slides import Slide, SlideError
from pipeline.ingest import list_slides
from pipeline.workspace import Workspace


@pytest.fixture
def rows(with_slides: Workspace) -> list[SlideRow]:
    return list_slides(with_slides)


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[Slide]:
    """The slides that were closed, in order."""
    done: list[Slide] = []
    close = Slide.close

    def note(slide: Slide) -> None:
        done.append(slide)
        close(slide)

    monkeypatch.setattr(Slide, "close", note)
    return done


def test_a_slide_is_opened_once(rows: list[SlideRow]) -> None:
    slides = OpenSlides()
    with slides.using(rows[0]) as first:
        pass
    with slides.using(rows[0]) as second:
        assert second is first
    slides.close()


def test_the_least_used_slide_makes_room(rows: list[SlideRow], closed: list[Slide]) -> None:
    slides = OpenSlides(limit=1)
    with slides.using(rows[0]) as first:
        pass
    with slides.using(rows[1]):
        assert closed == [first]
    slides.close()
    assert len(closed) == 2


def test_a_slide_in_use_is_closed_by_its_last_reader(rows: list[SlideRow], closed: list[Slide]) -> None:
    slides = OpenSlides(limit=1)
    with slides.using(rows[0]) as first:
        with slides.using(rows[1]):
            assert closed == []
        assert first.tile(0, 0, 0).startswith(b"\xff\xd8")
    assert closed == [first]
    slides.close()


def test_many_threads_read_few_slides(rows: list[SlideRow]) -> None:
    slides = OpenSlides(limit=1)

    def read(number: int) -> bytes:
        with slides.using(rows[number % 2]) as slide:
            return slide.tile(10, number % 4, 0)

    with ThreadPoolExecutor(8) as pool:
        tiles = list(pool.map(read, range(64)))
    assert all(tile.startswith(b"\xff\xd8") for tile in tiles)
    slides.close()


def test_a_missing_file_raises_and_leaves_nothing_open(rows: list[SlideRow]) -> None:
    slides = OpenSlides()
    gone = rows[0].model_copy(update={"path": "/nowhere/gone.svs"})
    with pytest.raises(SlideError), slides.using(gone):
        pass
    with slides.using(rows[0]) as slide:
        assert slide.info.width == rows[0].width
    slides.close()
