"""Magnification and resolution: the field says 20×, the files say micrometres per pixel."""

from __future__ import annotations

import math

MICROMETRES_AT_1X = 10.0
"""A pixel spans 10 µm at 1×, hence 0.5 µm at 20×, 2 µm at 5× and 4 µm at 2.5× (VIPER section 3.1)."""


def mpp_of_magnification(magnification: float) -> float:
    """Return micrometres per pixel of a nominal magnification: 20 gives 0.5.

    Raises:
        ValueError: `magnification` is not a positive finite number.
    """
    if not (math.isfinite(magnification) and magnification > 0):
        raise ValueError(f"magnification {magnification} must be a positive number, such as 20")
    return MICROMETRES_AT_1X / magnification


def magnification_label(mpp: float) -> str:
    """Return the nominal magnification of micrometres per pixel as people write it: 0.5 gives "20x".

    Rounded to a tenth, because scanners report 0.499 or 0.2527 for 20× and 40×: those give "20x" and "39.6x".

    Raises:
        ValueError: `mpp` is not a positive finite number.
    """
    if not (math.isfinite(mpp) and mpp > 0):
        raise ValueError(f"{mpp} µm/px must be a positive number, such as 0.5")
    return f"{round(MICROMETRES_AT_1X / mpp, 1):g}x"
