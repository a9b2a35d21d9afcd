"""The commands `encoders …` and `rois embed`: what is known, where weights are, and vectors ahead of the bins."""

from __future__ import annotations

from evaluation.encoders import NEVER_LOADED, list_encoders
from pipeline.sampling import sample_candidates
from pipeline.workspace import Workspace
from tests.curator_app.cli.conftest import Command


def test_all_encoders_are_listed_with_where_their_weights_are(here: Command) -> None:
    listed = here("encoders", "list", "--json").json
    assert [entry["name"] for entry in listed] == [entry.name for entry in list_encoders()]
    by_name = {entry["name"]: entry for entry in listed}
    assert by_name["colour-texture"]["weights_here"] == "none needed"
    assert (by_name["uni"]["weights_here"], by_name["uni"]["gated"]) == (NEVER_LOADED, True)
    assert by_name["trace"]["licence"] is None
    assert "licence" in by_name["trace"]["unknown"]
    table = here("encoders", "list").out
    assert "CC-BY-NC-ND-4.0" in table
    assert NEVER_LOADED in table


def test_one_encoder_says_what_is_known_what_is_not_and_where_to_ask(here: Command, workspace: Workspace) -> None:
    shown = here("encoders", "show", "virchow2").out
    assert "0.25 µm/px, 0.5 µm/px" in shown
    assert "asked for at https://huggingface.co/paige-ai/Virchow2" in shown
    assert "not surely known: licence of the weights" in here("encoders", "show", "gpfm").out
    settings = workspace.root / "settings.toml"
    settings.write_text(settings.read_text() + '\n[encoder_checkpoints]\nuni = "/weights/uni.bin"\n')
    shown = here("encoders", "show", "uni", "--json", f"--workspace={workspace.root}").json
    assert shown["weights_here"] == "/weights/uni.bin"
    unknown = here("encoders", "show", "resnet")
    assert (unknown.code, "choose one of" in unknown.err) == (2, True)


def test_candidates_are_embedded_ahead_of_the_bins(here: Command, with_slides: Workspace) -> None:
    sample_candidates(with_slides, organ="liver", count=4, size=128, who="test")
    where = f"--workspace={with_slides.root}"
    report = here("rois", "embed", "--organ=liver", "--normalisation=macenko", "--json", where).json
    assert (report["candidates"], report["embedded"], report["encoder"]) == (4, 4, "colour-texture")
    assert (
        "0 of 4 candidates embedded now" in here("rois", "embed", "--organ=liver", "--normalisation=macenko", where).out
    )
    assert here("rois", "bin", "--organ=liver", "--bins=2", "--normalisation=macenko", where).code == 0
    for wrong, said in (
        ("--normalisation=vahadane", "choose one of none, macenko, reinhard"),
        ("--scheduler=moon", "give local, slurm"),
        ("--encoder=uni", "asked for at"),
    ):
        refused = here("rois", "embed", "--organ=liver", wrong, where)
        assert refused.code == 2
        assert said in refused.err or "needs torch" in refused.err
