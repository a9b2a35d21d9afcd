"""What is recorded of a drawn slide: its structures, lesions and artefacts, and where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.demo.painting._geometry import Points, inside

RecordKind = Literal["anatomy", "lesion", "artefact"]
Severity = Literal["minimal", "slight", "moderate", "severe"]
Distribution = Literal["focal", "multifocal", "diffuse", "zonal"]
Point = tuple[float, float]


class TruthError(ValueError):
    """A truth file cannot be read: which file, why, and what to do."""


class Record(BaseModel):
    """One drawn thing. `polygon` and `centre` are level-0 pixels, `area` square level-0 pixels.

    `is_region` marks a whole zone (cortex), which is named but never counted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    kind: RecordKind
    name: str
    organ: str
    polygon: tuple[Point, ...] = Field(min_length=3)
    centre: Point
    area: float = Field(gt=0)
    severity: Severity | None = None
    distribution: Distribution | None = None
    location: str | None = None
    cell_type: str | None = None
    is_region: bool = False


@dataclass(frozen=True)
class Sighting:
    """A record as a field of view shows it.

    `share` is the part (0 to 1) of the field that it covers, `shown` the part of the record that lies inside
    the field, `centroid` the centre of what is seen, as a fraction (0 to 1) of the field's width and height.
    """

    record: Record
    share: float
    shown: float
    centroid: tuple[float, float]


class SlideTruth(BaseModel):
    """The recorded truth of one slide. Sizes in level-0 pixels, `mpp` in micrometres per level-0 pixel."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    painter_version: str
    seed: int
    scale: float
    slide: str
    organ: str
    institution: str
    width: int
    height: int
    mpp: float
    tissue: tuple[tuple[Point, ...], ...]
    records: tuple[Record, ...]
    nuclei_file: str
    nuclei_count: int

    def within(self, x: int, y: int, width: int) -> list[Sighting]:
        """Return what a square field (level-0 pixels: left, top, side) shows, largest share first.

        Raises:
            ValueError: the side is not positive.
        """
        if width <= 0:
            raise ValueError(f"the field's width is {width}; give a positive number of level-0 pixels")
        seen = []
        for record in self.records:
            clipped = clip_to_square(np.asarray(record.polygon), x, y, width)
            area = polygon_area(clipped)
            if area <= 0:
                continue
            cx, cy = polygon_centroid(clipped)
            seen.append(
                Sighting(
                    record=record,
                    share=area / width**2,
                    shown=min(1.0, area / record.area),
                    centroid=((cx - x) / width, (cy - y) / width),
                )
            )
        return sorted(seen, key=lambda sighting: (-sighting.share, sighting.record.id))

    def tissue_share(self, x: int, y: int, width: int) -> float:
        """Return the part (0 to 1) of a square field that lies inside the drawn tissue outline."""
        return sum(polygon_area(clip_to_square(np.asarray(outline), x, y, width)) for outline in self.tissue) / float(
            width**2
        )


def covers(record: Record, point: Point) -> bool:
    """Whether a point (level-0 pixels) lies inside a record's outline."""
    return bool(inside(np.asarray(record.polygon), np.asarray([point]))[0])


def polygon_area(outline: Points) -> float:
    """Return the area of a closed outline in square pixels."""
    if len(outline) < 3:
        return 0.0
    x, y = outline[:, 0], outline[:, 1]
    return float(abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2)


def polygon_centroid(outline: Points) -> Point:
    """Return the centre of mass of a closed outline."""
    origin = outline.mean(axis=0)
    x, y = (outline - origin).T
    cross = x * np.roll(y, -1) - np.roll(x, -1) * y
    total = cross.sum()
    if abs(total) < 1e-9:
        return float(origin[0]), float(origin[1])
    cx = ((x + np.roll(x, -1)) * cross).sum() / (3 * total)
    cy = ((y + np.roll(y, -1)) * cross).sum() / (3 * total)
    return float(origin[0] + cx), float(origin[1] + cy)


def clip_to_square(outline: Points, x: float, y: float, width: float) -> Points:
    """Return the part of a closed outline inside a square (Sutherland and Hodgman's clipping)."""
    for axis, limit, keep_above in ((0, x, True), (0, x + width, False), (1, y, True), (1, y + width, False)):
        if len(outline) == 0:
            return outline
        sign = 1.0 if keep_above else -1.0
        depth = sign * (outline[:, axis] - limit)
        if np.all(depth >= 0):
            continue
        following, depth_next = np.roll(outline, -1, axis=0), np.roll(depth, -1)
        kept: list[NDArray[np.float64]] = []
        for here, there, d0, d1 in zip(outline, following, depth, depth_next, strict=True):
            if d0 >= 0:
                kept.append(here)
            if (d0 >= 0) != (d1 >= 0):
                kept.append(here + (there - here) * (d0 / (d0 - d1)))
        outline = np.asarray(kept).reshape(-1, 2)
    return outline


def load_truth(path: Path) -> SlideTruth:
    """Read a truth file.

    Raises:
        TruthError: the file is missing or is no truth file of this painter.
    """
    try:
        return SlideTruth.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise TruthError(f"{path}: no such truth file; draw the demo slides again") from error
    except (ValidationError, UnicodeDecodeError) as error:
        raise TruthError(f"{path}: not a truth file ({error}); delete it and draw again") from error


def load_nuclei(truth_path: Path) -> tuple[NDArray[np.float32], NDArray[np.str_]]:
    """Return the recorded nuclei of a slide: centres (n, 2) in level-0 pixels, and n cell types.

    Raises:
        TruthError: the truth file or the nuclei file beside it cannot be read.
    """
    truth = load_truth(truth_path)
    path = truth_path.with_name(truth.nuclei_file)
    try:
        with np.load(path) as stored:
            names = stored["names"][stored["type"]]
            return stored["centre"], names
    except (OSError, KeyError, ValueError) as error:
        raise TruthError(f"{path}: nuclei cannot be read ({error}); delete it and draw again") from error


class Recorder:
    """Collects records while a slide is drawn and numbers them."""

    def __init__(self, organ: str) -> None:
        self.organ = organ
        self.records: list[Record] = []

    def add(
        self,
        kind: RecordKind,
        name: str,
        outline: Points,
        *,
        severity: Severity | None = None,
        distribution: Distribution | None = None,
        location: str | None = None,
        cell_type: str | None = None,
        is_region: bool = False,
    ) -> None:
        """Record an outline (level-0 pixels)."""
        cx, cy = polygon_centroid(outline)
        self.records.append(
            Record(
                id=f"{kind}-{len(self.records) + 1:05d}",
                kind=kind,
                name=name,
                organ=self.organ,
                polygon=tuple((round(float(x), 1), round(float(y), 1)) for x, y in outline),
                centre=(round(cx, 1), round(cy, 1)),
                area=round(polygon_area(outline), 1),
                severity=severity,
                distribution=distribution,
                location=location,
                cell_type=cell_type,
                is_region=is_region,
            )
        )
