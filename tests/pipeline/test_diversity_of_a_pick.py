"""The diversity of a 20-bin pick from a real slide, in an encoder that did not make the bins, against random picks."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.bins import bin_candidates
from pipeline.diversity import measure_diversity
from pipeline.ingest import SlideMetadata, add_slides
from pipeline.rois import list_rois, select_across_bins
from pipeline.sampling import sample_candidates
from pipeline.selection import diversity_text
from pipeline.workspace import Workspace

pytestmark = pytest.mark.models


@pytest.mark.parametrize(
    ("of_bins", "measured_in"), [("colour-texture", "efficientnet-lite0"), ("efficientnet-lite0", "colour-texture")]
)
def test_a_pick_across_20_bins_is_more_varied_than_random_picks(
    workspace: Workspace, shared_data: Path, of_bins: str, measured_in: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="the gpu extra brings it")
    add_slides(
        workspace,
        [shared_data / "slides" / "cmu-1-small-region.svs"],
        SlideMetadata(organ="skin", source="OpenSlide test data", licence="CC0-1.0"),
        who="test",
    )
    sample_candidates(workspace, organ="skin", count=240, size=128, max_overlap=0.25, who="test")
    assert len(list_rois(workspace, states=("candidate",))) >= 200
    binning = bin_candidates(workspace, organ="skin", bins=20, encoder=of_bins, who="test")
    assert len(select_across_bins(workspace, organ="skin", per_bin=1, who="test")) == binning.bins == 20
    report = measure_diversity(workspace, organ="skin", encoder=measured_in, random_picks=1_000, who="test")
    with capsys.disabled():
        print(f"\n{diversity_text(report)}")  # noqa: T201  (what a methods section says; shown in the run's log)
    assert report.vendi.picked > report.vendi.mean
    assert report.distance.picked > report.distance.mean
