"""Every provided slide, good and bad, and a drawn one of 30,000 px through adding, the viewer, sampling and bins."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from evaluation.slides import decode_image
from pipeline.bin_sheets import list_bins
from pipeline.bins import bin_candidates
from pipeline.ingest import AddReport, add_slides, list_slides
from pipeline.rois import list_rois, select_roi
from pipeline.sampling import sample_candidates
from pipeline.workspace import Workspace
from tests.curator_app.looks import AT_REST
from tests.curator_app.served import serving
from tests.curator_app.test_pages_in_browser import go, visit, wait_for_picture
from tests.databases import new_workspace
from tests.evaluation.slides.drawing import BLOCK, draw_large_slide
from tests.pipeline.conftest import METADATA

SCREENSHOTS = os.environ.get("HISTOCURATOR_SCREENSHOTS")

REFUSED = {
    "broken.svs": "text file, not a slide",
    "unopenable.tiff": "does not open",
    "unreadable.svs": "image cannot be read",
    "boxes.tiff": "352.8 µm/px",
}


@pytest.fixture(scope="module")
def folder(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The provided slides, the DICOM one in a folder of its own, and the large one."""
    slides = tmp_path_factory.mktemp("every") / "slides"
    (slides / "dicom").mkdir(parents=True)
    for file in (shared_data / "slides").iterdir():
        shutil.copyfile(file, slides / "dicom" / file.name if file.suffix == ".dcm" else slides / file.name)
    draw_large_slide(slides / "large.tiff")
    return slides


@pytest.fixture(scope="module")
def added(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, AddReport]]:
    """A workspace to which the folder was added, and then what lacked a resolution with one."""
    workspace = new_workspace(tmp_path_factory.mktemp("every") / "workspace")
    report = add_slides(workspace, [folder], METADATA, who="test")
    stated = add_slides(workspace, [folder / "boxes.tiff"], METADATA, mpp=0.5, who="test")
    assert [(slide.width, slide.height, slide.mpp) for slide in stated.added] == [(300, 250, 0.5)]
    yield workspace, report
    workspace.engine.dispose()


def test_the_good_are_added_and_the_bad_are_named_with_what_to_do(added: tuple[Workspace, AddReport]) -> None:
    _, report = added
    assert {slide.name for slide in report.added} == {"cmu-1-small-region.svs", "dicom", "large.tiff"}
    assert len(report.problems) == len(REFUSED)
    for name, reason in REFUSED.items():
        (problem,) = [problem for problem in report.problems if f"/{name}: " in problem]
        assert reason in problem
    assert [missing.path.name for missing in report.without_resolution] == ["boxes.tiff"]


def test_what_is_large_enough_is_sampled_and_binned_and_the_rest_is_said(added: tuple[Workspace, AddReport]) -> None:
    workspace, _ = added
    report = sample_candidates(workspace, organ="liver", count=60, size=512, who="test")
    names = {slide.id: slide.name for slide in list_slides(workspace)}
    drawn = {part.slide: part.drawn for part in report.parts}
    assert drawn["large.tiff"] > 30
    assert drawn["cmu-1-small-region.svs"] > 1
    too_small = {part.slide: part.why or "" for part in report.parts if not part.drawn}
    assert all("smaller than one ROI" in too_small[name] for name in ("dicom", "boxes.tiff"))
    for roi, slide in list_rois(workspace, states=("candidate",)):
        if names[slide.id] == "large.tiff":
            middle = ((roi.y + 256) // BLOCK + (roi.x + 256) // BLOCK) % 2
            assert middle == 1 or (roi.tissue_share or 0) < 0.75, "what is on tissue is on the drawn tissue"
    bin_candidates(workspace, organ="liver", bins=5, who="test")
    sheets = list_bins(workspace, organ="liver")
    assert sum(sheet.size for sheet in sheets) == report.drawn
    chosen = next(roi for roi, slide in list_rois(workspace, states=("candidate",)) if slide.name == "large.tiff")
    picked = select_roi(workspace, chosen.id, who="test")
    assert decode_image(workspace.root / (picked.image_path or ""), max_pixels=10**6).shape == (512, 512, 3)


@pytest.mark.browser
def test_each_is_seen_in_the_viewer(chromium: Browser, added: tuple[Workspace, AddReport], tmp_path: Path) -> None:
    workspace, _ = added
    with serving(workspace, tmp_path) as served, visit(chromium, served) as page:
        go(page, "Slides")
        for slide in list_slides(workspace):
            page.get_by_role("radio", name=slide.name).click()
            expect(page.locator(f'.viewer[data-open="{slide.id}"]')).to_be_visible()
            page.wait_for_function(AT_REST)
            wait_for_picture(page)
            expect(page.get_by_role("radio", name=slide.name)).to_be_checked()
            expect(page.get_by_role("radio", checked=True)).to_have_count(1)
            page.wait_for_load_state("networkidle")
            shot = tmp_path / "shot.png"
            page.locator(".osd").first.screenshot(path=str(shot))
            shown = np.asarray(Image.open(shot).convert("RGB")).reshape(-1, 3)
            assert shown.std(axis=0).max() > 5, f"{slide.name} is drawn"
            if SCREENSHOTS:
                page.screenshot(path=str(Path(SCREENSHOTS) / f"slide-{slide.name}.png"))
