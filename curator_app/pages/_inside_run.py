"""Inside a run: where it is weak, how its answers ended, and one item with every model's reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import streamlit as st

from curator_app.components import roi_image
from curator_app.components._choosable import choosable
from curator_app.components.item_html import FORMAT_NAMES
from curator_app.components.run_html import (
    CELL_SEPARATOR,
    disputed_table,
    heat_table,
    outcomes_html,
    places_html,
)
from curator_app.components.safety_html import section
from curator_app.layout import plain, show_problems
from curator_app.session import workspace
from db.tables import Run
from evaluation.items import OPTION_LETTERS, describe_categories
from evaluation.vqa import BenchmarkRow, Prediction, VqaResults
from pipeline.errors import InputError
from pipeline.run_details import (
    PREDICTIONS_FILE,
    DisputedItem,
    RunDetails,
    count_places,
    count_true,
    heat_map,
    load_rows,
    most_disputed,
    read_run,
    rois_of_items,
)

ITEMS_SHOWN = 50

_CELL, _ITEM = "benchmark_cell", "benchmark_item"


@dataclass(frozen=True)
class RunRead:
    """A registered run with its results."""

    run: Run
    results: VqaResults


def _read_rows(sha256: str, _results: VqaResults) -> dict[str, BenchmarkRow]:  # noqa: ARG001 (the cache's key)
    return load_rows(_results)


def _read_details(
    run_id: str,  # noqa: ARG001 (with the next one the cache's key)
    changed_ns: int,  # noqa: ARG001
    _run: Run,
    _asked: dict[str, BenchmarkRow],
) -> RunDetails:
    return read_run(_run, _asked)


_rows: Callable[[str, VqaResults], dict[str, BenchmarkRow]] = st.cache_resource(
    max_entries=4, show_spinner="Reading the benchmark"
)(_read_rows)
_details: Callable[[str, int, Run, dict[str, BenchmarkRow]], RunDetails] = st.cache_resource(
    max_entries=32, show_spinner="Reading replies"
)(_read_details)


def inside_run(opened: RunRead, reads: Sequence[RunRead]) -> None:
    """Show one run, and for the items of a cell the replies of every run on the same benchmark."""
    configuration = opened.results.provenance.configuration
    st.subheader(f"Inside {plain(configuration.model)}", anchor=False)
    try:
        asked = _rows(configuration.benchmark_sha256, opened.results)
        details = _read(opened.run, asked)
    except InputError as error:
        show_problems(error)
        return
    names: dict[str, str] = {entry.slug: entry.name for entry in describe_categories()}
    left, right = st.columns([1.1, 1], gap="large")
    with left:
        cells = heat_map(details)
        choosable(heat_table(cells, names=names, chosen=_cell()), key="heat_map", on_choose=_choose_cell)
    with right:
        st.html(
            section("How its answers ended", outcomes_html(opened.results))
            + section("Which places it answers", places_html(count_places(details), count_true(details)))
            + "".join(f'<p class="hc-facts">{escape(note)}</p>' for note in opened.results.warnings)
        )
    cell = _cell()
    if cell is None or cell not in cells:
        return
    others = [details]
    for read in reads:
        if read.run.id != opened.run.id:
            try:
                others.append(_read(read.run, asked))
            except InputError as error:
                show_problems(error)
    _items(others, cell, names)


def _read(run: Run, asked: dict[str, BenchmarkRow]) -> RunDetails:
    try:
        changed = (Path(run.path) / PREDICTIONS_FILE).stat().st_mtime_ns
    except OSError:
        changed = 0
    return _details(run.id, changed, run, asked)


def _cell() -> tuple[str, str] | None:
    cell: tuple[str, str] | None = st.session_state.get(_CELL)
    return cell


def _choose_cell(value: str) -> None:
    category, _, organ = value.partition(CELL_SEPARATOR)
    st.session_state[_CELL] = (category, organ)
    st.session_state.pop(_ITEM, None)


def _choose_item(value: str) -> None:
    st.session_state[_ITEM] = value


def _items(runs: Sequence[RunDetails], cell: tuple[str, str], names: Mapping[str, str]) -> None:
    category, organ = cell
    found = most_disputed(runs, wanted=lambda row: (row.category, row.organ) == cell)
    models = _labels(runs)
    st.subheader(f"{names.get(category, category)}, {organ.replace('_', ' ')} · {len(found)} items", anchor=False)
    if len(found) > ITEMS_SHOWN:
        st.html(f'<p class="hc-facts">The first {ITEMS_SHOWN} are shown.</p>')
    found = found[:ITEMS_SHOWN]
    chosen = next((item for item in found if item.item_id == st.session_state.get(_ITEM)), found[0])
    choosable(
        disputed_table(found, models=models, names=names, chosen=chosen.item_id),
        key="disputed_items",
        on_choose=_choose_item,
    )
    _one_item(chosen, runs, models)


def _labels(runs: Sequence[RunDetails]) -> dict[str, str]:
    """Return each run's model by run id, with the ablation where one was made."""
    labels = {}
    for details in runs:
        configuration = details.results.provenance.configuration
        extra = "" if configuration.ablation == "normal" else f" ({configuration.ablation})"
        labels[details.run.id] = configuration.model + extra
    return labels


