"""Picking an organ's candidates: a bin's grid or the map of all, with the slide beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from curator_app.components import (
    Key,
    MapPoint,
    PickerAction,
    PickerBin,
    PickerCandidate,
    PickerPage,
    PickerUndo,
    RoiBox,
    ViewedSlide,
    candidate_map,
    roi_picker,
    slide_viewer,
)
from curator_app.layout import key_label, show_problems
from curator_app.session import who, workspace
from db.tables import Binning, Roi, Slide
from evaluation.slides import SlideError
from pipeline.acts import once
from pipeline.bin_sheets import BinSheet
from pipeline.errors import InputError
from pipeline.rejections import REJECT_REASONS, rejection_reason
from pipeline.roi_flags import flags_of
from pipeline.rois import get_roi, own_choices, reject_roi, return_roi, select_roi
from pipeline.similar import more_like, unlike_chosen
from pipeline.workspace import Workspace

VIEWER = "sample_viewer"
MAP_OR_GRID = "map_or_grid"

PICK_KEYS = (
    Key("1", "Pick the candidate with this number (1 to 9)"),
    Key("x", "Reject the candidate in the frame: then the number of the reason, or x again for the last one"),
    Key("ArrowRight", "Next bin (← or ↑ back, ↓ on)"),
    Key("o", "The next bin whose quota is open"),
    Key("s", "More like the candidate in the frame"),
    Key("d", "Unlike all chosen"),
    Key("u", "Take your last pick or rejection back: the line above the grid names it"),
    Key("Escape", "Back from a search to the bin"),
    Key("PageDown", "The next nine candidates"),
)


def map_or_grid(organ: str) -> None:
    """Draw the button that changes between the grid of a bin and the map of all."""
    shows_map = _shows_map(organ)
    st.button(
        key_label("Grid" if shows_map else "Map", "m"),
        key=MAP_OR_GRID,
        on_click=lambda: st.session_state.update({_map_key(organ): not shows_map}),
    )


def pick_candidates(organ: str, binning: Binning, rows: list[tuple[Roi, Slide]], sheets: Sequence[BinSheet]) -> None:
    """Draw the grid or the map, and the slide at the current candidate's place beside it."""
    in_bins = [row for row in rows if row[0].binning_id == binning.id]
    page = _page(organ, binning, in_bins, sheets)
    # Always there: else the picker would be another one, in another place, and forget what it has not sent yet.
    with st.container(key="pick_problems"):
        for problem in _refused().values():
            show_problems(problem)
    slides = {slide.id: slide for _, slide in rows}
    boxes = {candidate.box.id: candidate.box for candidate in page.candidates}
    first = boxes.get(page.current or "") or (page.candidates[0].box if page.candidates else None)
    left, viewer = st.columns([3, 2], gap="medium")
    with left:
        # Hidden below the map, for the same reason.
        roi_picker(page, key="picker", on_action=lambda action: _act(organ, binning, action))
        if page.hidden:
            candidate_map(
                [
                    MapPoint(RoiBox.of(roi, slide), roi.map_x, roi.map_y, roi.bin + 1, slide.name, flags_of(roi))
                    for roi, slide in in_bins
                    if roi.map_x is not None and roi.map_y is not None and roi.bin is not None
                ],
                key="candidate_map",
                viewer=VIEWER,
                current=first.id if first else None,
                on_open=lambda roi_id: _open(organ, roi_id),
            )
    with viewer:
        slide_viewer(
            [ViewedSlide.of(slide) for slide in slides.values()],
            key=VIEWER,
            slide_id=first.slide_id if first else next(iter(slides)),
            focus=first,
        )


def _open(organ: str, roi_id: str) -> None:
    """Open a candidate of the map in the grid of its bin."""
    try:
        roi, _ = get_roi(workspace(), roi_id)
    except InputError as error:
        _refused()[roi_id] = error
        return
    if roi.bin is not None:
        st.session_state[_bin_key(organ)] = roi.bin + 1
    st.session_state.pop(_search_key(organ), None)
    st.session_state[_current_key(organ)] = roi_id
    st.session_state[_map_key(organ)] = False


