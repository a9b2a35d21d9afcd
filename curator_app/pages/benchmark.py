"""Benchmark: evaluate a model on a release, compare the runs, and look inside one."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from curator_app.components import Key
from curator_app.components._choosable import choosable
from curator_app.components.item_html import item_style
from curator_app.components.run_html import RunRow, in_table_order, run_table
from curator_app.job_progress import watch_jobs
from curator_app.layout import empty_state, key_label, page_head, show_problems
from curator_app.pages._inside_run import RunRead, inside_run
from curator_app.pages._start_evaluation import start_evaluation
from curator_app.session import may, workspace
from db.tables import Release, Run
from evaluation.vqa import DEFAULT_ROTATIONS, Configuration
from pipeline.benchmarks import list_runs, load_results
from pipeline.errors import InputError
from pipeline.permissions import Permission
from pipeline.releases import list_releases

_CHOSEN, _STARTING = "benchmark_run", "benchmark_starting"

_KEYS = (Key("e", "Open or close the form that starts an evaluation", button="evaluate_open"),)


def show() -> None:
    """Draw the page."""
    evaluates = may(Permission.EVALUATE)
    page_head(
        "Benchmark",
        "Score models on a release, then see where and how they fail" if evaluates else "Where and how models fail",
        keys=_KEYS if evaluates else (),
    )
    st.html(item_style())
    releases, runs = list_releases(workspace()), list_runs(workspace())
    watch_jobs("evaluate")
    if evaluates:
        _start(releases, runs)
    if not runs:
        if not evaluates:
            empty_state("No run yet.", "Coordinators evaluate models; their runs appear here.")
        elif not releases:
            empty_state(
                "No release and no run yet.",
                "Build a release first, or name a benchmark's folder above.",
                page="releases",
                link="Build a release",
            )
        else:
            empty_state("No run yet.", "Start an evaluation above; offline/first shows how in a few seconds.")
        return
    runs = _of_one_benchmark(runs, releases)
    reads = _read(runs)
    if not reads:
        return
    rows = [RunRow(read.run.id, read.results, notes(read.results.provenance.configuration)) for read in reads]
    # The page opens on the best run of a model, or the best baseline.
    chosen = st.session_state.get(_CHOSEN)
    if chosen not in {row.id for row in rows}:
        chosen = in_table_order(rows)[0].id
    choosable(run_table(rows, chosen=chosen), key="run_table", on_choose=_choose)
    opened = next((read for read in reads if read.run.id == chosen), None)
    if opened is not None:
        inside_run(opened, reads)


def _start(releases: Sequence[Release], runs: Sequence[Run]) -> None:
    """Say what is next to do, and draw the form where it is wanted."""
    modelled = any(run.summary.get("is_language_model") for run in runs)
    opened = st.session_state.setdefault(_STARTING, not runs)
    with st.container(horizontal=True, vertical_alignment="center", key="benchmark_next"):
        st.button(
            key_label("Close the form" if opened else "Evaluate a model", "e"),
            key="evaluate_open",
            type="secondary" if modelled or opened else "primary",
            on_click=_open_or_close,
            args=(not opened,),
        )
        if runs:
            baselines = (
                "So far only built-in baselines were run. Evaluate a vision-language model to compare with them."
            )
            words = "Choose a row, then a cell, then an item to see where a model fails." if modelled else baselines
            st.html(f'<p class="hc-facts"><strong>Next:</strong> {words}</p>')
    if opened:
        with st.container(border=True, key="start_evaluation"):
            start_evaluation(releases)


def _open_or_close(opened: bool) -> None:
    st.session_state[_STARTING] = opened


def _choose(run_id: str) -> None:
    st.session_state[_CHOSEN] = run_id


def _of_one_benchmark(runs: Sequence[Run], releases: Sequence[Release]) -> list[Run]:
    """Return the runs on one benchmark: scores on different ones do not compare."""
    names = {release.path: f"{release.name} {release.version}" for release in releases}
    benchmarks: dict[str, str] = {}
    for run in runs:
        name = names.get(run.benchmark, run.benchmark)
        benchmarks.setdefault(run.benchmark_sha256, f"{name} · content {run.benchmark_sha256[:8]}")
    sha256 = next(iter(benchmarks))
    if len(benchmarks) > 1:
        sha256 = st.selectbox("Runs on", list(benchmarks), format_func=benchmarks.__getitem__, width=520)
    else:
        st.subheader(f"Runs on {benchmarks[sha256]}", anchor=False)
    return [run for run in runs if run.benchmark_sha256 == sha256]


def _read(runs: Sequence[Run]) -> list[RunRead]:
    reads = []
    for run in runs:
        try:
            reads.append(RunRead(run, load_results(run)))
        except InputError as error:
            show_problems(error)
    return reads


def notes(configuration: Configuration) -> tuple[str, ...]:
    """Return in words what sets a run apart from one on the whole benchmark with its images."""
    found = []
    if configuration.ablation != "normal":
        shown = {"no-image": "no image", "black": "black image", "random": "another item's image"}
        found.append(f"ablation: {shown[configuration.ablation]}")
    if configuration.limit is not None:
        found.append(f"first {configuration.limit} items only")
    found += [
        f"{name} {value} only"
        for name, value in (("organ", configuration.organ), ("category", configuration.category))
        if value is not None
    ]
    if configuration.rotations != DEFAULT_ROTATIONS:
        what = "rotation" if configuration.rotations == 1 else "rotations"
        found.append(f"{configuration.rotations} {what}")
    if configuration.kprim_mode == "joint":
        found.append("KPrim asked together")
    return tuple(found)
