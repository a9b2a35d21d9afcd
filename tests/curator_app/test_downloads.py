"""The files of a release: what the manifest names, byte for byte, and nothing else of the server's disk."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from sqlmodel import select
from starlette.testclient import TestClient

from curator_app.identity import Access
from curator_app.routes import archive_address, download_address, download_routes, downloadable
from db.tables import Release
from pipeline.permissions import Permission, Role
from pipeline.release_folder import MANIFEST_FILE, SIGNATURE_FILE, verify_release
from pipeline.releases import build_release
from pipeline.workspace import Workspace
from tests.curator_app.filled import approve_all, fill_with_items
from tests.curator_app.visitors import KEY, actor, add_person, browser_of, cookie_of, guarded, opened_session
from tests.databases import new_workspace

SECRET = "what nobody may have"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace with a release of six items, where everybody signs in."""
    made = tmp_path_factory.mktemp("downloads")
    workspace = new_workspace(made / "workspace")
    approve_all(fill_with_items(workspace, made))
    build_release(workspace, name="atlas", version="1.0.0", who="test")
    for name in ("ada", *Role):
        add_person(workspace, name, "admin" if name == "ada" else name)
    yield workspace
    workspace.engine.dispose()


@pytest.fixture
def release(workspace: Workspace, tmp_path: Path) -> Release:
    """The release, its folder copied for one test."""
    built = workspace.root / "releases" / "atlas" / "1.0.0"
    own = tmp_path / "releases" / "atlas" / "1.0.0"
    shutil.copytree(built, own)
    (tmp_path / "secret.txt").write_text(SECRET)
    with workspace.writing() as session:
        (row,) = session.exec(select(Release)).all()
        row.name, row.path = "atlas", str(own)
        session.add(row)
    return row


@pytest.fixture
def folder(release: Release) -> Path:
    """The release's folder."""
    return Path(release.path)


@pytest.fixture
def client(workspace: Workspace, release: Release) -> TestClient:
    """A browser in which the administrator is signed in; a fault of the server is an answer, as for a person."""
    access = Access(workspace, KEY)
    client = browser_of(guarded(access, download_routes(workspace)))
    client._transport.raise_server_exceptions = False  # type: ignore[attr-defined]
    client.headers["Cookie"] = cookie_of(access, opened_session(workspace, "ada"))
    return client


def _name_in_manifest(folder: Path, *paths: object) -> None:
    file = folder / MANIFEST_FILE
    manifest = json.loads(file.read_text())
    manifest["files"] += [{"path": path, "sha256": "0" * 64, "bytes": 1} for path in paths]
    file.write_text(json.dumps(manifest))


def test_every_file_of_the_manifest_is_downloaded_as_it_is(client: TestClient, release: Release, folder: Path) -> None:
    names = downloadable(folder)
    assert len(names) == 3
    assert MANIFEST_FILE in names
    for name in names:
        answer = client.get(download_address(release.id, name))
        assert (answer.status_code, answer.content) == (200, (folder / name).read_bytes()), name
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["cache-control"] == "private, no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        saved = f"atlas-1.0.0-{Path(name).name}"
        assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''{saved}"


@pytest.mark.parametrize("role", list(Role))
def test_only_who_may_see_releases_downloads(
    client: TestClient, workspace: Workspace, release: Release, role: Role
) -> None:
    cookie = cookie_of(Access(workspace, KEY), opened_session(workspace, role))
    answer = client.get(download_address(release.id, MANIFEST_FILE), headers={"Cookie": cookie})
    may = actor(workspace, role).may(Permission.VIEW_RELEASES)
    assert answer.status_code == (200 if may else 403)
    assert may is (role is not Role.READER)


def test_signatures_are_downloaded_once_there_are_some(client: TestClient, release: Release, folder: Path) -> None:
    address = download_address(release.id, SIGNATURE_FILE)
    assert client.get(address).status_code == 404
    (folder / SIGNATURE_FILE).write_text("{}")
    assert client.get(address).content == b"{}"


