"""Builds the demo workspace: each step of the product for real, on slides that the project draws itself."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs
from sqlmodel import col, func, select

from db.tables import Item, ItemVersion, Roi, Seed, Slide
from evaluation.vqa import Configuration, MetricName, VqaResults
from pipeline.benchmarks import evaluate_in_process, list_runs
from pipeline.bins import bin_candidates
from pipeline.demo._real_slide import RealSlideError, add_real_slide
from pipeline.demo.painting import PaintedSlide, load_truth, paint_demo_slides
from pipeline.demo.seeds import DemoSeed, seeds_from_truth
from pipeline.errors import InputError
from pipeline.ingest import SlideMetadata, add_slides, list_organs, list_slides
from pipeline.progress import Progress, silent
from pipeline.releases import build_release, list_releases
from pipeline.review import approve_passed
from pipeline.rois import current_binning, list_rois, select_across_bins
from pipeline.sampling import sample_candidates
from pipeline.seeds import SeedText, list_seeds, save_seed
from pipeline.settings import SETTINGS_FILE
from pipeline.variants import choose_models, generate_items, pending_seeds
from pipeline.workspace import Workspace, create_workspace, open_workspace

RELEASE_NAME = "demo"
RELEASE_VERSION = "1.0.0"
BASELINES = ("offline/random", "offline/first")

SCORE_NAMES: tuple[MetricName, ...] = ("mcq", "kprim", "free_text", "overall")

BINS = 8
ROIS_PER_BIN = 2
UNWRITTEN_PER_ORGAN = 2
"""ROIs left without a seed, so that there is something to write on the first visit."""

LOWEST_MAGNIFICATION = 2.5


@dataclass(frozen=True)
class _Draw:
    """One draw of candidates: magnification, how many, and the level-0 side that a slide must have for it."""

    magnification: float
    count: int


_DRAWS = (_Draw(20.0, 60), _Draw(5.0, 8), _Draw(LOWEST_MAGNIFICATION, 4))


@dataclass(frozen=True)
class BaselineScore:
    """A baseline's scores (0 to 1): MCQ, KPrim, free text, overall; None where a format is absent."""

    model: str
    scores: tuple[float | None, ...]


@dataclass
class DemoSummary:
    """What the demo workspace holds: counts per step and the scores of the baselines."""

    root: Path
    counts: dict[str, int] = field(default_factory=dict)
    baselines: list[BaselineScore] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        return {
            "workspace": str(self.root),
            "counts": self.counts,
            "baselines": {row.model: dict(zip(SCORE_NAMES, row.scores, strict=True)) for row in self.baselines},
            "notes": self.notes,
        }


def demo_folder() -> Path:
    """Return the folder of the demo workspace where none is given."""
    return Path(platformdirs.user_data_path("histocurator")) / "demo"


def build_demo(root: Path, *, real_slide: bool = False, progress: Progress = silent) -> DemoSummary:
    """Build the demo workspace, or go on with one that was interrupted; a finished one is only summed up.

    Args:
        root: its folder; new, empty, or a demo workspace.
        real_slide: also fetch OpenSlide's CC0 test slide.
        progress: told within each step.

    Raises:
        InputError: the folder holds something else.
    """
    root = root.expanduser().absolute()
    drawings = root / "drawings"
    if (root / SETTINGS_FILE).exists():
        if not drawings.is_dir():
            raise InputError(f"{root} is a workspace but not the demo; give another --workspace")
        workspace = open_workspace(root)
    else:
        workspace = _create_workspace(root, drawings)
    # Written when every step is done: the next call then only opens the workspace.
    mark = drawings / "complete"
    summary = DemoSummary(root=root)
    if not mark.is_file():
        _run_every_step(workspace, drawings, summary, progress)
        mark.touch()
    if real_slide:
        try:
            summary.notes.append(add_real_slide(workspace, who=workspace.owner().name, progress=progress))
        except RealSlideError as error:
            summary.notes.append(str(error))
    _sum_up(workspace, summary)
    return summary


def _create_workspace(root: Path, drawings: Path) -> Workspace:
    """Make the drawings' folder, then the workspace: a demo that was interrupted between is known by the former."""
    if root.exists() and not drawings.is_dir() and (not root.is_dir() or any(root.iterdir())):
        raise InputError(f"{root} is not an empty folder; give another --workspace")
    try:
        root.mkdir(parents=True, mode=0o700, exist_ok=True)
        drawings.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{root} cannot be used as a workspace: {error}") from None
    return create_workspace(root, beside=(drawings.name,))


def _run_every_step(workspace: Workspace, drawings: Path, summary: DemoSummary, progress: Progress) -> None:
    who = workspace.owner().name
    painted = paint_demo_slides(drawings, progress=progress)
    for slide in painted:
        _add(workspace, slide, who)
    organs = list(dict.fromkeys(slide.organ for slide in painted))
    for organ in organs:
        _sample_and_select(workspace, organ, who, progress)
    _write_seeds(workspace, painted, who)
    models = choose_models(workspace, generator=None, checker=None)
    report = generate_items(workspace, models=models, who=who, progress=progress)
    failures = [f"{result.seed_id}: {result.reason}" for result in report.results if result.state != "ready"]
    summary.notes += [f"seed without items: {failure}" for failure in failures]
    approve_passed(workspace, as_user=who)
    if not any((r.name, r.version) == (RELEASE_NAME, RELEASE_VERSION) for r in list_releases(workspace)):
        build_release(workspace, name=RELEASE_NAME, version=RELEASE_VERSION, who=who)
    release = next(r for r in list_releases(workspace) if r.name == RELEASE_NAME)
    for model in BASELINES:
        out = workspace.runs / f"demo-{model.replace('/', '-')}"
        parameters = {"benchmark": release.path, "model": model, "out": str(out)}
        evaluate_in_process(workspace, parameters, who=who, progress=progress)


