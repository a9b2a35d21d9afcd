"""Our region reader against TIAToolbox's, on a real slide."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evaluation.slides import Region, open_slide

pytestmark = pytest.mark.models


@pytest.mark.parametrize("mpp", [0.499, 1.0, 2.0])
def test_both_read_the_same_field(shared_data: Path, mpp: float) -> None:
    wsireader = pytest.importorskip("tiatoolbox.wsicore.wsireader", reason="needs the tiatoolbox extra")
    path = shared_data / "slides" / "cmu-1-small-region.svs"
    theirs = wsireader.WSIReader.open(path).read_rect((300, 500), (256, 256), resolution=mpp, units="mpp")
    with open_slide(path) as slide:
        ours = slide.read_region(Region(300, 500, 256, mpp))
    difference = np.abs(ours.astype(float) - np.asarray(theirs)[..., :3].astype(float))
    # Both resample, with other filters: the field is the same, single edges are not.
    assert difference.mean() < 4
    assert np.corrcoef(ours.ravel(), np.asarray(theirs)[..., :3].ravel())[0, 1] > 0.98
