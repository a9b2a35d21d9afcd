"""The hash of an audit row: it covers the row's content and the hash of the row before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

FIELDS = (
    "sequence",
    "at",
    "who",
    "role",
    "action",
    "object_type",
    "object_id",
    "old",
    "new",
    "reason",
    "previous_sha256",
)
"""What the hash covers, all of a row but the hash itself."""


@dataclass(frozen=True)
class ChainLink:
    """A place in the chain: the number of a row, from 1, and its SHA-256."""

    sequence: int
    sha256: str


START = ChainLink(0, "0" * 64)
"""What the first row follows."""


def digest(row: Mapping[str, Any]) -> str:
    """Return the SHA-256 of an audit row as 64 hexadecimal digits.

    Args:
        row: the fields named in `FIELDS`; `at` is an aware time, `old` and `new` are JSON documents or None.
    """
    content = {name: row[name] for name in FIELDS}
    at: datetime = content["at"]
    content["at"] = at.astimezone(UTC).isoformat(timespec="microseconds")
    return document_digest(content)


def document_digest(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a JSON document as 64 hexadecimal digits."""
    # One way to write a document, so that both databases and every later version hash the same bytes.
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
