"""Home: what is next to do, one line per workflow with what is there and what waits, jobs, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from curator_app.components import Key
from curator_app.job_progress import watch_jobs
from curator_app.layout import empty_state, go_to, key_label, mark, page_head, plain
from curator_app.rail import entry_of, may_open, page_of
from curator_app.session import workspace
from pipeline.jobs import JOB_KINDS, list_jobs
from pipeline.overview import Overview, overview
from pipeline.permissions import Actor, Permission

_KEYS = (Key("n", "Go to what is next", button="next_button"),)

NAMES_SHOWN = 3

_PURPOSES = {
    "slides": "Add whole-slide images with organ, source and licence",
    "sample_rois": "Draw fields on tissue, sort them into bins, pick across the bins",
    "write_seeds": "Ask one question about each picked ROI, with its answer",
    "items": "Have three exam items written from each seed, then review them",
    "releases": "Freeze approved items as a benchmark",
    "benchmark": "Score models on a release and see where they fail",
}
"""What each workflow is for, as long as nothing is there."""


@dataclass(frozen=True)
class NextStep:
    """What to do next: the button's words, why, the page, what it takes, and ROIs that it is about."""

    words: str
    why: str
    page: str
    permission: Permission
    rois: tuple[str, ...] = ()


def next_step(counts: Overview, actor: Actor) -> NextStep | None:
    """Return the first workflow, in the order of the work, that waits for this person; None where none does."""
    return next((step for step in _steps(counts) if actor.may(step.permission)), None)


def _steps(counts: Overview) -> Iterator[NextStep]:
    """Yield what waits, in the order of the work."""
    rois, seeds, items = counts.rois, counts.seeds, counts.items
    everything = counts.selected_rois
    if not counts.slides and not rois.get("selected"):
        why = "The workspace is empty: start with whole-slide images."
        yield NextStep("Add slides", why, "slides", Permission.ADD_SLIDES)
    elif not rois.get("candidate") and not rois.get("selected"):
        why = "There are slides, but no candidates yet."
        yield NextStep("Sample ROIs", why, "sample_rois", Permission.CHOOSE_ROIS)
    elif not rois.get("selected"):
        why = "There are candidates, but none is selected."
        yield NextStep("Pick ROIs", why, "sample_rois", Permission.CHOOSE_ROIS)
    if counts.rois_without_seed:
        why = f"{_count(counts.rois_without_seed, 'selected ROI has', 'selected ROIs have')} no seed question yet."
        yield NextStep("Write seeds", why, "write_seeds", Permission.WRITE_SEEDS, counts.unasked_rois)
    if seeds.get("written"):
        why = f"{_count(seeds['written'], 'seed waits', 'seeds wait')} to become items."
        yield NextStep("Generate items", why, "items", Permission.GENERATE_ITEMS, everything)
    if counts.items_waiting:
        why = f"{_count(counts.items_waiting, 'item waits', 'items wait')} for a decision."
        yield NextStep("Review items", why, "items", Permission.DECIDE_ITEMS, counts.waiting_rois)
    if items.get("approved"):
        why = f"{_count(items['approved'], 'approved item is', 'approved items are')} in no release yet."
        yield NextStep("Build a release", why, "releases", Permission.BUILD_RELEASES, everything)
    if counts.releases and not counts.model_runs:
        why = (
            "Only built-in baselines were run on the release."
            if counts.runs
            else ("There is a release, but no run on it.")
        )
        yield NextStep("Evaluate a model", why, "benchmark", Permission.EVALUATE, everything)
    why = "Nothing waits; more seed questions make a larger benchmark."
    yield NextStep("Write seeds", why, "write_seeds", Permission.WRITE_SEEDS, everything)


def show() -> None:
    """Draw the page; what the workspace holds is shown only to who may see its items."""
    actor = workspace().actor
    if not actor.may(Permission.VIEW_ITEMS):
        page_head("Home", "")
        empty_state("You have no study yet.", "Your coordinator will tell you when there is one to answer.")
        return
    counts = overview(workspace())
    step = next_step(counts, actor)
    page_head("Home", f"Workspace {workspace().root}", keys=_KEYS if step else ())
    _next(step)
    _workflows(counts)
    _warnings(counts)
    _jobs()


