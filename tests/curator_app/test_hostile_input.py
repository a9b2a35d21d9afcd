"""Files and texts that somebody sends to do harm: refused in words within seconds and a bounded memory, or kept as is.

What only a browser shows (scripts in texts, posts of other sites) is in `test_hostile_input_in_browser.py`.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import signal
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import click
import psutil
import pytest
import typer
from sqlmodel import func, select
from streamlit.testing.v1 import AppTest

from curator_app.cli._app import app
from curator_app.drafts import DraftStore
from curator_app.identity import Access, secret_key
from curator_app.rail import RAIL, RailEntry
from db import faults_of_database
from db.tables import Seed
from evaluation.slides import MAX_IMAGE_PIXELS
from pipeline.csv_tables import MAX_FILE_MB, MAX_ROWS
from pipeline.ingest import add_slides
from pipeline.people import invite, open_invitation
from pipeline.rois import list_rois
from pipeline.seeds import SEED_COLUMNS, SeedText, list_seeds, save_seed
from pipeline.workspace import Workspace
from tests.curator_app.cli.conftest import Command, here
from tests.curator_app.conftest import open_page
from tests.curator_app.filled import approve_all, fill_with_items
from tests.curator_app.raw_requests import Answer, ask, draw_page, page_connection
from tests.curator_app.served import Served, serving
from tests.curator_app.typing import fields, type_into
from tests.curator_app.visitors import actor, add_person, cookie_of, form_token, opened_session
from tests.databases import content_of, new_workspace
from tests.pipeline.conftest import METADATA

__all__ = ["here"]

FORM = [("Content-Type", "application/x-www-form-urlencoded")]
MAX_UPLOAD_MB = 2
MB = 1_000_000
QUICK_S = 20

_REFUSED_BEFORE = pytest.mark.sqlite("a file that is refused before any database is asked")
"""Everything here takes well under a second; a busy machine may take longer, an attack that works minutes."""

SQL = (
    "'; DROP TABLE account; --",
    '" OR 1=1 --',
    "%' UNION SELECT password_hash FROM account --",
    "x'); DELETE FROM seed; --",
)


def _rss_mb(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / MB


# Uploads and bodies


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A served workspace that takes small uploads."""
    folder = tmp_path_factory.mktemp("hostile")
    workspace = new_workspace(folder / "workspace")
    fill_with_items(workspace, folder)
    with (workspace.root / "settings.toml").open("a") as settings:
        settings.write(f"max_upload_mb = {MAX_UPLOAD_MB}\n")
    for name, role in (("ada", "admin"), ("bob", "author")):
        add_person(workspace, name, role)
    with serving(workspace, folder) as served:
        yield served
    workspace.engine.dispose()


def _cookie(served: Served, name: str) -> str:
    access = Access(served.workspace, secret_key(served.workspace))
    return cookie_of(access, opened_session(served.workspace, name))


@pytest.fixture
def bob(served: Served) -> str:
    """The cookie of an author."""
    return _cookie(served, "bob")


class _Endless:
    """A body of 2 GB in chunks, as far as somebody takes it."""

    def __init__(self, head: bytes = b"") -> None:
        self.sent = 0
        self._head = head

    def __iter__(self) -> Iterator[bytes]:
        yield self._head
        while self.sent < 2_000 * MB:
            self.sent += 100_000
            yield b"x" * 100_000


MULTIPART = "multipart/form-data; boundary=b"
HEAD = (
    b'--b\r\nContent-Disposition: form-data; name="f"; filename="../../../evil.csv"\r\nContent-Type: text/csv\r\n\r\n'
)


def _upload(served: Served, tab: str, cookie: str, body: object, **headers: str) -> Answer:
    token = ask(served.port, "GET", "/_stcore/health", cookie=cookie).headers["set-cookie"]
    xsrf = token.partition(";")[0].partition("=")[2]
    return ask(
        served.port,
        "PUT",
        f"/_stcore/upload_file/{tab}/file-1",
        cookie=f"{cookie}; _streamlit_xsrf={xsrf}",
        headers=[("X-Xsrftoken", xsrf), ("Content-Type", MULTIPART), *headers.items()],
        body=body,  # type: ignore[arg-type]
    )


