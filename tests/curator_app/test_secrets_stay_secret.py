"""Keys, passwords and links after a day's work with a provider that repeats them: they are written down nowhere."""

from __future__ import annotations

import base64
import binascii
import json
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
from inspect_ai.log import read_eval_log
from sqlalchemy import inspect, table, text
from sqlmodel import col, select

from curator_app.identity import KEY_FILE, SECRET_KEY_VARIABLE, Access, secret_key
from curator_app.rail import addresses
from db import connect
from db.tables import Account
from pipeline.jobs import list_jobs, submit
from pipeline.people import invite, reset_link
from pipeline.releases import build_release
from pipeline.review import list_items
from pipeline.variants import pending_seeds
from pipeline.workspace import DATABASE_FILE, QUEUE_FILE, Workspace
from tests.curator_app.filled import approve_all
from tests.curator_app.raw_requests import Answer, ask, draw_page, page_connection
from tests.curator_app.served import Served, serving
from tests.curator_app.visitors import add_person, cookie_of, form_token, opened_session
from tests.databases import content_of, on_postgresql
from tests.pipeline import scripted
from tests.pipeline.test_jobs import ended, wait_for
from tests.wire.stub import Answer as Reply
from tests.wire.stub import Fault, Received, Step, WireStub

FORM = [("Content-Type", "application/x-www-form-urlencoded")]

KEYS = {
    "STUB_API_KEY": "stub-7d1f0c5be2a94c7f9f21-key",
    "OPENAI_API_KEY": "sk-proj-5b8e7a61c2d94f0ea7b3",
    "ANTHROPIC_API_KEY": "sk-ant-api03-0f9e8d7c6b5a4938",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIbPxRfiCYexample0000",
    "HF_TOKEN": "hf_QwErTyUiOpAsDfGhJkLzXcVb",
    SECRET_KEY_VARIABLE: "c0ffee" * 10 + "beef",
}
PASSWORDS = ("plum-otter-quartz-19", "velvet-anchor-lynx-27", "copper-nimbus-frog-35", "wrong-guess-meadow-44")


class _Echo:
    """A provider that repeats every key that it could know, in errors, in replies and in the middle of items."""

    def __init__(self) -> None:
        self.writer = scripted.Writer()
        self.checker = scripted.checker(mcq_right=lambda _: False, kprim_correct=lambda _: 2)
        self.said = " ".join(KEYS.values())
        self.asked = 0

    def __call__(self, received: Received) -> Step:
        assert (
            KEYS["STUB_API_KEY"] in {name.lower(): value for name, value in received.headers.items()}["authorization"]
        )
        self.asked += 1
        if received.body.get("model") == "refuses":
            return Fault(401, f"Incorrect API key provided: {self.said}. Authorization: Bearer {self.said}")
        if received.body.get("model") == "babbles":
            return Reply(f"Your key is {self.said}.")
        if received.body.get("model") == "leaks":
            draft = json.loads(scripted.variants())
            draft["free_text"]["stem"] = f"Which change does this image show, and is {KEYS['STUB_API_KEY']} your key?"
            return Reply(json.dumps(draft))
        if scripted.writer_of(received):
            return self.writer.answer(received)
        return self.checker(received)


