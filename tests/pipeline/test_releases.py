"""Releases: what goes in, what is refused, what never changes."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from evaluation.vqa import load_benchmark
from pipeline.errors import InputError, NotFoundError
from pipeline.people import actor_of, add_account, sign_release
from pipeline.release_folder import SIGNATURE_FILE
from pipeline.releases import build_release, find_release, list_releases, release_gate, verify_release
from pipeline.review import approve_passed, decide, list_items, undo_decision
from pipeline.variants import choose_models, generate_items
from pipeline.workspace import Workspace


@pytest.fixture
def approved(with_seeds: Workspace) -> Workspace:
    generate_items(with_seeds, models=choose_models(with_seeds, generator=None, checker=None), who="a")
    approve_passed(with_seeds, as_user="a")
    return with_seeds


def build(workspace: Workspace, **changes: object) -> Path:
    arguments: dict[str, object] = {"name": "liver", "version": "1.0.0", "who": "a", **changes}
    return build_release(workspace, **arguments).path  # type: ignore[arg-type]


def test_a_release_holds_what_was_approved(approved: Workspace) -> None:
    expected = {entry.item.id: entry for entry in list_items(approved, states=("approved",))}
    folder = build(approved)
    manifest = json.loads((folder / "manifest.json").read_text())
    for file in manifest["files"]:
        assert hashlib.sha256((folder / file["path"]).read_bytes()).hexdigest() == file["sha256"]
    # Whether it is signed stands beside the manifest, which never changes.
    assert "signed" not in manifest
    rows = load_benchmark(str(folder)).items
    assert {row.item_id for row in rows} == set(expected)
    for row in rows:
        content = expected[row.item_id or ""].content
        assert row.question == content.stem
        if content.format == "mcq":
            assert row.choices[row.key] == content.key_option.text
        elif content.format == "kprim":
            assert row.truth == content.truth
        else:
            assert row.answer == content.answer
        assert row.image_license == "CC0-1.0"
    assert {entry.item.state for entry in list_items(approved, states=("released",))} == {"released"}
    card = (folder / "README.md").read_text()
    assert "**unsigned** unless `signature.json` stands beside it" in card
    assert "offline/author | no" in card


def test_the_same_content_again_is_allowed_and_changes_nothing(approved: Workspace) -> None:
    folder = build(approved)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    result = build_release(approved, name="liver", version="1.0.0", who="a")
    assert result.existed
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert len(list_releases(approved)) == 1


def test_other_content_under_a_version_is_refused(approved: Workspace) -> None:
    later = list_items(approved, states=("approved",))[0].item
    undo_decision(approved, later.id, who="a")
    build(approved)
    decide(approved, later.id, "approve", who="a")
    with pytest.raises(InputError, match="other content"):
        build(approved)
    assert build(approved, version="1.1.0").name == "1.1.0"


def test_a_folder_with_other_things_is_left_alone(approved: Workspace, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds something else"):
        build(approved, out=tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["notes.txt"]
    assert list_releases(approved) == []


def test_a_changed_image_shuts_the_gate(approved: Workspace) -> None:
    roi = list_items(approved)[0].roi
    image = approved.root / (roi.image_path or "")
    image.write_bytes(image.read_bytes() + b" ")
    problems = release_gate(approved).problems
    assert any(roi.id in problem and "not the one that was selected" in problem for problem in problems)
    with pytest.raises(InputError, match="cannot be built"):
        build(approved)


def test_damage_is_found(approved: Workspace) -> None:
    folder = build(approved)
    assert verify_release(folder) == []
    (folder / "README.md").write_text("changed")
    assert verify_release(folder) == ["README.md: its SHA-256 differs from the manifest's"]
    with pytest.raises(InputError, match="changed since"):
        build(approved)


def test_a_file_that_nobody_listed_is_a_difference(approved: Workspace) -> None:
    folder = build(approved)
    (folder / "data" / "test-more.parquet").write_bytes(b"rows")
    assert verify_release(folder) == ["data/test-more.parquet: is not in the manifest"]


def test_building_again_keeps_signatures_and_gives_lost_ones_back(approved: Workspace, tmp_path: Path) -> None:
    folder = build(approved)
    account = add_account(approved, "ana", roles=["coordinator"], password="correct horse battery", who="a")
    release = find_release(approved, "liver", "1.0.0")
    sign_release(approved.acting_as(actor_of(account)), release.id, password="correct horse battery", address="test")
    signed = (folder / SIGNATURE_FILE).read_bytes()
    assert build_release(approved, name="liver", version="1.0.0", who="a").existed
    assert (folder / SIGNATURE_FILE).read_bytes() == signed
    shutil.rmtree(folder)
    assert build(approved) == folder
    assert (folder / SIGNATURE_FILE).read_bytes() == signed
    # A further copy of the same release is the same release.
    assert (build(approved, out=tmp_path / "copy") / SIGNATURE_FILE).read_bytes() == signed
    assert [verify_release(path) for path in (folder, tmp_path / "copy")] == [[], []]


def test_a_release_is_found_by_name_and_version(approved: Workspace) -> None:
    build(approved)
    assert find_release(approved, "liver", "1.0.0").version == "1.0.0"
    with pytest.raises(NotFoundError, match=r"no release liver 2\.0\.0"):
        find_release(approved, "liver", "2.0.0")


@pytest.mark.parametrize("name", ["", "../up", "A", "a b", ".hidden", "x" * 65])
def test_names_that_could_go_astray_are_refused(approved: Workspace, name: str) -> None:
    with pytest.raises(InputError, match="name"):
        build(approved, name=name)