def _one_item(item: DisputedItem, runs: Sequence[RunDetails], models: Mapping[str, str]) -> None:
    roi = rois_of_items(workspace(), [item.row]).get(item.item_id)
    left, right = st.columns([1, 1.2], gap="large")
    with left:
        if roi is not None:
            roi_image(roi, key="benchmark_picture", described_as="Image of this item", above_px=360)
        else:
            st.html(
                f'<p class="hc-facts">The image {escape(item.row.image_id)} was not made in this workspace, '
                "so it is not shown here.</p>"
            )
    with right:
        replies = "".join(_replies(details, item, models[details.run.id]) for details in runs)
        st.html(
            section(FORMAT_NAMES[item.row.question_type], _question(item.row))
            + section("What the models replied", replies)
        )


def _question(row: BenchmarkRow) -> str:
    choices = ""
    if row.question_type == "mcq":
        choices = _choices([(OPTION_LETTERS[i], text, i == row.key, "✓ key", "") for i, text in enumerate(row.choices)])
    elif row.question_type == "kprim":
        pairs = zip(row.choices, row.truth, strict=True)
        choices = _choices(
            [(str(n), text, truth, "✓ true", "✕ false") for n, (text, truth) in enumerate(pairs, start=1)]
        )
    else:
        accepted = "; ".join((row.answer, *row.synonyms))
        choices = f'<p>Accepted: <strong>{escape(accepted)}</strong></p><p class="why">{escape(row.scoring_rubric)}</p>'
    return f'<div class="hc-item"><p class="stem">{escape(row.question)}</p>{choices}</div>'


def _choices(choices: Sequence[tuple[str, str, bool, str, str]]) -> str:
    rows = "".join(
        f'<li class="{"marked" if right else ""}"><span class="sign">{sign}</span><div><p>{escape(text)} '
        f'<span class="verdict">{yes if right else no}</span></p></div></li>'
        for sign, text, right, yes, no in choices
    )
    return f'<ol class="hc-choices">{rows}</ol>'


def _replies(details: RunDetails, item: DisputedItem, model: str) -> str:
    asked = details.items.get(item.item_id)
    if asked is None:
        return f'<p><strong>{escape(model)}</strong></p><p class="why">This run did not ask the item.</p>'
    score = "failed, no score" if asked.score is None else f"score {asked.score:.2f}"
    rows = "".join(_reply(answer, item.row) for answer in asked.answers)
    if asked.verdict is not None:
        rows += _reply(asked.verdict, item.row)
    return (
        f'<p class="hc-check"><strong>{escape(model)}</strong> · {score}</p><table class="hc-table hc-replies">'
        "<thead><tr><th>Call</th><th>Read as</th><th>Reply</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _reply(call: Prediction, row: BenchmarkRow) -> str:
    if call.role == "judge":
        name = "Judge"
    elif row.question_type == "mcq":
        name = f"Rotation {call.part + 1}"
    elif row.question_type == "kprim" and not isinstance(call.parsed, list | tuple):
        name = f"Statement {call.part + 1}"
    else:
        name = "Reply"
    return (
        f"<tr><td>{name}</td><td>{_read_as(call)}<p class='why'>{escape(call.rule)}</p></td>"
        f'<td><p class="hc-reply">{escape(call.reply or call.error or "")}</p></td></tr>'
    )


def _read_as(call: Prediction) -> str:
    """Return what was read from a reply, and whether that is right."""
    if call.outcome != "scored":
        return f"– {call.outcome}"
    if call.role == "judge":
        marks = call.parsed if isinstance(call.parsed, dict) else {}
        return f"accuracy {marks.get('accuracy')}, completeness {marks.get('completeness')}"
    verdict = {True: " ✓ right", False: " ✗ wrong", None: ""}[call.correct]
    if isinstance(call.parsed, bool):
        return f"{'true' if call.parsed else 'false'}{verdict}"
    if call.choice is not None:
        return f"{escape(str(call.parsed))} as shown, option {escape(call.choice)}{verdict}"
    if isinstance(call.parsed, list | tuple):
        return ", ".join("true" if value else "false" for value in call.parsed)
    return escape(str(call.parsed))
