"""Rows of the audit trail in words: kinds of objects, actions, and values as they are read. For pages and commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_KINDS = {
    "accountsession": "session",
    "guesstrial": "guess trial",
    "itemversion": "item version",
    "modelcall": "model call",
    "releaseitem": "item of a release",
    "reviewdecision": "review decision",
    "roi": "ROI",
}
"""Kinds of objects whose name in the trail is no word."""

_ACTIONS = {"state": "changed its state", "version": "wrote a version"}
"""Actions whose name in the trail says too little by itself."""

_NOTHING = "nothing"


def kind_words(object_type: str) -> str:
    """Return a kind of object as a person reads it."""
    return _KINDS.get(object_type, object_type.replace("_", " "))


def action_words(action: str) -> str:
    """Return an action as a person reads it."""
    return _ACTIONS.get(action, action.replace("_", " "))


def changes(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Iterator[tuple[str, str | None, str]]:
    """Yield each field that changed: its name, what it was (None where it is only now), and what it is.

    Of a document within a field only the parts that differ are said.
    """
    before, after = old or {}, new or {}
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            was, now = _differing(was, now), _differing(now, was)
        yield name.replace("_", " "), value_words(was) if name in before else None, value_words(now)


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in one.items() if name not in other or other[name] != value}


def value_words(value: Any, *, nested: bool = False) -> str:
    """Return a value as it is read; the parts of a document stand behind their names, those of a part in brackets."""
    if value is None or value in ("", [], {}):
        return _NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        parts = (f"{str(name).replace('_', ' ')} {value_words(part, nested=True)}" for name, part in value.items())
        return f"({', '.join(parts)})" if nested else "; ".join(parts)
    if isinstance(value, list):
        said = ", ".join(value_words(part, nested=True) for part in value)
        return f"({said})" if nested and len(value) > 1 else said
    return str(value)


def line_of(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    """Return what changed in one line, as commands print it."""
    return "; ".join(
        f"{name}: {was} → {now}" if was is not None else f"{name}: {now}" for name, was, now in changes(old, new)
    )
