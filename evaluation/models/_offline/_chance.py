"""Repeatable chance: a random generator that depends on texts alone."""

from __future__ import annotations

import hashlib
import random


def chance(*parts: object) -> random.Random:
    """Return a generator seeded by a digest of `parts`, the same on every machine and in every process."""
    text = "\x00".join(str(part) for part in parts)
    return random.Random(int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big"))
