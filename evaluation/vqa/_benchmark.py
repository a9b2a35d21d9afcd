"""A benchmark in memory: its items in order, checked as a whole, with a digest of its content."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from evaluation.vqa._rows import BenchmarkRow

MAX_IMAGE_PIXELS = 64_000_000
"""Largest accepted image (8,000 × 8,000); VIPER's are 1,024 × 1,024."""

_PROBLEMS_SHOWN = 50
_DECODERS = 4


class BenchmarkError(Exception):
    """A benchmark cannot be used: where, everything that is wrong with it, and what to do.

    `problems` has one entry for each bad row or column; the message shows the first 50.
    """

    def __init__(self, where: str, problems: Sequence[str], remedy: str) -> None:
        shown = "\n".join(f"  {problem}" for problem in problems[:_PROBLEMS_SHOWN])
        if len(problems) > _PROBLEMS_SHOWN:
            shown += f"\n  … and {len(problems) - _PROBLEMS_SHOWN} more"
        super().__init__(f"{where}: this benchmark cannot be used.\n{shown}\n{remedy}")
        self.where = where
        self.problems = tuple(problems)
        self.remedy = remedy


@dataclass(frozen=True)
class Benchmark:
    """Checked items in stored order, each with an `item_id`; rows that share an image share its bytes.

    `where` is the path or dataset name it came from, `revision` the asked revision of a hub dataset,
    `sha256` a digest of every item's texts and image, whatever the file's compression.
    """

    where: str
    revision: str | None
    items: tuple[BenchmarkRow, ...]
    sha256: str


def build_benchmark(
    rows: Iterable[tuple[str, dict[str, object]]], *, where: str, revision: str | None = None
) -> Benchmark:
    """Check raw rows and return them as a benchmark.

    Args:
        rows: a row's place in words ("row 3") and its fields by `BenchmarkRow`'s names.

    Raises:
        BenchmarkError: names every bad row, every repeated item id and every image that does not decode.
    """
    problems: list[str] = []
    items: list[BenchmarkRow] = []
    first_place: dict[str, str] = {}
    images: dict[str, tuple[str, bytes]] = {}
    count = 0
    for place, fields in rows:
        count += 1
        try:
            row = BenchmarkRow.model_validate(fields)
        except ValidationError as error:
            problems += [f"{place}: {_in_words(detail)}" for detail in error.errors()]
            continue
        item_id = row.identity()
        if item_id in first_place:
            problems.append(f"{place}: repeats the item {item_id} of {first_place[item_id]}")
            continue
        first_place[item_id] = place
        image_place, image = images.setdefault(row.image_id, (place, row.image))
        if image != row.image:
            problems.append(
                f"{place}: its image differs from that of {image_place}, but both are called {row.image_id!r}"
            )
        items.append(row.model_copy(update={"item_id": item_id, "image": image}))
    problems += _image_problems(images)
    if not count:
        problems.append("it holds no row")
    if problems:
        raise BenchmarkError(where, problems, "Correct these rows; nothing was evaluated.")
    return Benchmark(where=where, revision=revision, items=tuple(items), sha256=_content_sha256(items))


def _in_words(detail: ErrorDetails) -> str:
    location = ".".join(str(part) for part in detail["loc"])
    message = detail["msg"].removeprefix("Value error, ")
    return f"{location}: {message}" if location else message


def _image_problems(images: dict[str, tuple[str, bytes]]) -> list[str]:
    with ThreadPoolExecutor(_DECODERS) as pool:
        found = pool.map(_image_problem, (image for _, image in images.values()))
        return [
            f"{place}: image {image_id!r}: {problem}"
            for (image_id, (place, _)), problem in zip(images.items(), found, strict=True)
            if problem is not None
        ]


def _image_problem(image: bytes) -> str | None:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(image)) as opened:
            if opened.width * opened.height > MAX_IMAGE_PIXELS:
                return f"has {opened.width} × {opened.height} pixels, at most {MAX_IMAGE_PIXELS:,} are allowed"
            opened.load()
    except UnidentifiedImageError:
        return "is no image (its bytes begin like none that is known)"
    except Exception as error:  # Pillow's decoders raise nearly anything on a broken file
        return f"does not decode ({type(error).__name__}: {error})"
    return None


def _content_sha256(items: Sequence[BenchmarkRow]) -> str:
    image_digests: dict[str, str] = {}
    digest = hashlib.sha256()
    for item in items:
        if item.image_id not in image_digests:
            image_digests[item.image_id] = hashlib.sha256(item.image).hexdigest()
        content = item.model_dump(exclude={"image"}) | {"image": image_digests[item.image_id]}
        digest.update(json.dumps(content, sort_keys=True, ensure_ascii=False).encode())
        digest.update(b"\n")
    return digest.hexdigest()
