"""The demo workspace: every step for real, the same again without doing it twice, a real slide on wish."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from evaluation.items import CATEGORIES
from pipeline.demo import _build, build_demo
from pipeline.demo._real_slide import RealSlideError, add_real_slide
from pipeline.errors import InputError
from pipeline.ingest import list_slides
from pipeline.progress import silent
from pipeline.review import list_items
from pipeline.rois import current_binning, list_rois
from pipeline.seeds import list_seeds
from pipeline.workspace import Workspace, open_workspace
from tests.databases import new_workspace, on_new_database

pytestmark = pytest.mark.sqlite("its steps are asked on both engines, each by its own tests")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("demo") / "workspace"
    on_new_database(root, lambda: build_demo(root))
    return root


def test_every_step_made_something(demo: Path) -> None:
    summary = build_demo(demo)
    assert all(summary.counts[step] > 0 for step in summary.counts if step != "seeds without items"), summary.counts
    assert summary.counts["seeds without items"] == 0
    assert summary.counts["items"] == 3 * summary.counts["seeds"]
    assert summary.counts["released"] + summary.counts["escalated"] == summary.counts["items"]
    assert {row.model for row in summary.baselines} == {"offline/random", "offline/first"}
    for row in summary.baselines:
        assert all(score is not None and 0 <= score <= 1 for score in row.scores)
    workspace = open_workspace(demo)
    assert {entry.seed.category for entry in list_seeds(workspace)} == set(CATEGORIES)
    assert len({slide.organ for slide in list_slides(workspace)}) >= 3
    assert len({slide.institution for slide in list_slides(workspace)}) == 2
    assert not any(entry.version.provenance["is_language_model"] for entry in list_items(workspace))
    workspace.engine.dispose()


def test_a_finished_demo_is_only_summed_up(demo: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in demo.rglob("*.tiff")}
    first, second = build_demo(demo), build_demo(demo)
    assert first.counts == second.counts
    assert {path: path.stat().st_mtime_ns for path in demo.rglob("*.tiff")} == before


def test_another_workspace_is_not_taken_for_the_demo(tmp_path: Path) -> None:
    new_workspace(tmp_path / "mine").engine.dispose()
    with pytest.raises(InputError, match="not the demo"):
        build_demo(tmp_path / "mine")


def test_a_demo_that_was_stopped_between_bins_and_rois_selects_them_all(
    with_slides: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_build, "select_across_bins", stopped)
        with pytest.raises(KeyboardInterrupt):
            _build._sample_and_select(with_slides, "liver", "test", silent)
    _build._sample_and_select(with_slides, "liver", "test", silent)
    binning = current_binning(with_slides, "liver")
    assert binning is not None
    assert len(list_rois(with_slides)) >= binning.bins


def test_a_demo_that_was_stopped_before_its_workspace_was_made_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "demo" / "drawings").mkdir(parents=True)
    monkeypatch.setattr(_build, "_run_every_step", lambda *_: None)
    summary = on_new_database(tmp_path / "demo", lambda: build_demo(tmp_path / "demo"))
    assert summary.counts["slides"] == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("")
    with pytest.raises(InputError, match="not an empty folder"):
        build_demo(tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = new_workspace(tmp_path / "workspace")
    (made.root / "drawings").mkdir()
    yield made
    made.engine.dispose()


@pytest.fixture
def website(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and the address that serves it."""
    folder = tmp_path / "site"
    folder.mkdir()
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_the_real_slide_is_added_once(workspace: Workspace, website: tuple[Path, str], shared_data: Path) -> None:
    folder, address = website
    (folder / "slide.svs").write_bytes((shared_data / "slides" / "cmu-1-small-region.svs").read_bytes())
    assert "was added" in add_real_slide(workspace, who="test", url=f"{address}/slide.svs")
    assert "already" in add_real_slide(workspace, who="test", url="http://127.0.0.1:1/never-asked")
    assert [slide.licence for slide in list_slides(workspace)] == ["CC0-1.0"]


def test_another_file_in_its_place_is_not_used(workspace: Workspace, website: tuple[Path, str]) -> None:
    folder, address = website
    (folder / "slide.svs").write_bytes(b"something else")
    with pytest.raises(RealSlideError, match="another file than expected"):
        add_real_slide(workspace, who="test", url=f"{address}/slide.svs")
    assert list_slides(workspace) == []


@pytest.mark.parametrize("path", ["gone.svs", ""])
def test_without_a_network_the_message_says_what_to_do(
    workspace: Workspace, website: tuple[Path, str], path: str
) -> None:
    address = website[1] if path else "http://127.0.0.1:1"
    with pytest.raises(RealSlideError, match="demo --real-slide"):
        add_real_slide(workspace, who="test", url=f"{address}/{path}")
