"""Sample ROIs: draw candidates, make bins, and pick across them, with the slide beside the grid."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from curator_app.components import (
    Key,
    PickerAction,
    PickerBin,
    PickerCandidate,
    PickerPage,
    PickerUndo,
    RoiBox,
    ViewedSlide,
    roi_picker,
    slide_viewer,
)
from curator_app.job_progress import start_job, watch_jobs
from curator_app.layout import bar, choose_organ, empty_state, organ_words, page_head, show_problems
from curator_app.pages._draw_candidates import draw_candidates
from curator_app.session import who, workspace
from db.tables import Binning, Roi, Slide
from evaluation.encoders import list_encoders
from evaluation.slides import SlideError
from pipeline.acts import once
from pipeline.bins import DEFAULT_BINS
from pipeline.errors import InputError
from pipeline.ingest import list_slides
from pipeline.rois import current_binning, get_roi, list_rois, own_choices, reject_roi, return_roi, select_roi
from pipeline.sampling import flags_of
from pipeline.similar import more_like, unlike_chosen
from pipeline.workspace import Workspace

VIEWER = "sample_viewer"
ROIS_PER_BIN = 2
"""The target that the page starts with; the person sets their own."""

_KEYS = (
    Key("1", "Pick the candidate with this number (1 to 9)"),
    Key("x", "Reject the candidate in the frame"),
    Key("ArrowRight", "Next bin (← or ↑ back, ↓ on)"),
    Key("s", "More like the candidate in the frame"),
    Key("d", "Unlike all chosen"),
    Key("u", "Take your last pick or rejection back: the line above the grid names it"),
    Key("Escape", "Back from a search to the bin"),
    Key("PageDown", "The next nine candidates"),
)


def show() -> None:
    """Draw the page."""
    page_head("Sample ROIs", "Draw candidates on tissue, put them into bins, pick across the bins.", keys=_KEYS)
    if not list_slides(workspace()):
        empty_state("There is no slide to draw from.", "Add slides first.", page="slides", link="Go to Slides")
        return
    bar_row = st.container(horizontal=True, vertical_alignment="center", key="sample_bar")
    with bar_row:
        organ = choose_organ() or ""
    binning = current_binning(workspace(), organ)
    rows = list_rois(workspace(), organ=organ, states=("candidate", "selected", "rejected"))
    with bar_row:
        draw_candidates(organ, key=_popover_key("draw"), close=_close_popovers)
        if rows:
            _bin_popover(organ)
        if binning is not None:
            _select_popover(organ)
            _progress(binning, rows)
    watch_jobs("sample", "bin", "select")
    if not rows:
        empty_state(
            f"{organ_words(organ)} has no candidates yet.",
            "Press Draw candidates: random fields on tissue, spread over the organ's slides.",
        )
        return
    if binning is None:
        empty_state(
            f"{len(rows):,} candidates of {organ_words(organ)} wait for their bins.",
            "Press Make bins: the candidates are embedded and clustered, so that you can pick across them.",
        )
        return
    _pick(organ, binning, rows)


def _bin_popover(organ: str) -> None:
    encoders = {encoder.name: encoder for encoder in list_encoders() if not encoder.missing}
    names = list(encoders)
    default = workspace().settings.encoder
    with st.popover("Make bins", key=_popover_key("bins")), st.form("bin_form", border=False):
        encoder = st.selectbox(
            "Encoder",
            names,
            index=names.index(default) if default in names else 0,
            help="\n\n".join(f"**{name}** {encoder.description}" for name, encoder in encoders.items()),
        )
        left, right = st.columns(2)
        bins = left.number_input("Bins", min_value=1, max_value=500, value=DEFAULT_BINS)
        seed = right.number_input("Random seed", min_value=0, max_value=2**31 - 1, value=0, key="bin_seed")
        st.caption("New bins replace the old ones, without undo; what is selected stays selected.")
        if st.form_submit_button("Make bins", type="primary"):
            start_job("bin", organ=organ, bins=bins, encoder=encoder, seed=seed)
            _close_popovers()


def _select_popover(organ: str) -> None:
    with st.popover("Pick for me", key=_popover_key("select")), st.form("select_form", border=False):
        per_bin = st.number_input("Of every bin", min_value=1, max_value=1000, value=2)
        st.caption(
            "Selects the most typical candidates of every bin; what you picked counts. There is no undo for all of "
            "them: reject what you do not want."
        )
        if st.form_submit_button("Select", type="primary"):
            start_job("select", organ=organ, per_bin=per_bin)
            _close_popovers()


def _popover_key(name: str) -> str:
    return f"{name}_{st.session_state.get('popovers_closed', 0)}"


def _close_popovers() -> None:
    """Draw the page again with closed popovers: under a new key they are new ones."""
    st.session_state["popovers_closed"] = st.session_state.get("popovers_closed", 0) + 1
    st.rerun()


def _progress(binning: Binning, rows: list[tuple[Roi, Slide]]) -> None:
    selected = [roi for roi, _ in rows if roi.state == "selected"]
    default = ROIS_PER_BIN * binning.bins
    key = f"pick_target_{binning.id}"
    target = st.session_state.get(key, default)
    with st.popover(f"Target {target}", key="target"):
        st.number_input("ROIs to pick", min_value=1, max_value=20_000, value=default, key=key)
    covered = {roi.bin for roi in selected if roi.bin is not None}
    bars = [bar("picked", len(selected), target), bar("bins covered", len(covered), binning.bins)]
    st.html(f'<div role="status" class="hc-bars">{"".join(bars)}</div>')


def _pick(organ: str, binning: Binning, rows: list[tuple[Roi, Slide]]) -> None:
    """The grid, and the slide at the current candidate's place beside it."""
    page = _page(organ, binning, rows)
    # Always there: else the picker would be another one, in another place, and forget what it has not sent yet.
    with st.container(key="pick_problems"):
        for problem in _refused().values():
            show_problems(problem)
    slides = {slide.id: slide for _, slide in rows}
    first = page.candidates[0].box if page.candidates else None
    grid, viewer = st.columns([3, 2], gap="medium")
    with grid:
        roi_picker(
            page,
            key="picker",
            on_action=lambda action: _act(organ, binning, action),
        )
    with viewer:
        slide_viewer(
            [ViewedSlide.of(slide) for slide in slides.values()],
            key=VIEWER,
            slide_id=first.slide_id if first else next(iter(slides)),
            boxes=[RoiBox.of(roi, slide) for roi, slide in rows if roi.state == "selected"],
            focus=first,
        )


