"""The main job on the command line: a real slide, a release that opens with the usual tools, a model's score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.curator_app.cli.conftest import Command
from tests.databases import on_new_database
from tests.pipeline.conftest import write_csv

pytestmark = pytest.mark.sqlite("its steps are asked on both engines, each by its own tests")

SEEDS = (
    ("Which tissue makes up most of the field?", "fibrous stroma", "identify_anatomy"),
    ("Where in the image does the epithelium lie?", "upper left", "localize_in_image"),
    ("A severe acute inflammation is present.", "false", "probe_over_reading"),
    ("How is the stroma distributed?", "diffuse", "characterize_feature"),
    ("How many glands are visible?", "3", "quantify_feature"),
)


def test_from_a_real_slide_to_a_score(histocurator: Command, shared_data: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="the dev extra brings datasets")
    workspace = tmp_path / "workspace"
    where = {"HISTOCURATOR_WORKSPACE": str(workspace)}
    assert on_new_database(workspace, lambda: histocurator("init", workspace)).code == 0
    slide = shared_data / "slides" / "cmu-1-small-region.svs"
    metadata = ("--organ", "skin", "--source", "OpenSlide test data", "--licence", "CC0-1.0")
    added = histocurator("slides", "add", slide, *metadata, "--json", **where)
    assert added.code == 0, added.err
    assert added.json["added"][0]["mpp"] == pytest.approx(0.499, abs=0.001)
    again = histocurator("slides", "add", slide, *metadata, **where)
    assert (again.code, "added before" in again.err) == (2, True)

    sampled = histocurator("rois", "sample", "--organ", "skin", "--count", 12, "--size", 256, "--json", **where)
    assert sampled.code == 0, sampled.err
    assert sampled.json["drawn"] == 12
    assert histocurator("rois", "bin", "--organ", "skin", "--bins", 5, **where).code == 0
    assert histocurator("rois", "select", "--organ", "skin", "--per-bin", 1, **where).code == 0
    rois = histocurator("rois", "list", "--json", **where).json
    assert len(rois) == 5
    assert all((workspace / roi["image"]).is_file() for roi in rois)
    assert len(histocurator("rois", "list", "--candidates", "--json", **where).json) == 7

    rows = [
        (roi["id"], question, answer, category, "Dr Test")
        for roi, (question, answer, category) in zip(rois, SEEDS, strict=True)
    ]
    header = ("roi", "question", "answer", "category", "author")
    seeds = write_csv(tmp_path / "seeds.csv", header, rows)
    assert histocurator("seeds", "import", seeds, **where).code == 0
    generated = histocurator("items", "generate", "--json", **where)
    assert generated.code == 0, generated.err
    assert "no language model" in generated.err
    assert generated.json["offline"] == ["offline/author", "offline/test-wise"]
    items = histocurator("items", "list", "--json", **where).json
    assert len(items) == 3 * generated.json["ready"]
    assert histocurator("items", "approve", "--passed", "--as", "Dr Test", **where).code == 0

    out = tmp_path / "release"
    build = ("release", "build", "--name", "skin-vqa", "--version", "1.0.0", "--out", out, "--json")
    built = histocurator(*build, **where)
    assert built.code == 0, built.err
    assert histocurator(*build, **where).json["existed"]
    dataset = datasets.load_dataset(str(out), split="test", cache_dir=str(tmp_path / "cache"))
    assert len(dataset) == built.json["items"] > 0
    assert dataset[0]["image"].size == (256, 256)
    assert set(dataset["question_type"]) <= {"mcq", "kprim", "free_text"}

    run = tmp_path / "run"
    scored = histocurator("eval", "vqa", "--benchmark", out, "--model", "offline/first", "--out", run, "--json")
    assert scored.code == 0, scored.err
    results = json.loads((run / "results.json").read_text())
    assert set(results["metrics"]) >= {"free_text", "overall"}
    for metric in results["metrics"].values():
        assert 0 <= metric["mean"] <= 1
        assert metric["n"] > 0
    if "mcq" in results["metrics"]:
        assert results["metrics"]["mcq"]["mean"] == pytest.approx(0.2), "always A over five rotations"
    assert scored.json["metrics"] == results["metrics"]


def test_a_draw_of_candidates_is_the_same_to_the_byte_in_another_workspace(
    histocurator: Command, shared_data: Path, tmp_path: Path
) -> None:
    slide = shared_data / "slides" / "cmu-1-small-region.svs"
    metadata = ("--organ", "skin", "--source", "OpenSlide test data", "--licence", "CC0-1.0")
    draw = ("rois", "sample", "--organ", "skin", "--count", 10, "--size", 128, "--seed", 3)
    listed = []
    for name, shares in (("one", ("20:0.7", "5:0.3")), ("two", ("5:0.3", "20:0.7"))):
        workspace = tmp_path / name
        where = {"HISTOCURATOR_WORKSPACE": str(workspace)}
        assert on_new_database(workspace, lambda workspace=workspace: histocurator("init", workspace)).code == 0
        assert histocurator("slides", "add", slide, *metadata, **where).code == 0
        for wrong, said in (
            (("20:0.7", "5"), "each of them a share"),
            (("wide",), "write 20"),
            (("20:0.4",), "add up"),
        ):
            refused = histocurator(*draw, *(f"--magnification={one}" for one in wrong), **where)
            assert (refused.code, said in refused.err) == (2, True), refused.err
        drawn = histocurator(*draw, *(f"--magnification={one}" for one in shares), "--json", **where)
        assert drawn.code == 0, drawn.err
        assert [(part["magnification"], part["asked"], part["drawn"]) for part in drawn.json["parts"]] == [
            (20.0, 7, 7),
            (5.0, 3, 3),
        ]
        listed.append(histocurator("rois", "list", "--candidates", "--json", **where))
    assert listed[0].out == listed[1].out
    assert {roi["resolution"] for roi in listed[0].json} == {0.5, 2.0}
    for roi in listed[0].json:
        assert set(roi["flags"]) == {"pen", "blank", "out_of_focus", "coverslip_edge"}
        assert all(set(flag) == {"value", "flagged"} for flag in roi["flags"].values())


def test_other_content_under_a_built_version_is_refused(histocurator: Command, tmp_path: Path) -> None:
    demo = tmp_path / "demo"
    where = {"HISTOCURATOR_WORKSPACE": str(demo)}
    assert on_new_database(demo, lambda: histocurator("init", demo)).code == 0
    refused = histocurator("release", "build", "--name", "x", "--version", "1", **where)
    assert refused.code == 2
    assert "no item is approved" in refused.err
    assert not list((demo / "releases").iterdir())
