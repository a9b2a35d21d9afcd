"""A workspace with items in every place that the pages Items, Releases and Benchmark show."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page

from db.tables import Seed
from pipeline.review import decide, list_items
from pipeline.roi_import import import_rois
from pipeline.seeds import SeedText, save_seed
from pipeline.states import move
from pipeline.variants import choose_models, generate_items
from pipeline.workspace import Workspace
from tests.pipeline.conftest import write_csv

ROI_SIDE = 256
FAILURE = "generate: the reply is no valid item: mcq.distractors holds 3"

GENERATED = (
    ("liver", SeedText("What is the main lesion in this image?", "Hepatocellular necrosis", "identify_pathology")),
    ("kidney", SeedText("Which artefact is visible?", "Tissue fold", "identify_artifact")),
)
WAITING = SeedText("How is the fatty change distributed?", "Diffuse", "characterize_feature")
FAILED = SeedText("How many central veins are visible?", "3", "quantify_feature")


def fill_with_items(workspace: Workspace, folder: Path) -> Workspace:
    """Add two ROIs of two organs, six items of two seeds, one seed that waits and one that failed."""
    rois = {roi.organ: roi.id for roi in import_rois(workspace, _roi_table(folder), who="test")}
    ids = [save_seed(workspace, text, roi_id=rois[organ], who="test").id for organ, text in GENERATED]
    models = choose_models(workspace, generator=None, checker=None)
    # In a thread of its own: Playwright leaves an event loop running in the main one.
    with ThreadPoolExecutor(1) as thread:
        report = thread.submit(generate_items, workspace, models=models, seed_ids=ids, who="test").result()
    assert report.ready == len(GENERATED), report.results
    save_seed(workspace, WAITING, roi_id=rois["liver"], who="test")
    failed = save_seed(workspace, FAILED, roi_id=rois["liver"], who="test")
    with workspace.writing() as session:
        seed = session.get_one(Seed, failed.id)
        move(session, seed, "generating", who="test")
        move(session, seed, "failed", who="test", reason=FAILURE)
    return workspace


def approve_all(workspace: Workspace) -> None:
    """Approve every item that waits."""
    for entry in list_items(workspace, states=("passed", "escalated")):
        decide(workspace, entry.item.id, "approve", who="test")


def rail_is_there(page: Page) -> None:
    """Wait until the app's own rail stands where a server's first visitor sees Streamlit's for a moment."""
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Write seeds", exact=True).wait_for()


def _roi_table(folder: Path) -> Path:
    rows: list[Sequence[str]] = []
    for number, organ in enumerate(("liver", "kidney")):
        noise = np.random.default_rng(number).integers(0, 60, (ROI_SIDE, ROI_SIDE, 3))
        pixels = np.clip(np.array([215, 160, 200]) - noise, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{organ}.png")
        rows.append((f"{organ}.png", organ, "drawn for tests", "CC0-1.0", "0.5"))
    return write_csv(folder / "rois.csv", ("image", "organ", "source", "licence", "resolution"), rows)