def _page(organ: str, binning: Binning, rows: list[tuple[Roi, Slide]]) -> PickerPage:
    search = st.session_state.get(_search_key(organ))
    open_bin = min(int(st.session_state.get(_bin_key(organ), 1)), binning.bins)
    shown = [row for row in rows if row[0].bin == open_bin - 1]
    if search is not None:
        found = [row for row in rows if row[0].id in search["ids"]]
        found.sort(key=lambda row: search["ids"].index(row[0].id))
        shown, title = found, f"{search['title']} · {len(found)} candidates · Esc: back to bin {open_bin}"
    else:
        slides = len({slide.id for _, slide in shown})
        title = (
            f"Bin {open_bin} · {len(shown)} candidates · {slides} {'slide' if slides == 1 else 'slides'}"
            " · nearest to the centre first, artefacts last"
        )
    sizes: dict[int, list[Roi]] = {}
    for roi, _ in rows:
        if roi.bin is not None and roi.state != "rejected":
            sizes.setdefault(roi.bin, []).append(roi)
    return PickerPage(
        title=title,
        candidates=[
            PickerCandidate(RoiBox.of(roi, slide), roi.row_version, slide.name, roi.tissue_share, flags_of(roi))
            for roi, slide in shown
        ],
        bins=[
            PickerBin(
                number=index + 1,
                size=len(sizes.get(index, ())),
                selected=sum(roi.state == "selected" for roi in sizes.get(index, ())),
            )
            for index in range(binning.bins)
        ],
        open_bin=open_bin,
        searching=search is not None,
        viewer=VIEWER,
        undo=[
            PickerUndo(choice.roi.id, choice.roi.row_version, choice.roi.state, choice.before)
            for choice in own_choices(workspace(), organ=organ)
        ],
        refused=list(_refused()),
    )


def _act(organ: str, binning: Binning, action: PickerAction) -> None:
    """Do what the person did in the picker; a problem is shown above the grid, until they go on from there."""
    about = action.roi_id or ""
    try:
        if action.name == "bin" and action.bin is not None:
            st.session_state[_bin_key(organ)] = min(max(action.bin, 1), binning.bins)
            st.session_state.pop(_search_key(organ), None)
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
        "reject": lambda own: reject_roi(own, roi_id, who=who(), expected_version=expected),
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


def _search(organ: str, title: str, found: list[tuple[Roi, Slide]]) -> None:
    st.session_state[_search_key(organ)] = {"title": title, "ids": [roi.id for roi, _ in found]}
