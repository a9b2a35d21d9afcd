"""The diversity of a 20-bin pick from a real slide, in an encoder that did not make the bins, beside random picks.

What comes of it is a finding, not a promise: on this small slide the most typical ROI of each bin is about as varied as
random picks are (docs/slides-and-rois.md). Where groups lie apart it is more varied (`test_bin_figures.py`).
"""

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
def test_a_pick_across_20_bins_is_measured_with_its_interval(
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
    assert (report.rois, report.random_picks, report.encoder) == (20, 1_000, measured_in)
    assert report.candidates >= 200
    for figure in (report.vendi, report.distance):
        assert figure.low < figure.mean < figure.high
        assert 0.001 < figure.p <= 1
        assert figure.low / 2 < figure.picked < figure.high * 2
    assert 1 < report.vendi.picked <= 20