@pytest.mark.parametrize(
    "wanted",
    [
        "nothing.txt",
        "",
        "data",
        "data/",
        "%2e/manifest.json",
        "data%2F..%2Fmanifest.json",
        "../../../workspace.sqlite",
        "..%2F..%2F..%2Fsession.key",
        "%2e%2e/%2e%2e/%2e%2e/session.key",
        "..%5C..%5Csession.key",
        "/etc/passwd",
        "%2Fetc%2Fpasswd",
        "manifest.json%00.txt",
        "manifest.json/",
        "MANIFEST.JSON",
        "%ff%fe",
    ],
)
def test_what_the_manifest_does_not_name_is_not_found(client: TestClient, release: Release, wanted: str) -> None:
    answer = client.get(f"/api/releases/{release.id}/files/{wanted}")
    assert answer.status_code == 404
    assert b"root:" not in answer.content


@pytest.mark.parametrize("identifier", ["rel_0", "..", "%00", "' OR 1=1 --", "x" * 5_000])
def test_an_unknown_release_is_not_found(client: TestClient, identifier: str) -> None:
    assert client.get(f"/api/releases/{identifier}/files/{MANIFEST_FILE}").status_code == 404


def test_a_manifest_names_nothing_outside_its_folder(
    client: TestClient, release: Release, folder: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "secret.txt"
    way = "../" * len(folder.relative_to(tmp_path).parts) + "secret.txt"
    assert (folder / way).read_text() == SECRET
    paths = [str(outside), way, f"data/../{way}", f"./{way}", "..%2F..", "data", "\x00", f"{folder}/README.md"]
    _name_in_manifest(folder, *paths)
    for path in paths:
        answer = client.get(f"/api/releases/{release.id}/files/{path.replace(chr(0), '%00')}")
        assert answer.status_code == 404, path
        assert SECRET not in answer.text
    assert client.get(download_address(release.id, MANIFEST_FILE)).status_code == 200


@pytest.mark.parametrize(
    "lay",
    [
        lambda folder, outside: (folder / "linked.txt").symlink_to(outside),
        lambda folder, outside: (folder / "linked.txt").symlink_to(f"data/../../../../{outside.name}"),
        lambda folder, outside: (folder / "linked").symlink_to(outside.parent),
    ],
    ids=["file", "relative", "folder"],
)
def test_a_link_to_elsewhere_is_not_followed(
    client: TestClient, release: Release, folder: Path, tmp_path: Path, lay: Callable[[Path, Path], None]
) -> None:
    outside = tmp_path / "secret.txt"
    lay(folder, outside)
    name = "linked/secret.txt" if (folder / "linked").is_symlink() else "linked.txt"
    assert (folder / name).exists()
    _name_in_manifest(folder, name)
    answer = client.get(download_address(release.id, name))
    assert answer.status_code == 404
    assert SECRET not in answer.text


@pytest.mark.parametrize("name", [MANIFEST_FILE, SIGNATURE_FILE])
def test_the_own_files_are_no_links_either(
    client: TestClient, release: Release, folder: Path, tmp_path: Path, name: str
) -> None:
    copied = (folder / MANIFEST_FILE).read_text()
    (tmp_path / "elsewhere.json").write_text(copied)
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(tmp_path / "elsewhere.json")
    assert client.get(download_address(release.id, name)).status_code == 404


DAMAGED = [
    "",
    "{",
    "null",
    "[]",
    "7",
    '{"files": 7}',
    '{"files": {"path": "README.md"}}',
    '{"files": ["README.md"]}',
    '{"files": [{"name": "README.md"}]}',
    "[" * 100_000,
    '{"files": ' + "[" * 100_000,
    "\ud800",
]


@pytest.mark.parametrize("manifest", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_manifest_gives_no_file(client: TestClient, release: Release, folder: Path, manifest: str) -> None:
    (folder / MANIFEST_FILE).write_bytes(manifest.encode("utf-8", "surrogatepass"))
    assert client.get(download_address(release.id, "README.md")).status_code == 404
    assert verify_release(folder) == [f"{MANIFEST_FILE}: cannot be read"]


def test_a_manifest_of_something_else_is_not_compared_outside_its_folder(folder: Path, tmp_path: Path) -> None:
    way = "../" * len(folder.relative_to(tmp_path).parts) + "secret.txt"
    _name_in_manifest(folder, way, str(tmp_path / "secret.txt"), str(tmp_path / "no-such-file"))
    problems = verify_release(folder)
    assert len(problems) == 3
    assert all("lies outside the release" in problem for problem in problems)


@pytest.mark.parametrize("path", [7, None, ["a"], {"b": 1}, "\ud800"])
def test_a_manifest_whose_names_are_none_cannot_be_read(folder: Path, path: object) -> None:
    _name_in_manifest(folder, path)
    assert downloadable(folder) == []
    assert verify_release(folder) == [f"{MANIFEST_FILE}: cannot be read"]


def test_a_file_that_is_gone_is_said_to_be_missing(client: TestClient, release: Release, folder: Path) -> None:
    (folder / "README.md").unlink()
    answer = client.get(download_address(release.id, "README.md"))
    assert (answer.status_code, answer.json()) == (
        404,
        {"error": "README.md is missing from the release's folder."},
    )


def test_a_folder_that_is_gone_gives_no_file(client: TestClient, release: Release, folder: Path) -> None:
    folder.rename(folder.with_name("moved"))
    assert client.get(download_address(release.id, MANIFEST_FILE)).status_code == 404


def test_a_part_of_a_file_is_that_part(client: TestClient, release: Release, folder: Path) -> None:
    address, whole = download_address(release.id, MANIFEST_FILE), (folder / MANIFEST_FILE).read_bytes()
    answer = client.get(address, headers={"Range": "bytes=10-19"})
    assert (answer.status_code, answer.content) == (206, whole[10:20])
    assert client.get(address, headers={"Range": "bytes=-5"}).content == whole[-5:]
    assert client.get(address, headers={"Range": f"bytes={len(whole)}-"}).status_code == 416
    for odd in ("bytes=5-1", "bytes=x", "lines=1-2", "bytes=" + ",".join(["0-"] * 200)):
        answer = client.get(address, headers={"Range": odd})
        assert answer.status_code in (200, 206, 400, 416), odd
        assert len(answer.content) < 3 * len(whole), odd


@pytest.mark.parametrize(
    "hostile", ['a"\r\nSet-Cookie: x=1', "a\nX: y", "ü ⟨x⟩", "../../x", '"; filename=evil.exe; x="']
)
def test_a_name_puts_nothing_into_the_headers(
    client: TestClient, workspace: Workspace, release: Release, hostile: str
) -> None:
    with workspace.writing() as session:
        row = session.get_one(Release, release.id)
        row.name = hostile
        session.add(row)
    answer = client.get(download_address(release.id, MANIFEST_FILE))
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    assert "x" not in answer.headers
    saved = answer.headers["content-disposition"]
    assert saved.startswith("attachment; filename*=UTF-8''")
    for sign in '"\r\n;/ ':
        assert sign not in saved.removeprefix("attachment; ")


def test_all_files_come_as_one_archive_in_the_releases_own_layout(
    client: TestClient, release: Release, folder: Path
) -> None:
    outside = folder.parent.parent / "secret.txt"
    outside.write_text(SECRET)
    (folder / "linked.txt").symlink_to(outside)
    _name_in_manifest(folder, "linked.txt", "../../secret.txt", "gone.txt")
    answer = client.get(archive_address(release.id))
    assert answer.status_code == 200
    assert answer.headers["content-length"] == str(len(answer.content))
    with ZipFile(BytesIO(answer.content)) as archive:
        named = {name.removeprefix(f"{release.name}-{release.version}/") for name in archive.namelist()}
        assert named == {"README.md", "data/test-00000-of-00001.parquet", MANIFEST_FILE}
        for name in named:
            assert archive.read(f"{release.name}-{release.version}/{name}") == (folder / name).read_bytes()
    assert client.get(archive_address("rel_none")).status_code == 404


@pytest.mark.parametrize("inside", ["", "..", "drafts", "rois", "cache", "releases"])
def test_a_release_that_names_another_folder_of_the_workspace_gives_nothing(
    workspace: Workspace, release: Release, folder: Path, client: TestClient, inside: str
) -> None:
    """A backup that somebody made up may hold a manifest there that names the files of others."""
    place = workspace.root / inside
    place.mkdir(exist_ok=True)
    (place / "secret.json").write_text(SECRET)
    entry = {"path": "secret.json", "sha256": "0" * 64, "bytes": len(SECRET)}
    (place / MANIFEST_FILE).write_text(json.dumps({"files": [entry]}))
    with workspace.writing() as session:
        row = session.get_one(Release, release.id)
        row.path = str(place)
        session.add(row)
    for address in (download_address(release.id, "secret.json"), archive_address(release.id)):
        answer = client.get(address)
        assert (answer.status_code, SECRET.encode() in answer.content) == (404, False)
    (place / MANIFEST_FILE).unlink()
