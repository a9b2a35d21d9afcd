"""What may be done with one slide: change what is said of it, take it out of the work, bring it back."""

from __future__ import annotations

from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from curator_app.components import text_field
from curator_app.layout import cancel_button, key_label, plain, show_problems
from curator_app.pages._slide_form import slide_fields
from curator_app.session import may, who, workspace
from curator_app.writings import draft_field, end_writing
from db.tables import Slide
from pipeline.errors import ChangedError, InputError
from pipeline.ingest import SLIDE_FIELDS, list_slides
from pipeline.permissions import Permission
from pipeline.slide_edits import SlideUse, edit_slide, restore_slide, use_of_slide, withdraw_slide, withdrawn_slides

_RESTORE_REFUSED = "slide_restore_refused"


def slide_acts(slide: Slide) -> None:
    """Draw the buttons that change the chosen slide; each opens a dialog."""
    if st.button(key_label("Edit", "e"), key="edit_slide", help=plain(slide.name)):
        st.dialog(f"What is said of {plain(slide.name)}", width="large")(edit_dialog)(slide)
    if st.button("Withdraw", key="withdraw_slide", help=plain(slide.name)):
        st.dialog(f"Withdraw {plain(slide.name)}", width="medium")(withdraw_dialog)(slide)


def edit_dialog(slide: Slide) -> None:
    """Show the fields as they stood when the dialog was opened, and store them."""
    with st.form("edit_slide_form", border=False):
        said = slide_fields({name: getattr(slide, name) for name in SLIDE_FIELDS}, key=f"edit_{slide.id}")
        sent = st.form_submit_button("Save", type="primary", key="edit_slide_save")
    st.html(
        '<p class="hc-facts">Another organ takes the slide’s ROIs along, out of the bins of the former one; it is '
        "refused where seeds ask about them.</p>"
    )
    if not sent:
        return
    # What was not touched is not said again: so the organs file can follow another organ.
    changed = {name: value for name, value in said.items() if value != (getattr(slide, name) or "")}
    if not changed:
        show_problems(InputError("Nothing differs from what is stored"))
        return
    try:
        edit_slide(workspace(), slide.id, changed, who=who(), expected_version=slide.row_version)
    except ChangedError as error:
        show_problems(error)
        _show_now(slide)
        return
    except InputError as error:
        show_problems(error)
        return
    st.rerun()


def _show_now(slide: Slide) -> None:
    """Say what stands there now in the fields that somebody else changed."""
    now = next((one for one in list_slides(workspace()) if one.id == slide.id), None)
    if now is None:
        return
    lines = [
        f"<li>{escape(name.replace('_', ' '))}: {escape(getattr(now, name) or 'nothing')}</li>"
        for name in SLIDE_FIELDS
        if getattr(now, name) != getattr(slide, name)
    ]
    st.html(
        f'<div class="hc-facts">It says now:<ul>{"".join(lines)}</ul>Close this and open it again to change it.</div>'
    )


def withdraw_dialog(slide: Slide) -> None:
    """Say what goes with the slide, ask why, then withdraw it."""
    use = use_of_slide(workspace(), slide.id)
    if use.seeds:
        st.markdown(
            f"{_counted(use.seeds, 'seed')} ask about ROIs of **{plain(slide.name)}**. Drop them first: a question "
            "without its image cannot be answered."
        )
        cancel_button("withdraw_slide_cancel")
        return
    st.markdown(
        f"Takes **{plain(slide.name)}** out of the work, and {_what_goes(use)} with it. Nothing is deleted; "
        "“Withdrawn” on this page brings all of it back."
    )
    draft = f"withdraw_{slide.id}"
    reason = text_field("Why (for the audit trail)", key=f"{draft}_reason", kept=draft_field(draft, "reason"))
    with st.container(horizontal=True):
        pressed = st.button("Withdraw this slide", type="primary", key="withdraw_slide_now")
        cancel_button("withdraw_slide_cancel")
    if not pressed:
        return
    try:
        withdraw_slide(workspace(), slide.id, reason=reason, who=who(), expected_version=slide.row_version)
    except InputError as error:
        show_problems(error)
        return
    end_writing(draft)
    st.rerun()


def _what_goes(use: SlideUse) -> str:
    parts = [
        _counted(number, what)
        for number, what in (
            (use.selected, "selected ROI"),
            (use.candidates, "candidate"),
            (use.rejected, "rejected ROI"),
        )
        if number
    ]
    return ", ".join(parts) or "no ROI"


def withdrawn_popover(place: DeltaGenerator) -> None:
    """List the withdrawn slides, each with the button that brings it back."""
    slides = withdrawn_slides(workspace()) if may(Permission.EDIT_SLIDES) else []
    if not slides:
        return
    with place, st.popover(f"Withdrawn ({len(slides)})", key="withdrawn_slides"):
        if (error := st.session_state.pop(_RESTORE_REFUSED, None)) is not None:
            show_problems(error)
        for slide in slides:
            st.html(
                f"<p><strong>{escape(slide.name)}</strong><br>"
                f'<span class="hc-facts">{escape(slide.withdrawn_reason or "")}</span></p>'
            )
            st.button(
                "Bring it back, with its ROIs",
                key=f"restore_{slide.id}",
                help=plain(slide.name),
                on_click=_restore,
                args=(slide,),
            )


def _restore(slide: Slide) -> None:
    try:
        restore_slide(workspace(), slide.id, who=who(), expected_version=slide.row_version)
    except InputError as error:
        st.session_state[_RESTORE_REFUSED] = error


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
