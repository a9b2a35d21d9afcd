"""Slides that the project draws itself, with the truth of what was drawn; recognisable, but not real."""

from pipeline.demo.painting._paint import (
    LICENCE,
    PAINTER_VERSION,
    SOURCE,
    PaintedSlide,
    paint_demo_slides,
)
from pipeline.demo.painting._terms import DEMO_TERMS, IMAGE_ZONES
from pipeline.demo.painting._truth import (
    Record,
    Sighting,
    SlideTruth,
    TruthError,
    covers,
    load_nuclei,
    load_truth,
)

__all__ = [
    "DEMO_TERMS",
    "IMAGE_ZONES",
    "LICENCE",
    "PAINTER_VERSION",
    "SOURCE",
    "PaintedSlide",
    "Record",
    "Sighting",
    "SlideTruth",
    "TruthError",
    "covers",
    "load_nuclei",
    "load_truth",
    "paint_demo_slides",
]
