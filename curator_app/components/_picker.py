"""The ROI picker: a bin's candidates as a grid that is worked by keys, with the strip of bins below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import streamlit as st

from curator_app.components._assets import component_from
from curator_app.components._viewer import RoiBox

_mount = component_from("picker")

ActionName = Literal["pick", "reject", "undo", "bin", "similar", "unlike"]


@dataclass(frozen=True)
class PickerCandidate:
    """One picture of the grid: a ROI in the row version that is shown, where it lies, and what to say of it."""

    box: RoiBox
    version: int
    slide_name: str
    tissue_share: float | None
    artefacts: Sequence[str] = ()

    def as_data(self) -> dict[str, object]:
        """Return what goes to the browser."""
        return {
            "box": self.box.as_data(),
            "version": self.version,
            "thumbnail": f"/api/rois/{self.box.id}/thumbnail",
            "slideName": self.slide_name,
            "tissue": self.tissue_share,
            "artefacts": list(self.artefacts),
        }


@dataclass(frozen=True)
class PickerBin:
    """One bin of the strip: its number as shown (from 1), candidates in it, and selected ones among them."""

    number: int
    size: int
    selected: int


@dataclass(frozen=True)
class PickerUndo:
    """A choice that can be taken back: of which ROI, in which row version, and from which state to which."""

    roi_id: str
    version: int
    state: str
    before: str


@dataclass(frozen=True)
class PickerPage:
    """What the picker shows: a title, its candidates in order, the bins, and the bin that is open.

    `searching` says that the candidates were found by a search; Escape goes back to the open bin. `undo` is what can
    be taken back, the last choice at the end; `refused` are the ROIs of which the last choice was not made.
    """

    title: str
    candidates: Sequence[PickerCandidate]
    bins: Sequence[PickerBin]
    open_bin: int
    searching: bool
    viewer: str
    undo: Sequence[PickerUndo] = ()
    refused: Sequence[str] = ()


@dataclass(frozen=True)
class PickerAction:
    """What the person did; `roi_id` for pick, reject, undo and similar, `bin` (from 1) for bin.

    `act` is 32 hexadecimal digits under which a choice is made once (`pipeline.acts.once`), `version` the ROI's row
    version that was on the screen, `of` the state that an undo is to take back.
    """

    name: ActionName
    act: str
    version: int | None = None
    roi_id: str | None = None
    bin: int | None = None
    of: str | None = None


def roi_picker(page: PickerPage, *, key: str, on_action: Callable[[PickerAction], None]) -> None:
    """Show the picker; each action reaches `on_action` once and in order, also when keys come faster than reruns.

    The browser sends its list of actions that were not confirmed yet, again and again until each of them is. An
    action that was handled is confirmed by its number, one that ended in an error is not; a server that has started
    anew may be sent one again, which is known by its act. Until its next data come, the browser shows a choice as
    one that is not saved.
    """
    confirmed: dict[str, int] = st.session_state.setdefault(f"{key}_confirmed", {})

    def handle() -> None:
        sent = st.session_state[key].get("queue")
        if not isinstance(sent, dict):
            return
        client = str(sent.get("client"))
        for entry in sent.get("actions", ()):
            number = int(entry["number"])
            if entry["name"] in get_args(ActionName) and number > confirmed.get(client, 0):
                on_action(
                    PickerAction(
                        name=entry["name"],
                        act=str(entry["act"]),
                        version=entry.get("version"),
                        roi_id=entry.get("roi"),
                        bin=entry.get("bin"),
                        of=entry.get("of"),
                    )
                )
                confirmed[client] = number

    _mount(
        key=key,
        on_queue_change=handle,
        data={
            "title": page.title,
            "candidates": [candidate.as_data() for candidate in page.candidates],
            "bins": [{"number": b.number, "size": b.size, "selected": b.selected} for b in page.bins],
            "bin": page.open_bin,
            "searching": page.searching,
            "viewer": page.viewer,
            "undo": [
                {"roi": one.roi_id, "version": one.version, "state": one.state, "before": one.before}
                for one in page.undo
            ],
            "refused": list(page.refused),
            "confirmed": confirmed,
        },
    )
