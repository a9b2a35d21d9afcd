"""Bins as they are shown and filled: sheets, quotas, reasons of rejection, numbers and the diversity of the pick."""

from __future__ import annotations

import pytest

from db.tables import Binning, Roi
from pipeline.audit import EventFilter, list_events, verify_trail
from pipeline.bin_sheets import list_bins
from pipeline.bins import bin_candidates
from pipeline.diversity import last_diversity, measure_diversity
from pipeline.errors import ChangedError, InputError
from pipeline.health import check_workspace
from pipeline.quotas import quotas_of, set_quotas
from pipeline.rejections import MAX_REASON, rejection_reason
from pipeline.rois import current_binning, list_rois, own_choices, reject_roi, select_across_bins, select_roi
from pipeline.sampling import sample_candidates
from pipeline.selection import methods_text, selection_numbers
from pipeline.workspace import Workspace


@pytest.fixture
def binned(with_slides: Workspace) -> Workspace:
    """A workspace with 24 candidates in four bins."""
    sample_candidates(with_slides, organ="liver", count=24, size=128, who="test")
    bin_candidates(with_slides, organ="liver", bins=4, who="test")
    return with_slides


def binning_of(workspace: Workspace) -> Binning:
    binning = current_binning(workspace, "liver")
    assert binning is not None
    return binning


def flag(workspace: Workspace, roi_id: str, **flags: object) -> None:
    with workspace.writing() as session:
        session.get_one(Roi, roi_id).flags = flags


def test_bins_have_silhouettes_and_their_rois_a_place_on_the_map(binned: Workspace) -> None:
    binning = binning_of(binned)
    assert len(binning.silhouettes) == binning.bins
    assert all(value is not None and -1 <= value <= 1 for value in binning.silhouettes)
    places = {(roi.map_x, roi.map_y) for roi, _ in list_rois(binned, states=("candidate",))}
    assert len(places) == 24
    assert all(x is not None and y is not None and 0 <= x <= 1 and 0 <= y <= 1 for x, y in places)


def test_a_sheet_says_what_is_in_a_bin_and_what_is_picked(binned: Workspace) -> None:
    first = next(roi for roi, _ in list_rois(binned, states=("candidate",)) if roi.bin == 0)
    select_roi(binned, first.id, who="test")
    sheets = list_bins(binned, organ="liver")
    assert [sheet.size for sheet in sheets] == binning_of(binned).sizes
    assert sum(sheet.size for sheet in sheets) == 24
    assert [sheet.covered for sheet in sheets] == [True, False, False, False]
    assert [sheet.open for sheet in sheets] == [True] * 4
    assert sheets[0].slides == 2
    assert sheets[0].studies == 0, "the slides name no study"
    rejected = next(roi for roi, _ in list_rois(binned, states=("candidate",)) if roi.bin == 0)
    reject_roi(binned, rejected.id, who="test", reason="artefact")
    assert list_bins(binned, organ="liver")[0].size == sheets[0].size - 1


def test_a_bin_of_artefacts_is_marked_and_they_are_picked_last(binned: Workspace) -> None:
    inside = [roi for roi, _ in list_rois(binned, states=("candidate",)) if roi.bin == 0]
    for roi in inside[:-1]:
        flag(binned, roi.id, pen={"value": 0.4, "flagged": True}, blank={"value": 0.0, "flagged": False}, focus=0.9)
    sheet = list_bins(binned, organ="liver")[0]
    assert (sheet.flagged, sheet.artefact_rich) == (len(inside) - 1, True)
    picked = select_across_bins(binned, organ="liver", per_bin=1, who="test")
    assert picked[0].id == inside[-1].id, "the least typical one, but without an artefact"


def test_quotas_are_two_of_each_bin_until_somebody_says_otherwise(binned: Workspace) -> None:
    binning = binning_of(binned)
    assert sum(quotas_of(binning)) == 8
    changed = set_quotas(binned, organ="liver", total=6, quotas={1: 4}, who="ann")
    assert changed.quotas[0] == 4
    assert sum(changed.quotas[1:]) == 4
    told = list_events(binned, EventFilter(object_id=binning.id))[0]
    assert (told.action, told.who) == ("set quotas", "ann")
    assert (told.old, told.new) == ({"quotas": quotas_of(binning)}, {"quotas": changed.quotas})
    selected = select_across_bins(binned, organ="liver", who="test")
    assert len(selected) == 8
    assert [sheet.open for sheet in list_bins(binned, organ="liver")] == [False] * 4
    assert select_across_bins(binned, organ="liver", who="test") == []


def test_what_is_wanted_in_all_outlives_new_bins(binned: Workspace) -> None:
    set_quotas(binned, organ="liver", total=10, who="ann")
    again = bin_candidates(binned, organ="liver", bins=3, seed=1, who="test")
    assert len(again.quotas) == again.bins
    assert sum(again.quotas) == 10


