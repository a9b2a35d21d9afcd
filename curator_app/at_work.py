"""Who works on what the page shows: one's own lease while it is open, a word where somebody else has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import streamlit as st

from curator_app.components import give_back_when_closed
from curator_app.layout import local_time, plain
from curator_app.session import workspace
from pipeline.leases import others_at_work, release_lease
from pipeline.troubles import not_needed
from pipeline.workspace import Workspace

_MINE = "at_work_on"


class Take(Protocol):
    """`lease_roi` or `lease_item`."""

    def __call__(self, workspace: Workspace, object_ids: Sequence[str], /, *, by_hand: bool) -> str | None: ...


def work_on(object_id: str, take: Take) -> None:
    """Take what the page shows and give back what it showed before; say so where somebody else works on it."""
    before: str | None = st.session_state.get(_MINE)
    # A lease is a word to others: where none can be written, one works all the same.
    with not_needed("Nobody is told who works on what"):
        if before not in (None, object_id):
            leave_work()
        if take(workspace(), [object_id], by_hand=True) is not None:
            st.session_state[_MINE] = object_id
            give_back_when_closed(object_id)
            return
    holder = others_at_work(workspace()).get(object_id)
    if holder is not None:
        st.info(
            f"{plain(holder.name)} is on this until {local_time(holder.until)[-5:]}. You may work on it all the same: "
            "no text is overwritten unasked.",
            icon=":material/group:",
        )


def leave_work() -> None:
    """Give back what one works on."""
    mine: str | None = st.session_state.pop(_MINE, None)
    if mine is not None:
        release_lease(workspace(), mine)


def free_of(object_ids: Sequence[str]) -> list[str]:
    """Return the objects that nobody else works on."""
    others = others_at_work(workspace())
    return [one for one in object_ids if one not in others]
