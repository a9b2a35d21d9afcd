"""Texts that somebody typed and has not saved: kept in the workspace, so that a reload loses none of them."""

from __future__ import annotations

import json
import re
import uuid
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.errors import InputError
from pipeline.workspace import DRAFTS, Workspace

MAX_FIELDS = 40

_NAME = re.compile(r"[a-z]+_[A-Za-z0-9_]{1,60}")
_FIELD = re.compile(r"[A-Za-z0-9_]{1,40}")

_ended: deque[str] = deque(maxlen=1000)
"""Writings that were saved or given up: what the browser still sends of them comes too late."""


@dataclass(frozen=True)
class Unsaved:
    """The typed fields, and what the page must remember about them (for example which seed they change)."""

    fields: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)


class DraftStore:
    """One person's drafts, one small file each. A name is a kind and an id: `seed_roi_4f…`."""

    def __init__(self, workspace: Workspace) -> None:
        """Open the drafts of the workspace's actor."""
        self._folder = workspace.root / DRAFTS / workspace.actor.account_id
        self._longest = workspace.settings.max_text_length

    def read(self, name: str) -> Unsaved:
        """Return a draft; an empty one where there is none or its file is damaged."""
        try:
            kept = json.loads(self._path(name).read_text(encoding="utf-8"))
            return Unsaved(dict(kept["fields"]), dict(kept["about"]))
        except (OSError, ValueError, KeyError, TypeError):
            return Unsaved()

    def write(self, name: str, fields: Mapping[str, str], *, about: Mapping[str, str] | None = None) -> None:
        """Keep what is typed now; fields and facts that are not given stay as they were.

        Raises:
            InputError: a name that is none, too many fields, or a text far longer than can be saved.
        """
        path, before = self._path(name), self.read(name)
        typed = {**before.fields, **fields}
        if len(typed) > MAX_FIELDS or not all(_FIELD.fullmatch(key) for key in typed):
            raise InputError(f"A draft has at most {MAX_FIELDS} named fields")
        if any(len(text) > 4 * self._longest for text in typed.values()):
            raise InputError(f"A draft's text has at most {4 * self._longest} characters")
        if not any(text.strip() for text in typed.values()):
            self.drop(name)
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        whole = {"fields": typed, "about": {**before.about, **(about or {})}}
        unfinished = path.with_suffix(f".{uuid.uuid4().hex}")
        unfinished.write_text(json.dumps(whole, ensure_ascii=False), encoding="utf-8")
        unfinished.replace(path)

    def drop(self, name: str, *, writing: str | None = None) -> None:
        """Forget a draft; what the browser still sends of this writing is not kept."""
        if writing is not None:
            _ended.append(writing)
        self._path(name).unlink(missing_ok=True)

    def receive(self, name: str, writing: str, fields: Mapping[str, str]) -> None:
        """Keep what the browser sends, unless that writing has ended."""
        if writing not in _ended:
            self.write(name, fields)

    def latest(self, kind: str) -> str | None:
        """Return the id of the draft of a kind that was changed last."""
        found: list[tuple[float, str]] = []
        for path in self._folder.glob(f"{kind}_*.json"):
            with suppress(FileNotFoundError):
                found.append((path.stat().st_mtime, path.stem.removeprefix(f"{kind}_")))
        return max(found)[1] if found else None

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise InputError(f"{name!r} is no name of a draft")
        return self._folder / f"{name}.json"


def new_writing() -> str:
    """Return the id of one act of writing, from the first key to saving or giving up."""
    return uuid.uuid4().hex
