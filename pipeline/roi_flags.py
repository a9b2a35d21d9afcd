"""Measured artefacts of a ROI, as `Roi.flags` keeps them."""

from __future__ import annotations

from db.tables import Roi


def flags_of(roi: Roi) -> tuple[str, ...]:
    """Return the artefacts that a ROI shows, as people say them, such as "out of focus".

    What was measured and not found is not among them.
    """
    found = sorted(roi.flags.items())
    return tuple(name.replace("_", " ") for name, flag in found if isinstance(flag, dict) and flag.get("flagged"))