@pytest.fixture
def served(with_seeds: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A served workspace with four seeds, whose environment holds every key."""
    monkeypatch.delenv(SECRET_KEY_VARIABLE, raising=False)
    with WireStub(script=_Echo()) as provider:
        for name, key in KEYS.items():
            monkeypatch.setenv(name, key)
        monkeypatch.setenv("STUB_BASE_URL", provider.openai_url)
        folder = tmp_path / "served"
        folder.mkdir()
        with serving(with_seeds, folder) as served:
            yield served


def _post(port: int, target: str, **fields: str) -> Answer:
    page = ask(port, "GET", target)
    browser = page.headers["set-cookie"].partition(";")[0]
    typed = "&".join(f"{name}={value}" for name, value in {"token": form_token(page.text), **fields}.items())
    return ask(port, "POST", target, cookie=browser, headers=FORM, body=typed.encode())


def _work_with_models(workspace: Workspace) -> None:
    """Generate with a provider that fails, babbles, leaks and works, then evaluate what came of it."""
    seeds = pending_seeds(workspace)
    for model, seed in zip(("refuses", "babbles", "leaks", "writer"), seeds, strict=True):
        job = submit(
            workspace,
            "generate",
            generator=f"openai-api/stub/{model}",
            checker=scripted.CHECKER if model != "babbles" else "openai-api/stub/babbles",
            seed_ids=[seed],
        )
        wait_for(workspace, job, ended)
    approve_all(workspace)
    release = build_release(workspace, name="echo", version="1.0.0", who="test").release
    for model in ("refuses", "babbles"):
        job = submit(workspace, "evaluate", benchmark=release.path, model=f"openai-api/stub/{model}", limit=2)
        wait_for(workspace, job, ended)
    job = submit(workspace, "evaluate", benchmark=str(workspace.root / "no-such"), model="openai-api/stub/refuses")
    assert wait_for(workspace, job, ended).state == "failed"


def _sign_in_and_out(served: Served) -> list[str]:
    """Use passwords and links as people do; return the links' tokens."""
    port, workspace = served.port, served.workspace
    add_person(workspace, "ada")
    _, token = invite(workspace, roles=["author"], who="test")
    target = f"/invitation/{token}"
    assert _post(port, target, name="ann", new=PASSWORDS[0], again=PASSWORDS[0]).status == 303
    assert ask(port, "GET", target).status == 404
    _, reset = reset_link(workspace, "ann", who="test")
    assert _post(port, f"/invitation/{reset}", new=PASSWORDS[1], again=PASSWORDS[1]).status == 303
    assert _post(port, "/sign-in", name="ann", password=PASSWORDS[1]).status == 303
    for name in ("ann", PASSWORDS[2], "nobody"):
        assert _post(port, "/sign-in", name=name, password=PASSWORDS[3]).status == 401
    return [token, reset]


def _written(workspace: Workspace) -> dict[str, bytes]:
    """Everything that is kept in the workspace, and what is compressed in it, unpacked."""
    found: dict[str, bytes] = {}
    for path in sorted(workspace.root.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(workspace.root).as_posix()
        found[name] = path.read_bytes()
        if path.suffix == ".eval":
            found[f"{name} (read)"] = read_eval_log(str(path)).model_dump_json().encode()
        elif path.suffix == ".parquet":
            found[f"{name} (read)"] = json.dumps(pq.read_table(path).to_pylist(), default=str).encode()
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                found |= {f"{name}/{inside}": archive.read(inside) for inside in archive.namelist()}
    found["database"] = str(content_of(workspace.engine)).encode()
    found |= {f"queue, {name}": data for name, data in _unpacked_queue(workspace).items()}
    return found


def _unpacked_queue(workspace: Workspace) -> dict[str, bytes]:
    """What the queue keeps of jobs and their steps; it writes it in base 64."""
    found = {}
    engine = connect(workspace.queue_url)
    schema = None if engine.dialect.name == "sqlite" else "dbos"
    with engine.connect() as queue:
        for name in inspect(queue).get_table_names(schema=schema):
            rows = queue.execute(select(text("*")).select_from(table(name, schema=schema)))
            cells = {cell for row in rows for cell in row if isinstance(cell, str)}
            unpacked = " ".join(cells).encode()
            for cell in cells:
                with suppress(binascii.Error, ValueError):
                    unpacked += base64.b64decode(cell, validate=True)
            found[name] = unpacked
    engine.dispose()
    return found


def test_nothing_secret_is_written_down(served: Served) -> None:
    workspace = served.workspace
    _work_with_models(workspace)
    tokens = _sign_in_and_out(served)
    secrets = [*KEYS.values(), *PASSWORDS, *tokens]

    written = _written(workspace)
    assert any(name.endswith(".eval (read)") for name in written)
    files = set() if on_postgresql() else {DATABASE_FILE, QUEUE_FILE}
    assert files <= {Path(name).name for name in written}
    assert b"refuses" in written["queue, workflow_input"]
    assert b"centrilobular" in written["queue, operation_outputs"]
    assert KEY_FILE not in written, "the key of the environment is the key"
    for name, data in written.items():
        for secret in secrets:
            assert secret.encode() not in data, f"{secret} in {name}"
            assert secret.encode("utf-16-le") not in data, f"{secret} in {name}"

    shown = served.log.read_bytes()
    access = Access(workspace, secret_key(workspace))
    cookie = cookie_of(access, opened_session(workspace, "ada"))
    with page_connection(served.port, cookie) as socket:
        for address in addresses():
            _, messages = draw_page(socket, address)
            shown += b"".join(message.SerializeToString() for message in messages)
    for target in ("/", "/sign-in", "/password", "/api/session", "/_stcore/health", "/_stcore/host-config"):
        shown += ask(served.port, "GET", target, cookie=cookie).body
    shown += repr(list_jobs(workspace)).encode()
    server = psutil.Process(served.process.pid)
    shown += repr([one.cmdline() for one in (server, *server.children(recursive=True))]).encode()
    for secret in secrets:
        assert secret.encode() not in shown, f"{secret}: {_around(shown, secret.encode())!r}"
    items = list_items(workspace)
    assert len(items) >= 3, "the provider's work was kept"
    with workspace.reading() as session:
        kept = session.exec(select(Account).where(col(Account.password_hash).startswith("$argon2id$"))).all()
    assert len(kept) == 2


def _around(data: bytes, secret: bytes) -> bytes:
    place = data.find(secret)
    return data[max(0, place - 100) : place + 100]
