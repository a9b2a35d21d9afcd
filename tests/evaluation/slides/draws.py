"""A draw at one resolution alone, by slide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluation.slides import DrawShare, Region, TissueMask, draw_regions


def sample_regions(
    masks: Mapping[str, TissueMask],
    *,
    count: int,
    size: int,
    mpp: float = 0.5,
    min_tissue: float = 0.5,
    max_overlap: float = 0.25,
    seed: int = 0,
    taken: Mapping[str, Sequence[Region]] | None = None,
) -> dict[str, list[Region]]:
    """Return the regions that `draw_regions` gives at one resolution, by slide id in the order drawn."""
    drawn = draw_regions(
        masks,
        [DrawShare(mpp, 1.0)],
        count=count,
        size=size,
        min_tissue=min_tissue,
        max_overlap=max_overlap,
        seed=seed,
        taken={mpp: taken or {}},
    )
    return {of_slide.slide: list(of_slide.regions) for of_slide in drawn}
