"""Home: what is next to do, one line per workflow with its counts, and the jobs that run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from curator_app.job_progress import watch_jobs
from curator_app.layout import go_to, mark, page_head
from curator_app.rail import page_of
from curator_app.session import workspace
from pipeline.jobs import JOB_KINDS
from pipeline.overview import Overview, overview


@dataclass(frozen=True)
class NextStep:
    """What to do next: the button's words, why, and the page."""

    words: str
    why: str
    page: str


def next_step(counts: Overview) -> NextStep:
    """Return the first workflow, in the order of the work, that waits for a person."""
    rois, seeds, items = counts.rois, counts.seeds, counts.items
    if not counts.slides and not rois.get("selected"):
        return NextStep("Add slides", "The workspace is empty.", "slides")
    if not rois.get("candidate") and not rois.get("selected"):
        return NextStep("Sample ROIs", "There are slides, but no candidates yet.", "sample_rois")
    if not rois.get("selected"):
        return NextStep("Pick ROIs", "There are candidates, but none is selected.", "sample_rois")
    if counts.rois_without_seed:
        number = _count(counts.rois_without_seed, "selected ROI has", "selected ROIs have")
        return NextStep("Write seeds", f"{number} no seed question yet.", "write_seeds")
    if seeds.get("written"):
        number = _count(seeds["written"], "seed waits", "seeds wait")
        return NextStep("Generate items", f"{number} to become items.", "items")
    waiting = sum(items.get(state, 0) for state in ("passed", "escalated", "in_review", "revise"))
    if waiting:
        return NextStep("Review items", f"{_count(waiting, 'item waits', 'items wait')} for a decision.", "items")
    if items.get("approved"):
        number = _count(items["approved"], "approved item is", "approved items are")
        return NextStep("Build a release", f"{number} in no release yet.", "releases")
    if counts.releases and not counts.runs:
        return NextStep("Evaluate a model", "There is a release, but no run on it.", "benchmark")
    return NextStep("Write seeds", "Nothing waits; more seed questions make a larger benchmark.", "write_seeds")


def show() -> None:
    """Draw the page."""
    counts = overview(workspace())
    page_head("Home", str(workspace().root))
    step = next_step(counts)
    with st.container(horizontal=True, vertical_alignment="center", key="next_step"):
        if st.button(step.words, type="primary"):
            go_to(step.page)
        st.markdown(f"**Next:** {step.why}")
    with st.container(key="workflows"):
        for page, facts in _lines(counts):
            with st.container(horizontal=True, vertical_alignment="center", key=f"line_{page}"):
                with st.container(width=180):
                    st.page_link(page_of(page))
                st.markdown(facts)
    st.subheader("Jobs", anchor=False)
    watch_jobs(*JOB_KINDS)
    st.caption("Long work is listed here while it runs. It goes on when this page is closed.")


def _lines(counts: Overview) -> list[tuple[str, str]]:
    rois = counts.rois
    bins = f" · {_count(sum(counts.bins.values()), 'bin', 'bins')}" if counts.bins else ""
    return [
        ("slides", f"{_count(counts.slides, 'slide', 'slides')} of {_count(counts.organs, 'organ', 'organs')}"),
        (
            "sample_rois",
            f"{_count(rois.get('candidate', 0), 'candidate', 'candidates')}{bins} · "
            f"{_count(rois.get('selected', 0), 'selected ROI', 'selected ROIs')}",
        ),
        (
            "write_seeds",
            f"{_states(counts.seeds, 'seed', 'seeds')} · "
            f"{_count(counts.rois_without_seed, 'ROI', 'ROIs')} without a seed",
        ),
        ("items", _states(counts.items, "item", "items")),
        ("releases", _count(counts.releases, "release", "releases")),
        ("benchmark", _count(counts.runs, "run", "runs")),
    ]


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _states(states: Mapping[str, int], one: str, many: str) -> str:
    total = sum(states.values())
    parts = [f"{number:,} {mark(state)}" for state, number in sorted(states.items()) if number]
    return " · ".join([_count(total, one, many), *parts])
