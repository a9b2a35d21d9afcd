"""The Releases page without a browser: the checklist, building, and what verifying finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from curator_app.pages.releases import next_version
from curator_app.session import use_workspace
from pipeline.people import MEANING, actor_of, add_account, find_account, list_signatures, sign_release
from pipeline.permissions import Actor
from pipeline.releases import build_release, list_releases
from pipeline.review import list_items
from pipeline.workspace import Workspace
from tests.curator_app.conftest import open_page
from tests.curator_app.filled import approve_all, fill_with_items
from tests.curator_app.typing import type_text, typed

pytestmark = pytest.mark.sqlite("what a page draws and calls; what it reads and writes is asked on both engines")


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


PASSWORD = "correct horse battery staple"


@pytest.fixture
def built(approved: Workspace) -> Workspace:
    """A workspace with one release, an administrator, a coordinator and an auditor."""
    build_release(approved, name="nephro", version="1.0.0", annotation_licence="CC0-1.0", who="test")
    for name, role in (("anna", "admin"), ("carla", "coordinator"), ("audi", "auditor")):
        add_account(approved, name, roles=[role], password=PASSWORD, display_name=f"Dr. {name.title()}", who="test")
    return approved


def _as(workspace: Workspace, name: str) -> Workspace:
    account = find_account(workspace, name)
    assert account is not None
    return workspace.acting_as(actor_of(account))


def _sign_dialog(workspace: Workspace) -> AppTest:
    """Run what stands in the dialog, which AppTest does not keep open, as a page of its own."""
    use_workspace(workspace)
    script = (
        "from curator_app.pages._sign_release import sign_dialog\n"
        "from curator_app.session import workspace\n"
        "from sqlmodel import select\n"
        "from db.tables import Release\n"
        "with workspace().reading() as session:\n"
        "    release = session.exec(select(Release)).one()\n"
        "sign_dialog(release)\n"
    )
    return AppTest.from_string(script, default_timeout=30).run()


def test_signing_asks_for_the_password_and_names_the_signer(built: Workspace) -> None:
    carla = _as(built, "carla")
    (release,) = list_releases(built)
    page = _sign_dialog(carla)
    said = _said(page)
    assert "nephro 1.0.0" in said
    assert release.content_sha256[:12] in said
    assert "Dr. Carla (carla)" in said
    assert typed(page, "What the signature means") == MEANING
    type_text(page, "What the signature means", "approved for <b>study</b> 1")
    page.text_input(key="sign_password").set_value(PASSWORD)
    page.button(key="sign_confirm").click().run()
    assert not page.exception
    assert PASSWORD not in str(page.session_state._state.filtered_state)
    (signature,) = list_signatures(built, release.id)
    assert (signature.name, signature.meaning) == ("carla", "approved for <b>study</b> 1")
    after = _said(open_page(carla, "releases"))
    assert "signed by <strong>Dr. Carla</strong> (carla), coordinator: approved for &lt;b&gt;study&lt;/b&gt; 1" in after
    assert "✓ signed" in after


def test_a_wrong_password_signs_nothing_and_is_forgotten(built: Workspace) -> None:
    page = _sign_dialog(_as(built, "anna"))
    page.text_input(key="sign_password").set_value("not her password at all")
    page.button(key="sign_confirm").click().run()
    assert "The password is wrong" in page.error[0].value
    assert page.text_input(key="sign_password").value == ""
    assert "not her password" not in str(page.session_state._state.filtered_state)
    assert list_signatures(built, list_releases(built)[0].id) == []


def test_a_changed_release_is_not_signed(built: Workspace) -> None:
    (release,) = list_releases(built)
    (Path(release.path) / "README.md").write_text("something else")
    page = _sign_dialog(_as(built, "anna"))
    page.text_input(key="sign_password").set_value(PASSWORD)
    page.button(key="sign_confirm").click().run()
    assert "README.md" in page.error[0].value.replace("\\", "")
    assert list_signatures(built, release.id) == []


def test_sign_is_offered_once_to_each_who_may(built: Workspace) -> None:
    (release,) = list_releases(built)
    key = f"sign_{release.id}"
    sign_release(_as(built, "anna"), release.id, password=PASSWORD, address="")
    offered = {
        name: key in {button.key for button in open_page(_as(built, name), "releases").button}
        for name in ("anna", "carla", "audi")
    }
    assert offered == {"anna": False, "carla": True, "audi": False}
    assert "Dr. Anna" in _said(open_page(_as(built, "audi"), "releases"))


def test_without_accounts_the_dialog_says_that_signing_needs_one(approved: Workspace) -> None:
    build_release(approved, name="nephro", version="1.0.0", annotation_licence="CC0-1.0", who="test")
    page = open_page(approved, "releases")
    assert f"sign_{list_releases(approved)[0].id}" in {button.key for button in page.button}
    dialog = _sign_dialog(approved)
    assert "make the first account" in _said(dialog)
    assert not dialog.text_input


def test_an_auditor_reads_all_and_builds_nothing(built: Workspace) -> None:
    page = open_page(_as(built, "audi"), "releases")
    said = _said(page)
    assert "Card as it will look" in said
    assert "6 items on 2 images" in said
    assert {str(button.key).partition("_")[0] for button in page.button} == {"verify"}


def test_a_role_that_was_taken_away_signs_nothing(built: Workspace) -> None:
    page = _sign_dialog(_as(built, "carla"))
    use_workspace(built.acting_as(Actor("carla", frozenset())))
    page.text_input(key="sign_password").set_value(PASSWORD)
    page.button(key="sign_confirm").click().run()
    assert "may not do this" in page.error[0].value
    assert list_signatures(built, list_releases(built)[0].id) == []


def test_every_file_of_a_release_can_be_downloaded(approved: Workspace) -> None:
    release = build_release(approved, name="liver", version="1.0.0", who="test").release
    said = _said(open_page(approved, "releases"))
    for file in ("data/test-00000-of-00001.parquet", "README.md", "manifest.json"):
        assert f'href="/api/releases/{release.id}/files/{file}"' in said
