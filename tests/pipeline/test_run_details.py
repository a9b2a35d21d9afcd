"""Inside a run: cells, places, truth and dispute are counted from the stored replies."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from PIL import Image

from evaluation.vqa import BenchmarkRow, VqaConfig, load_benchmark, run_vqa, write_benchmark
from pipeline.benchmarks import register_run
from pipeline.errors import InputError
from pipeline.run_details import (
    RunDetails,
    count_places,
    count_true,
    heat_map,
    load_rows,
    most_disputed,
    read_run,
    rois_of_items,
)
from pipeline.workspace import Workspace

OPTIONS = ("Necrosis", "Fatty change", "Fibrosis", "Haemorrhage", "Hyperplasia")


def _png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (200, 120, 160)).save(buffer, format="PNG")
    return buffer.getvalue()


def _row(item_id: str, image: bytes, **fields: object) -> BenchmarkRow:
    """Return a row of a benchmark with likely values for what a test does not say."""
    known: dict[str, object] = {
        "image": image,
        "question": f"What is shown in {item_id}?",
        "question_type": "free_text",
        "answer": "necrosis",
        "organ": "liver",
        "category": "identify_pathology",
        "image_id": f"image of {item_id}",
        "item_id": item_id,
    }
    return BenchmarkRow.model_validate({**known, **fields})


def _rows() -> list[BenchmarkRow]:
    image = _png()
    statements = OPTIONS[:4]
    return [
        _row("m1", image, question_type="mcq", answer="A", choices=OPTIONS),
        _row("m2", image, question_type="mcq", answer="C", choices=OPTIONS, organ="kidney"),
        _row("k1", image, question_type="kprim", answer="[true,true,true,false]", choices=statements),
        _row("f1", image, answer="No abnormality", category="probe_over_reading"),
    ]


def _run(workspace: Workspace, benchmark: Path, model: str, *, rotations: int = 5) -> RunDetails:
    out = workspace.runs / f"{model.replace('/', '-')}-{rotations}"
    results = run_vqa(VqaConfig(benchmark=str(benchmark), model=model, out=out, rotations=rotations))
    run = register_run(workspace, out, results, who="test")
    return read_run(run, load_rows(results))


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """A benchmark of four items of two organs."""
    path = tmp_path / "test.parquet"
    write_benchmark(_rows(), path)
    return path


@pytest.fixture
def first(workspace: Workspace, benchmark: Path) -> RunDetails:
    """The run of the model that always answers A and true, with all rotations."""
    return _run(workspace, benchmark, "offline/first")


def test_a_cell_is_the_mean_of_its_format_means(first: RunDetails) -> None:
    cells = heat_map(first)
    # MCQ: each option stands first in one of five rotations, so 0.2; KPrim: three of four right, so 0.5.
    assert cells["identify_pathology", "liver"].mean == pytest.approx((0.2 + 0.5) / 2)
    assert cells["identify_pathology", "liver"].n == 2
    assert cells["identify_pathology", "kidney"].mean == pytest.approx(0.2)
    assert cells["probe_over_reading", "liver"].mean == pytest.approx(1.0)
    assert ("probe_over_reading", "kidney") not in cells


def test_the_cells_of_one_item_sets_agree_with_results(first: RunDetails) -> None:
    by_category = first.results.by_category["probe_over_reading"]["overall"]
    assert heat_map(first)["probe_over_reading", "liver"].mean == pytest.approx(by_category.mean)


def test_places_are_counted_as_shown(first: RunDetails) -> None:
    places = count_places(first)
    assert places is not None
    assert places.answered == {"A": 10, "B": 0, "C": 0, "D": 0, "E": 0}
    assert set(places.right_there.values()) == {2}


def test_one_rotation_keeps_the_stored_places(workspace: Workspace, benchmark: Path) -> None:
    places = count_places(_run(workspace, benchmark, "offline/first", rotations=1))
    assert places is not None
    assert places.right_there == {"A": 1, "B": 0, "C": 1, "D": 0, "E": 0}


def test_the_right_place_is_where_a_right_answer_was_given(first: RunDetails) -> None:
    """Cross-check with the scorer: `first` answers A, so a call is right if the key stood at A."""
    right = sum(answer.correct is True for item in first.items.values() for answer in item.answers if answer.choice)
    places = count_places(first)
    assert places is not None
    assert places.right_there["A"] == right


def test_the_rate_of_true_stands_beside_the_truth(first: RunDetails) -> None:
    rate = count_true(first)
    assert rate is not None
    assert (rate.said_true, rate.are_true, rate.n) == (4, 3, 4)


def test_items_that_divide_the_models_come_first(workspace: Workspace, benchmark: Path, first: RunDetails) -> None:
    other = _run(workspace, benchmark, "offline/random")
    found = most_disputed([first, other])
    assert {item.item_id for item in found} == {"m1", "m2", "k1", "f1"}
    assert [item.disagreement for item in found] == sorted((item.disagreement for item in found), reverse=True)
    assert found[0].scores == {d.run.id: d.items[found[0].item_id].score for d in (first, other)}
    kidney = most_disputed([first, other], wanted=lambda row: row.organ == "kidney")
    assert [item.item_id for item in kidney] == ["m2"]


def test_a_failed_call_leaves_its_item_unscored(first: RunDetails) -> None:
    path = Path(first.run.path) / "predictions.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lost = next(line for line in lines if line["item_id"] == "m2")
    lost.update(outcome="failed", call_outcome="failed", parsed=None, choice=None, correct=None, score=None)
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    details = read_run(first.run, load_rows(first.results))
    assert details.items["m2"].score is None
    assert ("identify_pathology", "kidney") not in heat_map(details)
    assert most_disputed([details], wanted=lambda row: row.organ == "kidney")[0].scores == {first.run.id: None}


def test_a_changed_benchmark_is_not_shown_as_the_old_one(benchmark: Path, first: RunDetails) -> None:
    rows = [row.model_copy(update={"question": "What else?"}) for row in load_benchmark(benchmark).items]
    write_benchmark(rows, benchmark)
    with pytest.raises(InputError, match="is not what it was when this run was made"):
        load_rows(first.results)
    benchmark.unlink()
    with pytest.raises(InputError, match="The benchmark of this run cannot be read"):
        load_rows(first.results)


def test_lost_replies_are_named(first: RunDetails) -> None:
    (Path(first.run.path) / "predictions.jsonl").unlink()
    with pytest.raises(InputError, match=r"The replies of run .* are gone"):
        read_run(first.run, load_rows(first.results))


def test_items_of_elsewhere_have_no_image_here(workspace: Workspace, first: RunDetails) -> None:
    assert rois_of_items(workspace, [item.row for item in first.items.values()]) == {}
