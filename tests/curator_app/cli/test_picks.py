"""Bins, quotas, single picks and the numbers of a selection on the command line."""

from __future__ import annotations

import pytest

from db.tables import Binning
from pipeline.bins import bin_candidates
from pipeline.rois import current_binning, get_roi, list_rois
from pipeline.sampling import sample_candidates
from pipeline.workspace import Workspace
from tests.curator_app.cli.conftest import Command


@pytest.fixture
def binned(with_slides: Workspace) -> Workspace:
    sample_candidates(with_slides, organ="liver", count=16, size=128, who="test")
    bin_candidates(with_slides, organ="liver", bins=3, who="test")
    return with_slides


def test_from_quotas_to_the_numbers(here: Command, binned: Workspace) -> None:
    where = f"--workspace={binned.root}"
    first, second, *_ = [roi.id for roi, _ in list_rois(binned, states=("candidate",))]
    assert here("rois", "pick", first, where, "--json").json == {"selected": [first]}
    rejected = here("rois", "reject", second, "--reason=fold", where, "--json")
    assert rejected.json == {"rejected": [second], "reason": "other: fold"}
    wanted = here("rois", "quota", "--organ=liver", "--total=6", "--bin=1=3", where, "--json").json
    assert (wanted["quotas"], wanted["total"]) == ([3, 2, 2], 7)
    assert here("rois", "select", "--organ=liver", where, "--json").json["total"] == 7
    bins = here("rois", "bins", "--organ=liver", where, "--json").json
    assert [(one["bin"], one["selected"], one["quota"], one["covered"]) for one in bins] == [
        (1, 3, 3, True),
        (2, 2, 2, True),
        (3, 2, 2, True),
    ]
    assert "3 bins, 3 covered, 7 of 7 ROIs selected" in here("rois", "bins", "--organ=liver", where).out
    numbers = here("rois", "numbers", "--organ=liver", where, "--json").json
    assert (numbers["bins_covered"], numbers["selected"], numbers["rejected"]) == (3, 7, {"other": 1})
    assert numbers["text"] in here("rois", "numbers", "--organ=liver", where).out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("pick", "roi_none"), "There is no ROI roi_none"),
        (("reject", "roi_none", "--reason= "), "Say why it is rejected"),
        (("quota", "--organ=liver"), "Give --total"),
        (("quota", "--organ=liver", "--bin=3"), "is not BIN=QUOTA"),
        (("quota", "--organ=liver", "--bin=9=1"), "there is no bin 9"),
        (("quota", "--organ=spleen", "--total=3"), "rois bin"),
        (("bins", "--organ=spleen"), "rois bin"),
        (("numbers", "--organ=spleen"), "rois bin"),
        (("diversity", "--organ=liver", "--encoder=colour-texture"), "were made by colour-texture"),
        (("diversity", "--organ=liver", "--encoder=nothing"), "nothing"),
    ],
)
def test_what_is_wrong_is_named(here: Command, binned: Workspace, arguments: tuple[str, ...], said: str) -> None:
    ran = here("rois", *arguments, f"--workspace={binned.root}")
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_a_pick_is_compared_with_random_ones(here: Command, binned: Workspace) -> None:
    binning = current_binning(binned, "liver")
    assert binning is not None
    with binned.writing() as session:
        session.get_one(Binning, binning.id).encoder = "another-encoder"
    ids = [roi.id for roi, _ in list_rois(binned, states=("candidate",))[:3]]
    assert here("rois", "pick", *ids, f"--workspace={binned.root}").code == 0
    assert all(get_roi(binned, roi_id)[0].state == "selected" for roi_id in ids)
    again = here("rois", "pick", ids[0], f"--workspace={binned.root}")
    assert (again.code, "0 of 1 ROIs selected; not done" in again.err) == (2, True)
    asked = ("rois", "diversity", "--organ=liver", "--encoder=colour-texture", "--random-picks=20")
    report = here(*asked, f"--workspace={binned.root}", "--json").json
    assert (report["rois"], report["random_picks"]) == (3, 20)
    assert 0 < report["vendi"]["p"] <= 1