def _page(organ: str, binning: Binning, rows: list[tuple[Roi, Slide]], sheets: Sequence[BinSheet]) -> PickerPage:
    search = st.session_state.get(_search_key(organ))
    open_bin = min(int(st.session_state.get(_bin_key(organ), 1)), binning.bins)
    shown = [row for row in rows if row[0].bin == open_bin - 1]
    # Those with an artefact are shown last, never left out.
    shown.sort(key=lambda row: bool(flags_of(row[0])))
    if search is not None:
        found = [row for row in rows if row[0].id in search["ids"]]
        found.sort(key=lambda row: search["ids"].index(row[0].id))
        shown, title = found, f"{search['title']} · {len(found)} candidates · Esc: back to bin {open_bin}"
    else:
        title = f"Bin {open_bin} · {_said_of(sheets[open_bin - 1])} · nearest to the centre first"
    return PickerPage(
        title=title,
        candidates=[
            PickerCandidate(RoiBox.of(roi, slide), roi.row_version, slide.name, roi.tissue_share, flags_of(roi))
            for roi, slide in shown
        ],
        bins=[
            PickerBin(
                number=sheet.number,
                size=sheet.size,
                selected=sheet.selected,
                quota=sheet.quota,
                artefacts=round(100 * sheet.artefact_share) if sheet.artefact_rich else 0,
            )
            for sheet in sheets
        ],
        open_bin=open_bin,
        searching=search is not None,
        viewer=VIEWER,
        undo=[
            PickerUndo(choice.roi.id, choice.roi.row_version, choice.roi.state, choice.before)
            for choice in own_choices(workspace(), organ=organ)
        ],
        refused=list(_refused()),
        reasons=REJECT_REASONS,
        current=st.session_state.get(_current_key(organ)),
        hidden=_shows_map(organ),
    )


def _said_of(sheet: BinSheet) -> str:
    """Return what a bin holds, in the words of its heading."""
    parts = [_many(sheet.size, "candidate", "candidates"), _many(sheet.slides, "slide", "slides")]
    if sheet.studies:
        parts.append(_many(sheet.studies, "study", "studies"))
    if sheet.silhouette is not None:
        parts.append(f"silhouette {sheet.silhouette:.2f}".replace("-", "−"))
    if sheet.artefact_rich:
        parts.append(f"△ rich in artefacts ({sheet.artefact_share:.0%})")
    return " · ".join(parts)


def _many(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _act(organ: str, binning: Binning, action: PickerAction) -> None:
    """Do what the person did in the picker; a problem is shown above the grid, until they go on from there."""
    about = action.roi_id or ""
    try:
        if action.name == "bin" and action.bin is not None:
            st.session_state[_bin_key(organ)] = min(max(action.bin, 1), binning.bins)
            st.session_state.pop(_search_key(organ), None)
            st.session_state.pop(_current_key(organ), None)
            _refused().clear()
        elif action.name in ("pick", "reject", "undo") and action.roi_id:
            _choose(action, action.roi_id)
        elif action.name == "similar" and action.roi_id:
            found = more_like(workspace(), action.roi_id, organ=organ)
            _search(organ, "More like the one you chose", found)
        elif action.name == "unlike":
            _search(organ, "Unlike all chosen", unlike_chosen(workspace(), organ=organ))
    except (InputError, SlideError) as error:
        _refused()[about] = error
    else:
        _refused().pop(about, None)


def _choose(action: PickerAction, roi_id: str) -> None:
    """Make a choice about the ROI as the person saw it, or as their own choice just before has left it."""
    left: dict[tuple[str, int | None], int] = st.session_state.setdefault("picks_left", {})
    seen = (roi_id, action.version)
    expected = left.get(seen, action.version)
    choices: dict[str, Callable[[Workspace], Roi]] = {
        "pick": lambda own: select_roi(own, roi_id, who=who(), expected_version=expected),
        "reject": lambda own: reject_roi(
            own, roi_id, who=who(), reason=rejection_reason(action.reason or ""), expected_version=expected
        ),
        "undo": lambda own: _take_back(own, roi_id, action.of, expected),
    }
    left[seen] = once(workspace(), action.act, choices[action.name]).row_version


def _take_back(own: Workspace, roi_id: str, of: str | None, expected: int | None) -> Roi:
    roi, _ = get_roi(own, roi_id)
    if roi.row_version == expected and roi.state != of:
        # The choice itself was refused: the one before it is not what the person wants to take back.
        raise InputError("The last choice about this ROI was not made, so there is nothing to take back.")
    return return_roi(own, roi_id, who=who(), expected_version=expected)


def _refused() -> dict[str, InputError | SlideError]:
    """Return why choices were not made, by ROI; what belongs to none stands under ""."""
    refused: dict[str, InputError | SlideError] = st.session_state.setdefault("pick_refused", {})
    return refused


def _bin_key(organ: str) -> str:
    return f"pick_bin_{organ}"


def _search_key(organ: str) -> str:
    return f"pick_search_{organ}"


def _current_key(organ: str) -> str:
    return f"pick_current_{organ}"


def _map_key(organ: str) -> str:
    return f"pick_map_{organ}"


def _shows_map(organ: str) -> bool:
    return bool(st.session_state.get(_map_key(organ)))


def _search(organ: str, title: str, found: list[tuple[Roi, Slide]]) -> None:
    st.session_state[_search_key(organ)] = {"title": title, "ids": [roi.id for roi, _ in found]}
