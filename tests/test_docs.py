"""The parts of docs/ that are drawn from the code are what the code says now; `make docs` writes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.encoders.document import encoders_document
from pipeline.people.retention_document import retention_document
from pipeline.permissions import permissions_document

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("permissions.md", permissions_document),
        ("privacy.md", retention_document),
        ("encoders.md", encoders_document),
    ],
)
def test_what_is_drawn_from_the_code_is_up_to_date(
    name: str, written: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HISTOCURATOR_KEEP_DRAFTS_DAYS", "1")
    assert (DOCS / name).read_text(encoding="utf-8") == written(), "run make docs"


@pytest.mark.parametrize("path", [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))], ids=lambda path: path.name)
def test_links_between_the_documents_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+\.md)\)", text):
        assert (path.parent / target).is_file(), target
