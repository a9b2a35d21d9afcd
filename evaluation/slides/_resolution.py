"""Which resolution a slide has: what the file says, checked, or what a person says where it is silent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.slides._ome import pixel_of_ome_xml
from evaluation.slides._types import ResolutionError, SlideError

MIN_MPP = 0.05
MAX_MPP = 10.0
"""Micrometres per level-0 pixel that a light-microscopy scan can have: from beyond 100× to a 1× overview."""

TOLERANCE = 0.05
"""Relative difference up to which two resolutions count as the same."""

_MICROMETRES_PER_UNIT = {"inch": 25_400.0, "centimeter": 10_000.0}
_STATE_IT = "State the resolution with --mpp (micrometres per pixel at full resolution, such as 0.5 for 20×)."


@dataclass(frozen=True)
class Resolution:
    """Micrometres per level-0 pixel and where the number comes from."""

    mpp: float
    source: str


def decide_resolution(path: Path, properties: Mapping[str, str], given: float | None) -> Resolution:
    """Return the resolution of a slide.

    Args:
        path: the slide, for messages.
        properties: OpenSlide's properties.
        given: micrometres per pixel that a person states, or None.

    Raises:
        ResolutionError: the file is silent or absurd and nothing is given.
        SlideError: pixels are not square, or `given` is absurd or contradicts a believable value of the file.
    """
    if given is not None and not _believable(given):
        raise SlideError(
            path,
            f"the stated resolution of {given:g} µm/px lies outside {MIN_MPP:g} to {MAX_MPP:g} µm/px.",
            "State micrometres per pixel at full resolution with --mpp, such as 0.5 for 20×.",
        )
    stated = _stated_by_file(path, properties)
    if stated is None:
        if given is None:
            raise ResolutionError(path, "the file states no resolution.", _STATE_IT)
        return Resolution(given, "given")
    if not _believable(stated.mpp):
        if given is None:
            raise ResolutionError(
                path,
                f"the file states {stated.mpp:.4g} µm/px ({stated.source}), outside the {MIN_MPP:g} to "
                f"{MAX_MPP:g} µm/px that a microscope slide can have.",
                _STATE_IT,
                stated=stated.mpp,
            )
        # 72 dpi is what software writes that knows no resolution: a person's word is worth more than that.
        return Resolution(given, f"given (the file states {stated.mpp:.4g} µm/px, which is impossible)")
    if given is not None and not _same(given, stated.mpp):
        raise SlideError(
            path,
            f"the stated {given:g} µm/px contradicts the file's {stated.mpp:.4g} µm/px ({stated.source}).",
            "Leave out --mpp to trust the file, or mend the file's resolution.",
        )
    return stated


def _believable(mpp: float) -> bool:
    return math.isfinite(mpp) and MIN_MPP <= mpp <= MAX_MPP


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= TOLERANCE * max(abs(one), abs(other))


def _stated_by_file(path: Path, properties: Mapping[str, str]) -> Resolution | None:
    scanner: Sequence[float | None] = [_number(path, properties, f"openslide.mpp-{axis}") for axis in "xy"]
    tags: Sequence[float | None] = [_from_tag(path, properties, axis) for axis in "XY"]
    ome = pixel_of_ome_xml(
        properties.get("openslide.comment", ""),
        int(properties.get("openslide.level[0].width", 0)),
        int(properties.get("openslide.level[0].height", 0)),
    )
    for source, axes in (("openslide.mpp-x/-y", scanner), ("OME-XML", ome), ("TIFF resolution tags", tags)):
        stated = [value for value in axes if value is not None]
        if not stated:
            continue
        if not _same(stated[0], stated[-1]):
            raise SlideError(
                path,
                f"its pixels are not square: {stated[0]:.4g} µm wide, {stated[-1]:.4g} µm high ({source}).",
                "Convert the slide to square pixels: every ROI would be distorted.",
            )
        return Resolution(sum(stated) / len(stated), source)
    return None


def _from_tag(path: Path, properties: Mapping[str, str], axis: str) -> float | None:
    unit = _MICROMETRES_PER_UNIT.get(properties.get("tiff.ResolutionUnit", ""))
    pixels_per_unit = _number(path, properties, f"tiff.{axis}Resolution")
    if unit is None or not pixels_per_unit:
        return None
    return unit / pixels_per_unit


def _number(path: Path, properties: Mapping[str, str], key: str) -> float | None:
    text = properties.get(key)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SlideError(path, f"its property {key} is {text!r}, not a number.", "Mend the file's metadata.")
    return value
