"""Signatures under releases: who may, what is refused, and what a crash leaves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread

import pytest
from sqlmodel import select

from db.tables import AuditEvent, Release, Signature
from pipeline.errors import InputError, NotFoundError
from pipeline.people import (
    SignInRefusedError,
    TooManyAttemptsError,
    _signing,
    actor_of,
    add_account,
    close_account,
    find_account,
    list_signatures,
    set_roles,
    sign_release,
)
from pipeline.permissions import NotAllowedError
from pipeline.release_folder import MANIFEST_FILE, SIGNATURE_FILE, verify_release
from pipeline.workspace import Workspace
from tests.pipeline.made_release import put_release
from tests.pipeline.people.conftest import database_bytes

PASSWORDS = {"ana": "correct horse battery", "bo": "staple battery horse", "cy": "another long phrase"}
ROLES = {"ana": ["admin", "author"], "bo": ["coordinator"], "cy": ["author"]}


@pytest.fixture
def people(workspace: Workspace) -> Callable[[str], Workspace]:
    """Three accounts; returns the workspace as one of them may use it."""
    for name, password in PASSWORDS.items():
        add_account(workspace, name, roles=ROLES[name], password=password, display_name=name.title(), who="root")

    def acting(name: str) -> Workspace:
        account = find_account(workspace, name)
        assert account is not None
        return workspace.acting_as(actor_of(account))

    return acting


@pytest.fixture
def release(workspace: Workspace) -> Release:
    """A small release: two files and the manifest that names them."""
    return put_release(workspace, {"README.md": b"a card", "data/test.parquet": b"rows"})


def sign(workspace: Workspace, release: Release, password: str | None = None, **changes: str) -> Signature:
    given = password if password is not None else PASSWORDS[workspace.actor.name]
    return sign_release(workspace, release.id, password=given, address="test", **changes)


def signature_file(release: Release) -> Path:
    return Path(release.path) / SIGNATURE_FILE


def entries(release: Release) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(signature_file(release).read_text())["signatures"]
    return found


def is_unsigned(workspace: Workspace, release: Release) -> bool:
    with workspace.reading() as session:
        row = session.get_one(Release, release.id)
        signed = session.exec(select(AuditEvent).where(AuditEvent.action == "sign")).first()
    return not row.signed and signed is None and list_signatures(workspace, release.id) == []


def test_a_signature_is_recorded_and_stands_beside_the_manifest(
    workspace: Workspace, people: Callable[[str], Workspace], release: Release
) -> None:
    manifest = (Path(release.path) / MANIFEST_FILE).read_bytes()
    signature = sign(people("ana"), release, meaning="  approved   for teaching ")
    assert (signature.role, signature.meaning) == ("admin", "approved for teaching")
    assert signature.content_sha256 == hashlib.sha256(manifest).hexdigest()
    assert entries(release) == [
        {
            "id": signature.id,
            "display_name": "Ana",
            "role": "admin",
            "meaning": "approved for teaching",
            "signed_at": signature.created_at.isoformat(),
            "manifest_sha256": release.content_sha256,
        }
    ]
    assert entries(release)[0]["signed_at"].endswith("+00:00")
    assert (Path(release.path) / MANIFEST_FILE).read_bytes() == manifest
    assert verify_release(Path(release.path)) == []
    with workspace.reading() as session:
        assert session.get_one(Release, release.id).signed
        event = session.exec(select(AuditEvent).where(AuditEvent.action == "sign")).one()
    assert (event.who, event.object_id) == ("ana", release.id)
    assert (event.new or {})["sha256"] == release.content_sha256


def test_several_people_sign_each_once(people: Callable[[str], Workspace], release: Release) -> None:
    sign(people("ana"), release)
    sign(people("bo"), release, meaning="checked")
    with pytest.raises(InputError, match=r"ana signed liver 1\.0\.0 already"):
        sign(people("ana"), release, meaning="again")
    assert [(entry["display_name"], entry["role"]) for entry in entries(release)] == [
        ("Ana", "admin"),
        ("Bo", "coordinator"),
    ]
    assert [row.name for row in list_signatures(people("cy"), release.id)] == ["ana", "bo"]


@pytest.mark.parametrize("password", ["", "wrong", PASSWORDS["bo"]])
def test_only_ones_own_password_signs(
    workspace: Workspace, people: Callable[[str], Workspace], release: Release, password: str
) -> None:
    with pytest.raises(SignInRefusedError):
        sign(people("ana"), release, password)
    assert is_unsigned(workspace, release)
    assert not signature_file(release).exists()


def test_wrong_passwords_are_counted(
    workspace: Workspace, people: Callable[[str], Workspace], release: Release
) -> None:
    for _ in range(10):
        with pytest.raises(SignInRefusedError):
            sign(people("ana"), release, "wrong")
    with pytest.raises(TooManyAttemptsError):
        sign(people("ana"), release)
    assert is_unsigned(workspace, release)


def test_who_may_not_sign(workspace: Workspace, people: Callable[[str], Workspace], release: Release) -> None:
    with pytest.raises(NotAllowedError, match="cy may not do this"):
        sign(people("cy"), release)
    # Who made the workspace has every permission but no password.
    with pytest.raises(InputError, match="no password here"):
        sign(workspace, release, "anything at all")
    before = people("bo")
    set_roles(workspace, "bo", roles=["author"], who="root")
    with pytest.raises(NotAllowedError, match="bo may not do this"):
        sign(before, release)
    stale = people("ana")
    add_account(workspace, "dee", roles=["admin"], password="yet another phrase", who="root")
    close_account(workspace, "ana", reason="left", who="root")
    with pytest.raises(InputError):
        sign(stale, release)
    assert is_unsigned(workspace, release)


def test_what_is_not_there_cannot_be_signed(people: Callable[[str], Workspace]) -> None:
    with pytest.raises(NotFoundError):
        sign_release(people("ana"), "rel_none", password=PASSWORDS["ana"], address="test")


def _remove_folder(folder: Path) -> None:
    folder.rename(folder.with_name("away"))


def _change_file(folder: Path) -> None:
    (folder / "data" / "test.parquet").write_bytes(b"other rows")


def _add_file(folder: Path) -> None:
    (folder / "data" / "test-more.parquet").write_bytes(b"more rows")


def _remove_file(folder: Path) -> None:
    (folder / "README.md").unlink()


def _change_all(folder: Path) -> None:
    """A file and the manifest with it, so that they agree with each other."""
    (folder / "README.md").write_bytes(b"another card")
    manifest = json.loads((folder / MANIFEST_FILE).read_bytes())
    manifest["files"][0]["sha256"] = hashlib.sha256(b"another card").hexdigest()
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest))


def _break_manifest(folder: Path) -> None:
    (folder / MANIFEST_FILE).write_text("{")


def _foreign_signature(folder: Path) -> None:
    """A signature about this very manifest that this workspace knows nothing of."""
    sha256 = hashlib.sha256((folder / MANIFEST_FILE).read_bytes()).hexdigest()
    entry = {
        "id": "sig_other",
        "display_name": "Eve",
        "role": "admin",
        "meaning": "approved",
        "signed_at": "2026-01-01T00:00:00+00:00",
        "manifest_sha256": sha256,
    }
    (folder / SIGNATURE_FILE).write_text(json.dumps({"signatures": [entry]}))


def _broken_signature(folder: Path) -> None:
    (folder / SIGNATURE_FILE).write_text("[]")


@pytest.mark.parametrize(
    "damage",
    [
        _remove_folder,
        _change_file,
        _add_file,
        _remove_file,
        _change_all,
        _break_manifest,
        _foreign_signature,
        _broken_signature,
    ],
)
def test_a_changed_or_missing_folder_is_not_signed(
    workspace: Workspace, people: Callable[[str], Workspace], release: Release, damage: Callable[[Path], None]
) -> None:
    damage(Path(release.path))
    before = signature_file(release).read_bytes() if signature_file(release).exists() else None
    with pytest.raises(InputError):
        sign(people("ana"), release)
    assert is_unsigned(workspace, release)
    assert (signature_file(release).read_bytes() if signature_file(release).exists() else None) == before


def test_verifying_says_whose_signature_is_about_another_manifest(
    people: Callable[[str], Workspace], release: Release
) -> None:
    sign(people("ana"), release)
    text = signature_file(release).read_text().replace(release.content_sha256, "0" * 64)
    signature_file(release).write_text(text)
    assert verify_release(Path(release.path)) == [f"{SIGNATURE_FILE}: the signature of Ana is about another manifest"]
    signature_file(release).write_bytes(b"\xff")
    assert verify_release(Path(release.path)) == [f"{SIGNATURE_FILE}: cannot be read"]


def test_hidden_files_are_no_difference(release: Release) -> None:
    (Path(release.path) / ".gitattributes").write_text("")
    (Path(release.path) / ".cache").mkdir()
    (Path(release.path) / ".cache" / "x").write_text("")
    assert verify_release(Path(release.path)) == []


class Crash(BaseException):
    """The process ends here."""


def _crash(*_arguments: object, **_keywords: object) -> None:
    raise Crash


def test_a_crash_before_the_record_leaves_nothing(
    workspace: Workspace, people: Callable[[str], Workspace], release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(_signing, "record_event", _crash)
        with pytest.raises(Crash):
            sign(people("ana"), release)
    assert is_unsigned(workspace, release)
    assert not signature_file(release).exists()
    sign(people("ana"), release)
    assert len(entries(release)) == 1


def test_a_crash_between_record_and_file_is_mended_by_who_signs_next(
    people: Callable[[str], Workspace], release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(_signing, "write_atomically", _crash)
        with pytest.raises(Crash):
            sign(people("ana"), release)
    # The record is whole, its copy is missing; nothing claims what is not recorded.
    assert [row.name for row in list_signatures(people("ana"), release.id)] == ["ana"]
    assert not signature_file(release).exists()
    with pytest.raises(InputError, match=r"already; signature\.json did not show it and was written again"):
        sign(people("ana"), release)
    assert [entry["display_name"] for entry in entries(release)] == ["Ana"]
    signature_file(release).unlink()
    sign(people("bo"), release)
    assert [entry["display_name"] for entry in entries(release)] == ["Ana", "Bo"]


def test_a_copy_that_says_something_else_is_written_again(people: Callable[[str], Workspace], release: Release) -> None:
    sign(people("ana"), release, meaning="checked")
    signature_file(release).write_text(signature_file(release).read_text().replace("checked", "approved for patients"))
    sign(people("bo"), release)
    assert [entry["meaning"] for entry in entries(release)] == ["checked", "approved for use"]


def test_two_who_sign_at_once_both_stand_in_the_file(people: Callable[[str], Workspace], release: Release) -> None:
    both = {name: people(name) for name in ("ana", "bo")}
    start = Barrier(4)
    refused: list[str] = []

    def run(name: str) -> None:
        start.wait()
        try:
            sign(both[name], release)
        except InputError as error:
            refused.append(error.message)

    threads = [Thread(target=run, args=(name,)) for name in ("ana", "bo", "ana", "bo")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(entry["display_name"] for entry in entries(release)) == ["Ana", "Bo"]
    assert len(refused) == 2
    assert all("already" in message for message in refused)


@pytest.mark.parametrize("meaning", ["", "   ", "x" * 201, "a\u202eb", "a\x00b"])
def test_a_meaning_that_says_nothing_or_cannot_be_shown_is_refused(
    workspace: Workspace, people: Callable[[str], Workspace], release: Release, meaning: str
) -> None:
    with pytest.raises(InputError):
        sign(people("ana"), release, meaning=meaning)
    assert is_unsigned(workspace, release)


def test_no_password_is_in_the_database_or_the_file(
    workspace: Workspace, people: Callable[[str], Workspace], release: Release
) -> None:
    sign(people("ana"), release)
    assert PASSWORDS["ana"].encode() not in database_bytes(workspace)
