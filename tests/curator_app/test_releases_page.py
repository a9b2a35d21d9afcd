"""The Releases page without a browser: the checklist, building, and what verifying finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from curator_app.pages.releases import next_version
from pipeline.releases import list_releases
from pipeline.review import list_items
from pipeline.workspace import Workspace
from tests.curator_app.conftest import open_page
from tests.curator_app.filled import approve_all, fill_with_items


@pytest.fixture
def approved(workspace: Workspace, tmp_path: Path) -> Workspace:
    """A workspace with six approved items."""
    approve_all(fill_with_items(workspace, tmp_path))
    return workspace


def _said(page: AppTest) -> str:
    assert not page.exception, page.exception
    said = [*page.markdown, *page.error, *page.success, *page.get("html"), *page.subheader]
    return "\n".join(getattr(element, "value", None) or element.proto.body for element in said)


def test_an_empty_workspace_says_what_to_do_first(workspace: Workspace) -> None:
    said = _said(open_page(workspace, "releases"))
    assert "Review items first" in said
    assert "None yet." in said


def test_the_checklist_counts_and_the_card_follows_the_names(approved: Workspace) -> None:
    page = open_page(approved, "releases")
    said = _said(page)
    assert "6 items on 2 images; 6 of them in no release yet" in said
    for counted in ("MCQ <b>2</b>", "KPrim <b>2</b>", "Liver <b>3</b>", "Kidney <b>3</b>"):
        assert counted in said
    page.text_input(key="release_name").set_value("nephro")
    page.text_input(key="release_licence").set_value("CC0-1.0").run()
    assert "# nephro 0.1.0" in _said(page)
    assert "Questions, keys and rubrics: CC0-1.0." in _said(page)
    assert page.button(key="build").label.startswith("Build nephro 0\\.1\\.0 of 6 items")


def test_building_freezes_the_items_and_names_every_file(approved: Workspace) -> None:
    page = open_page(approved, "releases")
    page.button(key="build").click().run()
    said = _said(page)
    (release,) = list_releases(approved)
    assert {entry.item.state for entry in list_items(approved)} == {"released"}
    assert "○ unsigned" in said
    assert release.path in said
    assert release.content_sha256[:12] in said
    assert "data/test-00000-of-00001.parquet" in said
    assert "all of them are in a release already" in said
    assert page.text_input(key="release_version").value == "0.2.0"


def test_a_bad_name_is_refused(approved: Workspace) -> None:
    page = open_page(approved, "releases")
    page.text_input(key="release_name").set_value("My Benchmark")
    page.button(key="build").click().run()
    assert "My Benchmark" in page.error[0].value
    assert list_releases(approved) == []


def test_a_shut_gate_names_the_fault_and_the_page_that_mends_it(approved: Workspace) -> None:
    entry = list_items(approved)[0]
    (approved.root / str(entry.roi.image_path)).write_bytes(b"another image")
    page = open_page(approved, "releases")
    assert entry.roi.id in _said(page).replace("\\", "")
    assert page.button(key="build").disabled
    assert page.button(key="mend_0").label == "Open Sample ROIs"


def test_verifying_finds_a_changed_file(approved: Workspace) -> None:
    page = open_page(approved, "releases")
    page.button(key="build").click().run()
    (release,) = list_releases(approved)
    page.button(key=f"verify_{release.id}").click().run()
    assert "✓ Every file has the SHA-256" in _said(page)
    (Path(release.path) / "README.md").write_text("something else")
    page.button(key=f"verify_{release.id}").click().run()
    assert "README.md: its SHA-256 differs" in page.error[0].value.replace("\\", "")


@pytest.mark.parametrize(
    ("known", "expected"), [([], "0.1.0"), (["0.1.0"], "0.2.0"), (["final", "2.9.4", "1.0.0"], "2.10.0")]
)
def test_the_next_version(known: list[str], expected: str) -> None:
    assert next_version(known) == expected
