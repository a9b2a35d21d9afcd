"""Which slides are drawn, and where on them lesions and artefacts lie."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from pipeline.demo.painting._geometry import Points, blob, inside
from pipeline.demo.painting._sites import Site
from pipeline.demo.painting._truth import Severity

MPP = 0.5
"""Micrometres per level-0 pixel: a 20× scan."""

SPACINGS: tuple[float, ...] = (1650.0, 1450.0, 1250.0)
"""Least level-0 pixels between two lesions or artefacts, the first that leaves room: about half of random 20×
fields then show one."""

RIM = 560.0
"""Least level-0 pixels from a site to the tissue's edge, so that a field centred on it is tissue."""

LARGE_SLIDE = 40_000_000
"""Level-0 pixels from which a slide repeats its lesions and artefacts until it is full."""

PLACE_TRIES = 1500
GRADES: tuple[Severity, ...] = ("moderate", "severe", "slight", "moderate")
"""Grades are drawn from these."""

CORTEX_SHARE = 0.64
"""Share of a kidney slide's height down to the corticomedullary junction."""


@dataclass(frozen=True)
class SlidePlan:
    """One slide to draw: its size in level-0 pixels and the lesions and artefacts that it shows in turn."""

    stem: str
    organ: str
    institution: str
    width: int
    height: int
    lesions: tuple[str, ...]
    artefacts: tuple[str, ...]


DEMO_SLIDES: tuple[SlidePlan, ...] = (
    SlidePlan(
        "liver-alder-1",
        "liver",
        "Alder",
        14848,
        8704,
        (
            "hepatocellular necrosis",
            "mononuclear cell infiltrate",
            "hepatocellular vacuolation",
            "bile duct hyperplasia",
            "hepatocellular hypertrophy",
            "haemorrhage",
            "pigment deposit",
        ),
        ("tissue fold", "pen mark", "stain precipitate", "out-of-focus area", "air bubble", "knife chatter"),
    ),
    SlidePlan(
        "liver-birch-1",
        "liver",
        "Birch",
        4480,
        4480,
        ("hepatocellular necrosis", "hepatocellular vacuolation", "mononuclear cell infiltrate"),
        ("tissue fold", "stain precipitate"),
    ),
    SlidePlan(
        "kidney-alder-1",
        "kidney",
        "Alder",
        4480,
        4608,
        ("tubular necrosis", "hyaline cast", "mononuclear cell infiltrate"),
        ("tissue fold", "stain precipitate"),
    ),
    SlidePlan(
        "kidney-birch-1",
        "kidney",
        "Birch",
        4480,
        4608,
        ("tubular dilatation", "glomerulosclerosis", "tubular basophilia"),
        ("out-of-focus area", "pen mark"),
    ),
    SlidePlan(
        "lung-alder-1",
        "lung",
        "Alder",
        4480,
        4480,
        ("alveolar histiocytosis", "alveolar oedema", "suppurative inflammation"),
        ("air bubble", "pen mark"),
    ),
    SlidePlan(
        "lung-birch-1",
        "lung",
        "Birch",
        4480,
        4480,
        ("interstitial fibrosis", "alveolar haemorrhage", "mononuclear cell infiltrate"),
        ("stain precipitate", "out-of-focus area"),
    ),
)


def scaled(plan: SlidePlan, scale: float) -> SlidePlan:
    """Return the plan with both sides multiplied by `scale` (rounded to 256 pixels)."""
    width, height = (max(1536, round(side * scale / 256) * 256) for side in (plan.width, plan.height))
    return SlidePlan(plan.stem, plan.organ, plan.institution, width, height, plan.lesions, plan.artefacts)


def tissue_outline(plan: SlidePlan, rng: np.random.Generator) -> Points:
    """Return the outline of the piece of tissue: a lobed, rounded rectangle that leaves a margin of glass."""
    unit = blob(rng, (0.0, 0.0), 1.0, rough=0.018, n=180)
    angle = np.arctan2(unit[:, 1], unit[:, 0])
    reach = np.hypot(*unit.T)
    power = 5.0
    square = (np.abs(np.cos(angle)) ** power + np.abs(np.sin(angle)) ** power) ** (-1 / power)
    ragged = 1 + 0.004 * rng.standard_normal(len(angle))
    half = np.array([plan.width, plan.height]) / 2
    margin = 0.95
    outline = half + half * margin * (reach * square * ragged)[:, None] * np.column_stack(
        [np.cos(angle), np.sin(angle)]
    )
    inner: Points = np.clip(outline, 24.0, np.array([plan.width, plan.height]) - 24.0)
    return inner


def _free_place(
    rng: np.random.Generator,
    tissue: Points,
    sites: list[Site],
    low: tuple[float, float],
    high: tuple[float, float],
    around: Points,
    spacing: float,
) -> tuple[float, float] | None:
    for place in rng.uniform(low, high, (PLACE_TRIES, 2)):
        far = all(np.hypot(*(place - np.asarray(other.centre))) >= spacing for other in sites)
        if far and np.all(inside(tissue, place + around)):
            return float(place[0]), float(place[1])
    return None


def place_sites(plan: SlidePlan, tissue: Points, rng: np.random.Generator) -> tuple[Site, ...]:
    """Scatter the plan's lesions and artefacts over the tissue, apart by one of `SPACINGS`.

    Each kind comes once before any comes twice, and a slide below `LARGE_SLIDE` holds each once; a very small
    one may have room for the first ones only. Kidney lesions lie in the cortex.
    """
    names = [(name, False) for name in plan.lesions] + [(name, True) for name in plan.artefacts]
    is_large = plan.width * plan.height > LARGE_SLIDE
    rim = min(RIM, plan.width * 0.24, plan.height * 0.24)
    around = rim * np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [0.7, 0.7], [-0.7, -0.7]])
    sites: list[Site] = []
    for name, is_artefact in itertools.cycle(names) if is_large else names:
        lowest = plan.height - rim
        if plan.organ == "kidney" and not is_artefact:
            lowest = max(rim + 1.0, plan.height * CORTEX_SHARE - RIM - 120.0)
        place = None
        for spacing in SPACINGS[:1] if is_large else SPACINGS:
            place = _free_place(rng, tissue, sites, (rim, rim), (plan.width - rim, lowest), around, spacing)
            if place is not None:
                break
        if place is not None:
            sites.append(Site(name, place, GRADES[int(rng.integers(len(GRADES)))], is_artefact))
        elif is_large:
            break
    return tuple(sites)
