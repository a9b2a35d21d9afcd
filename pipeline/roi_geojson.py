"""ROIs as QuPath reads and writes them: GeoJSON polygons in level-0 pixels from the slide's top-left corner."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from db.tables import Roi, Slide
from evaluation.slides import magnification_label
from pipeline.errors import InputError
from pipeline.roi_places import faults_of_place, side_on_slide
from pipeline.states import ROI_TRANSITIONS

SQUARE_PX = 1.0
"""A polygon is a square where its sides differ by no more level-0 pixels, and its corners lie so near to right ones."""

MIN_MPP, MAX_MPP = 0.05, 100.0
MAX_COORDINATE = 1e9
MAX_FEATURES = 20_000
MAX_FILE_BYTES = 64 * 2**20

COLOURS: Mapping[str, tuple[int, int, int]] = {
    "selected": (11, 107, 107),
    "candidate": (120, 130, 138),
    "rejected": (178, 64, 40),
}
"""Red, green and blue of QuPath's classes, one for each state."""

_NAMESPACE = uuid.UUID("6f0d7a6e-5a1d-4d8e-9d2c-0a51c3f2b7e4")
"""QuPath knows an object again by a UUID: a ROI has the same one in every export."""


@dataclass(frozen=True)
class FieldFound:
    """A good polygon of a file: the field that it stands for, and the feature that it is in, from 1."""

    feature: int
    x: int
    y: int
    size: int
    mpp: float
    state: str


class FeatureError(Exception):
    """A feature is no field of a slide; each argument is a fault in words."""


def as_geojson(slide: Slide, rois: Sequence[Roi]) -> dict[str, Any]:
    """Return ROIs of one slide as a FeatureCollection of QuPath annotations.

    Each is a square whose class is the ROI's state and magnification; its `metadata` (texts, as QuPath keeps them)
    hold what makes it the same ROI when it is read again.
    """
    return {"type": "FeatureCollection", "features": [_feature(slide, roi) for roi in rois]}


def _feature(slide: Slide, roi: Roi) -> dict[str, Any]:
    side = side_on_slide(slide, size=roi.size, mpp=roi.mpp)
    left, top, right, bottom = roi.x, roi.y, roi.x + side, roi.y + side
    metadata = {
        "roi": roi.id,
        "slide": slide.name,
        "content_sha256": slide.content_sha256,
        "state": roi.state,
        "size": str(roi.size),
        "magnification": roi.magnification,
        "mpp": repr(roi.mpp),
    }
    return {
        "type": "Feature",
        "id": str(uuid.uuid5(_NAMESPACE, roi.id)),
        "geometry": {
            "type": "Polygon",
            "coordinates": [[[left, top], [right, top], [right, bottom], [left, bottom], [left, top]]],
        },
        "properties": {
            "objectType": "annotation",
            "name": roi.id,
            "classification": {"name": f"{roi.state} {roi.magnification}", "color": list(COLOURS[roi.state])},
            "metadata": metadata,
        },
    }


def read_geojson(
    data: bytes, slide: Slide, *, size: int | None = None, mpp: float | None = None
) -> tuple[list[FieldFound], list[str]]:
    """Return the fields of a GeoJSON file, and every fault with the number of its feature.

    Args:
        data: a FeatureCollection, a list of features, or one feature.
        slide: whose level-0 pixels the coordinates are.
        size: side in output pixels of polygons that state none; None takes it from the polygon's side and `mpp`.
        mpp: µm per output pixel of polygons that state none.

    Raises:
        InputError: it is no GeoJSON of features, or too large.
    """
    found: list[FieldFound] = []
    faults: list[str] = []
    for number, feature in enumerate(_features(data), start=1):
        try:
            found.append(_field_of(feature, number, slide, size, mpp))
        except FeatureError as error:
            faults += [f"feature {number}: {fault}" for fault in error.args]
    return found, faults


def _features(data: bytes) -> list[Any]:
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"the file has more than {MAX_FILE_BYTES // 2**20} MiB; split it")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the file is no JSON ({str(error) or 'nested too deeply'})") from None
    if isinstance(document, dict) and document.get("type") == "FeatureCollection":
        document = document.get("features")
    elif isinstance(document, dict) and document.get("type") == "Feature":
        document = [document]
    if not isinstance(document, list):
        raise InputError("the file is no GeoJSON FeatureCollection, list of features, or feature")
    if not document:
        raise InputError("the file holds no feature")
    if len(document) > MAX_FEATURES:
        raise InputError(f"the file holds {len(document):,} features; at most {MAX_FEATURES:,} are taken at once")
    return document


