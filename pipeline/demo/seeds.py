"""Makes seed questions for the demo from the recorded truth of a drawn slide: nothing is guessed from pixels."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.items import Category
from pipeline.demo.painting import DEMO_TERMS, IMAGE_ZONES, Record, Sighting, SlideTruth, covers

TRUE, FALSE = "true", "false"
"""The answers to a statement."""

VISIBLE_SHARE = 0.06
"""A lesion or artefact that covers less of the field is not asked about."""

ABSENT_SHARE = 0.002
"""A lesion that covers no more than this of the field counts as absent; between the two, nothing is claimed."""

MEASURABLE_SHARE = 0.15
"""Proportions are asked from here up, and rounded to tens of a percent."""

LOCAL_SHARE = 0.40
"""A target that covers more than this lies everywhere: its place is not asked."""

ZONE_MARGIN = 0.045
"""A centroid nearer than this (share of the width) to the border of two zones is ambiguous."""

WHOLE, SLIVER = 0.30, 0.005
"""A structure counts when at least `WHOLE` of it is in the field, is overlooked below `SLIVER`; between the
two a count would be a matter of taste and is not asked."""

MOSTLY = 0.6
"""A structure of which less is in the field is not asked for by name."""

SMALLEST_LESION_PIXELS = 70.0
"""Least size (square root of the area) in image pixels at which a lesion shows at low magnification."""

SMALLEST_PIXELS = 26.0
"""Least size (square root of the area) in image pixels at which a structure can be recognised."""

MOST_COUNTED = 12

COUNTED: dict[str, str] = {
    "central vein": "central veins",
    "portal triad": "portal triads",
    "glomerulus": "glomeruli",
    "bronchiole": "bronchioles",
    "interlobular artery": "interlobular arteries",
    "pulmonary vein": "pulmonary veins",
}
"""Structures that are counted, and their plural."""

LANDMARKS = (*COUNTED, "pulmonary artery", "vein")
"""Structures that stand out enough to be asked for by their place."""

NOT_A_CLAIM: dict[str, frozenset[str]] = {"lung": frozenset({"mononuclear cell infiltrate"})}
"""Lesions that are never claimed falsely, since a few such cells are normal in the organ."""


@dataclass(frozen=True)
class DemoSeed:
    """A seed: a question with its answer, or (`is_true` set) a statement whose answer is "true" or "false"."""

    question: str
    answer: str
    is_true: bool | None
    category: Category


def zone_of(centroid: tuple[float, float]) -> str | None:
    """Return the image zone of a centroid (fractions of width and height), None where it is ambiguous."""
    if any(min(abs(value - 1 / 3), abs(value - 2 / 3)) < ZONE_MARGIN for value in centroid):
        return None
    return _nearest_zone(centroid)


def _nearest_zone(centroid: tuple[float, float]) -> str:
    column, row = (int(value >= 1 / 3) + int(value >= 2 / 3) for value in centroid)
    return IMAGE_ZONES[3 * row + column]


def seeds_from_truth(
    truth: SlideTruth, x: int, y: int, width: int, mpp: float, *, rng: random.Random
) -> list[DemoSeed]:
    """Return every seed that the recorded truth supports for a square field of view.

    Args:
        truth: the slide's truth.
        x: left edge of the field in level-0 pixels.
        y: top edge of the field in level-0 pixels.
        width: side of the field in level-0 pixels.
        mpp: micrometres per pixel of the image that is shown.
        rng: chooses wordings and the lesion of a false claim.

    Raises:
        ValueError: `width` or `mpp` is not positive.
    """
    if mpp <= 0:
        raise ValueError(f"the image's resolution is {mpp} µm per pixel; give a positive number")
    field = _Field(truth, truth.within(x, y, width), mpp)
    return [
        *_anatomy(field, rng),
        *_pathology(field, rng),
        *_places(field, rng),
        *_features(field, rng),
        *_quantities(field, rng),
        *_artefacts(field, rng),
        *_over_reading(field, rng),
    ]


class _Field:
    """What a field of view shows, sorted into what can be asked about."""

    def __init__(self, truth: SlideTruth, seen: Sequence[Sighting], mpp: float) -> None:
        self.organ = truth.organ
        self._pixels_per_level0 = truth.mpp / mpp
        self.lesions = [one for one in seen if one.record.kind == "lesion"]
        self.artefacts = [one for one in seen if one.record.kind == "artefact"]
        self.regions = [one for one in seen if one.record.is_region]
        self.structures = [one for one in seen if one.record.kind == "anatomy" and not one.record.is_region]

    def main_lesion(self) -> Sighting | None:
        """The one lesion that can be called the main change, if there is one."""
        return self._main(self.lesions)

    def main_artefact(self) -> Sighting | None:
        """The one artefact that can be called the artefact in the field, if there is one."""
        return self._main(self.artefacts)

    def _main(self, sightings: Sequence[Sighting]) -> Sighting | None:
        if not sightings or not self.is_visible(sightings[0]):
            return None
        first = sightings[0]
        others = [one for one in sightings if one.record.name != first.record.name and one.share > ABSENT_SHARE]
        return None if others else first

    def is_visible(self, sighting: Sighting) -> bool:
        """Whether a lesion or artefact is large enough, in the field or in the image, to be asked about."""
        size = float(np.sqrt(sighting.record.area)) * self._pixels_per_level0
        return sighting.share >= VISIBLE_SHARE or (sighting.shown >= MOSTLY and size >= SMALLEST_LESION_PIXELS)

    def alone_in_zone(self, sighting: Sighting) -> str | None:
        """Return the zone of a thing if it is unambiguous and no other of its kind lies there."""
        zone = zone_of(sighting.centroid)
        kind = [one for one in self._all() if one.record.kind == sighting.record.kind and one.shown > SLIVER]
        if sighting.record.kind == "anatomy":
            kind = [one for one in kind if one.record.name in LANDMARKS]
        return zone if sum(_nearest_zone(one.centroid) == zone for one in kind) == 1 else None

    def is_single(self, sighting: Sighting) -> bool:
        """Whether the field shows no second thing of that name."""
        return sum(one.record.name == sighting.record.name for one in self._all()) == 1

    def _all(self) -> list[Sighting]:
        return [*self.lesions, *self.artefacts, *self.structures]

    def is_recognisable(self, record: Record) -> bool:
        """Whether a structure is large enough in the image and not hidden by an artefact."""
        size = float(np.sqrt(record.area)) * self._pixels_per_level0
        return size >= SMALLEST_PIXELS and not self._is_hidden(record)

    def _is_hidden(self, record: Record) -> bool:
        return any(covers(one.record, record.centre) for one in self.artefacts)

    def landmarks(self) -> list[Sighting]:
        """Structures that can be asked for by name or place."""
        return [
            one
            for one in self.structures
            if one.record.name in LANDMARKS and one.shown >= MOSTLY and self.is_recognisable(one.record)
        ]


def _anatomy(field: _Field, rng: random.Random) -> list[DemoSeed]:
    seeds = []
    for region in field.regions:
        if region.share > 0.85:
            question = f"Which zone of the {field.organ} is shown?"
            seeds.append(DemoSeed(question, region.record.name, None, "identify_anatomy"))
    if field.organ == "lung" and not field.lesions and not field.structures and not field.artefacts:
        question = "Which structure makes up most of the field?"
        seeds.append(DemoSeed(question, "alveolus", None, "identify_anatomy"))
    for one in field.landmarks():
        zone = field.alone_in_zone(one)
        if zone is not None:
            question = rng.choice(
                (
                    f"Which anatomical structure lies in the {zone} of the image?",
                    f"Which structure is seen in the {zone} of the image?",
                )
            )
            seeds.append(DemoSeed(question, one.record.name, None, "identify_anatomy"))
    return seeds


def _pathology(field: _Field, rng: random.Random) -> list[DemoSeed]:
    lesion = field.main_lesion()
    if lesion is None:
        zoned = [(one, field.alone_in_zone(one)) for one in field.lesions if field.is_visible(one)]
        return [
            DemoSeed(f"Which lesion lies in the {zone} of the image?", one.record.name, None, "identify_pathology")
            for one, zone in zoned
            if zone is not None
        ]
    question = rng.choice(
        ("What is the main histopathologic change?", f"Which lesion of the {field.organ} is present in this field?")
    )
    return [DemoSeed(question, lesion.record.name, None, "identify_pathology")]


def _places(field: _Field, rng: random.Random) -> list[DemoSeed]:
    seeds = []
    visible = [one for one in (*field.lesions, *field.artefacts) if field.is_visible(one)]
    for one in (*visible, *field.landmarks()):
        zone = zone_of(one.centroid)
        if zone is None or one.share > LOCAL_SHARE or not field.is_single(one):
            continue
        name = one.record.name
        if one.record.kind == "lesion":
            question = rng.choice(
                (f"Where in the image is the {name} most pronounced?", f"Where in the image is the {name}?")
            )
        else:
            question = f"Where in the image is the {name}?"
        seeds.append(DemoSeed(question, zone, None, "localize_in_image"))
    return seeds


def _features(field: _Field, rng: random.Random) -> list[DemoSeed]:
    lesion = field.main_lesion()
    if lesion is None or lesion.shown < 0.5 or not field.is_single(lesion):
        return []
    record = lesion.record
    asked: list[tuple[str, str | None]] = [
        (f"How is the {record.name} distributed?", record.distribution),
        (f"How severe is the {record.name}?", record.severity),
        (f"Which cell type is chiefly involved in the {record.name}?", record.cell_type),
        (f"Which compartment of the {field.organ} does the {record.name} involve?", record.location),
    ]
    rng.shuffle(asked)
    return [
        DemoSeed(question, answer, None, "characterize_feature") for question, answer in asked if answer is not None
    ]


def _quantities(field: _Field, rng: random.Random) -> list[DemoSeed]:
    seeds = []
    for name, plural in COUNTED.items():
        found = [one for one in field.structures if one.record.name == name and one.shown > SLIVER]
        certain = all(one.shown >= WHOLE and field.is_recognisable(one.record) for one in found)
        if found and certain and len(found) <= MOST_COUNTED:
            question = rng.choice(
                (f"How many {plural} are visible?", f"How many {plural} does the field show, whole or cut by its edge?")
            )
            seeds.append(DemoSeed(question, str(len(found)), None, "quantify_feature"))
    for kind, main in (("lesion", field.main_lesion()), ("artefact", field.main_artefact())):
        if main is None or main.share < MEASURABLE_SHARE or not field.is_single(main):
            continue
        tens = 10 * round(10 * main.share)
        verb = "is affected by" if kind == "lesion" else "is taken up by"
        question = f"About which share of the field {verb} the {main.record.name}?"
        seeds.append(DemoSeed(question, f"about {tens} %", None, "quantify_feature"))
    return seeds


def _artefacts(field: _Field, rng: random.Random) -> list[DemoSeed]:
    artefact = field.main_artefact()
    if artefact is None:
        zoned = [(one, field.alone_in_zone(one)) for one in field.artefacts if field.is_visible(one)]
        return [
            DemoSeed(f"Which artefact lies in the {zone} of the image?", one.record.name, None, "identify_artifact")
            for one, zone in zoned
            if zone is not None
        ]
    question = rng.choice(("Which artefact is visible?", "Which technical fault impairs the assessment of this field?"))
    return [DemoSeed(question, artefact.record.name, None, "identify_artifact")]


def _over_reading(field: _Field, rng: random.Random) -> list[DemoSeed]:
    if any(one.share > ABSENT_SHARE for one in field.lesions):
        return []
    seeds = []
    if not field.artefacts:
        statement = rng.choice(
            (
                f"The {field.organ} in this field is within normal limits.",
                f"This field shows unremarkable {field.organ}.",
            )
        )
        seeds.append(DemoSeed(statement, TRUE, True, "probe_over_reading"))
    claims = [
        name for name in DEMO_TERMS[field.organ]["lesion"] if name not in NOT_A_CLAIM.get(field.organ, frozenset())
    ]
    lesion = rng.choice(claims)
    seeds.append(DemoSeed(f"{lesion.capitalize()} is present in this field.", FALSE, False, "probe_over_reading"))
    return seeds
