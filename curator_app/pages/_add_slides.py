"""Adding slides on their page: files, folders or a table, and the resolutions that files do not state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from curator_app.components import put_text, text_field
from curator_app.job_progress import close_job, ended_here, start_job
from curator_app.layout import plain, show_problems
from curator_app.pages._slide_form import slide_fields
from curator_app.session import may, who, workspace
from curator_app.writings import draft_field, end_writing
from evaluation.slides import MAX_MPP, MIN_MPP
from pipeline.errors import InputError
from pipeline.ingest import SlideMetadata, checked_metadata
from pipeline.jobs import JobStatus
from pipeline.permissions import Permission
from pipeline.slide_tables import SLIDE_COLUMNS, plan_slides

_PATHS = "slides_add"
"""The draft of the files and folders to be added."""

_SINGLE, _TABLE = "Slides", "A table with a row for each slide"


def add_form() -> None:
    """Draw the form; it queues the job and leaves what was typed where something is missing."""
    settings = workspace().settings
    folders = [] if may(Permission.MANAGE_WORKSPACE) else settings.slide_folders
    if not folders and not may(Permission.MANAGE_WORKSPACE):
        st.info("Only an administrator can add slides here, until the setting slide_folders names folders for all.")
        return
    example = folders[0] if folders else Path("/data/slides")
    of_table = st.radio("What to add", (_SINGLE, _TABLE), horizontal=True, key="slides_from") == _TABLE
    paths = text_field(
        "CSV file on the computer that runs the app"
        if of_table
        else "Files or folders on the computer that runs the app, one per line",
        key="slide_paths",
        kept=draft_field(_PATHS, "paths"),
        placeholder=str(example / "slides.csv") if of_table else f"{example / 'liver-001.svs'}\n{example / 'batch-2'}",
        rows=1 if of_table else 3,
    )
    if folders:
        st.caption(plain(f"From {', '.join(map(str, folders))}"))
    if of_table:
        st.caption(
            f"Columns: {', '.join(SLIDE_COLUMNS)}. Only path is needed: the fields below hold for every row whose "
            "cell is empty. Relative paths begin at the table's folder."
        )
    with st.form("add_slides_form", border=False):
        said = slide_fields({}, key="add_slide", required=not of_table)
        mpp = None
        if not of_table:
            mpp = st.number_input(
                "µm per pixel",
                min_value=MIN_MPP,
                max_value=MAX_MPP,
                value=None,
                format="%.4f",
                help="Only for files that do not state their resolution; one that contradicts the file is refused.",
            )
        sent = st.form_submit_button("Add", type="primary")
    if not sent:
        return
    names = [line.strip() for line in paths.splitlines() if line.strip()]
    try:
        parameters = _checked(names, said, mpp, of_table=of_table)
    except InputError as error:
        show_problems(error)
        return
    end_writing(_PATHS)
    put_text("slide_paths", "")
    start_job("add_slides", **parameters)
    st.rerun()


def _checked(names: list[str], said: dict[str, str], mpp: float | None, *, of_table: bool) -> dict[str, Any]:
    """Return the job's parameters, after everything was checked that needs no slide to be opened.

    Raises:
        InputError: something is missing or wrong, in the table line by line.
    """
    metadata = SlideMetadata(**said)
    if not of_table:
        if not names:
            raise InputError("Name at least one file or folder")
        checked_metadata(workspace(), metadata)
        return {"paths": names, "metadata": said, "mpp": mpp}
    if len(names) != 1:
        raise InputError("Name one CSV file")
    plan_slides(workspace(), Path(names[0]), for_all=metadata)
    return {"table": names[0], "metadata": said}


def ask_for_resolutions() -> None:
    """Ask for the resolution of each file that was refused since it states none, or an impossible one."""
    for job in ended_here("add_slides"):
        if job.who == who() and (job.result or {}).get("without_resolution"):
            _resolution_form(job)


def _resolution_form(job: JobStatus) -> None:
    missing = (job.result or {})["without_resolution"]
    with st.container(border=True, key=f"resolutions_{job.id}"):
        st.markdown(
            "**Needs a resolution.** Say how many micrometres a pixel of the full resolution spans: about 0.25 for a "
            "scan at 40×, 0.5 at 20×. What you leave empty stays out."
        )
        with st.form(f"resolution_form_{job.id}", border=False):
            given = {
                str(one["path"]): st.number_input(
                    plain(_label(one)),
                    min_value=MIN_MPP,
                    max_value=MAX_MPP,
                    value=None,
                    format="%.4f",
                    key=f"resolution_{job.id}_{number}",
                )
                for number, one in enumerate(missing)
            }
            sent = st.form_submit_button("Add with these resolutions", key=f"resolution_add_{job.id}")
    if not sent:
        return
    mpps = {path: mpp for path, mpp in given.items() if mpp is not None}
    if not mpps:
        show_problems(InputError("State the resolution of at least one file"))
        return
    again = dict(job.parameters)
    if "table" in again:
        # Rows that were added before are passed over.
        again["mpps"] = {**(again.get("mpps") or {}), **mpps}
    else:
        again |= {"paths": list(mpps), "mpps": mpps}
    start_job("add_slides", **again)
    close_job(job.id)
    st.rerun()


def _label(missing: dict[str, Any]) -> str:
    name = Path(str(missing["path"])).name
    stated = missing["stated"]
    return f"{name} (states nothing)" if stated is None else f"{name} (states {stated:.4g} µm/px, which is impossible)"
