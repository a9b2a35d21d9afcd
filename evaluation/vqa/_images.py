"""Which image a model is shown with an item: its own, a black one, another item's, or none."""

from __future__ import annotations

import functools
import hashlib
import io
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evaluation.vqa._benchmark import Benchmark, BenchmarkError
from evaluation.vqa._rows import BenchmarkRow

Ablation = Literal["normal", "black", "random", "no-image"]
"""VIPER's image conditions (section 5, image ablation)."""


@dataclass(frozen=True)
class ShownImage:
    """The image that goes out with an item: `name` is an image id or "black", `png` the encoded image."""

    name: str
    png: bytes


class ImageSource:
    """Chooses the image for each item of a benchmark under one ablation.

    Under `random` every distinct image is replaced by another one, each used once, of another slide wherever
    the benchmark names slides and their sizes allow it. The draw is over the whole benchmark, so that a limit
    or a filter changes no item's image.

    Raises:
        BenchmarkError: `random`, and the benchmark has fewer than two different images.
    """

    def __init__(self, benchmark: Benchmark, ablation: Ablation, seed: int) -> None:
        self._ablation = ablation
        self._replacement: dict[str, BenchmarkRow] = {}
        if ablation == "random":
            self._replacement = _derange(benchmark.items, seed)
            if not self._replacement:
                raise BenchmarkError(
                    benchmark.where,
                    ["all its items have the same image, so none can be shown another one"],
                    "The ablation random needs at least two different images.",
                )
        self._slides = {item.image_id: item.slide_id for item in benchmark.items}
        self._png = functools.lru_cache(maxsize=16)(_as_png)

    def show(self, item: BenchmarkRow) -> ShownImage | None:
        """Return what is shown with `item`, or None under `no-image`."""
        if self._ablation == "no-image":
            return None
        if self._ablation == "black":
            return ShownImage("black", _black_png(*_size(item.image)))
        if self._ablation == "random":
            item = self._replacement[item.image_id]
        return ShownImage(item.image_id, self._png(item.image))

    def same_slide_count(self) -> int:
        """Return how many images are replaced by one that is known to be of the same slide."""
        return sum(
            self._slides[image_id] is not None and self._slides[image_id] == other.slide_id
            for image_id, other in self._replacement.items()
        )


def _derange(items: Sequence[BenchmarkRow], seed: int) -> dict[str, BenchmarkRow]:
    """Map each image id to an item with another image: a permutation of images that keeps slides apart.

    Images are told apart by their bytes, so that one image under two ids never stands in for itself. They stand
    in a circle, slide by slide; stepping on by the size of the largest slide leaves every slide as long as none
    holds more than half of all images. Empty where there are fewer than two images.
    """
    digests: dict[str, str] = {}
    owner: dict[str, BenchmarkRow] = {}
    slides: dict[str, set[str]] = defaultdict(set)
    for item in items:
        if item.image_id in digests:
            continue
        digest = hashlib.sha256(item.image).hexdigest()
        digests[item.image_id] = digest
        if digest not in owner:
            owner[digest] = item
            # An image of no known slide stands for a slide of its own.
            slides[f"slide {item.slide_id}" if item.slide_id is not None else digest].add(digest)
    if len(owner) < 2:
        return {}
    rng = random.Random(seed)
    groups = [sorted(images) for _, images in sorted(slides.items())]
    rng.shuffle(groups)
    for group in groups:
        rng.shuffle(group)
    circle = [digest for group in groups for digest in group]
    largest = max(len(group) for group in groups)
    step = largest if largest < len(circle) else rng.randrange(1, len(circle))
    after = {digest: circle[(place + step) % len(circle)] for place, digest in enumerate(circle)}
    return {image_id: owner[after[digest]] for image_id, digest in digests.items()}


def _size(image: bytes) -> tuple[int, int]:
    from PIL import Image

    with Image.open(io.BytesIO(image)) as opened:
        return opened.width, opened.height


@functools.lru_cache(maxsize=8)
def _black_png(width: int, height: int) -> bytes:
    from PIL import Image

    return _encode(Image.new("RGB", (width, height)))


def _as_png(image: bytes) -> bytes:
    """Return the image as an RGB PNG; a PNG goes out as it is stored."""
    from PIL import Image

    if image.startswith(b"\x89PNG"):
        return image
    with Image.open(io.BytesIO(image)) as opened:
        return _encode(opened.convert("RGB"))


def _encode(image: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")  # type: ignore[attr-defined]
    return buffer.getvalue()
