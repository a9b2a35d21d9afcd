"""Benchmark files: what is written reads back, loads as a Hugging Face dataset, and every bad row is named."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from pydantic import ValidationError

from evaluation.vqa import (
    VIPER_COLUMNS,
    BenchmarkError,
    BenchmarkRow,
    VqaConfig,
    load_benchmark,
    write_benchmark,
)
from tests.evaluation.vqa import drawn


def record(row: BenchmarkRow, **changes: Any) -> dict[str, Any]:
    fields = {name: getattr(row, name) for name in VIPER_COLUMNS}
    fields |= {
        "image": {"bytes": row.image, "path": None},
        "choices": list(row.choices),
        "synonyms": json.dumps(list(row.synonyms)),
    }
    return fields | changes


def store(path: Path, records: list[dict[str, Any]]) -> Path:
    """Write records as they are, good or bad."""
    pq.write_table(pa.Table.from_pylist(records), path)
    return path


def problems_of(path: Path) -> tuple[str, ...]:
    with pytest.raises(BenchmarkError) as caught:
        load_benchmark(path)
    return caught.value.problems


def test_rows_read_back_as_they_were(release: Path) -> None:
    benchmark = load_benchmark(release)
    assert list(benchmark.items) == drawn.ROWS
    for place in (release / "data", release / "data" / "test-00000-of-00001.parquet"):
        assert load_benchmark(place).sha256 == benchmark.sha256


def test_equal_rows_give_equal_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    write_benchmark(drawn.ROWS, first)
    write_benchmark([BenchmarkRow.model_validate(row.model_dump()) for row in drawn.ROWS], second)
    assert first.read_bytes() == second.read_bytes()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_it_loads_as_a_hugging_face_dataset(release: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
    dataset = datasets.load_dataset(str(release), split="test", cache_dir=str(tmp_path / "cache"))
    assert isinstance(dataset.features["image"], datasets.Image)
    assert dataset.column_names == [*VIPER_COLUMNS, "item_id", "slide_id"]
    assert dataset[3]["image"].size == drawn.SIZE
    assert dataset[5]["answer"] == "[true, true, true, true]"
    assert dataset[0]["choices"] == list(drawn.ROWS[0].choices)
    assert dataset[9]["choices"] == []
    assert dataset[9]["synonyms"] == '["steatosis"]'
    assert len(dataset) == 12


def test_without_our_additions_the_columns_are_viper_s(tmp_path: Path) -> None:
    rows = [row.model_copy(update={"item_id": None, "slide_id": None}) for row in drawn.ROWS]
    write_benchmark(rows, tmp_path / "viper.parquet")
    assert pq.read_schema(tmp_path / "viper.parquet").names == list(VIPER_COLUMNS)
    items = load_benchmark(tmp_path / "viper.parquet").items
    assert len({item.item_id for item in items}) == 12
    assert items == load_benchmark(tmp_path / "viper.parquet").items


def test_a_foreign_file_with_few_columns_and_nulls_is_accepted(tmp_path: Path) -> None:
    fields = ("image", "question", "question_type", "answer", "choices", "organ", "category", "image_id")
    records = [{name: record(row)[name] for name in fields} | {"extra": 1} for row in drawn.ROWS]
    for entry in records:
        entry["synonyms"] = None
    benchmark = load_benchmark(store(tmp_path / "x.parquet", records))
    assert benchmark.items[9].synonyms == ()
    assert benchmark.items[9].scoring_rubric == ""


def test_the_digest_follows_the_content_not_the_file(tmp_path: Path) -> None:
    write_benchmark(drawn.ROWS, tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    pq.write_table(table, tmp_path / "b.parquet", compression="gzip")
    assert load_benchmark(tmp_path / "b.parquet").sha256 == load_benchmark(tmp_path / "a.parquet").sha256
    write_benchmark([*drawn.ROWS[:-1], drawn.free_text(2, answer="other")], tmp_path / "c.parquet")
    assert load_benchmark(tmp_path / "c.parquet").sha256 != load_benchmark(tmp_path / "a.parquet").sha256


def test_every_bad_row_is_named_at_once(tmp_path: Path) -> None:
    good = drawn.mcq(0, "A"), drawn.kprim(1, (True, False, True, False)), drawn.free_text(2)
    mcq, kprim, free_text = (record(row) for row in good)
    path = store(
        tmp_path / "bad.parquet",
        [
            mcq,
            {**mcq, "question": "Lower case?", "answer": "a"},
            {**mcq, "question": "Four options?", "choices": mcq["choices"][:4]},
            {**kprim, "question": "Three truths?", "answer": "[true, false, true]"},
            {**kprim, "question": "No JSON?", "answer": "true false true false"},
            {**free_text, "question": "With options?", "choices": ["x"]},
            {**free_text, "question": " "},
            {**free_text, "question": "Essay?", "question_type": "essay"},
            {**free_text, "question": "No list?", "synonyms": "steatosis"},
            {**free_text, "question": "No image?", "image": {"bytes": None, "path": "roi.png"}},
            {**free_text, "question": "No organ?", "organ": None},
            mcq,
        ],
    )
    problems = problems_of(path)
    expected = {
        "row 2": "letter from A to E, not 'a'",
        "row 3": "5 options, not 4",
        "row 4": "JSON list of 4 booleans",
        "row 5": "JSON list of 4 booleans",
        "row 6": "a free_text has none, not 1",
        "row 7": "question: must not be empty",
        "row 8": "question_type",
        "row 9": "synonyms",
        "row 10": "holds no bytes",
        "row 11": "organ",
        "row 12": "repeats the item",
    }
    assert len(problems) == len(expected)
    for problem, (place, fault) in zip(problems, expected.items(), strict=True):
        assert problem.startswith(f"{place}: ")
        assert fault in problem


def test_images_must_decode_and_one_name_means_one_image(tmp_path: Path) -> None:
    bomb = io.BytesIO()
    Image.new("1", (9000, 9000)).save(bomb, "PNG")
    rows = [drawn.mcq(0, "A"), drawn.mcq(1, "A"), drawn.mcq(2, "A"), drawn.mcq(3, "A")]
    records = [record(row) for row in rows]
    records[1]["image"] = {"bytes": drawn.png(1)[:60], "path": None}
    records[2]["image"] = {"bytes": bomb.getvalue(), "path": None}
    records[3]["image_id"] = "image-0"
    problems = problems_of(store(tmp_path / "x.parquet", records))
    assert len(problems) == 3
    assert "row 4: its image differs from that of row 1" in problems[0]
    assert "row 2: image 'image-1': does not decode" in problems[1]
    assert "9000 × 9000 pixels" in problems[2]


def test_missing_columns_are_named(tmp_path: Path) -> None:
    records = [{"question": "Q?", "answer": "A"}]
    problems = problems_of(store(tmp_path / "x.parquet", records))
    assert "the column 'image' is missing" in problems
    assert "the column 'question_type' is missing" in problems


@pytest.mark.parametrize("content", [b"", b"PAR1 cut off", b"question,answer\n"])
def test_a_file_that_is_no_parquet(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(content)
    assert "does not read as Parquet" in problems_of(path)[0]


def test_places_where_nothing_is(tmp_path: Path) -> None:
    assert "no such file or folder" in problems_of(tmp_path / "nowhere")[0]
    assert "no such file or folder" in problems_of(Path("nowhere/x.parquet"))[0]
    assert "no .parquet file" in problems_of(tmp_path)[0]
    store(tmp_path / "empty.parquet", [record(drawn.ROWS[0])])
    pq.write_table(pq.read_table(tmp_path / "empty.parquet").slice(0, 0), tmp_path / "empty.parquet")
    assert problems_of(tmp_path / "empty.parquet") == ("it holds no row",)


def test_of_several_splits_the_test_split_is_taken(tmp_path: Path) -> None:
    write_benchmark(drawn.ROWS[:3], tmp_path / "train-00000-of-00001.parquet")
    write_benchmark(drawn.ROWS[3:6], tmp_path / "validation-00000-of-00001.parquet")
    assert "several splits" in problems_of(tmp_path)[0]
    write_benchmark(drawn.ROWS[6:9], tmp_path / "test-00000-of-00002.parquet")
    write_benchmark(drawn.ROWS[9:], tmp_path / "test-00001-of-00002.parquet")
    assert list(load_benchmark(tmp_path).items) == drawn.ROWS[6:]


def test_a_hub_name_goes_through_datasets(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
    asked: dict[str, Any] = {}
    local = datasets.Dataset.from_parquet(str(release / "data" / "test-00000-of-00001.parquet"))

    def load_dataset(name: str, revision: str | None, split: str) -> Any:
        asked.update(name=name, revision=revision, split=split)
        return local

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    benchmark = load_benchmark("some-lab/liver-vqa", revision="v2")
    assert asked == {"name": "some-lab/liver-vqa", "revision": "v2", "split": "test"}
    assert benchmark.sha256 == load_benchmark(release).sha256
    assert benchmark.revision == "v2"


def test_a_hub_dataset_that_does_not_come_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")

    def load_dataset(*_: Any, **__: Any) -> Any:
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(BenchmarkError, match="no network"):
        load_benchmark("some-lab/liver-vqa")


def test_a_local_benchmark_has_no_revision(release: Path) -> None:
    with pytest.raises(BenchmarkError, match="no revision"):
        load_benchmark(release, revision="main")


def test_a_row_says_what_is_wrong_with_it() -> None:
    with pytest.raises(ValidationError, match="5 options, not 2"):
        drawn.row(0, question="Q?", question_type="mcq", answer="A", choices=("x", "y"))
    with pytest.raises(ValueError, match="at least one row"):
        write_benchmark([], Path("x.parquet"))


def test_json_nested_without_end_is_a_bad_row(tmp_path: Path) -> None:
    deep = "[" * 100_000
    rows = [record(drawn.mcq(0, "A"), synonyms=deep), record(drawn.kprim(0, (True, False, True, False)), answer=deep)]
    problems = problems_of(store(tmp_path / "deep.parquet", rows))
    assert [problem[:5] for problem in problems] == ["row 1", "row 2"]


def test_a_seed_that_no_provider_takes_is_refused() -> None:
    for seed in (-1, 2**31):
        with pytest.raises(ValidationError, match="seed"):
            VqaConfig(benchmark="b", model="m", out=Path("o"), seed=seed)
