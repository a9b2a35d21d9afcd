"""What OME metadata says of the size of a pixel: as XML in a TIFF, as JSON in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

_MICROMETRES = {
    "µm": 1.0,
    "μm": 1.0,
    "micrometer": 1.0,
    "nm": 1e-3,
    "nanometer": 1e-3,
    "mm": 1e3,
    "millimeter": 1e3,
    "cm": 1e4,
    "centimeter": 1e4,
}
"""Micrometres per unit of length; both signs for micro occur."""

_DEFAULT_UNIT = "µm"
"""What a size without a unit is in, by the schema of OME-XML; in OME-NGFF such a size says nothing."""


def pixel_of_ome_xml(text: str, width: int, height: int) -> tuple[float | None, float | None]:
    """Return the micrometres that a pixel of the `width` × `height` image spans, None where the XML does not say.

    Text that is no OME-XML, or that describes several images of this size differently, says nothing.
    """
    if "<OME" not in text:
        return None, None
    try:
        root = ElementTree.fromstring(text)  # noqa: S314  (expat refuses entities that grow without bound)
    except ElementTree.ParseError:
        return None, None
    namespace = root.tag.partition("}")[0] + "}" if root.tag.startswith("{") else ""
    sizes = {
        (_size(pixels, "X"), _size(pixels, "Y"))
        for pixels in root.iterfind(f"{namespace}Image/{namespace}Pixels")
        if (pixels.get("SizeX"), pixels.get("SizeY")) == (str(width), str(height))
    }
    return sizes.pop() if len(sizes) == 1 else (None, None)


def _size(pixels: ElementTree.Element, axis: str) -> float | None:
    return _micrometres(pixels.get(f"PhysicalSize{axis}"), pixels.get(f"PhysicalSize{axis}Unit", _DEFAULT_UNIT))


def pixel_of_ngff(attributes: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the micrometres that a pixel of the finest level spans, None where the attributes do not say."""
    multiscale = _first_of(attributes, "multiscales")
    dataset = _first_of(multiscale, "datasets")
    axes = multiscale.get("axes") or []
    for transformation in dataset.get("coordinateTransformations") or []:
        if transformation.get("type") == "scale" and len(axes) == len(transformation.get("scale", ())):
            sizes = {
                axis["name"]: _micrometres(size, axis.get("unit"))
                for axis, size in zip(axes, transformation["scale"], strict=True)
            }
            return sizes.get("x"), sizes.get("y")
    return None, None


def _first_of(attributes: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    entries = attributes.get(name) or [{}]
    first: Mapping[str, Any] = entries[0]
    return first


def _micrometres(size: Any, unit: str | None) -> float | None:
    factor = _MICROMETRES.get(unit or "")
    if size is None or factor is None:
        return None
    try:
        return float(size) * factor
    except (TypeError, ValueError):
        return None