def test_an_upload_of_two_gigabytes_is_cut_off(served: Served, bob: str) -> None:
    process = psutil.Process(served.process.pid)
    with page_connection(served.port, bob) as socket:
        tab, _ = draw_page(socket, "write-seeds")
        assert _upload(served, tab, bob, HEAD + b"small\r\n--b--\r\n").status == 204, "one that is small is taken"
        before, began = _rss_mb(process), time.monotonic()
        assert _upload(served, tab, bob, b"", **{"Content-Length": str(2_000 * MB)}).status == 413
        body = _Endless(HEAD)
        assert _upload(served, tab, bob, iter(body)).status == 413
        assert body.sent < 50 * MB
    assert time.monotonic() - began < QUICK_S
    assert _rss_mb(process) - before < 60
    assert not list(served.workspace.root.rglob("evil.csv"))


@pytest.mark.parametrize(
    ("method", "target"),
    [("POST", "/sign-in"), ("POST", "/sign-out"), ("POST", "/password"), ("POST", "/api/drafts/seed_x"), ("PUT", "/x")],
)
@pytest.mark.parametrize("known", [True, False])
def test_a_body_without_end_is_read_by_nobody(served: Served, bob: str, method: str, target: str, known: bool) -> None:
    process = psutil.Process(served.process.pid)
    before, began, body = _rss_mb(process), time.monotonic(), _Endless()
    cookie = _cookie(served, "bob") if known else None
    answer = ask(served.port, method, target, cookie=cookie, headers=FORM, body=iter(body))
    assert answer.status in (303, 401, 403, 404, 405, 413)
    assert body.sent < 50 * MB
    assert _rss_mb(process) - before < 60
    assert time.monotonic() - began < QUICK_S
    assert ask(served.port, "GET", "/slides", cookie=bob).status == 200


# Files


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png_bomb(path: Path, side: int = 50_000) -> Path:
    """Write a black PNG of 1 bit per pixel: 2.5 gigapixels in 300 kB."""
    packer = zlib.compressobj(9)
    row = bytes(1 + (side + 7) // 8)
    data = b"".join([*(packer.compress(row) for _ in range(side)), packer.flush()])
    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b""))
    return path


def write_flat_tiff(path: Path, side: int = 100_000, tile: int = 256) -> Path:
    """Write a BigTIFF of one level all of whose tiles are the same bytes: 10 gigapixels in 2.5 MB."""
    count = math.ceil(side / tile) ** 2
    data = zlib.compress(b"\xcc" * (tile * tile * 3), 9)
    first_entry = 24
    after = first_entry + 11 * 20 + 8
    offsets, lengths, pixels = after, after + 8 * count, after + 16 * count
    entries = (
        (256, 4, 1, side), (257, 4, 1, side), (258, 3, 3, 8 | 8 << 16 | 8 << 32), (259, 3, 1, 8), (262, 3, 1, 2),
        (277, 3, 1, 3), (284, 3, 1, 1), (322, 3, 1, tile), (323, 3, 1, tile), (324, 16, count, offsets),
        (325, 16, count, lengths),
    )  # fmt: skip
    with path.open("wb") as file:
        file.write(struct.pack("<2sHHHQQ", b"II", 43, 8, 0, 16, len(entries)))
        for entry in entries:
            file.write(struct.pack("<HHQQ", *entry))
        file.write(struct.pack("<Q", 0))
        file.write(struct.pack("<Q", pixels) * count + struct.pack("<Q", len(data)) * count + data)
    return path


