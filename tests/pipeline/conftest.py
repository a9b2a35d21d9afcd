"""A workspace with small drawn slides, for the tests of the pipeline."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pipeline.ingest import SlideMetadata, add_slides
from pipeline.rois import list_rois, select_roi
from pipeline.sampling import sample_candidates
from pipeline.seeds import import_seeds
from pipeline.workspace import Workspace
from tests.databases import filled_like, new_workspace
from tests.evaluation.slides.drawing import disc, glass, stain, write_tiff
from tests.wire.small_model import small_model

__all__ = ["small_model"]

SLIDE_SIDE = 1_024
METADATA = SlideMetadata(organ="liver", source="drawn for tests", licence="CC0-1.0")


def draw_slide(path: Path, *, seed: int = 0) -> Path:
    """A 1,024-pixel slide at 0.5 µm/px with one round piece of tissue."""
    path.write_bytes(_drawn(seed))
    return path


@cache
def _drawn(seed: int) -> bytes:
    image = glass(SLIDE_SIDE, SLIDE_SIDE, seed=seed)
    image = stain(image, disc(SLIDE_SIDE, SLIDE_SIDE, 512, 512, 430), 0.15, 0.25)
    for number in range(60):
        y, x = 150 + (number * 97) % 700, 150 + (number * 61 + seed) % 700
        around = image[y - 10 : y + 10, x - 10 : x + 10]
        around[:] = stain(around, disc(20, 20, 10, 10, 9), 0.6, 0.0)
    with TemporaryDirectory() as folder:
        return write_tiff(Path(folder) / "slide.tiff", image, levels=2).read_bytes()


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """An empty workspace."""
    for name in ("HISTOCURATOR_WORKSPACE", "HISTOCURATOR_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    made = new_workspace(tmp_path / "workspace")
    yield made
    made.engine.dispose()


@pytest.fixture(scope="session")
def drawn_slides(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two drawn slides, alone in their folder."""
    folder = tmp_path_factory.mktemp("slides")
    return [draw_slide(folder / f"slide-{number}.tiff", seed=number) for number in range(2)]


@pytest.fixture(scope="session")
def filled_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the filled workspaces lie that tests get copies of."""
    return tmp_path_factory.mktemp("filled")


@pytest.fixture
def with_slides(workspace: Workspace, drawn_slides: list[Path], filled_folder: Path) -> Iterator[Workspace]:
    """A workspace with two liver slides."""
    kind = f"slides-{drawn_slides[0].parent.name}"
    filled = filled_like(workspace, kind, partial(_add, drawn_slides), filled_folder)
    yield filled
    filled.engine.dispose()


@pytest.fixture
def with_rois(workspace: Workspace, drawn_slides: list[Path], filled_folder: Path) -> Iterator[Workspace]:
    """A workspace with candidates of which four are selected."""
    filled = filled_like(
        workspace, f"rois-{drawn_slides[0].parent.name}", partial(_add_and_select, drawn_slides), filled_folder
    )
    yield filled
    filled.engine.dispose()


def _add(slides: list[Path], workspace: Workspace) -> None:
    report = add_slides(workspace, slides, METADATA, who="test")
    assert not report.problems


def _add_and_select(slides: list[Path], workspace: Workspace) -> None:
    _add(slides, workspace)
    sample_candidates(workspace, organ="liver", count=12, size=128, who="test")
    for roi, _ in list_rois(workspace, states=("candidate",))[:4]:
        select_roi(workspace, roi.id, who="test")


SEED_TEXTS = (
    ("Which change is present in the centrilobular hepatocytes?", "necrosis", "identify_pathology"),
    ("Where in the image is the inflammatory cell focus?", "upper left", "localize_in_image"),
    ("A mild bile duct hyperplasia is present.", "false", "probe_over_reading"),
    ("How many central veins are visible?", "3", "quantify_feature"),
)


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Path:
    """Write a CSV file as a spreadsheet would."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


@pytest.fixture
def with_seeds(with_rois: Workspace, tmp_path: Path) -> Workspace:
    """A workspace with one seed for each selected ROI."""
    rows = [
        (roi.id, question, answer, category, "Dr Test")
        for (roi, _), (question, answer, category) in zip(list_rois(with_rois), SEED_TEXTS, strict=True)
    ]
    file = write_csv(tmp_path / "seeds.csv", ("roi", "question", "answer", "category", "author"), rows)
    import_seeds(with_rois, file, who="test")
    return with_rois
