"""Browser components: keys, slide viewer, ROI image, ROI picker and slide list, each a script beside its module."""

from curator_app.components._keyboard import Key, keyboard
from curator_app.components._picker import (
    PickerAction,
    PickerBin,
    PickerCandidate,
    PickerPage,
    roi_picker,
)
from curator_app.components._slide_list import SlideCard, slide_list
from curator_app.components._viewer import RoiBox, ViewedSlide, roi_image, slide_viewer

__all__ = [
    "Key",
    "PickerAction",
    "PickerBin",
    "PickerCandidate",
    "PickerPage",
    "RoiBox",
    "SlideCard",
    "ViewedSlide",
    "keyboard",
    "roi_image",
    "roi_picker",
    "slide_list",
    "slide_viewer",
]