def write_zip_bomb(path: Path) -> Path:
    """Write a ZIP of 200 MB of nothing: 200 kB."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive, archive.open("a", "w") as inside:
        for _ in range(200):
            inside.write(bytes(MB))
    return path


def _in_a_process(workspace: Workspace, code: str, *arguments: object) -> tuple[str, float]:
    """Run code on a workspace with 4 GB of memory at most; return what it said and the memory that it took in MB."""
    before = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4_000_000_000, 4_000_000_000))\n"
        "from pipeline.errors import InputError\n"
        "from pipeline.workspace import open_workspace\n"
        "from pipeline.ingest import SlideMetadata, add_slides\n"
        "from pipeline.roi_import import import_rois\n"
        "from pipeline.seeds import import_seeds\n"
        "workspace = open_workspace(Path(sys.argv[1]))\n"
        "first = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
    )
    after = "\nprint((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - first) * 1024)\n"
    done = subprocess.run(
        [sys.executable, "-c", before + code + after, str(workspace.root), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=QUICK_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *said, memory = done.stdout.strip().splitlines()
    return "\n".join(said), int(memory) / MB


BOMBS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "bomb.png": (write_png_bomb, "plain PNG image, not a slide"),
    "png.svs": (write_png_bomb, "plain PNG image, not a slide"),
    "bomb.zip": (write_zip_bomb, "ZIP archive, not a slide"),
    "zip.svs": (write_zip_bomb, "ZIP archive, not a slide"),
    "zip.png": (write_zip_bomb, "ZIP archive, not a slide"),
    "flat.tiff": (write_flat_tiff, "Export it as a pyramid"),
}


@pytest.mark.parametrize("name", BOMBS)
@_REFUSED_BEFORE
def test_a_bomb_is_no_slide(workspace: Workspace, tmp_path: Path, name: str) -> None:
    write, said = BOMBS[name]
    code = (
        "told = SlideMetadata(organ='liver', source='x', licence='CC0-1.0')\n"
        "report = add_slides(workspace, [Path(sys.argv[2])], told, mpp=0.5, who='test')\n"
        "print(report.added, report.problems)"
    )
    printed, memory = _in_a_process(workspace, code, write(tmp_path / name))
    assert printed.startswith("[] [")
    assert said in printed
    assert "Traceback" not in printed
    assert memory < 200


@pytest.mark.parametrize(
    ("name", "said"), [("bomb.png", "pixels"), ("zip.png", "not an image"), ("flat.tiff", "pixels")]
)
@_REFUSED_BEFORE
def test_a_bomb_is_no_image_of_a_roi(workspace: Workspace, tmp_path: Path, name: str, said: str) -> None:
    BOMBS[name][0](tmp_path / name)
    table = tmp_path / "rois.csv"
    table.write_text(
        f"image,organ,source,licence\n{name},liver,x,CC0-1.0\n../../../../../../etc/passwd,liver,x,CC0-1.0\n"
    )
    code = (
        "try:\n    import_rois(workspace, Path(sys.argv[2]), who='test')\n"
        "except InputError as error:\n    print(error.message, error.problems)"
    )
    printed, memory = _in_a_process(workspace, code, table)
    assert said in printed
    assert "line 3" in printed
    assert "root:" not in printed
    assert memory < 200
    assert MAX_IMAGE_PIXELS < 50_000**2
    assert list_rois(workspace) == []


HEADER = ",".join(SEED_COLUMNS).encode() + b"\n"
TABLES: dict[str, tuple[Callable[[], bytes], str]] = {
    "too many bytes": (lambda: HEADER + b"x" * (MAX_FILE_MB * MB), "is larger than"),
    "a million rows": (lambda: HEADER + b"r,q,a,c\n" * 1_000_000, f"more than {MAX_ROWS:,} rows"),
    "empty lines": (lambda: HEADER + b"\n" * 20 * MB, "holds no rows"),
    "one cell": (lambda: HEADER + b"r," + b"q" * 20 * MB + b",a,c\n", "line 2: field larger"),
    "one quoted cell": (lambda: HEADER + b'r,"' + b"q\n" * 10 * MB + b'",a,c\n', "field larger"),
    "a million columns": (lambda: b"c," * 1_000_000 + b"\n1\n", "1,000,001 columns"),
    "a row of commas": (lambda: HEADER + b"," * 20 * MB, "another number of cells"),
    "NULs": (lambda: HEADER + b"r,\x00,a,c\n", "NUL bytes"),
    "UTF-16": (lambda: HEADER.decode().encode("utf-16"), "not UTF-8"),
    "latin 1": (lambda: HEADER + "r,Ödem,a,c\n".encode("latin-1"), "not UTF-8"),
    "half a surrogate": (lambda: HEADER + b"r,\xed\xa0\x80,a,c\n", "not UTF-8"),
    "a picture": (lambda: b"\x89PNG\r\n\x1a\n" + bytes(100), "not UTF-8"),
    "an open quote": (lambda: HEADER + b'r,"q', "line 2"),
    "nothing": (lambda: b"", "missing"),
}


@pytest.mark.parametrize("kind", TABLES)
@_REFUSED_BEFORE
def test_a_table_that_is_none_is_refused(workspace: Workspace, tmp_path: Path, kind: str) -> None:
    make, said = TABLES[kind]
    table = tmp_path / "seeds.csv"
    table.write_bytes(make())
    code = (
        "try:\n    import_seeds(workspace, Path(sys.argv[2]), who='test')\n"
        "except InputError as error:\n    print(error.message[:500], error.problems[:3])"
    )
    printed, memory = _in_a_process(workspace, code, table)
    assert said in printed
    assert len(printed) < 1_500, "nobody reads more"
    assert memory < 600
    assert list_seeds(workspace) == []


def test_an_import_by_the_page_writes_no_file_by_its_name(served: Served) -> None:
    """The name of an uploaded file is the browser's word; the page reads its bytes from a file of its own."""
    with served.workspace.reading() as session:
        before = session.exec(select(func.count()).select_from(Seed)).one()
    page = open_page(served.workspace, "write_seeds")
    (upload,) = page.get("file_uploader")
    upload.set_value(("../../../../evil.csv", b"roi,question\n\x00,x\n", "text/csv")).run()
    page.button(key="import_seeds_now").click().run()
    assert not page.exception
    (said,) = page.error
    assert "evil\\.csv" in said.value
    assert str(served.workspace.root) not in said.value
    assert not list(Path("/").glob("evil.csv"))
    assert not list(served.workspace.root.parent.rglob("evil.csv"))
    with served.workspace.reading() as session:
        assert session.exec(select(func.count()).select_from(Seed)).one() == before


