"""Opaque, stable identifiers."""

from __future__ import annotations

import secrets


def new_id(prefix: str) -> str:
    """Return a fresh identifier such as `roi_1f0c…`: a readable prefix and 80 random bits."""
    return f"{prefix}_{secrets.token_hex(10)}"