def test_wrong_quotas_are_all_named_and_change_nothing(binned: Workspace) -> None:
    with pytest.raises(InputError) as error:
        set_quotas(binned, organ="liver", total=99, quotas={0: 1, 5: 1, 2: -1, 3: 999, 1: 1}, who="ann")
    assert len(error.value.problems) == 5
    assert binning_of(binned).quotas == []
    with pytest.raises(InputError, match="rois bin"):
        set_quotas(binned, organ="spleen", total=2, who="ann")
    seen = binning_of(binned).row_version
    set_quotas(binned, organ="liver", total=4, who="ann")
    with pytest.raises(ChangedError, match="ann set its quotas at"):
        set_quotas(binned, organ="liver", total=5, who="bob", expected_version=seen)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("artefact", "artefact"),
        ("  duplicate ", "duplicate"),
        ("taken back", "other: taken back"),
        ("other: folded", "other: folded"),
        ("picked across the bins", "other: picked across the bins"),
    ],
)
def test_a_reason_is_one_of_the_known_or_stands_behind_other(said: str, kept: str) -> None:
    assert rejection_reason(said) == kept


@pytest.mark.parametrize("said", ["", "   ", "other: ", "x" * (MAX_REASON + 1), "a\nb"])
def test_a_reason_that_is_none_is_refused(said: str) -> None:
    with pytest.raises(InputError):
        rejection_reason(said)


def test_a_rejection_with_a_reason_can_be_taken_back(binned: Workspace) -> None:
    me = binned.actor.name
    roi = list_rois(binned, states=("candidate",))[0][0]
    reject_roi(binned, roi.id, who=me, reason=rejection_reason("taken back"))
    assert [choice.roi.id for choice in own_choices(binned, organ="liver")] == [roi.id]


def test_the_numbers_of_a_selection(binned: Workspace) -> None:
    empty = selection_numbers(binned, organ="liver")
    assert (empty.selected, empty.bins_covered, empty.diversity) == (0, 0, None)
    assert "0 regions of interest were selected" in methods_text(empty)
    select_across_bins(binned, organ="liver", per_bin=2, who="test")
    first, second, third = [roi.id for roi, _ in list_rois(binned, states=("candidate",))[:3]]
    reject_roi(binned, first, who="test", reason="artefact")
    reject_roi(binned, second, who="test", reason="other: folded")
    reject_roi(binned, third, who="test")
    numbers = selection_numbers(binned, organ="liver")
    assert (numbers.candidates, numbers.selected, numbers.bins_covered) == (24, 8, 4)
    assert (numbers.slides, numbers.all_slides, dict(numbers.by_magnification)) == (2, 2, {"20x": 8})
    assert dict(numbers.rejected) == {"artefact": 1, "other": 1, "no reason given": 1}
    said = methods_text(numbers)
    assert "24 candidate regions of liver on 2 slides were embedded with colour-texture" in said
    assert "8 regions of interest (8 at 20x) were selected, from 4 of 4 bins and 2 slides." in said
    assert "3 candidates were rejected" in said


def test_a_pick_is_not_measured_in_the_encoder_that_made_the_bins(binned: Workspace) -> None:
    select_across_bins(binned, organ="liver", per_bin=1, who="test")
    with pytest.raises(InputError, match="were made by colour-texture"):
        measure_diversity(binned, organ="liver", encoder="colour-texture", who="test")
    with pytest.raises(InputError, match="random-picks"):
        measure_diversity(binned, organ="liver", encoder="colour-texture", random_picks=0, who="test")
    with pytest.raises(InputError, match="rois bin"):
        measure_diversity(binned, organ="spleen", encoder="colour-texture", who="test")
    assert last_diversity(binned, organ="liver") is None


def test_diversity_is_measured_kept_in_the_trail_and_known_to_be_of_another_pick(binned: Workspace) -> None:
    # The bins as another encoder might have made them: what is asked here is the comparison, not the encoder.
    with binned.writing() as session:
        session.get_one(Binning, binning_of(binned).id).encoder = "another-encoder"
    with pytest.raises(InputError, match="0 of the ROIs"):
        measure_diversity(binned, organ="liver", encoder="colour-texture", who="test")
    select_across_bins(binned, organ="liver", per_bin=1, who="test")
    report = measure_diversity(binned, organ="liver", encoder="colour-texture", random_picks=50, who="ann")
    assert (report.rois, report.candidates, report.random_picks) == (4, 24, 50)
    assert 1 <= report.vendi.picked <= 4
    assert report.vendi.low <= report.vendi.mean <= report.vendi.high
    assert sum(report.histogram.counts) == 50
    kept = last_diversity(binned, organ="liver")
    assert kept is not None
    assert (kept.report, kept.who) == (report, "ann")
    assert verify_trail(binned).faults == []
    numbers = selection_numbers(binned, organ="liver")
    assert numbers.same_pick
    assert "Vendi Score" in methods_text(numbers)
    again = measure_diversity(binned, organ="liver", encoder="colour-texture", random_picks=50, who="ann")
    assert again == report, "the same seed, the same figures"
    select_across_bins(binned, organ="liver", per_bin=2, who="test")
    numbers = selection_numbers(binned, organ="liver")
    assert not numbers.same_pick
    assert "Vendi" not in methods_text(numbers)


def test_bins_that_were_changed_past_the_program_are_named(binned: Workspace) -> None:
    def found() -> tuple[str, str]:
        finding = next(one for one in check_workspace(binned) if one.what == "bins")
        return finding.state, finding.found

    assert found()[0] == "ok"
    with binned.writing() as session:
        session.get_one(Roi, list_rois(binned, states=("candidate",))[0][0].id).bin = 3
    assert found() == ("broken", "changed past the program: bins of liver")