# Links that were used, and SQL


def _post(served: Served, target: str, cookie: str | None = None, **fields: str) -> Answer:
    page = ask(served.port, "GET", target, cookie=cookie)
    browser = page.headers["set-cookie"].partition(";")[0]
    sent = {"token": form_token(page.text), **fields}
    typed = "&".join(f"{name}={quote(value, safe='')}" for name, value in sent.items())
    both = f"{cookie}; {browser}" if cookie else browser
    return ask(served.port, "POST", target, cookie=both, headers=FORM, body=typed.encode())


def test_a_used_link_makes_no_second_account(served: Served) -> None:
    _, token = invite(served.workspace, roles=["reader"], who="test")
    new = {"new": "a long enough word", "again": "a long enough word"}
    assert _post(served, f"/invitation/{token}", name="once", display_name="", **new).status == 303
    again = ask(served.port, "GET", f"/invitation/{token}")
    assert again.status == 404
    assert "once" not in again.text
    for spelled in (
        token.upper(),
        token[:-1],
        f"{token}x",
        f"{token}%00",
        f"{token}%20",
        "' OR 1=1 --".replace(" ", "%20"),
    ):
        assert ask(served.port, "GET", f"/invitation/{spelled}").status in (400, 404)


def _tables(workspace: Workspace) -> dict[str, int]:
    """How many rows every table has."""
    assert faults_of_database(workspace.engine) == []
    return {name: len(rows) for name, rows in content_of(workspace.engine).items()}


