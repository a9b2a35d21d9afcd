"""Where a workspace stands: how many of everything there is, what waits for a person, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, func, select

from db.tables import Binning, Item, Release, Roi, Run, Seed, Slide
from pipeline.permissions import Permission, needs
from pipeline.review import REVIEWABLE
from pipeline.workspace import Workspace

ROIS_SHOWN = 6
"""How many ROIs are named of those that the next step is about."""


@dataclass(frozen=True)
class Overview:
    """Counts of what is not withdrawn. `rois`, `seeds` and `items` are by state, `bins` by organ.

    `model_runs` are the complete runs of language models, `incomplete_runs` those of any model with failed
    items. `unasked_rois`, `waiting_rois` and `selected_rois` are ids of the first few selected ROIs without a
    seed, with an item that waits for a decision, and of all. `missing_slides` are names of slides whose file is
    gone.
    """

    slides: int
    organs: int
    rois: Mapping[str, int]
    bins: Mapping[str, int]
    rois_without_seed: int
    seeds: Mapping[str, int]
    items: Mapping[str, int]
    releases: int
    runs: int
    model_runs: int = 0
    incomplete_runs: int = 0
    unasked_rois: tuple[str, ...] = ()
    waiting_rois: tuple[str, ...] = ()
    selected_rois: tuple[str, ...] = ()
    missing_slides: tuple[str, ...] = ()

    @property
    def items_waiting(self) -> int:
        """Items that wait for a person's decision."""
        return sum(self.items.get(state, 0) for state in REVIEWABLE)


@needs(Permission.VIEW_ITEMS)
def overview(workspace: Workspace) -> Overview:
    """Count a workspace's contents in one reading transaction."""
    by_state = select(Roi.state, func.count()).where(col(Roi.withdrawn_at).is_(None)).group_by(Roi.state)
    seeds = select(Seed.state, func.count()).where(col(Seed.withdrawn_at).is_(None)).group_by(Seed.state)
    items = select(Item.state, func.count()).group_by(Item.state)
    asked = select(Seed.roi_id).where(col(Seed.withdrawn_at).is_(None), Seed.state != "dropped")
    selected = (Roi.state == "selected", col(Roi.withdrawn_at).is_(None))
    unasked = (*selected, col(Roi.id).not_in(asked))
    waiting = select(Seed.roi_id).join(Item, col(Item.seed_id) == Seed.id).where(col(Item.state).in_(REVIEWABLE))
    with workspace.reading() as session:
        slides, organs = session.exec(
            select(func.count(), func.count(func.distinct(Slide.organ))).where(
                col(Slide.withdrawn_at).is_(None), Slide.kind == "slide"
            )
        ).one()
        files = session.exec(
            select(Slide.name, Slide.path).where(col(Slide.withdrawn_at).is_(None), Slide.kind == "slide")
        ).all()
        runs = session.exec(select(Run)).all()
        bins = session.exec(select(Binning.organ, Binning.bins).where(col(Binning.current))).all()
        return Overview(
            slides=slides,
            organs=organs,
            rois=dict(session.exec(by_state).all()),
            bins=dict(bins),
            rois_without_seed=session.exec(select(func.count()).where(*unasked)).one(),
            seeds=dict(session.exec(seeds).all()),
            items=dict(session.exec(items).all()),
            releases=session.exec(select(func.count()).select_from(Release)).one(),
            runs=len(runs),
            model_runs=sum(run.complete and bool(run.summary.get("is_language_model")) for run in runs),
            incomplete_runs=sum(not run.complete for run in runs),
            unasked_rois=_first(session, *unasked),
            waiting_rois=_first(session, *selected, col(Roi.id).in_(waiting)),
            selected_rois=_first(session, *selected),
            missing_slides=tuple(name for name, path in files if not Path(path).exists()),
        )


def _first(session: Session, *conditions: ColumnElement[bool] | bool) -> tuple[str, ...]:
    """Return the ids of the first ROIs, in the order in which Write seeds shows them."""
    query = (
        select(Roi.id)
        .where(*conditions)
        .order_by(Roi.organ, col(Roi.bin), col(Roi.bin_distance), col(Roi.id))
        .limit(ROIS_SHOWN)
    )
    return tuple(session.exec(query))
