"""Removes API keys and tokens from texts that people or logs will see."""

from __future__ import annotations

import os
import re

REDACTED = "[redacted]"

_SECRET_NAME = re.compile(r"(API_?KEY|ACCESS_?KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)", re.IGNORECASE)
_MIN_SECRET_LENGTH = 6
_MIN_KEY_LENGTH = 16
"""Keys of providers are longer, and words of an answer are not."""
_SECRET_SHAPES = (
    re.compile(r"\b(sk|pk|rk|hf|gsk|xai|AIza)[-_][A-Za-z0-9_\-*.…]{6,}"),
    re.compile(r"(?i)(?<=bearer )\s*\S{6,}"),
    re.compile(r"(?i)((?:x-api-key|api[-_]key|authorization)[\"']?\s*[:=]\s*[\"']?)[^\s\"',}]{6,}"),
    re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"),
)


def scrub(text: str) -> str:
    """Return `text` without keys: values of secret-looking environment variables and texts shaped like keys."""
    text = scrub_known(text, _MIN_SECRET_LENGTH)
    for shape in _SECRET_SHAPES:
        text = shape.sub(lambda match: (match.group(1) if _keeps_name(match) else "") + REDACTED, text)
    return text


def scrub_known(text: str, shortest: int = _MIN_KEY_LENGTH) -> str:
    """Return a model's own words without the values of secret-looking environment variables, and else unchanged.

    Args:
        text: what the model said.
        shortest: values of fewer characters stay: a number in a variable called TOKENS is no key.
    """
    secrets = {value for name, value in os.environ.items() if _SECRET_NAME.search(name) and len(value) >= shortest}
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    return text


def _keeps_name(match: re.Match[str]) -> bool:
    return bool(match.re.groups) and match.group(1).rstrip(" \"':=").lower() in {
        "x-api-key",
        "api-key",
        "api_key",
        "authorization",
    }
