"""A small benchmark whose items, images and right answers are made by hand."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from evaluation.vqa import BenchmarkRow, write_benchmark

SIZE = (48, 32)


def png(number: int) -> bytes:
    """Return a small image that no other number gives."""
    image = Image.new("RGB", SIZE, (220, 170, 200))
    ImageDraw.Draw(image).ellipse((4 + number, 4, 16 + number, 20), fill=(90 + 10 * number, 40, 120))
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return buffer.getvalue()


def mcq(number: int, key: str, **changes: Any) -> BenchmarkRow:
    """Return an MCQ whose right option, "key N", stands at `key`."""
    choices = [f"wrong {number} {letter}" for letter in "ABCDE"]
    choices["ABCDE".index(key)] = f"key {number}"
    return row(number, question=f"MCQ {number}?", question_type="mcq", answer=key, choices=tuple(choices), **changes)


def kprim(number: int, truth: Sequence[bool], **changes: Any) -> BenchmarkRow:
    """Return a KPrim whose statements are called "N-1 is true" or "N-1 is false"."""
    choices = tuple(f"{number}-{place} is {str(fact).lower()}" for place, fact in enumerate(truth, start=1))
    return row(
        number,
        question=f"KPrim {number}?",
        question_type="kprim",
        answer=json.dumps(list(truth)),
        choices=choices,
        **changes,
    )


def free_text(number: int, answer: str = "fatty change", **changes: Any) -> BenchmarkRow:
    """Return a free-text item."""
    return row(
        number,
        question=f"Free text {number}?",
        question_type="free_text",
        answer=answer,
        synonyms=("steatosis",),
        scoring_rubric="One point for the finding.",
        **changes,
    )


def row(number: int, **fields: Any) -> BenchmarkRow:
    """Return an item on image `number` of slide A (even) or B (odd)."""
    return BenchmarkRow.model_validate(
        {
            "image": png(number),
            "image_id": f"image-{number}",
            "organ": "liver" if number % 2 == 0 else "kidney",
            "category": "identify_pathology" if number < 3 else "identify_anatomy",
            "magnification": "20x",
            "source": "drawn",
            "image_license": "CC0-1.0",
            "annotation_license": "CC0-1.0",
            "slide_id": "A" if number % 2 == 0 else "B",
            "item_id": f"{fields['question_type']}-{number}",
            **fields,
        }
    )


ROWS = [
    mcq(0, "A"),
    mcq(1, "B"),
    mcq(2, "C"),
    mcq(3, "E"),
    mcq(4, "A"),
    kprim(0, (True, True, True, True)),
    kprim(1, (True, True, True, False)),
    kprim(2, (True, True, False, False)),
    kprim(3, (False, False, False, True)),
    free_text(0),
    free_text(1),
    free_text(2),
]
"""Twelve items: 5 MCQ, 4 KPrim, 3 free text."""


def write(folder: Path, rows: Sequence[BenchmarkRow] = ROWS) -> Path:
    """Write `rows` as a release folder and return it."""
    write_benchmark(rows, folder / "data" / "test-00000-of-00001.parquet")
    return folder
