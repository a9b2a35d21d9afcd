"""The form that starts an evaluation as a job."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import get_args

import streamlit as st

from curator_app.job_progress import start_job
from curator_app.layout import plain
from curator_app.session import workspace
from db.tables import Release
from evaluation.items import OPTION_COUNT
from evaluation.models import ModelConfigurationError, check_model, use_workspace
from evaluation.vqa import DEFAULT_JUDGE, DEFAULT_ROTATIONS, Ablation

BASELINES = {
    "offline/first": "always the first answer",
    "offline/random": "answers at random",
    "offline/test-wise": "guesses by the cues of the text",
}
"""Built-in models under test; none is a language model."""

ABLATIONS = {
    "normal": "its own image",
    "black": "a black image",
    "random": "another item's image",
    "no-image": "no image",
}

_OTHER = "Another folder or dataset"


def start_evaluation(releases: Sequence[Release]) -> None:
    """Draw the form and queue the evaluation when it is sent."""
    by_name = {f"{r.name} {r.version} · {r.item_count} items": r.path for r in releases}
    with st.container(horizontal=True, vertical_alignment="bottom", key="evaluation_what"):
        # A name that is typed is meant: without this, the field would go back to the release without a word.
        where = str(
            st.selectbox(
                "Benchmark: a release, or type a folder or OWNER/NAME",
                [*by_name, _OTHER],
                accept_new_options=True,
                width=330,
                key="evaluate_benchmark",
            )
            or ""
        ).strip()
        if where == _OTHER:
            path = str(
                st.text_input("Release folder, Parquet file, or OWNER/NAME", key="evaluate_path", width=340) or ""
            ).strip()
        else:
            path = by_name.get(where, where)
        model = _model("Model: a baseline, or type any name", list(BASELINES), "evaluate_model")
        judge = _model(
            "Judge of free text", list(dict.fromkeys([workspace().settings.judge, DEFAULT_JUDGE])), "evaluate_judge"
        )
    with st.container(horizontal=True, vertical_alignment="bottom", key="evaluation_how"):
        limit = st.number_input(
            "First items only", min_value=1, value=None, step=1, placeholder="all", width=140, key="evaluate_limit"
        )
        rotations = st.number_input(
            "Rotations of MCQ options",
            min_value=1,
            max_value=OPTION_COUNT,
            value=DEFAULT_ROTATIONS,
            width=190,
            key="evaluate_rotations",
        )
        ablation = st.selectbox(
            "Image shown",
            get_args(Ablation),
            format_func=ABLATIONS.__getitem__,
            width=190,
            key="evaluate_ablation",
        )
        pressed = st.button("Start", key="evaluate", type="primary")
    about = BASELINES.get(model)
    note = f"{model} is built in and no language model: {about}." if about else f"{model}: calls may cost money."
    st.html(f'<p class="hc-facts">{escape(note)}</p>')
    if pressed:
        _start(path, model, judge, int(limit) if limit else None, int(rotations), ablation)


def _model(label: str, known: list[str], key: str) -> str:
    chosen = st.selectbox(
        label,
        known,
        accept_new_options=True,
        format_func=lambda name: f"{name} · {BASELINES[name]}" if name in BASELINES else name,
        width=330,
        key=key,
    )
    return str(chosen or "").strip()


def _start(path: str, model: str, judge: str, limit: int | None, rotations: int, ablation: str) -> None:
    if not path:
        st.error("Name the benchmark: a release folder, a Parquet file, or a dataset as OWNER/NAME.")
        return
    use_workspace(workspace().cache)
    try:
        for name in dict.fromkeys((model, judge)):
            check_model(name)
    except ModelConfigurationError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    start_job(
        "evaluate",
        benchmark=path,
        model=model,
        judge=judge,
        limit=limit,
        rotations=rotations,
        ablation=ablation,
    )
    st.rerun()
