"""Where a workspace stands: how many of everything there is, counted in the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlmodel import col, func, select

from db.tables import Binning, Item, Release, Roi, Run, Seed, Slide
from pipeline.workspace import Workspace


@dataclass(frozen=True)
class Overview:
    """Counts of what is not withdrawn. `rois`, `seeds` and `items` are by state, `bins` by organ."""

    slides: int
    organs: int
    rois: Mapping[str, int]
    bins: Mapping[str, int]
    rois_without_seed: int
    seeds: Mapping[str, int]
    items: Mapping[str, int]
    releases: int
    runs: int


def overview(workspace: Workspace) -> Overview:
    """Count a workspace's contents in one reading transaction."""
    by_state = select(Roi.state, func.count()).where(col(Roi.withdrawn_at).is_(None)).group_by(Roi.state)
    seeds = select(Seed.state, func.count()).where(col(Seed.withdrawn_at).is_(None)).group_by(Seed.state)
    items = select(Item.state, func.count()).group_by(Item.state)
    asked = select(Seed.roi_id).where(col(Seed.withdrawn_at).is_(None), Seed.state != "dropped")
    unasked = select(func.count()).where(
        Roi.state == "selected", col(Roi.withdrawn_at).is_(None), col(Roi.id).not_in(asked)
    )
    with workspace.reading() as session:
        slides, organs = session.exec(
            select(func.count(), func.count(func.distinct(Slide.organ))).where(
                col(Slide.withdrawn_at).is_(None), Slide.kind == "slide"
            )
        ).one()
        bins = session.exec(select(Binning.organ, Binning.bins).where(col(Binning.current))).all()
        return Overview(
            slides=slides,
            organs=organs,
            rois=dict(session.exec(by_state).all()),
            bins=dict(bins),
            rois_without_seed=session.exec(unasked).one(),
            seeds=dict(session.exec(seeds).all()),
            items=dict(session.exec(items).all()),
            releases=session.exec(select(func.count()).select_from(Release)).one(),
            runs=session.exec(select(func.count()).select_from(Run)).one(),
        )
