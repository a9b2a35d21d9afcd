"""Measured artefacts of a ROI, as `Roi.flags` keeps them."""

from __future__ import annotations

from db.tables import Roi


def flags_of(roi: Roi) -> tuple[str, ...]:
    """Return the names of the artefacts that were found in a ROI; what was measured and not found is not among them."""
    return tuple(name for name, found in roi.flags.items() if isinstance(found, dict) and found.get("flagged"))
