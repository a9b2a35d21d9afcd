"""The Benchmark page without a browser: order, marks and words of the table, heat map and start form."""

from __future__ import annotations

import pytest

from curator_app.components.run_html import (
    CELL_SEPARATOR,
    RunRow,
    heat_table,
    in_table_order,
    outcomes_html,
    places_html,
    run_table,
)
from curator_app.pages.benchmark import notes
from evaluation.vqa import (
    Configuration,
    ItemCounts,
    Metric,
    OutcomeCounts,
    Provenance,
    Usage,
    VqaResults,
)
from pipeline.jobs import list_jobs
from pipeline.run_details import Cell, PlaceCounts, TrueRate
from pipeline.workspace import Workspace
from tests.curator_app.conftest import open_page

pytestmark = pytest.mark.sqlite("what a page draws and calls; what it reads and writes is asked on both engines")

CONFIGURATION = Configuration(
    benchmark_sha256="0" * 64,
    model="lab/vision",
    judge="offline/synonyms",
    limit=None,
    organ=None,
    category=None,
    rotations=5,
    ablation="normal",
    kprim_mode="statement",
    seed=0,
    temperature=0,
    max_tokens=64,
    prompts={},
    parser_version="1",
)


def _results(model: str, overall: float | None, *, language_model: bool = True, failed: int = 0) -> VqaResults:
    metric = None if overall is None else Metric(mean=overall, n=4, ci95=(overall / 2, overall))
    return VqaResults(
        complete=not failed,
        n_items=4,
        n_failed=failed,
        metrics={} if metric is None else {"mcq": metric, "overall": metric},
        chance={"mcq": 0.2},
        outcomes={"mcq": OutcomeCounts(scored=17, unparsed=2, refused=1)},
        items={"mcq": ItemCounts(asked=4, scored=4)},
        by_category={},
        by_organ={},
        judge=None,
        usage=Usage(calls=20, input_tokens=0, output_tokens=0, cost_usd=None, truncated=0),
        provenance=Provenance(
            benchmark="x",
            benchmark_revision=None,
            configuration=CONFIGURATION.model_copy(update={"model": model}),
            model_is_language_model=language_model,
            packages={},
            python="3",
            started="",
            finished="",
            sittings=1,
            parameters_sent=[],
            parameters_dropped=[],
        ),
    )


def _row(identifier: str, model: str, overall: float | None, **more: object) -> RunRow:
    return RunRow(identifier, _results(model, overall, **more), ())  # type: ignore[arg-type]


def test_language_models_by_score_then_baselines_at_the_foot() -> None:
    rows = [
        _row("1", "offline/first", 0.9, language_model=False),
        _row("2", "lab/weak", 0.3),
        _row("3", "lab/none", None, failed=4),
        _row("4", "lab/strong", 0.6),
    ]
    assert [row.id for row in in_table_order(rows)] == ["4", "2", "3", "1"]
    html = run_table(rows, chosen="2")
    assert html.index("lab/strong") < html.index("lab/weak") < html.index("offline/first")
    assert html.count('class="baseline first"') == 1
    assert html.count('aria-selected="true"') == 1
    assert "▲ incomplete: 4 items failed" in html
    assert "baseline, no language model" in html
    assert "0.30–0.60" in html
    assert html.count('class="chance" style="left:20.00%"') == 4


def test_names_are_escaped() -> None:
    assert "<script>" not in run_table([_row("1", "a/<script>", 0.5)], chosen=None)


def test_a_run_that_differs_says_how() -> None:
    assert notes(CONFIGURATION) == ()
    changed = CONFIGURATION.model_copy(
        update={"ablation": "no-image", "limit": 10, "rotations": 1, "organ": "liver", "kprim_mode": "joint"}
    )
    assert notes(changed) == (
        "ablation: no image",
        "first 10 items only",
        "organ liver only",
        "1 rotation",
        "KPrim asked together",
    )


def test_the_heat_map_has_numbers_in_cells_and_gaps_where_nothing_is() -> None:
    cells = {("identify_pathology", "liver"): Cell(0.25, 3), ("identify_artifact", "kidney"): Cell(1.0, 1)}
    html = heat_table(cells, names={"identify_pathology": "Identify pathology"}, chosen=None)
    assert "0.25<small>n 3</small>" in html
    assert html.count('class="none"') == 2
    assert f"identify_pathology{CELL_SEPARATOR}liver" in html
    assert "Identify pathology" in html


def test_outcomes_and_places_stand_in_numbers() -> None:
    html = outcomes_html(_results("a/b", 0.5))
    for number in (">17<", ">2<", ">1<", ">0<"):
        assert number in html
    places = PlaceCounts(dict.fromkeys("ABCDE", 4), dict.fromkeys("ABCDE", 5))
    words = places_html(places, TrueRate(said_true=6, are_true=4, n=8))
    assert "said true 6 of 8 (75 %); 4 are true (50 %)" in words
    assert "No MCQ or KPrim answer was read." in places_html(None, None)


def test_an_empty_workspace_says_what_to_do_first(workspace: Workspace) -> None:
    page = open_page(workspace, "benchmark")
    assert not page.exception
    assert any("Build a release first" in element.proto.body for element in page.get("html"))
    page.button(key="evaluate").click().run()
    assert "Name the benchmark" in page.error[0].value
    assert list_jobs(workspace) == []
