"""The kidney's lesions: which tubules and glomeruli they change, and what they put between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.demo.painting._canvas import HALF, mix, soft_patch
from pipeline.demo.painting._geometry import Points, inside, lattice_in, sample_map, thin
from pipeline.demo.painting._sites import Commission, Site
from pipeline.demo.painting._truth import Distribution
from pipeline.demo.painting._tubules import GAP, KIND, TubuleMap

NECROSIS = "tubular necrosis"
CAST = "hyaline cast"
DILATATION = "tubular dilatation"
BASOPHILIA = "tubular basophilia"
INFILTRATE = "mononuclear cell infiltrate"
SCLEROSIS = "glomerulosclerosis"

KIDNEY_LESIONS: tuple[str, ...] = (NECROSIS, CAST, INFILTRATE, DILATATION, SCLEROSIS, BASOPHILIA)

CHANGED_INTO: dict[str, str] = {
    NECROSIS: "necrotic",
    CAST: "cast",
    DILATATION: "dilated",
    BASOPHILIA: "basophilic",
}
"""The tubule look (`_tubules.LOOKS`) that a lesion gives the tubules inside it."""

SCLEROTIC_SPACING = 330.0

FACTS: dict[str, tuple[str, Distribution, str | None]] = {
    NECROSIS: ("cortex", "multifocal", "proximal tubular epithelial cell"),
    CAST: ("renal tubule", "multifocal", None),
    DILATATION: ("renal tubule", "multifocal", None),
    BASOPHILIA: ("cortex", "focal", "proximal tubular epithelial cell"),
    INFILTRATE: ("interstitium", "focal", "lymphocyte"),
    SCLEROSIS: ("glomerulus", "multifocal", None),
}
"""Location, distribution and cell type that the record gives."""


@dataclass(frozen=True)
class Placed:
    """A lesion with its outline (level-0 pixels)."""

    site: Site
    outline: Points

    @property
    def name(self) -> str:
        """The lesion's name."""
        return self.site.name

    @property
    def tubule_spacing(self) -> float | None:
        """Distance between tubules where the lesion widens them."""
        return {CAST: 120.0, DILATATION: 180.0}.get(self.name)

    @property
    def gap(self) -> float:
        """Half the interstitium between tubules in µm."""
        return {INFILTRATE: 9.0, SCLEROSIS: 4.0, BASOPHILIA: 4.0, NECROSIS: 2.4}.get(self.name, GAP)


def arrange_glomeruli(
    places: Points, placed: list[Placed], rng: np.random.Generator
) -> tuple[Points, NDArray[np.bool_]]:
    """Return glomeruli and which of them are scarred; lesions of tubules keep glomeruli out."""
    scarred = np.zeros(len(places), dtype=bool)
    for lesion in placed:
        within = inside(lesion.outline, places)
        if lesion.name in (CAST, DILATATION):
            places, scarred = places[~within], scarred[~within]
        elif lesion.name == SCLEROSIS:
            dense = lattice_in(rng, lesion.outline, SCLEROTIC_SPACING, jitter=0.12)
            apart = np.hypot(*(places - np.asarray(lesion.site.centre)).T) > lesion.site.radius + 170
            places = np.vstack([places[apart], dense])
            scarred = np.concatenate([scarred[apart], np.ones(len(dense), dtype=bool)])
    return places, scarred


def change_tubules(tubules: TubuleMap, placed: list[Placed], rng: np.random.Generator) -> None:
    """Give the tubules inside a lesion their changed look, in place."""
    for lesion in placed:
        look = CHANGED_INTO.get(lesion.name)
        if look is not None:
            hit = inside(lesion.outline, tubules.centres)
            hit &= rng.random(len(hit)) < lesion.site.extent
            tubules.look[hit] = KIND[look]


def fill_interstitium(work: Commission, tubules: TubuleMap, eosin: NDArray[np.uint8], placed: list[Placed]) -> None:
    """Thicken the interstitium where a lesion widens it, and record the lesions."""
    for lesion in placed:
        if lesion.name in (INFILTRATE, SCLEROSIS, BASOPHILIA):
            here, soft = soft_patch(lesion.outline, eosin.shape, 255, 8.0)
            soft[tubules.depth[here] > 0.5] = 0
            mix(eosin[here], soft, 36)
        location, distribution, cell_type = FACTS[lesion.name]
        work.recorder.add(
            "lesion",
            lesion.name,
            lesion.outline,
            severity=lesion.site.severity,
            distribution=distribution,
            location=location,
            cell_type=cell_type,
        )


def infiltrating_cells(tubules: TubuleMap, placed: list[Placed], rng: np.random.Generator) -> list[tuple[str, Points]]:
    """Return the inflammatory and connective-tissue cells between the tubules: type and centres."""
    found = []
    for lesion in placed:
        per_cell = {
            INFILTRATE: ("lymphocyte", 12.5),
            SCLEROSIS: ("lymphocyte", 40.0),
            BASOPHILIA: ("fibroblast", 34.0),
        }
        if lesion.name not in per_cell:
            continue
        cell_type, spacing = per_cell[lesion.name]
        low, high = lesion.outline.min(axis=0), lesion.outline.max(axis=0)
        cells = thin(rng.uniform(low, high, (30_000, 2)), spacing)
        cells = cells[inside(lesion.outline, cells)]
        cells = cells[sample_map(tubules.depth, cells, HALF) < 2.0]
        found.append((cell_type, cells))
    return found