def _field_of(feature: Any, number: int, slide: Slide, size: int | None, mpp: float | None) -> FieldFound:
    left, top, side = _square(feature)
    properties = feature.get("properties")
    metadata = properties.get("metadata") if isinstance(properties, dict) else None
    stated = metadata if isinstance(metadata, dict) else {}
    if stated.get("content_sha256", slide.content_sha256) != slide.content_sha256:
        raise FeatureError(f"its metadata say that it lies on another slide, {str(stated.get('slide'))[:80]}")
    own_mpp = _stated_number(stated, "mpp")
    own_size = _stated_number(stated, "size")
    state = str(stated.get("state", "selected"))
    if state not in ROI_TRANSITIONS:
        raise FeatureError(f"its metadata name the state {state!r} (known: {', '.join(ROI_TRANSITIONS)})")
    resolution = own_mpp if own_mpp is not None else mpp
    if resolution is None:
        raise FeatureError("it states no resolution (metadata mpp); say at which magnification it becomes an ROI")
    if not MIN_MPP <= resolution <= MAX_MPP:
        raise FeatureError(f"its resolution is {resolution:g} µm/px; it must lie between {MIN_MPP:g} and {MAX_MPP:g}")
    pixels = side * (slide.mpp or resolution) / resolution
    wanted = own_size if own_size is not None else size
    output = round(pixels) if wanted is None else int(wanted)
    expected = side_on_slide(slide, size=output, mpp=resolution)
    # Without a stated size, the field is the polygon to the next whole output pixel.
    if wanted is not None and (wanted != output or abs(expected - side) > SQUARE_PX):
        raise FeatureError(
            f"its side is {side:,.1f} level-0 pixels; {wanted:g} px at {magnification_label(resolution)} are "
            f"{expected:,.1f}"
        )
    x, y = round(left), round(top)
    if faults := faults_of_place(slide, x=x, y=y, size=output, mpp=resolution):
        raise FeatureError(*faults)
    return FieldFound(number, x, y, output, resolution, state)


def _square(feature: Any) -> tuple[float, float, float]:
    """Return left, top and side of a feature's square.

    Raises:
        FeatureError: it has no polygon, or one that is no upright square.
    """
    geometry = feature.get("geometry") if isinstance(feature, dict) else None
    if not isinstance(geometry, dict):
        raise FeatureError("it has no geometry")
    if geometry.get("type") != "Polygon":
        raise FeatureError(f"it is a {geometry.get('type')}, not a Polygon")
    rings = geometry.get("coordinates")
    if not isinstance(rings, list) or not rings:
        raise FeatureError("its polygon has no coordinates")
    if len(rings) > 1:
        raise FeatureError("its polygon has a hole")
    points = [_point(point) for point in rings[0]] if isinstance(rings[0], list) else []
    if len(points) > 1 and points[0] == points[-1]:
        points.pop()
    if len(points) != 4:
        raise FeatureError(f"its polygon has {len(points)} corners, not 4")
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    top, bottom = min(y for _, y in points), max(y for _, y in points)
    corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
    near = [{index for index, corner in enumerate(corners) if _near(point, corner)} for point in points]
    if right - left <= SQUARE_PX or any(not one for one in near) or len(set.union(*near)) != len(corners):
        raise FeatureError("its polygon is rotated, or no rectangle; only upright squares become ROIs")
    if abs((right - left) - (bottom - top)) > SQUARE_PX:
        raise FeatureError(f"its polygon is no square: {right - left:,.1f} × {bottom - top:,.1f} level-0 pixels")
    return left, top, right - left


def _point(value: Any) -> tuple[float, float]:
    numbers = [one for one in value if isinstance(one, int | float)] if isinstance(value, list) else []
    if len(numbers) < 2:
        raise FeatureError(f"{str(value)[:60]} is no pair of coordinates")
    # Also false where a number is none (NaN) or endless.
    if not all(abs(number) <= MAX_COORDINATE for number in numbers[:2]):
        raise FeatureError("a coordinate lies on no slide")
    return float(numbers[0]), float(numbers[1])


def _near(point: tuple[float, float], corner: tuple[float, float]) -> bool:
    return max(abs(point[0] - corner[0]), abs(point[1] - corner[1])) <= SQUARE_PX


def _stated_number(metadata: Mapping[str, Any], name: str) -> float | None:
    """Return a number of the metadata, which QuPath keeps as text; None where it is not there."""
    value = metadata.get(name)
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise FeatureError(f"its metadata state {name} {str(value)[:40]!r}, which is no number") from None
    if not abs(number) <= MAX_COORDINATE:
        raise FeatureError(f"its metadata state {name} {str(value)[:40]}, which is no size of anything")
    return number
