"""The log holds what happened and when, and no secret."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.log import scrub_consoles, start_log, without_secrets

KEY = "sk-live-4f9a8b7c6d5e4f3a2b1c"


@pytest.fixture
def log_file(tmp_path: Path) -> Iterator[Path]:
    """A log that this test's process writes; its handler goes with the test."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    path = tmp_path / "logs" / "histocurator.log"
    start_log(path)
    yield path
    for handler in [handler for handler in root.handlers if handler not in before]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)


def test_keys_are_in_no_message_and_no_traceback(log_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMEBODYS_API_KEY", KEY)
    logger = logging.getLogger("test")
    logger.warning("called with %s", KEY)
    try:
        raise ValueError(f"refused: Authorization: Bearer {KEY}")
    except ValueError:
        logger.exception("it failed")
    written = log_file.read_text(encoding="utf-8")
    assert "called with" in written
    assert "ValueError: refused" in written
    assert KEY not in written


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("GET /invitation/aBc-123_x?y=1 200", "GET /invitation/[redacted]?y=1 200"),
        ("GET /sign-in/complete?ticket=abc&next=%2F", "GET /sign-in/complete?ticket=[redacted]&next=%2F"),
        ("GET /oauth2callback?state=s1&code=c2 302", "GET /oauth2callback?state=[redacted]&code=[redacted] 302"),
        ("postgresql://ann:pass%20word@db.example/lab", "postgresql://[redacted]@db.example/lab"),
        ("http://127.0.0.1:8501/slides", "http://127.0.0.1:8501/slides"),
        ("2026-11-30 12:00:01 job 3 of 4", "2026-11-30 12:00:01 job 3 of 4"),
    ],
)
def test_tokens_of_links_and_passwords_of_addresses_are_left_out(text: str, kept: str) -> None:
    assert without_secrets(text) == kept


def test_a_librarys_own_console_is_told_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMEBODYS_API_KEY", KEY)
    console = io.StringIO()
    handler = logging.StreamHandler(console)
    handler.setFormatter(logging.Formatter("library: %(message)s"))
    logger = logging.getLogger("test.library")
    logger.propagate = False
    logger.addHandler(handler)
    try:
        scrub_consoles()
        scrub_consoles()
        try:
            raise ValueError(f"refused: {KEY}")
        except ValueError:
            logger.exception("it failed with %s", KEY)
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
    assert console.getvalue().startswith("library: it failed with [redacted]\nTraceback")
    assert KEY not in console.getvalue()
