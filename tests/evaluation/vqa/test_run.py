"""Known replies give known scores, computed by hand; outcomes are counted and never guessed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput
from PIL import Image

from evaluation.items.prompts import PromptError
from evaluation.models import ModelConfigurationError
from evaluation.vqa import BenchmarkError, VqaResults
from tests.evaluation.vqa import drawn, scripted
from tests.evaluation.vqa.conftest import Runner


def predictions(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]


def test_always_the_first_answer_scores_what_arithmetic_says(run: Runner) -> None:
    results = run("first")
    # Over five rotations the key stands once at A, whatever the item.
    assert results.metrics["mcq"].mean == pytest.approx(0.2)
    # Right on 4, 3, 2 and 1 statements: 1 + 0.5 + 0 + 0 of 4.
    assert results.metrics["kprim"].mean == pytest.approx(0.375)
    assert results.metrics["free_text"].mean == 1.0
    assert results.metrics["overall"].mean == pytest.approx((0.2 + 0.375 + 1.0) / 3)
    assert [results.metrics[name].n for name in ("mcq", "kprim", "free_text", "overall")] == [5, 4, 3, 12]
    assert results.chance == {"mcq": 0.2, "kprim": 0.1875, "free_text": None}
    assert results.complete
    assert results.n_failed == 0


def test_one_rotation_keeps_the_stored_order(run: Runner) -> None:
    results = run("first", rotations=1)
    # Two of five keys are stored at A.
    assert results.metrics["mcq"].mean == pytest.approx(0.4)
    assert results.outcomes["mcq"].scored == 5


@pytest.mark.parametrize("rotations", [1, 2, 5])
def test_a_model_that_knows_the_key_finds_it_in_every_rotation(run: Runner, rotations: int) -> None:
    results = run("knowing", rotations=rotations)
    assert {name: metric.mean for name, metric in results.metrics.items()} == {
        "mcq": 1.0,
        "kprim": 1.0,
        "free_text": 1.0,
        "overall": 1.0,
    }


def test_joint_statements_score_like_single_ones(run: Runner, tmp_path: Path) -> None:
    def all_true(text: str, image: bytes | None) -> str:
        if "1: <true or false>" in text:
            return "1: true\n2: true\n3: true\n4: true"
        return scripted.always_first(text, image)

    results = run(all_true, kprim_mode="joint")
    assert results.metrics["kprim"].mean == pytest.approx(0.375)
    assert results.outcomes["kprim"].scored == 4
    assert results.provenance.configuration.kprim_mode == "joint"
    lines = [line for line in predictions(tmp_path / "run") if line["format"] == "kprim"]
    assert [line["score"] for line in lines] == [1.0, 0.5, 0.0, 0.0]


def test_the_interval_surrounds_the_mean_and_one_item_has_none(run: Runner, tmp_path: Path) -> None:
    metric = run("first").metrics["kprim"]
    assert metric.ci95 is not None
    assert metric.ci95[0] < metric.mean < metric.ci95[1]
    assert run("first", limit=1, out=tmp_path / "one").metrics["mcq"].ci95 is None


def test_means_by_category_and_organ_cover_their_own_items(run: Runner) -> None:
    results = run("first")
    assert results.by_organ["liver"]["kprim"].mean == pytest.approx((1.0 + 0.0) / 2)
    assert results.by_organ["kidney"]["kprim"].mean == pytest.approx((0.5 + 0.0) / 2)
    assert results.by_category["identify_anatomy"]["kprim"].n == 1
    assert results.by_category["identify_pathology"]["overall"].mean == pytest.approx((0.2 + 0.5 + 1.0) / 3)
    assert sum(metrics["overall"].n for metrics in results.by_organ.values()) == 12


def test_unparsed_and_refused_replies_score_zero_and_are_counted(run: Runner) -> None:
    def odd(text: str, image: bytes | None) -> str | ModelOutput:
        if "MCQ 0?" in text:
            return "It could be A or B."
        if "KPrim 0?" in text:
            return "I'm sorry, but I can't help with that."
        if "Free text 0?" in text:
            return ""
        if "Free text 1?" in text:
            return ModelOutput.from_content("scripted", "", stop_reason="content_filter")
        return scripted.knows_all(text, image)

    results = run(odd)
    assert results.metrics["mcq"].mean == pytest.approx(4 / 5)
    assert results.metrics["kprim"].mean == pytest.approx(3 / 4)
    assert results.outcomes["mcq"].model_dump() == {"scored": 20, "unparsed": 5, "refused": 0, "failed": 0}
    assert results.outcomes["kprim"].model_dump() == {"scored": 12, "unparsed": 0, "refused": 4, "failed": 0}
    assert results.outcomes["free_text"].refused == 1
    assert results.metrics["mcq"].n == 5


def test_a_reply_cut_at_the_token_limit_is_no_answer(run: Runner) -> None:
    def cut(text: str, image: bytes | None) -> ModelOutput:
        return ModelOutput.from_content("scripted", "ANSWER: A", stop_reason="max_tokens")

    results = run(cut)
    assert results.metrics["overall"].mean == 0.0
    assert results.outcomes["mcq"].unparsed == 25
    assert results.usage.truncated == 25 + 16 + 3
    assert any("cut at 4096 tokens" in warning for warning in results.warnings)


def test_a_failed_call_leaves_its_item_unscored_and_the_run_incomplete(run: Runner, tmp_path: Path) -> None:
    def broken(text: str, image: bytes | None) -> str:
        if "MCQ 1?" in text or "2-3 is false" in text:
            raise ConnectionError("the line is down")
        return scripted.knows_all(text, image)

    results = run(broken)
    assert not results.complete
    assert results.n_failed == 2
    assert results.metrics["mcq"].model_dump(include={"mean", "n"}) == {"mean": 1.0, "n": 4}
    assert results.metrics["kprim"].model_dump(include={"mean", "n"}) == {"mean": 1.0, "n": 3}
    assert results.outcomes["mcq"].failed == 5
    assert results.outcomes["kprim"].failed == 1
    assert results.items["kprim"].model_dump() == {"asked": 4, "scored": 3}
    failed = [line for line in predictions(tmp_path / "run") if line["outcome"] == "failed"]
    assert {line["score"] for line in failed} == {None}
    assert all("the line is down" in line["error"] for line in failed)
    assert any("Most often (6 of 6 calls): " in note and "the line is down" in note for note in results.warnings)
    assert any("2 of 12 items are unscored" in warning for warning in results.warnings)


def test_nothing_usable_has_no_metrics(run: Runner) -> None:
    def down(text: str, image: bytes | None) -> str:
        raise ConnectionError("down")

    results = run(down)
    assert results.metrics == {}
    assert results.n_failed == 12


def test_an_invalid_verdict_is_asked_for_once_more(run: Runner, tmp_path: Path) -> None:
    def slow_learner(text: str, image: bytes | None) -> str:
        if "could not be used" in text:
            return '{"accuracy": 5, "completeness": 10, "reason": "now valid"}'
        return '{"accuracy": 50, "completeness": 10}'

    scripted.SCRIPTS["judge"] = slow_learner
    results = run("knowing")
    assert results.metrics["free_text"].mean == pytest.approx(0.7 * 0.5 + 0.3 * 1.0)
    assert results.judge is not None
    assert (results.judge.calls, results.judge.invalid_replies, results.judge.items_unmarked) == (6, 3, 0)
    verdicts = [line for line in predictions(tmp_path / "run") if line["role"] == "judge"]
    assert [line["outcome"] for line in verdicts] == ["unparsed", "scored"] * 3


def test_a_judge_that_stays_invalid_leaves_items_unscored(run: Runner) -> None:
    scripted.SCRIPTS["judge"] = lambda _text, _image: "Nine out of ten!"
    results = run("knowing")
    assert "free_text" not in results.metrics
    assert results.metrics["overall"].mean == 1.0
    assert results.outcomes["free_text"].failed == 3
    assert results.judge is not None
    assert results.judge.items_unmarked == 3
    assert not results.complete


def test_the_judge_marks_no_reply_that_says_nothing(run: Runner) -> None:
    results = run(lambda _text, _image: "I cannot answer this question.")
    assert results.judge is not None
    assert results.judge.calls == 0
    assert results.metrics["free_text"].mean == 0.0


def test_what_runs_out_is_all_on_disk(run: Runner, tmp_path: Path) -> None:
    results = run("first")
    folder = tmp_path / "run"
    assert VqaResults.model_validate_json((folder / "results.json").read_text()) == results
    lines = predictions(folder)
    assert len(lines) == 5 * 5 + 4 * 4 + 3 + 3 == results.usage.calls
    first = [line for line in lines if line["item_id"] == "mcq-1"]
    assert [line["choice"] for line in first] == ["A", "B", "C", "D", "E"]
    assert [line["correct"] for line in first] == [False, True, False, False, False]
    assert len({line["prompt_sha256"] for line in lines}) == len(lines)
    provenance = results.provenance
    assert set(provenance.configuration.prompts) == {
        "answer_mcq",
        "answer_kprim_statement",
        "answer_free_text",
        "judge_system",
        "judge_user",
        "repair",
    }
    assert provenance.packages["inspect_ai"]
    assert provenance.started <= provenance.finished


def test_the_log_opens_in_inspect_and_holds_no_image(run: Runner, tmp_path: Path) -> None:
    run("first")
    (log_file,) = (tmp_path / "run" / "logs").glob("*.eval")
    log = read_eval_log(str(log_file))
    assert log.status == "success"
    assert log.results is not None
    scores = log.results.scores[0].metrics
    assert scores["mcq"].value == pytest.approx(0.2)
    assert scores["kprim"].value == pytest.approx(0.375)
    assert log.samples is not None
    assert len(log.samples) == 12
    assert not any("data:image" in sample.model_dump_json() for sample in log.samples)
    assert log.samples[0].metadata["image_id"] == "image-0"


def test_no_call_to_the_model_under_test_holds_the_expected_answer(run: Runner, tmp_path: Path) -> None:
    secret = drawn.write(tmp_path / "secret", [drawn.free_text(0, answer="centrilobular glycogen")])
    run("first", benchmark=str(secret))
    (asked,) = [text for text in scripted.CALLS if "You mark" not in text]
    (marked,) = [text for text in scripted.CALLS if "You mark" in text]
    for word in ("centrilobular glycogen", "steatosis", "One point"):
        assert word not in asked
        assert word in marked


class Eyes:
    """Notes which image came with which question."""

    def __init__(self) -> None:
        self.seen: dict[str, bytes | None] = {}

    def __call__(self, text: str, image: bytes | None) -> str:
        question = next(line for line in text.splitlines() if line.startswith("Question: "))
        self.seen[question.removeprefix("Question: ")] = image
        return scripted.always_first(text, image)


def test_the_item_s_own_image_goes_out_unchanged(run: Runner) -> None:
    eyes = Eyes()
    run(eyes)
    assert eyes.seen["MCQ 3?"] == drawn.png(3)


def test_black_images_have_the_item_s_size(run: Runner, tmp_path: Path) -> None:
    eyes = Eyes()
    run(eyes, ablation="black")
    for image in eyes.seen.values():
        assert image is not None
        shown = Image.open(io.BytesIO(image))
        assert shown.size == drawn.SIZE
        assert shown.getextrema() == ((0, 0), (0, 0), (0, 0))
    assert {line["shown_image"] for line in predictions(tmp_path / "run") if line["role"] == "answer"} == {"black"}


def test_without_image_none_goes_out(run: Runner, tmp_path: Path) -> None:
    eyes = Eyes()
    run(eyes, ablation="no-image")
    assert set(eyes.seen.values()) == {None}
    assert {line["shown_image"] for line in predictions(tmp_path / "run")} == {None}


def test_random_images_are_another_item_s_and_stay_with_their_item(run: Runner, tmp_path: Path) -> None:
    eyes, again, limited = Eyes(), Eyes(), Eyes()
    results = run(eyes, ablation="random")
    for question, image in eyes.seen.items():
        assert image is not None
        assert image != drawn.png(int(question.split()[-1].rstrip("?")))
    run(again, ablation="random", out=tmp_path / "again")
    assert again.seen == eyes.seen
    run(limited, ablation="random", limit=2, out=tmp_path / "limited")
    assert limited.seen == {question: eyes.seen[question] for question in limited.seen}
    assert results.provenance.random_images_of_the_same_slide is not None
    lines = predictions(tmp_path / "run")
    assert all(line["shown_image"] != line["image_id"] for line in lines if line["role"] == "answer")


def test_a_filter_that_leaves_nothing_names_what_there_is(run: Runner, tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"organ 'spleen'[\s\S]*kidney, liver"):
        run("first", organ="spleen")
    assert not (tmp_path / "run").exists()
    assert run("first", organ="Liver", category="identify_pathology").n_items == 2 + 2 + 2


def test_an_unknown_model_is_found_before_the_folder_is_made(run: Runner, tmp_path: Path) -> None:
    with pytest.raises(ModelConfigurationError, match="nowhere"):
        run("first", model="nowhere/model")
    with pytest.raises(ModelConfigurationError, match="nowhere"):
        run("first", judge="nowhere/judge")
    assert not (tmp_path / "run").exists()


def test_a_faulty_prompt_is_found_before_any_call(run: Runner, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "answer_mcq.md").write_text("{{ no_such_variable }}")
    with pytest.raises(PromptError, match="no_such_variable"):
        run("first", prompts=prompts)
    assert not (tmp_path / "run").exists()
    assert scripted.CALLS == []


@pytest.mark.parametrize("model", ["first", "random", "test-wise"])
def test_the_built_in_models_run_and_say_what_they_are(run: Runner, model: str) -> None:
    results = run("first", model=f"offline/{model}", judge="offline/synonyms")
    assert results.complete
    assert not results.provenance.model_is_language_model
    assert results.judge is not None
    assert not results.judge.is_language_model
    assert sum("no" in warning and "language model" in warning for warning in results.warnings) == 2
    assert sum(counts.unparsed for counts in results.outcomes.values()) == 0
    if model == "first":
        assert results.metrics["mcq"].mean == pytest.approx(0.2)
        assert results.metrics["kprim"].mean == pytest.approx(0.375)
