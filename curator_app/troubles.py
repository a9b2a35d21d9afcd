"""A full disk or a database that does not answer, as a page shows it: what it means for the text, and what to do."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext

from curator_app.layout import plain
from pipeline.errors import InputError
from pipeline.troubles import Trouble, trouble_of

_FOR_THE_NEXT_RUN = "trouble"


def trouble_in_words(trouble: Trouble) -> str:
    """Return what to tell somebody at a page."""
    first = trouble.short[0].upper() + trouble.short[1:]
    until = "there is room again" if trouble.kind == "full" else "that is mended"
    return (
        f"{first}. What the page did not say it saved is not saved. What you typed stays in its field and in this "
        f"browser until the server has it. Tell whoever runs the server; when {until}, do it again."
    )


def show_trouble(error: Exception) -> bool:
    """Show what no page has caught, if machine or input is the cause; Streamlit asks for each uncaught error.

    Where the act of a button failed, the page itself has not been drawn: it is drawn anew, so that its fields with
    their texts stand below the box.

    Returns:
        whether it was shown; everything else is a fault of the program, which Streamlit shows as one.
    """
    words = _words_of(error)
    if words is None:
        return False
    context = get_script_run_ctx()
    if context is None or context.has_script_started:
        _show(words)
    elif context.fragment_ids_this_run:
        # A dialog, or a part that runs by itself: the rest of the page stays, and has no place for a box.
        st.toast(words, icon=":material/error:", duration="infinite")
        _draw_anew(context)
    else:
        st.session_state[_FOR_THE_NEXT_RUN] = words
        _draw_anew(context)
    return True


def show_trouble_before() -> None:
    """Show what went wrong in the act for which the page is drawn."""
    words: str | None = st.session_state.pop(_FOR_THE_NEXT_RUN, None)
    # A place of its own, so that nothing below it is put together anew when the box goes.
    place = st.empty()
    if words is None:
        return
    # The browser has thrown the page away with the run that failed: choices go back to it with their values.
    for key, value in list(st.session_state.items()):
        if isinstance(value, str):
            st.session_state[key] = value
    with place:
        _show(words)


def _words_of(error: Exception) -> str | None:
    if isinstance(error, InputError):
        return plain(str(error))
    trouble = trouble_of(error)
    return None if trouble is None else trouble_in_words(trouble)


def _show(words: str) -> None:
    st.error(words, icon=":material/error:")


def _draw_anew(context: ScriptRunContext) -> None:
    if context.script_requests is not None:
        context.script_requests.request_rerun(
            RerunData(
                query_string=context.query_string,
                page_script_hash=context.page_script_hash,
                fragment_id_queue=list(context.fragment_ids_this_run or []),
                cached_message_hashes=context.cached_message_hashes,
                context_info=context.context_info,
            )
        )
