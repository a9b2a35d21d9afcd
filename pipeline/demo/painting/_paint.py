"""Paints the demo slides: plans each one, draws it, writes the pyramid and its truth, several at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from pipeline.demo.painting._canvas import Canvas
from pipeline.demo.painting._geometry import Points
from pipeline.demo.painting._plan import DEMO_SLIDES, MPP, SlidePlan, place_sites, scaled, tissue_outline
from pipeline.demo.painting._sites import Commission
from pipeline.demo.painting._textures import NucleusBank
from pipeline.demo.painting._truth import Recorder, SlideTruth, TruthError, load_truth

PAINTER_VERSION = "1"
"""Raised when the drawing changes: slides of another version are drawn again."""

LICENCE = "CC0-1.0"
SOURCE = "Histocurator demo: drawn by the project, not a real slide"

Progress = Callable[[int, int, str], None]
"""Called with slides done, slides in all and the name of the slide that was just finished."""


@dataclass(frozen=True)
class PaintedSlide:
    """A drawn slide and what an ingest needs to know of it; `mpp` in micrometres per level-0 pixel."""

    path: Path
    truth_path: Path
    organ: str
    institution: str
    source: str
    licence: str
    species: str
    stain: str
    study: str
    mpp: float


def paint_demo_slides(
    folder: Path,
    *,
    seed: int = 0,
    processes: int | None = None,
    progress: Progress | None = None,
    only: Sequence[str] | None = None,
    scale: float = 1.0,
) -> list[PaintedSlide]:
    """Draw the demo slides into `folder` and return them in a fixed order.

    A slide whose file and truth exist already, with the same painter version, seed and scale, is left as it
    is. The same seed gives the same pixels, however many processes draw.

    Args:
        folder: where slides and truth files go; made if missing.
        seed: of all randomness.
        processes: how many slides are drawn at once; by default one per core that this process may use.
        progress: told after each slide.
        only: names (such as "liver-birch-1") to draw; all by default.
        scale: factor on the sides of each slide, for a quick look; the tissue keeps its own scale.

    Raises:
        ValueError: `only` names an unknown slide, or `scale` or `processes` is not positive.
    """
    plans = _chosen(only)
    if scale <= 0:
        raise ValueError(f"scale is {scale}; give a positive number")
    if processes is not None and processes < 1:
        raise ValueError(f"processes is {processes}; give 1 or more")
    folder.mkdir(parents=True, exist_ok=True)
    sized = [scaled(plan, scale) if scale != 1.0 else plan for plan in plans]
    todo = [plan for plan in sized if not _is_painted(folder, plan, seed, scale)]
    done = len(sized) - len(todo)
    workers = min(processes or _usable_cores(), len(todo))

    def report(plan: SlidePlan) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(sized), plan.stem)

    if workers <= 1:
        for plan in todo:
            paint_slide(folder, plan, seed=seed, scale=scale)
            report(plan)
    else:
        todo.sort(key=lambda plan: -plan.width * plan.height)
        # Spawned workers import their own NumPy: forking a process that runs threads (a web server) can hang.
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            running = {pool.submit(paint_slide, folder, plan, seed=seed, scale=scale): plan for plan in todo}
            for finished in as_completed(running):
                finished.result()
                report(running[finished])
    return [_painted(folder, plan) for plan in sized]


def paint_slide(folder: Path, plan: SlidePlan, *, seed: int, scale: float = 1.0) -> None:
    """Draw one planned slide and write `<stem>.tiff`, `<stem>.truth.json` and `<stem>.nuclei.npz`."""
    from pipeline.demo.painting._artefacts import paint_artefacts
    from pipeline.demo.painting._institutions import INSTITUTIONS, colour_strips
    from pipeline.demo.painting._kidney import paint_kidney
    from pipeline.demo.painting._liver import paint_liver
    from pipeline.demo.painting._lung import paint_lung
    from pipeline.demo.painting._write import STRIP, write_pyramid

    rng = np.random.default_rng([seed, *plan.stem.encode()])
    tissue = tissue_outline(plan, rng)
    sites = place_sites(plan, tissue, rng)
    canvas = Canvas(plan.width, plan.height, NucleusBank(rng, MPP), rng)
    recorder = Recorder(plan.organ)
    lesions = tuple(site for site in sites if not site.is_artefact)
    painters = {"liver": paint_liver, "kidney": paint_kidney, "lung": paint_lung}
    painters[plan.organ](Commission(canvas, recorder, (tissue,), lesions, rng))
    paint_artefacts(canvas, recorder, [site for site in sites if site.is_artefact], rng)
    institution = INSTITUTIONS[plan.institution]
    path, truth_path = _paths(folder, plan)
    truth_path.unlink(missing_ok=True)
    write_pyramid(
        path,
        colour_strips(canvas, institution, STRIP),
        width=plan.width,
        height=plan.height,
        mpp=MPP,
        quality=institution.jpeg_quality,
    )
    _write_truth(folder, plan, canvas, recorder, tissue, seed=seed, scale=scale)


def _write_truth(
    folder: Path,
    plan: SlidePlan,
    canvas: Canvas,
    recorder: Recorder,
    tissue: Points,
    *,
    seed: int,
    scale: float,
) -> None:
    from pipeline.demo.painting._institutions import INSTITUTIONS

    path, truth_path = _paths(folder, plan)
    centres, types = canvas.nuclei()
    names, codes = np.unique(types, return_inverse=True)
    nuclei_path = folder / f"{plan.stem}.nuclei.npz"
    np.savez_compressed(nuclei_path, centre=centres, type=codes.astype(np.uint8), names=names)
    truth = SlideTruth(
        painter_version=PAINTER_VERSION,
        seed=seed,
        scale=scale,
        slide=path.name,
        organ=plan.organ,
        institution=INSTITUTIONS[plan.institution].name,
        width=plan.width,
        height=plan.height,
        mpp=MPP,
        tissue=(tuple((round(float(x), 1), round(float(y), 1)) for x, y in tissue),),
        records=tuple(recorder.records),
        nuclei_file=nuclei_path.name,
        nuclei_count=len(centres),
    )
    part = truth_path.with_name(truth_path.name + ".part")
    part.write_text(truth.model_dump_json(), encoding="utf-8")
    part.replace(truth_path)


def _chosen(only: Sequence[str] | None) -> list[SlidePlan]:
    if only is None:
        return list(DEMO_SLIDES)
    known = {plan.stem: plan for plan in DEMO_SLIDES}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise ValueError(f"no demo slide is called {', '.join(unknown)}; there are {', '.join(known)}")
    return [plan for plan in DEMO_SLIDES if plan.stem in only]


def _paths(folder: Path, plan: SlidePlan) -> tuple[Path, Path]:
    return folder / f"{plan.stem}.tiff", folder / f"{plan.stem}.truth.json"


def _is_painted(folder: Path, plan: SlidePlan, seed: int, scale: float) -> bool:
    path, truth_path = _paths(folder, plan)
    if not path.exists() or not truth_path.exists():
        return False
    try:
        truth = load_truth(truth_path)
    except TruthError:
        return False
    same = (truth.painter_version, truth.seed, truth.scale) == (PAINTER_VERSION, seed, scale)
    return same and truth_path.with_name(truth.nuclei_file).exists()


def _painted(folder: Path, plan: SlidePlan) -> PaintedSlide:
    path, truth_path = _paths(folder, plan)
    truth = load_truth(truth_path)
    return PaintedSlide(
        path=path,
        truth_path=truth_path,
        organ=plan.organ,
        institution=truth.institution,
        source=SOURCE,
        licence=LICENCE,
        species="rat",
        stain="H&E",
        study=f"demo-{plan.institution.lower()}",
        mpp=MPP,
    )


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
