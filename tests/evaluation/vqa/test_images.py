"""Which image goes out under each ablation, for any benchmark."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from evaluation.vqa import Benchmark, BenchmarkError, BenchmarkRow
from evaluation.vqa._images import ImageSource
from tests.evaluation.vqa import drawn

BASE = drawn.free_text(0)


def benchmark_of(slides: list[str | None]) -> Benchmark:
    """Return one item for each entry, every one with an image of its own (the bytes need not decode)."""
    items = tuple(
        BASE.model_copy(
            update={"image": f"\x89PNG {place}".encode("latin-1"), "image_id": str(place), "slide_id": slide}
        )
        for place, slide in enumerate(slides)
    )
    return Benchmark(where="drawn", revision=None, items=items, sha256="")


def shown_ids(benchmark: Benchmark, seed: int) -> list[str]:
    source = ImageSource(benchmark, "random", seed)
    shown = [source.show(item) for item in benchmark.items]
    return [image.name for image in shown if image is not None]


@given(st.lists(st.sampled_from(["A", "B", "C", None]), min_size=2, max_size=30), st.integers(0, 50))
@settings(deadline=None)
def test_random_is_a_derangement_that_leaves_the_slide_where_it_can(slides: list[str | None], seed: int) -> None:
    benchmark = benchmark_of(slides)
    ids = shown_ids(benchmark, seed)
    assert sorted(ids) == sorted(item.image_id for item in benchmark.items)
    assert all(name != item.image_id for name, item in zip(ids, benchmark.items, strict=True))
    assert ids == shown_ids(benchmark, seed)
    largest = max(slides.count(slide) if slide else 1 for slide in slides)
    same = sum(slides[int(name)] == item.slide_id is not None for name, item in zip(ids, benchmark.items, strict=True))
    assert same == ImageSource(benchmark, "random", seed).same_slide_count()
    if largest * 2 <= len(slides):
        assert same == 0


def test_seeds_differ() -> None:
    benchmark = benchmark_of([None] * 12)
    assert len({tuple(shown_ids(benchmark, seed)) for seed in range(5)}) > 1


def test_items_that_share_an_image_share_its_replacement() -> None:
    one, other = drawn.mcq(0, "A"), drawn.mcq(1, "A")
    benchmark = Benchmark(where="", revision=None, items=(one, drawn.free_text(0), other), sha256="")
    assert shown_ids(benchmark, 0) == ["image-1", "image-1", "image-0"]


def test_random_needs_two_images() -> None:
    benchmark = Benchmark(where="here", revision=None, items=(BASE, drawn.mcq(0, "A")), sha256="")
    with pytest.raises(BenchmarkError, match="at least two different images"):
        ImageSource(benchmark, "random", 0)


def test_a_jpeg_goes_out_as_png_with_its_pixels() -> None:
    buffer = io.BytesIO()
    Image.open(io.BytesIO(drawn.png(1))).save(buffer, format="JPEG")
    item: BenchmarkRow = BASE.model_copy(update={"image": buffer.getvalue()})
    benchmark = Benchmark(where="", revision=None, items=(item,), sha256="")
    shown = ImageSource(benchmark, "normal", 0).show(item)
    assert shown is not None
    assert shown.png.startswith(b"\x89PNG")
    assert Image.open(io.BytesIO(shown.png)).tobytes() == Image.open(buffer).tobytes()
