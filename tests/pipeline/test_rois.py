"""Candidates, bins, selection and import."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from evaluation.slides import decode_image
from pipeline.bins import bin_candidates
from pipeline.errors import ChangedError, InputError
from pipeline.ingest import add_slides, list_slides
from pipeline.roi_import import ROI_COLUMNS, import_rois
from pipeline.rois import get_roi, list_rois, own_choices, reject_roi, return_roi, select_across_bins, select_roi
from pipeline.sampling import sample_candidates
from pipeline.seeds import SeedText, save_seed
from pipeline.slide_edits import withdraw_slide, withdrawn_slides
from pipeline.workspace import Workspace
from tests.databases import new_workspace
from tests.pipeline.conftest import METADATA, draw_slide, write_csv


def test_candidates_lie_on_the_slide_and_have_a_picture(with_slides: Workspace) -> None:
    report = sample_candidates(with_slides, organ="liver", count=10, size=128, who="test")
    assert (report.asked, report.drawn, report.added) == (10, 10, 10)
    for roi, slide in list_rois(with_slides, states=("candidate",)):
        assert 0 <= roi.x <= slide.width - 128
        assert 0 <= roi.y <= slide.height - 128
        assert roi.tissue_share is not None
        assert roi.tissue_share >= 0.5
        assert roi.image_path is None, "a candidate has a thumbnail, not a PNG"
        assert roi.thumbnail_path is not None
        assert (with_slides.root / roi.thumbnail_path).is_file()


def test_the_same_seed_draws_the_same_and_adds_nothing(with_slides: Workspace) -> None:
    sample_candidates(with_slides, organ="liver", count=10, size=128, seed=4, who="test")
    again = sample_candidates(with_slides, organ="liver", count=10, size=128, seed=4, who="test")
    assert (again.drawn, again.added) == (10, 0)
    other = sample_candidates(with_slides, organ="liver", count=10, size=128, seed=5, who="test")
    assert other.added > 0


def test_fewer_than_asked_is_no_error(with_slides: Workspace) -> None:
    report = sample_candidates(with_slides, organ="liver", count=500, size=256, max_overlap=0, who="test")
    assert 0 < report.drawn < 500


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"count": 0}, "count"),
        ({"size": 5_000}, "size"),
        ({"magnifications": [(0.0, 1.0)]}, "magnification"),
        ({"min_tissue": 1.2}, "min-tissue"),
        ({"max_overlap": 1.0}, "max-overlap"),
        ({"organ": "spleen"}, "spleen"),
    ],
)
def test_a_value_out_of_range_is_named(with_slides: Workspace, values: dict[str, object], named: str) -> None:
    arguments: dict[str, object] = {"organ": "liver", "count": 5, "size": 128, **values}
    with pytest.raises(InputError, match=named):
        sample_candidates(with_slides, who="test", **arguments)  # type: ignore[arg-type]
    assert list_rois(with_slides, states=("candidate",)) == []


def test_bins_then_selection_across_them(with_slides: Workspace) -> None:
    sample_candidates(with_slides, organ="liver", count=20, size=128, who="test")
    binning = bin_candidates(with_slides, organ="liver", bins=4, who="test")
    assert sum(binning.sizes) == 20
    selected = select_across_bins(with_slides, organ="liver", per_bin=1, who="test")
    assert sorted(roi.bin for roi in selected if roi.bin is not None) == list(range(binning.bins))
    for roi in selected:
        assert roi.image_path is not None
        data = (with_slides.root / roi.image_path).read_bytes()
        assert hashlib.sha256(data).hexdigest() == roi.image_sha256
        assert decode_image(data, max_pixels=10**6).shape == (128, 128, 3)
    assert select_across_bins(with_slides, organ="liver", per_bin=1, who="test") == []


def test_bins_again_embed_only_what_is_new(with_slides: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    sample_candidates(with_slides, organ="liver", count=6, size=128, who="test")
    bin_candidates(with_slides, organ="liver", bins=2, who="test")
    sample_candidates(with_slides, organ="liver", count=6, size=128, seed=1, who="test")
    new = len(list_rois(with_slides, states=("candidate",))) - 6
    seen: list[int] = []
    bin_candidates(
        with_slides, organ="liver", bins=2, who="test", progress=lambda _done, total, _message: seen.append(total)
    )
    assert set(seen) == {new, 6 + new}, "embeddings, and then the clustering of all"


def test_selecting_before_bins_says_what_to_do(with_slides: Workspace) -> None:
    with pytest.raises(InputError, match="rois bin"):
        select_across_bins(with_slides, organ="liver", per_bin=1, who="test")


def test_rejecting_and_taking_back(with_rois: Workspace) -> None:
    candidate = list_rois(with_rois, states=("candidate",))[0][0]
    assert reject_roi(with_rois, candidate.id, who="test").state == "rejected"
    assert return_roi(with_rois, candidate.id, who="test").state == "candidate"
    assert select_roi(with_rois, candidate.id, who="test").state == "selected"
    save_seed(with_rois, SeedText("What is it?", "A vein", "identify_anatomy"), roi_id=candidate.id, who="test")
    with pytest.raises(InputError, match="has a seed"):
        return_roi(with_rois, candidate.id, who="test")


def test_taking_back_leads_to_the_state_before(with_rois: Workspace) -> None:
    roi = list_rois(with_rois)[0][0].id
    reject_roi(with_rois, roi, who="test")
    select_roi(with_rois, roi, who="test")
    reject_roi(with_rois, roi, who="test")
    backwards = [return_roi(with_rois, roi, who="test").state for _ in range(4)]
    assert backwards == ["selected", "rejected", "selected", "candidate"]
    with pytest.raises(InputError, match="no choice to take back"):
        return_roi(with_rois, roi, who="test")


def test_what_somebody_else_chose_since_stands(with_rois: Workspace) -> None:
    candidate = list_rois(with_rois, states=("candidate",))[0][0]
    seen = candidate.row_version
    picked = select_roi(with_rois, candidate.id, who="ana", expected_version=seen)
    said = r"This ROI was changed since you saw it: ana made it selected at \d\d:\d\d:\d\d\. Nothing was done"
    for change in (select_roi, reject_roi):
        with pytest.raises(ChangedError, match=said):
            change(with_rois, candidate.id, who="bob", expected_version=seen)
    with pytest.raises(ChangedError, match="Only your own choice"):
        return_roi(with_rois, candidate.id, who="bob", expected_version=picked.row_version)
    reject_roi(with_rois, candidate.id, who="bob", expected_version=picked.row_version)
    with pytest.raises(ChangedError, match="bob made it rejected at"):
        return_roi(with_rois, candidate.id, who="ana", expected_version=picked.row_version)
    assert get_roi(with_rois, candidate.id)[0].state == "rejected"


def test_own_choices_that_can_be_taken_back(with_slides: Workspace) -> None:
    sample_candidates(with_slides, organ="liver", count=12, size=128, who="test")
    bin_candidates(with_slides, organ="liver", bins=2, who="test")
    me = with_slides.actor.name
    select_across_bins(with_slides, organ="liver", per_bin=1, who=me)
    assert own_choices(with_slides, organ="liver") == [], "nobody chose these one by one"
    first, second, third, fourth = [roi.id for roi, _ in list_rois(with_slides, states=("candidate",))[:4]]
    for roi in (first, second, third):
        select_roi(with_slides, roi, who=me)
    reject_roi(with_slides, first, who=me)
    reject_roi(with_slides, second, who="bob")
    reject_roi(with_slides, fourth, who=me)
    return_roi(with_slides, fourth, who=me)
    save_seed(with_slides, SeedText("What is it?", "A vein", "identify_anatomy"), roi_id=third, who="bob")
    (choice,) = own_choices(with_slides, organ="liver")
    assert (choice.roi.id, choice.roi.state, choice.before) == (first, "rejected", "selected")
    assert own_choices(with_slides, organ="kidney") == []


def test_import_of_images_and_places(with_slides: Workspace, tmp_path: Path) -> None:
    picture = np.random.default_rng(0).integers(0, 255, (90, 120, 3), dtype=np.uint8)
    Image.fromarray(picture).save(tmp_path / "field.png")
    rows = [
        ("field.png", "", "", "", "", "0.5", "kidney", "My lab", "CC0-1.0", "", "", "", ""),
        ("", "slide-0.tiff", "300", "310", "200", "1.0", "", "", "", "", "", "", ""),
    ]
    rois = import_rois(with_slides, write_csv(tmp_path / "rois.csv", ROI_COLUMNS, rows), who="test")
    assert [roi.state for roi in rois] == ["selected", "selected"]
    stored = decode_image(with_slides.root / (rois[0].image_path or ""), max_pixels=10**6)
    assert np.array_equal(stored, picture)
    assert get_roi(with_slides, rois[1].id)[1].name == "slide-0.tiff"
    assert rois[1].magnification == "10x"


def test_every_bad_row_of_an_import_is_listed_and_nothing_imported(with_slides: Workspace, tmp_path: Path) -> None:
    (tmp_path / "notes.png").write_text("no image")
    rows = [
        ("", "slide-0.tiff", "300", "310", "200", "1.0", "", "", "", "", "", "", ""),
        ("notes.png", "", "", "", "", "", "kidney", "My lab", "CC0-1.0", "", "", "", ""),
        ("gone.png", "", "", "", "", "", "kidney", "My lab", "CC0-1.0", "", "", "", ""),
        ("", "unknown.svs", "0", "0", "200", "1", "", "", "", "", "", "", ""),
        ("", "slide-0.tiff", "900", "900", "200", "1", "", "", "", "", "", "", ""),
        ("", "slide-0.tiff", "ten", "0", "200", "1", "", "", "", "", "", "", ""),
        ("", "", "", "", "", "", "", "", "", "", "", "", ""),
        ("", "slide-0.tiff", "300", "310", "200", "1.0", "", "", "", "", "", "", ""),
    ]
    with pytest.raises(InputError) as caught:
        import_rois(with_slides, write_csv(tmp_path / "rois.csv", ROI_COLUMNS, rows), who="test")
    lines = [problem.split(":")[0] for problem in caught.value.problems]
    assert lines == ["line 3", "line 4", "line 5", "line 6", "line 7", "line 9"]
    assert list_rois(with_slides) == []
    assert list(with_slides.rois.iterdir()) == []


def test_an_imported_place_keeps_the_rules_of_a_drawn_one(with_slides: Workspace, tmp_path: Path) -> None:
    withdraw_slide(with_slides, list_slides(with_slides)[1].id, reason="A double.", who="test")
    (standing, gone) = list_slides(with_slides)[0], withdrawn_slides(with_slides)[0]
    rows = [
        ("", standing.id, "300", "310", "200", "0.2", "", "", "", "", "", "", ""),
        ("", standing.id, "-1", "310", "200", "1", "", "", "", "", "", "", ""),
        ("", gone.id, "300", "310", "200", "1", "", "", "", "", "", "", ""),
    ]
    with pytest.raises(InputError) as caught:
        import_rois(with_slides, write_csv(tmp_path / "rois.csv", ROI_COLUMNS, rows), who="test")
    said = ["is finer than the slide", "reaches beyond the slide", f"There is no slide {gone.id}"]
    for words, problem in zip(said, caught.value.problems, strict=True):
        assert words in problem
    assert list_rois(with_slides) == []


def test_the_same_seed_gives_the_same_bins_again_and_elsewhere(drawn_slides: list[Path], tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        workspace = new_workspace(tmp_path / name)
        add_slides(workspace, drawn_slides, METADATA, who="test")
        sample_candidates(workspace, organ="liver", count=24, size=128, who="test")
        for _ in range(2):
            bin_candidates(workspace, organ="liver", bins=4, who="test")
            rows = list_rois(workspace, states=("candidate", "selected"))
            found.append({(slide.name, roi.x, roi.y): roi.bin for roi, slide in rows})
            select_across_bins(workspace, organ="liver", per_bin=1, who="test")
    assert found[0] == found[1] == found[2] == found[3]


def test_two_workspaces_draw_the_same_from_the_same_slides(tmp_path: Path) -> None:
    path = draw_slide(tmp_path / "a.tiff")
    places = []
    for name in ("one", "two"):
        workspace = new_workspace(tmp_path / name)
        add_slides(workspace, [path], METADATA, who="test")
        sample_candidates(workspace, organ="liver", count=8, size=128, seed=3, who="test")
        places.append(sorted((roi.x, roi.y) for roi, _ in list_rois(workspace, states=("candidate",))))
    assert places[0] == places[1]