def _next(step: NextStep | None) -> None:
    with st.container(border=True, key="next_step"):
        why = step.why if step else "Nothing waits for you."
        st.html(f'<p class="hc-facts">Next</p><p class="hc-next">{escape(why)}</p>')
        if step is None:
            return
        if st.button(key_label(step.words, "n"), type="primary", key="next_button"):
            go_to(step.page)
        if step.rois:
            st.html(f'<div class="hc-thumbs">{_thumbnails(step.rois)}</div>')


def _thumbnails(rois: Sequence[str]) -> str:
    return "".join(f'<img src="/api/rois/{escape(roi)}/thumbnail" alt="" width="112" height="112">' for roi in rois)


def _workflows(counts: Overview) -> None:
    with st.container(key="workflows"):
        for page, there, waits in _lines(counts):
            with st.container(horizontal=True, vertical_alignment="center", wrap=False, key=f"line_{page}"):
                with st.container(width=170):
                    if may_open(page):
                        st.page_link(page_of(page))
                    else:
                        st.html(f'<p class="hc-not-mine">{escape(entry_of(page).name)}</p>')
                st.html(f'<p class="hc-line"><span>{there}</span><strong>{waits}</strong></p>')


def _lines(counts: Overview) -> list[tuple[str, str, str]]:
    """Return per page what is there, or what it is for, and what waits for a person ("" where nothing does)."""
    rois = counts.rois
    bins = f" · {_count(sum(counts.bins.values()), 'bin', 'bins')}" if counts.bins else ""
    written, approved = counts.seeds.get("written", 0), counts.items.get("approved", 0)
    unasked = counts.rois_without_seed
    waiting = [
        f"{_count(counts.items_waiting, 'item', 'items')} to decide" if counts.items_waiting else "",
        f"{_count(written, 'seed', 'seeds')} to write items from" if written else "",
    ]
    return [
        (
            "slides",
            f"{_count(counts.slides, 'slide', 'slides')} of {_count(counts.organs, 'organ', 'organs')}"
            if counts.slides
            else _PURPOSES["slides"],
            "",
        ),
        (
            "sample_rois",
            f"{_count(rois.get('candidate', 0), 'candidate', 'candidates')}{bins} · "
            f"{_count(rois.get('selected', 0), 'selected ROI', 'selected ROIs')}"
            if sum(rois.values())
            else _PURPOSES["sample_rois"],
            "" if rois.get("selected") or not rois.get("candidate") else "ROIs to pick",
        ),
        (
            "write_seeds",
            _states(counts.seeds, "seed", "seeds") or _PURPOSES["write_seeds"],
            f"{_count(unasked, 'ROI', 'ROIs')} without a seed" if unasked else "",
        ),
        (
            "items",
            _states(counts.items, "item", "items") or _PURPOSES["items"],
            " · ".join(part for part in waiting if part),
        ),
        (
            "releases",
            _count(counts.releases, "release", "releases") if counts.releases else _PURPOSES["releases"],
            f"{_count(approved, 'approved item', 'approved items')} to release" if approved else "",
        ),
        (
            "benchmark",
            _count(counts.runs, "run", "runs") if counts.runs else _PURPOSES["benchmark"],
            "no model evaluated yet" if counts.releases and not counts.model_runs else "",
        ),
    ]


def _warnings(counts: Overview) -> None:
    """Say what went wrong, each with where it is mended."""
    found = []
    if counts.missing_slides:
        names = ", ".join(counts.missing_slides[:NAMES_SHOWN])
        more = len(counts.missing_slides) - NAMES_SHOWN
        found.append(f"Slide files that are gone: {names}{f' and {more} more' if more > 0 else ''}. Put them back.")
    if failed := counts.seeds.get("failed"):
        found.append(f"{_count(failed, 'seed', 'seeds')} failed: Items, Write items says why and tries again.")
    if counts.incomplete_runs:
        number = _count(counts.incomplete_runs, "run is", "runs are")
        found.append(f"{number} incomplete, since items failed: Benchmark says how many.")
    if found:
        st.warning("\n".join(f"- {plain(line)}" for line in found), icon=":material/warning:")


def _jobs() -> None:
    st.subheader("Jobs", anchor=False)
    watch_jobs(*JOB_KINDS)
    if not any(job.active for job in list_jobs(workspace())):
        st.caption("No job runs. Long work is listed here while it runs; it goes on when this page is closed.")


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _states(states: Mapping[str, int], one: str, many: str) -> str:
    total = sum(states.values())
    if not total:
        return ""
    parts = [f"{number:,} {mark(state)}" for state, number in sorted(states.items()) if number]
    return " · ".join([_count(total, one, many), *parts])
