"""Small drawn slides, painted once per test run."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.demo.painting import PaintedSlide, paint_demo_slides

SMALL = ("liver-birch-1", "kidney-birch-1", "lung-alder-1")
SCALE = 0.6


@pytest.fixture(scope="session")
def painted_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drawn")


@pytest.fixture(scope="session")
def painted(painted_folder: Path) -> list[PaintedSlide]:
    """One slide per organ at 0.6 of its size (about 7 megapixels each)."""
    return paint_demo_slides(painted_folder, only=SMALL, scale=SCALE, processes=1)
