"""Texts that somebody typed and has not saved: kept in the workspace, so that a reload loses none of them."""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pipeline.errors import InputError
from pipeline.workspace import DRAFTS, Workspace

MAX_FIELDS = 40

_NAME = re.compile(r"[a-z]+_[A-Za-z0-9_]{1,60}")
_FIELD = re.compile(r"[A-Za-z0-9_]{1,40}")

_REMEMBERED = 1000

_ended: deque[str] = deque(maxlen=_REMEMBERED)
"""Writings that were saved or given up: what the browser still sends of them comes too late."""

_newest: OrderedDict[str, dict[str, int]] = OrderedDict()
"""By writing, the number of the newest text of each field: an older one may arrive after it."""

_one_at_a_time = threading.Lock()
"""The fields of a form come one by one, each into the file that the others are in."""


@dataclass(frozen=True)
class Unsaved:
    """The typed fields, the texts that they began from, and what the page must remember about them.

    `at` is when something was typed last.
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    at: datetime | None = None

    @property
    def is_text(self) -> bool:
        """Whether anything is in it that is not stored already."""
        return any(text.strip() != self.own.get(name, "").strip() for name, text in self.fields.items())


class DraftStore:
    """One person's drafts, one small file each. A name is a kind and an id: `seed_roi_4f…`."""

    def __init__(self, workspace: Workspace) -> None:
        """Open the drafts of the workspace's actor."""
        self._folder = workspace.root / DRAFTS / workspace.actor.account_id
        self._longest = workspace.settings.max_text_length

    def read(self, name: str) -> Unsaved:
        """Return a draft; an empty one where there is none or its file is damaged."""
        path = self._path(name)
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            return Unsaved(dict(kept["fields"]), dict(kept.get("own", {})), dict(kept["about"]), at)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return Unsaved()

    def begin(self, name: str, own: Mapping[str, str], *, about: Mapping[str, str]) -> None:
        """Note from which stored texts somebody begins; what is typed is a draft as soon as it differs from them."""
        with _one_at_a_time:
            self._store(name, Unsaved({}, own, about))

    def write(self, name: str, fields: Mapping[str, str], *, about: Mapping[str, str] | None = None) -> None:
        """Keep what is typed now; fields and facts that are not given stay as they were.

        Raises:
            InputError: a name that is none, too many fields, or a text far longer than can be saved.
        """
        with _one_at_a_time:
            self._write(name, fields, about or {})

    def _write(self, name: str, fields: Mapping[str, str], about: Mapping[str, str]) -> None:
        path, before = self._path(name), self.read(name)
        typed = {**before.fields, **fields}
        if len(typed) > MAX_FIELDS or not all(_FIELD.fullmatch(key) for key in typed):
            raise InputError(f"A draft has at most {MAX_FIELDS} named fields")
        if any(len(text) > 4 * self._longest for text in typed.values()):
            raise InputError(f"A draft's text has at most {4 * self._longest} characters")
        after = Unsaved(typed, before.own, {**before.about, **about})
        if after.is_text or after.own:
            self._store(name, after)
        else:
            path.unlink(missing_ok=True)

    def drop(self, name: str, *, writing: str | None = None) -> None:
        """Forget a draft; what the browser still sends of this writing is not kept."""
        with _one_at_a_time:
            if writing is not None:
                _ended.append(writing)
            self._path(name).unlink(missing_ok=True)

    def receive(self, name: str, writing: str, fields: Mapping[str, str], *, number: int = 0) -> bool:
        """Keep what the browser sends, unless that writing has ended; say whether it was kept.

        Args:
            name: the draft.
            writing: the act of writing.
            fields: texts by field.
            number: grows from one sending to the next; a text that newer ones have overtaken is not kept.

        Raises:
            InputError: as `write`.
        """
        with _one_at_a_time:
            # Asked with the lock: a writing that ends between the question and the write would come back to life.
            if writing in _ended:
                return False
            newest = _newest.setdefault(writing, {})
            while len(_newest) > _REMEMBERED:
                _newest.popitem(last=False)
            fresh = {key: text for key, text in fields.items() if number >= newest.get(key, 0)}
            self._write(name, fresh, {})
            newest.update(dict.fromkeys(fresh, number))
        return True

    def latest(self, *kinds: str) -> str | None:
        """Return the name of the draft of these kinds that was changed last."""
        found: list[tuple[datetime, str]] = []
        for kind in kinds:
            for path in self._folder.glob(f"{kind}_*.json"):
                kept = self.read(path.stem)
                if kept.is_text and kept.at is not None:
                    found.append((kept.at, path.stem))
        return max(found)[1] if found else None

    def _store(self, name: str, kept: Unsaved) -> None:
        path = self._path(name)
        self._folder.mkdir(parents=True, exist_ok=True)
        whole = {"fields": dict(kept.fields), "own": dict(kept.own), "about": dict(kept.about)}
        unfinished = path.with_suffix(f".{uuid.uuid4().hex}")
        unfinished.write_text(json.dumps(whole, ensure_ascii=False), encoding="utf-8")
        unfinished.replace(path)

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise InputError(f"{name!r} is no name of a draft")
        return self._folder / f"{name}.json"


def new_writing() -> str:
    """Return the id of one act of writing, from the first key to saving or giving up."""
    return uuid.uuid4().hex
