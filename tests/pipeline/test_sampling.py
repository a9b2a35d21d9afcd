"""Candidates at several magnifications, from several studies, with their artefacts, whole after a kill."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlmodel import col, select

from db import utc_now
from db.tables import AuditEvent, Roi, Slide
from evaluation.slides import Region, overlap_share
from pipeline import sampling
from pipeline.errors import InputError
from pipeline.ingest import SlideMetadata, add_slides, list_slides
from pipeline.roi_flags import flags_of
from pipeline.rois import list_rois
from pipeline.sampling import SampleReport, sample_candidates
from pipeline.workspace import Workspace, open_workspace
from tests.databases import new_workspace
from tests.evaluation.slides.drawing import glass, stain, write_tiff
from tests.pipeline.conftest import METADATA, draw_slide

MIXED = ((20.0, 0.5), (10.0, 0.3), (5.0, 0.2))


def places(workspace: Workspace) -> list[tuple[str, int, int, float | None]]:
    rows = list_rois(workspace, states=("candidate",))
    return sorted((slide.content_sha256, roi.x, roi.y, roi.mpp) for roi, slide in rows)


def draw(workspace: Workspace, **changed: object) -> SampleReport:
    arguments: dict[str, object] = {"organ": "liver", "count": 30, "size": 128, "max_overlap": 0.6, "who": "test"}
    return sample_candidates(workspace, **{**arguments, **changed})  # type: ignore[arg-type]


def test_several_magnifications_in_one_draw_have_their_shares(with_slides: Workspace) -> None:
    report = draw(with_slides, magnifications=MIXED)
    assert report.by_magnification() == [(20.0, 15, 15), (10.0, 9, 9), (5.0, 6, 6)]
    rois = [roi for roi, _ in list_rois(with_slides, states=("candidate",))]
    assert Counter(roi.magnification for roi in rois) == {"20x": 15, "10x": 9, "5x": 6}
    assert (report.asked, report.drawn, report.added) == (30, 30, 30)
    again = draw(with_slides, magnifications=tuple(reversed(MIXED)))
    assert (again.drawn, again.added) == (30, 0), "the order in which they are named does not matter"


@pytest.mark.parametrize(
    ("magnifications", "said"),
    [
        (((20.0, 0.6), (5.0, 0.3)), "add up to 0.9"),
        (((20.0, 0.5), (20.1, 0.5)), "same resolution"),
        (((20.0, 1.0), (5.0, 0.0)), "above 0"),
        ((), "give 1 to 8"),
        (((90.0, 1.0),), "between 0.5 and 80"),
    ],
)
def test_shares_that_cannot_be_are_refused(
    with_slides: Workspace, magnifications: tuple[tuple[float, float], ...], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        draw(with_slides, magnifications=magnifications)
    assert places(with_slides) == []


def test_each_study_has_an_equal_part_whatever_its_number_of_slides(workspace: Workspace, tmp_path: Path) -> None:
    for number, study in enumerate(("one", "two", "two", "two")):
        metadata = SlideMetadata(organ="liver", source="drawn", licence="CC0-1.0", study=study)
        assert not add_slides(
            workspace, [draw_slide(tmp_path / f"{number}.tiff", seed=number)], metadata, who="t"
        ).problems
    report = draw(workspace, count=36)
    rows = list_rois(workspace, states=("candidate",))
    assert Counter(slide.study for _, slide in rows) == {"one": 18, "two": 18}
    assert Counter(slide.name for _, slide in rows if slide.study == "two") == {"1.tiff": 6, "2.tiff": 6, "3.tiff": 6}
    assert all(part.asked == part.drawn and part.why is None for part in report.parts)
    more = draw(workspace, count=400, max_overlap=0.0, size=256, seed=5)
    assert more.drawn < 400
    assert {part.why for part in more.parts} == {"no more fit with at most 0% overlap"}
    assert sum(part.asked for part in more.parts) == 400


def test_what_a_slide_cannot_give_the_others_do_and_the_report_says_why(workspace: Workspace, tmp_path: Path) -> None:
    bare = write_tiff(tmp_path / "bare.tiff", glass(1_024, 1_024), levels=1)
    paths = [bare, draw_slide(tmp_path / "a.tiff"), draw_slide(tmp_path / "b.tiff", seed=1)]
    assert not add_slides(workspace, paths, METADATA, who="test").problems
    report = draw(workspace, count=30)
    parts = {part.slide: part for part in report.parts}
    assert (parts["bare.tiff"].asked, parts["bare.tiff"].drawn, parts["bare.tiff"].why) == (10, 0, "it has no tissue")
    assert parts["a.tiff"].drawn == parts["b.tiff"].drawn == 15


def test_overlap_is_limited_within_a_slide_and_magnification(with_slides: Workspace) -> None:
    draw(with_slides, magnifications=MIXED, max_overlap=0.2)
    draw(with_slides, magnifications=MIXED, max_overlap=0.2, seed=1)
    rows = list_rois(with_slides, states=("candidate",))
    for (one, slide), (two, other) in itertools.combinations(rows, 2):
        if slide.id == other.id and one.mpp == two.mpp:
            regions = [Region(roi.x, roi.y, roi.size, roi.mpp or 0.0) for roi in (one, two)]
            assert overlap_share(*regions, slide_mpp=slide.mpp or 0.0) <= 0.2


def test_one_audit_event_for_a_draw(with_slides: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_STORED_AT_ONCE", 4)
    draw(with_slides, magnifications=MIXED, seed=3)
    draw(with_slides, magnifications=MIXED, seed=3)
    with with_slides.reading() as session:
        (event,) = session.exec(select(AuditEvent).where(AuditEvent.action == "sample")).all()
    assert (event.who, event.object_type) == ("test", "roi")
    assert event.new is not None
    assert event.new["drawn"] == {"20x": 15, "10x": 9, "5x": 6}
    assert (event.new["seed"], event.new["slides"], event.new["count"]) == (3, 2, 30)


def test_artefacts_are_measured_and_listed_last(workspace: Workspace, tmp_path: Path) -> None:
    image = stain(glass(1_024, 1_024), glass(1_024, 1_024)[..., 0] > 0, 0.15, 0.25)
    image[:, 512:] = (20, 40, 160)
    inked = write_tiff(tmp_path / "inked.tiff", image, levels=2)
    assert not add_slides(workspace, [inked, draw_slide(tmp_path / "clean.tiff")], METADATA, who="test").problems
    report = draw(workspace, count=60, min_tissue=0.1, size=256)
    rows = list_rois(workspace, states=("candidate",))
    flagged = [bool(flags_of(roi)) for roi, _ in rows]
    assert 0 < report.flagged == sum(flagged) < len(rows) == report.drawn
    assert flagged == sorted(flagged)
    pen = [roi for roi, _ in rows if "pen" in flags_of(roi)]
    assert pen
    assert all(0.02 <= roi.flags["pen"]["value"] <= 1 for roi in pen)
    for roi, _ in rows:
        assert set(roi.flags) == {"pen", "blank", "out_of_focus", "coverslip_edge"}


def _draw_and_die(root: Path, after: int) -> None:
    """Draw in a process of its own, and end it the hard way after some portions."""
    stored: Callable[..., bool] = sampling._Draw._store
    calls = itertools.count(1)

    def store(*arguments: object) -> bool:
        if next(calls) > after:
            os.kill(os.getpid(), signal.SIGKILL)
        return stored(*arguments)

    sampling._Draw._store = store  # type: ignore[method-assign]
    sampling._STORED_AT_ONCE = 4
    draw(open_workspace(root))


def test_a_draw_that_was_killed_is_whole_and_goes_on_to_the_same(
    workspace: Workspace, drawn_slides: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = new_workspace(tmp_path / "other")
    for one in (workspace, other):
        add_slides(one, drawn_slides, METADATA, who="test")
    draw(other)
    if workspace.settings.database_url is not None:
        monkeypatch.setenv("HISTOCURATOR_DATABASE_URL", workspace.settings.database_url)
    killed = multiprocessing.get_context("spawn").Process(target=_draw_and_die, args=(workspace.root, 2))
    killed.start()
    killed.join(120)
    assert killed.exitcode == -signal.SIGKILL
    rows = list_rois(workspace, states=("candidate",))
    assert len(rows) == 8
    assert all((workspace.root / (roi.thumbnail_path or "")).is_file() and roi.flags for roi, _ in rows)
    report = draw(workspace)
    assert (report.drawn, report.added) == (30, 22)
    assert places(workspace) == places(other)
    named = {roi.thumbnail_path for roi, _ in list_rois(workspace, states=("candidate",))}
    assert {f"thumbnails/{path.name}" for path in workspace.thumbnails.iterdir()} == named
    other.engine.dispose()


def test_a_draw_of_somebody_else_at_the_same_time_is_not_overlapped(
    with_slides: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = sampling.draw_regions

    def overtaken(*arguments: object, **named: object) -> object:
        found = planned(*arguments, **named)  # type: ignore[arg-type]
        monkeypatch.setattr(sampling, "draw_regions", planned)
        draw(with_slides, count=6, size=256, max_overlap=0.1, seed=9)
        return found

    monkeypatch.setattr(sampling, "draw_regions", overtaken)
    report = draw(with_slides, count=6, size=256, max_overlap=0.1)
    left_out = report.drawn - report.added
    assert left_out > 0
    assert "overlapped what another draw stored" in report.problems[0]
    assert len(places(with_slides)) == 6 + report.added


def test_a_slide_that_is_withdrawn_meanwhile_gets_nothing_and_it_is_said(
    with_slides: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_STORED_AT_ONCE", 4)
    gone = list_slides(with_slides)[0]

    def withdraw(done: int, _total: int, _message: str, /) -> None:
        if done == 4:
            with with_slides.writing() as session:
                session.get_one(Slide, gone.id).withdrawn_at = utc_now()

    report = draw(with_slides, progress=withdraw)
    assert report.problems == (f"{gone.name}: was withdrawn meanwhile; nothing more was stored on it.",)
    with with_slides.reading() as session:
        rows = session.exec(select(Roi).where(col(Roi.slide_id) == gone.id)).all()
    assert len(rows) == 4
    assert len(list(with_slides.thumbnails.iterdir())) == report.added == 19
