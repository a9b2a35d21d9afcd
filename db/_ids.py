"""Opaque, stable identifiers."""

from __future__ import annotations

import hashlib
import secrets

_CLEAR = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Digits and letters that nobody mistakes for one another."""


def new_pseudonym() -> str:
    """Return a random name for a person in exports, such as `P-7K3Q-M9XA` (of 6.6e11, so that no two are the same)."""
    return "P" + "".join("-" + "".join(secrets.choice(_CLEAR) for _ in range(4)) for _ in range(2))


def new_id(prefix: str) -> str:
    """Return a fresh identifier such as `roi_1f0c…`: a readable prefix and 80 random bits."""
    return f"{prefix}_{secrets.token_hex(10)}"


def id_of(prefix: str, *content: object) -> str:
    """Return the identifier of something that is known by its content: the same content gives the same one."""
    digest = hashlib.sha256("\n".join(map(str, content)).encode("utf-8")).hexdigest()
    return f"{prefix}_{digest[:20]}"