def _lost_nothing(before: dict[str, int], workspace: Workspace) -> None:
    after = _tables(workspace)
    assert set(after) == set(before)
    assert all(after[name] >= rows for name, rows in before.items()), "a table lost rows"


@pytest.mark.parametrize("fragment", SQL)
def test_sql_in_the_fields_of_the_forms_is_a_text(served: Served, fragment: str) -> None:
    before = _tables(served.workspace)
    assert _post(served, "/sign-in", name=fragment, password=fragment, next=fragment).status == 401
    assert _post(served, "/sign-in", name="ada", password=fragment).status in (401, 429)
    cookie = _cookie(served, "bob")
    assert _post(served, "/password", cookie, password=fragment, new=fragment * 3, again=fragment * 3).status in (
        422,
        429,
    )
    _, token = invite(served.workspace, roles=["reader"], display_name=fragment, who="test")
    assert open_invitation(served.workspace, token).display_name == fragment
    refused = _post(served, f"/invitation/{token}", name=fragment, display_name=fragment, new="x", again=fragment)
    assert refused.status == 422
    guest = f"guest{SQL.index(fragment)}"
    new = {"new": f"{fragment} long enough", "again": f"{fragment} long enough"}
    assert _post(served, f"/invitation/{token}", name=guest, display_name=fragment, **new).status == 303
    assert _post(served, "/sign-in", name=guest, password=new["new"]).status == 303
    assert actor(served.workspace, guest).display_name == fragment
    for target in ("/api/rois/{}/image", "/api/slides/{}/thumbnail", "/api/releases/{}/files/x", "/invitation/{}"):
        assert ask(served.port, "GET", target.format(quote(fragment, safe="")), cookie=cookie).status == 404
    _lost_nothing(before, served.workspace)


ENDLESS = ("serve", "worker", "demo")
"""Commands that go on or take minutes."""


def _commands(group: click.Group, *before: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, *before, name)
        elif name not in ENDLESS:
            yield (*before, name), command


def _filled_in(command: click.Command, text: str, *, everything: bool) -> list[str]:
    """Put a text into every argument and option that takes one."""
    words = []
    for parameter in command.params:
        textual = not isinstance(parameter.type, click.types.IntParamType | click.types.FloatParamType)
        if isinstance(parameter, click.Argument):
            words.append(text)
        elif isinstance(parameter, click.Option) and not parameter.is_flag and parameter.name != "workspace":
            if textual and (everything or parameter.required):
                words += [parameter.opts[0], text]
            elif parameter.required:
                words += [parameter.opts[0], "1"]
        elif parameter.name == "password_stdin":
            words.append(parameter.opts[0])
    return words


@pytest.mark.parametrize(("fragment", "everything"), zip(SQL, itertools.cycle([True, False])))
def test_sql_on_the_command_line_is_a_text(
    workspace: Workspace,
    tmp_path: Path,
    here: Command,
    monkeypatch: pytest.MonkeyPatch,
    fragment: str,
    everything: bool,
) -> None:
    fill_with_items(workspace, tmp_path)
    before = _tables(workspace)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    group = typer.main.get_command(app)
    assert isinstance(group, click.Group)
    run = list(_commands(group))
    assert len(run) > 30
    for name, command in run:
        words = _filled_in(command, fragment, everything=everything)
        at = ["--workspace", workspace.root] if any(one.name == "workspace" for one in command.params) else []
        ran = here(*name, *at, *words, stdin=f"{fragment}{fragment}\n")
        assert ran.code in (0, 1, 2, 3), (name, words, ran.err)
        assert "Traceback" not in ran.err, (name, words)
    _lost_nothing(before, workspace)


