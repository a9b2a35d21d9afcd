"""Browser components (keys, text field, slide viewer, ROI picker, ...), each with its own script."""

from curator_app.components._at_work import give_back_when_closed
from curator_app.components._candidate_map import MapPoint, candidate_map
from curator_app.components._keyboard import Key, keyboard
from curator_app.components._leave import leave_for
from curator_app.components._picker import (
    PickerAction,
    PickerBin,
    PickerCandidate,
    PickerPage,
    PickerUndo,
    roi_picker,
)
from curator_app.components._saver import Save, is_new_here, save_first, take_act, take_unheard
from curator_app.components._sign_out import sign_out_button
from curator_app.components._slide_list import SlideCard, slide_list
from curator_app.components._text_field import DraftField, put_text, text_field, text_of
from curator_app.components._viewer import RoiBox, ViewedSlide, roi_image, slide_viewer

__all__ = [
    "DraftField",
    "Key",
    "MapPoint",
    "PickerAction",
    "PickerBin",
    "PickerCandidate",
    "PickerPage",
    "PickerUndo",
    "RoiBox",
    "Save",
    "SlideCard",
    "ViewedSlide",
    "candidate_map",
    "give_back_when_closed",
    "is_new_here",
    "keyboard",
    "leave_for",
    "put_text",
    "roi_image",
    "roi_picker",
    "save_first",
    "sign_out_button",
    "slide_list",
    "slide_viewer",
    "take_act",
    "take_unheard",
    "text_field",
    "text_of",
]
