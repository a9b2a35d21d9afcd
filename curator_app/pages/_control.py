"""A concurrent control beside the ROI at hand: opened, changed for the next one and closed where seeds are written."""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from curator_app.components import Key, RoiBox, ViewedSlide, slide_viewer
from curator_app.layout import key_label, show_problems
from curator_app.session import workspace
from db.tables import Roi, Slide
from pipeline.controls import Control, NoControlError, control_roi

CONTROL_KEY = Key("c", "Show a concurrent control beside the ROI, then the next one", button="control")

_AT = "seed_control"
"""The ROI that a control was asked for, and which one of its controls."""

_NONE = "seed_control_none"
"""The ROI that has none, and why: that takes a line, not half of the image."""


def control_buttons(roi: Roi, slide: Slide) -> None:
    """Draw the button that opens a control or goes to the next one, and the one that closes it."""
    if slide.kind != "slide":
        return
    shown = _number(roi)
    st.button(
        key_label("Next control" if shown else "Control", "c"), key="control", on_click=_show, args=(roi.id, shown + 1)
    )
    if shown:
        st.button("Close control", key="control_close", on_click=_show, args=(roi.id, 0))


@contextmanager
def beside_control(roi: Roi) -> Iterator[None]:
    """Draw what is in the block, with the control beside it where one was asked for."""
    if not _number(roi):
        none_for, reason = st.session_state.get(_NONE, (None, ""))
        if none_for == roi.id:
            st.html(f'<p class="hc-facts" role="status">No control: {html.escape(reason)}</p>')
        yield
        return
    own, other = st.columns(2)
    with own:
        yield
    with other:
        _control(roi)


def _control(roi: Roi) -> None:
    """Show the control that was asked for, or why there is none."""
    try:
        control = control_roi(workspace(), roi.id, number=_number(roi))
    except NoControlError as error:
        show_problems(error)
        return
    st.html(f'<p class="hc-facts">{html.escape(_about(control))}</p>')
    box = RoiBox.of(control.roi, control.slide)
    slide_viewer(
        [ViewedSlide.of(control.slide)],
        key="control_viewer",
        slide_id=control.slide.id,
        focus=box,
        context=1.0,
    )


def _about(control: Control) -> str:
    """Return what is said of a control; of a hidden dose group only that it is a control."""
    slide = control.slide
    parts = (
        f"Concurrent control {control.number} of {control.count}",
        slide.dose_group,
        slide.subject and f"subject {slide.subject}",
        slide.sex,
        control.roi.magnification,
    )
    return " · ".join(part for part in parts if part)


def _number(roi: Roi) -> int:
    asked_for, number = st.session_state.get(_AT, (None, 0))
    return int(number) if asked_for == roi.id else 0


def _show(roi_id: str, number: int) -> None:
    st.session_state.pop(_NONE, None)
    if number:
        try:
            control_roi(workspace(), roi_id, number=number)
        except NoControlError as error:
            st.session_state[_NONE], number = (roi_id, error.message), 0
    st.session_state[_AT] = (roi_id, number)
