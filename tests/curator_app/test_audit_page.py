"""The Audit page without a browser: filters, reading on, old → new in words, the check, and the export route."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path

import pytest
from google.protobuf.text_format import MessageToString
from sqlalchemy import text
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from curator_app.components.audit_html import LONGEST, changes_html
from curator_app.routes import audit_routes, export_address
from db import record_event
from db.audit import drop_triggers
from db.tables import Account
from pipeline.audit import EventFilter, count_events, export_trail, list_events, stream_trail
from pipeline.people import SignedIn
from pipeline.permissions import Actor, NotAllowedError, Role
from pipeline.workspace import Workspace
from tests.curator_app.conftest import open_page

HOSTILE = "<script>alert(1)</script>"


def said(page: AppTest) -> str:
    assert not page.exception, page.exception
    return "\n".join(MessageToString(element.proto, as_utf8=True) for element in page.main if element.proto is not None)


@pytest.fixture
def trail(workspace: Workspace) -> Workspace:
    """A workspace with 120 rows by two people, one of them hostile."""
    with workspace.writing() as session:
        owner = session.get_one(Account, workspace.owner().id)
        for number in range(118):
            record_event(session, who="anna", action="count", row=owner, old={"n": number}, new={"n": number + 1})
        record_event(session, who=HOSTILE, action="say", row=owner, new={"text": HOSTILE}, reason=HOSTILE)
        record_event(session, who="otto", action="drop", row=owner, old={"state": "written"}, new={"state": "dropped"})
    return workspace


def test_the_page_opens_on_the_newest_rows_and_a_check(trail: Workspace) -> None:
    total = count_events(trail)
    page = open_page(trail, "audit")
    text_ = said(page)
    assert f"✓ <strong>whole</strong>: {total:,} rows, last at" in text_
    assert "<del>written</del> → dropped" in text_
    assert f"{total - 50:,} older rows" in text_
    page.button(key="audit_more").click().run()
    assert f"{total - 100:,} older rows" in said(page)
    assert not page.exception


def test_filters_narrow_the_rows_and_the_export(trail: Workspace) -> None:
    page = open_page(trail, "audit")
    page.selectbox(key="audit_who").select("otto").run()
    assert "1 row, newest first" in said(page)
    assert "/api/audit/export.csv?who=otto" in said(page)
    assert not any(button.key == "audit_more" for button in page.button)
    page.text_input(key="audit_object").set_value("nobody").run()
    assert "No rows fit." in said(page)


def test_days_are_whole_days_where_the_server_stands(trail: Workspace) -> None:
    today = datetime.now().astimezone().date()
    page = open_page(trail, "audit")
    page.text_input(key="audit_from").set_value(f"{today}").run()
    page.text_input(key="audit_to").set_value(f"{today}").run()
    assert f"{count_events(trail):,} rows, newest first" in said(page)
    page.text_input(key="audit_to").set_value(f"{today - timedelta(days=1)}").run()
    assert "No rows fit." in said(page)
    page.text_input(key="audit_to").set_value("yesterday").run()
    assert "no day; write 2026-01-31" in said(page)
    for shown in ("rows, newest first", "/api/audit/export", "<del>"):
        assert shown not in said(page), "nothing is shown as if it were filtered"
    page.text_input(key="audit_to").set_value("").run()
    assert f"{count_events(trail):,} rows, newest first" in said(page)


def test_what_people_wrote_is_no_markup(trail: Workspace) -> None:
    # The choices of a filter are sent as texts, never as markup.
    text_ = "\n".join(line for line in said(open_page(trail, "audit")).splitlines() if "options:" not in line)
    assert HOSTILE not in text_
    assert escape(HOSTILE) in text_


def test_a_broken_chain_is_named(trail: Workspace) -> None:
    page = open_page(trail, "audit")
    with trail.engine.begin() as connection:
        drop_triggers(connection)
        connection.execute(text("update audit_event set who = 'otto' where sequence = 5"))
    page.button(key="audit_check").click().run()
    text_ = said(page)
    assert "✕ <strong>not whole</strong>" in text_
    assert "row 5" in text_.replace("\\", "")


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ({"state": "a"}, {"state": "b"}, "<dt>state</dt><dd><del>a</del> → b</dd>"),
        (None, {"is_true": True}, "<dt>is true</dt><dd>yes</dd>"),
        ({"note": "x"}, None, "<del>x</del> → nothing"),
        ({"note": None}, {"note": "x"}, "<del>nothing</del> → x"),
        (None, {"roles": ["admin", "author"]}, "admin, author"),
        (None, {"box": {"x": 1}}, "<dt>box</dt><dd>x 1</dd>"),
        (None, None, ""),
    ],
)
def test_changes_are_said_in_words(old: dict[str, object] | None, new: dict[str, object] | None, shown: str) -> None:
    assert shown in changes_html(old, new)


def test_a_long_text_is_cut_but_there() -> None:
    long = "x" * (LONGEST + 1)
    shown = changes_html(None, {"question": long})
    assert f"<details><summary>{'x' * LONGEST}…</summary>{long}</details>" in shown
    words = changes_html(None, {"question": "word " * LONGEST})
    assert "word…</summary>" in words, "no word is cut"


def test_a_document_is_read_in_words() -> None:
    summary = {"metrics": {"mcq": {"mean": 0.2000000000000001, "n": 40}}, "n_items": 4, "judge": None}
    shown = changes_html(None, {"summary": summary, "complete": True})
    assert "metrics (mcq (mean 0.2, n 40)); n items 4; judge nothing" in shown
    assert "{" not in shown
    later = {**summary, "n_items": 5}
    assert "<del>n items 4</del> → n items 5" in changes_html({"summary": summary}, {"summary": later})


class TestExport:
    """The route: the same rows as the command writes, with the page's filters, for who may see them."""

    @pytest.fixture
    def ask(self, trail: Workspace) -> TestClient:
        from starlette.applications import Starlette

        app = Starlette(routes=audit_routes(trail))
        role = {"now": Role.AUDITOR}

        async def as_somebody(scope, receive, send):  # type: ignore[no-untyped-def]
            scope.setdefault("state", {})["signed_in"] = SignedIn(Actor("ada", frozenset({role["now"]})), "")
            await app(scope, receive, send)

        client = TestClient(as_somebody)
        client.role = role  # type: ignore[attr-defined]
        return client

    @pytest.mark.parametrize("kind", ["csv", "jsonl"])
    def test_it_sends_what_the_command_writes(
        self, ask: TestClient, trail: Workspace, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("pipeline.audit.ROWS_PER_PART", 7)
        export_trail(trail, tmp_path / f"trail.{kind}")
        answer = ask.get(f"/api/audit/export.{kind}")
        assert answer.status_code == 200
        assert answer.content == (tmp_path / f"trail.{kind}").read_bytes()
        assert answer.headers["cache-control"] == "private, no-store"
        assert answer.headers["content-disposition"].startswith("attachment;")

    def test_filters_are_those_of_the_page(self, ask: TestClient, trail: Workspace) -> None:
        wanted = EventFilter(
            who=HOSTILE, since=datetime(2020, 1, 1, tzinfo=UTC), until=datetime(2100, 1, 1, tzinfo=UTC)
        )
        (line,) = ask.get(export_address("jsonl", wanted)).text.splitlines()
        assert json.loads(line)["new"] == {"text": HOSTILE}
        rows = list(csv.reader(io.StringIO(ask.get("/api/audit/export.csv?who=otto").text)))
        assert [row[4] for row in rows] == ["action", "drop"]

    @pytest.mark.parametrize("query", ["since=yesterday", "nonsense=1", "until=2026-13-40", "who=%00"])
    def test_a_wrong_filter_is_refused(self, ask: TestClient, query: str) -> None:
        answer = ask.get(f"/api/audit/export.csv?{query}")
        assert answer.status_code == 422
        assert "error" in answer.json()

    @pytest.mark.parametrize("role", [Role.READER, Role.AUTHOR, Role.COORDINATOR, Role.REVIEWER])
    def test_others_get_nothing(self, ask: TestClient, trail: Workspace, role: Role) -> None:
        ask.role["now"] = role  # type: ignore[attr-defined]
        answer = ask.get("/api/audit/export.csv")
        assert answer.status_code == 403
        assert "sha256" not in answer.text
        with pytest.raises(NotAllowedError):
            stream_trail(trail.acting_as(Actor("x", frozenset({role}))), kind="csv")

    def test_rows_that_come_meanwhile_are_left_out(self, trail: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("pipeline.audit.ROWS_PER_PART", 10)
        total = count_events(trail)
        parts = stream_trail(trail, kind="jsonl")
        rows = next(parts).splitlines()
        with trail.writing() as session:
            record_event(
                session, who="late", action="x", row=session.get_one(Account, trail.owner().id), new={"late": True}
            )
        for part in parts:
            rows += part.splitlines()
        assert len(rows) == total
        assert list_events(trail, limit=1)[0].who == "late"