DIALOGS = {"people": ("invite",), "slides": ("add_slides",), "items": ("edit", "reject"), "my_account": ()}
"""Buttons that open further fields, by page."""

WITHOUT_FIELDS = ("home", "sample_rois", "jobs")


def _type_everywhere(page: AppTest, text: str) -> int:
    inputs = [field for field in page.text_input if not field.disabled]
    for field in inputs:
        field.set_value(text)
    own = fields(page).values()
    for key in own:
        type_into(page, key, text)
    page.run()
    return len(inputs) + len(own)


def _press_everything(page: AppTest, *, but: str) -> None:
    """Press every button that there is, and those that appear, once."""
    pressed = {but}
    while left := [one.key for one in page.button if one.key and not one.disabled and one.key not in pressed]:
        pressed.add(left[0])
        page.button(key=left[0]).click().run()
        assert not page.exception, (left[0], page.exception)


@pytest.mark.sqlite("fields of pages; what they store is asked on both engines")
@pytest.mark.parametrize("entry", RAIL, ids=lambda entry: entry.module)
def test_sql_in_the_fields_of_a_page_is_a_text(
    workspace: Workspace, drawn_slides: list[Path], tmp_path: Path, entry: RailEntry
) -> None:
    fill_with_items(workspace, tmp_path)
    add_slides(workspace, drawn_slides[:1], METADATA, who="test")
    if entry.module == "releases":
        approve_all(workspace)
    add_person(workspace, "ada")
    known = workspace.acting_as(actor(workspace, "ada"))
    before = _tables(workspace)
    typed = 0
    for opener in ("", *DIALOGS.get(entry.module, ())):
        page = open_page(known, entry.module)
        if opener:
            page.button(key=opener).click().run()
        for fragment in SQL[:2]:
            typed += _type_everywhere(page, fragment)
        _press_everything(page, but=opener)
    assert (typed > 0) is (entry.module not in WITHOUT_FIELDS)
    _lost_nothing(before, workspace)


def test_a_text_with_sql_comes_back_as_it_was_written(workspace: Workspace, tmp_path: Path) -> None:
    fill_with_items(workspace, tmp_path)
    roi = list_rois(workspace)[0][0]
    for fragment in SQL:
        text = SeedText(f"{fragment}?", fragment, "identify_pathology", fragment)
        seed = save_seed(workspace, text, roi_id=roi.id, who="test")
        kept = next(entry.seed for entry in list_seeds(workspace) if entry.seed.id == seed.id)
        assert (kept.question, kept.answer, kept.notes) == (f"{fragment}?", fragment, fragment)


# A server that dies, and what people had in their hands


def test_after_a_killed_server_people_are_still_signed_in(workspace: Workspace, tmp_path: Path) -> None:
    fill_with_items(workspace, tmp_path)
    account = add_person(workspace, "bob", "author")
    access = Access(workspace, secret_key(workspace))
    cookie = cookie_of(access, opened_session(workspace, "bob"))
    body = {"account": account.id, "writing": "w", "fields": {"question": "half a sentence"}}
    with serving(workspace, tmp_path) as served:
        with page_connection(served.port, cookie) as socket:
            draw_page(socket, "write-seeds")
            kept = ask(served.port, "POST", "/api/drafts/seed_x", cookie=cookie, body=json.dumps(body).encode())
            assert kept.status == 200
            children = psutil.Process(served.process.pid).children(recursive=True)
            os.kill(served.process.pid, signal.SIGKILL)
            served.process.wait()
        for child in children:
            child.kill()
    with serving(workspace, tmp_path) as served:
        assert ask(served.port, "GET", "/api/session", cookie=cookie).json()["account"] == account.id
        with page_connection(served.port, cookie) as socket:
            _, messages = draw_page(socket, "write-seeds")
            assert any(message.WhichOneof("type") == "delta" for message in messages)
    own = DraftStore(workspace.acting_as(actor(workspace, "bob")))
    assert own.read("seed_x").fields == {"question": "half a sentence"}