def _add(workspace: Workspace, slide: PaintedSlide, who: str) -> None:
    known = {row.path for row in list_slides(workspace)}
    if str(slide.path.absolute()) in known:
        return
    metadata = SlideMetadata(
        organ=slide.organ,
        source=slide.source,
        licence=slide.licence,
        species=slide.species,
        stain=slide.stain,
        institution=slide.institution,
        study=slide.study,
    )
    report = add_slides(workspace, [slide.path], metadata, who=who)
    if report.problems:
        raise InputError("A drawn slide cannot be added", report.problems)


def _sample_and_select(workspace: Workspace, organ: str, who: str, progress: Progress) -> None:
    for draw in _DRAWS:
        sample_candidates(
            workspace,
            organ=organ,
            count=draw.count,
            magnifications=[(draw.magnification, 1.0)],
            max_overlap=0.25 if draw.magnification == 20 else 0.6,
            who=who,
            progress=progress,
        )
    if current_binning(workspace, organ) is None:
        bin_candidates(workspace, organ=organ, bins=BINS, who=who, progress=progress)
    # Always: an interrupted demo may have its bins and only some of its ROIs.
    select_across_bins(workspace, organ=organ, per_bin=ROIS_PER_BIN, who=who, progress=progress)


def _write_seeds(workspace: Workspace, painted: Sequence[PaintedSlide], who: str) -> None:
    """Write one seed per selected ROI from the drawn truth, each category as often as the truth allows."""
    truths = {str(slide.path.absolute()): load_truth(slide.truth_path) for slide in painted}
    written = {entry.roi.id for entry in list_seeds(workspace)}
    used: Counter[str] = Counter(entry.seed.category for entry in list_seeds(workspace))
    for organ in list_organs(workspace):
        rois = [(roi, slide) for roi, slide in list_rois(workspace, organ=organ) if slide.path in truths]
        for roi, slide in rois[: max(0, len(rois) - UNWRITTEN_PER_ORGAN)]:
            if roi.id in written:
                continue
            options = _possible_seeds(truths[slide.path], roi, slide)
            if not options:
                continue
            chosen = min(options, key=lambda seed: (used[seed.category], seed.question))
            used[chosen.category] += 1
            save_seed(
                workspace,
                SeedText(chosen.question, chosen.answer, chosen.category, notes="From the drawn truth."),
                roi_id=roi.id,
                who=who,
            )


def _possible_seeds(truth: Any, roi: Roi, slide: Slide) -> list[DemoSeed]:
    width = round(roi.size * (roi.mpp or 0.0) / (slide.mpp or 1.0))
    rng = random.Random(f"{slide.name}/{roi.x}/{roi.y}/{width}")
    return seeds_from_truth(truth, roi.x, roi.y, width, roi.mpp or 0.0, rng=rng)


def _sum_up(workspace: Workspace, summary: DemoSummary) -> None:
    with workspace.reading() as session:
        states = dict(session.exec(select(Item.state, func.count()).group_by(col(Item.state))).all())
        guessable = session.exec(
            select(func.count(func.distinct(ItemVersion.item_id))).where(ItemVersion.guess_verdict == "guessable")
        ).one()
        regenerated = session.exec(
            select(func.count(func.distinct(ItemVersion.item_id))).where(ItemVersion.number > 1)
        ).one()
        escalated = session.exec(select(func.count()).where(Item.state == "escalated")).one()
        counts = {
            "slides": session.exec(select(func.count()).where(Slide.kind == "slide")).one(),
            "candidates": session.exec(select(func.count()).select_from(Roi)).one(),
            "bins": sum(
                binning.bins
                for organ in list_organs(workspace)
                if (binning := current_binning(workspace, organ)) is not None
            ),
            "ROIs": session.exec(select(func.count()).where(Roi.state == "selected")).one(),
            "seeds": session.exec(select(func.count()).select_from(Seed)).one(),
        }
    summary.counts = {
        **counts,
        "seeds without items": len(pending_seeds(workspace)),
        "items": sum(states.values()),
        "guessable": guessable,
        "regenerated": regenerated,
        "escalated": escalated,
        "approved": states.get("approved", 0) + states.get("released", 0),
        "released": states.get("released", 0),
    }
    # The demo's own run of each baseline: others, of a part of the items or without images, do not compare.
    for model in BASELINES:
        for run in reversed([run for run in list_runs(workspace) if run.model == model]):
            path = Path(run.path) / "results.json"
            if not path.is_file():
                continue
            results = VqaResults.model_validate_json(path.read_text(encoding="utf-8"))
            if not _on_everything(results.provenance.configuration):
                continue
            scores = tuple(
                metric.mean if (metric := results.metrics.get(name)) is not None else None for name in SCORE_NAMES
            )
            summary.baselines.append(BaselineScore(run.model, scores))
            break


def _on_everything(configuration: Configuration) -> bool:
    whole = configuration.limit is None and configuration.organ is None and configuration.category is None
    return whole and configuration.ablation == "normal"
