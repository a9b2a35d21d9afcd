"""Texts that somebody typed and has not saved: kept in the workspace, so that a reload loses none of them."""

from __future__ import annotations

import json
import logging
import re
import threading
import uuid
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from db import utc_now
from pipeline.errors import InputError
from pipeline.stored_files import write_durably
from pipeline.workspace import DRAFTS, Workspace

MAX_FIELDS = 40

DRAFT_NAME = r"^[a-z]+_[A-Za-z0-9_]{1,60}$"
_FIELD = re.compile(r"[A-Za-z0-9_]{1,40}")

_ENDED_FILE = "ended.json"
"""Beside a person's drafts: the writings that ended, so that they stay ended when the server is started again."""

_KEPT_ENDED = 200
"""A browser sends the last of a writing within seconds, or when it is opened again."""

_ended: dict[Path, deque[str]] = {}
"""By folder, writings that were saved or given up: what the browser still sends of them comes too late."""

_MOST_OTHERS = 20

_turns = [threading.Lock() for _ in range(64)]
"""The fields of a form come one by one, each into the file that the others are in. A draft always has the same turn."""

_ending = threading.Lock()

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class OtherText:
    """What the same person typed into the same field in another tab or browser, while the draft held another text."""

    field: str
    text: str
    writing: str
    at: str


@dataclass(frozen=True)
class Unsaved:
    """The typed fields, the texts that they began from, and what the page must remember about them.

    `at` is when something was typed last. `saved` are the texts as a save put them into the database, if the page has
    not heard of it. `typed_by` says, by field, in which writing its text was typed, and a number that grows with each
    key. `others` are texts that met another one here: none is written over.
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    at: datetime | None = None
    saved: Mapping[str, str] = field(default_factory=dict)
    typed_by: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    others: tuple[OtherText, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether anything is in it that is not stored already."""
        stored = {**self.own, **self.saved}
        return any(text.strip() != stored.get(name, "").strip() for name, text in self.fields.items())


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
            return Unsaved(
                dict(kept["fields"]),
                dict(kept.get("own", {})),
                dict(kept["about"]),
                at,
                dict(kept.get("saved", {})),
                {key: (str(writing), int(number)) for key, (writing, number) in kept.get("typed_by", {}).items()},
                tuple(OtherText(**other) for other in kept.get("others", [])),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return Unsaved()

    def begin(self, name: str, own: Mapping[str, str], *, about: Mapping[str, str]) -> None:
        """Note from which stored texts somebody begins; what is typed is a draft as soon as it differs from them."""
        with self._turn(name):
            self._store(name, Unsaved({}, own, about, others=self.read(name).others))

    def write(self, name: str, fields: Mapping[str, str], *, about: Mapping[str, str] | None = None) -> None:
        """Keep what is typed now; fields and facts that are not given stay as they were.

        Raises:
            InputError: a name that is none, too many fields, or a text far longer than can be saved.
            OSError: it cannot be kept now; what was kept before stays.
        """
        with self._turn(name):
            self._write(name, fields, about or {})

    def _write(
        self,
        name: str,
        fields: Mapping[str, str],
        about: Mapping[str, str],
        *,
        typed_by: Mapping[str, tuple[str, int]] | None = None,
        others: tuple[OtherText, ...] | None = None,
    ) -> None:
        path, before = self._path(name), self.read(name)
        typed = {**before.fields, **fields}
        if len(typed) > MAX_FIELDS or not all(_FIELD.fullmatch(key) for key in typed):
            raise InputError(f"A draft has at most {MAX_FIELDS} named fields")
        if any(len(text) > 4 * self._longest for text in typed.values()):
            raise InputError(f"A draft's text has at most {4 * self._longest} characters")
        after = replace(before, fields=typed, about={**before.about, **about}, typed_by=typed_by or before.typed_by)
        if others is not None:
            after = replace(after, others=others)
        if after.is_text or after.own or after.saved or after.others:
            self._store(name, after)
        else:
            path.unlink(missing_ok=True)

    def drop(self, name: str, *, writing: str | None = None) -> None:
        """Forget a draft; what the browser still sends of this writing is not kept.

        Where another tab typed into the same draft, its texts stay, to be offered beside the field.
        """
        with self._turn(name):
            if writing is not None:
                self._end(writing)
            if others := _left_by_other_tabs(self.read(name), writing):
                self._store(name, Unsaved(others=others))
            else:
                self._path(name).unlink(missing_ok=True)

    def take_over(self, name: str, field: str, writing: str) -> None:
        """Note that this writing goes on with the text of a field: what it types replaces that text."""
        with self._turn(name):
            before = self.read(name)
            if before.typed_by.get(field, (writing, 0))[0] != writing:
                # Counted anew: the clock of another computer may be ahead.
                self._store(name, replace(before, typed_by={**before.typed_by, field: (writing, 0)}))

    def forget_other(self, name: str, other: OtherText) -> None:
        """Forget a text that met another one."""
        with self._turn(name):
            self._write(name, {}, {}, others=_without(self.read(name), other))

    def use_other(self, name: str, other: OtherText, writing: str, *, instead_of: str) -> None:
        """Put a text that met another one into its field; the one that stood there can be put back likewise."""
        with self._turn(name):
            before = self.read(name)
            others = _with_other(
                list(_without(before, other)), other.field, instead_of, new_writing(), besides=other.text
            )
            typed_by = {**before.typed_by, other.field: (writing, 0)}
            self._write(name, {other.field: other.text}, {}, typed_by=typed_by, others=tuple(others))

    def mark_saved(self, name: str, writing: str, fields: Mapping[str, str], *, about: Mapping[str, str]) -> None:
        """Note that a save put these texts into the database, unless the page has ended the writing already.

        The page ends it when it hears of the save; where it never does, the next visit knows by this.
        """
        with self._turn(name):
            if writing not in self._writings_ended():
                before = self.read(name)
                self._store(name, replace(before, saved=fields, about={**before.about, **about}))

    def saved(self, *kinds: str) -> list[str]:
        """Return the names of the drafts of these kinds that were saved without their page's hearing of it."""
        found = [path.stem for kind in kinds for path in self._folder.glob(f"{kind}_*.json")]
        return sorted(name for name in found if self.read(name).saved)

    def receive(self, name: str, writing: str, fields: Mapping[str, str], *, number: int = 0) -> bool:
        """Keep what the browser sends, unless that writing has ended; say whether it was kept.

        Args:
            name: the draft.
            writing: the act of writing.
            fields: texts by field.
            number: grows with each key; a text that a newer one of the same writing has overtaken is not kept.

        Raises:
            InputError: as `write`.
            OSError: as `write`.
        """
        with self._turn(name):
            # Asked in turn: a writing that ends between the question and the write would come back to life.
            if writing in self._writings_ended():
                return False
            before = self.read(name)
            typed_by, others = dict(before.typed_by), list(before.others)
            taken: dict[str, str] = {}
            for key, text in fields.items():
                writer, newest = typed_by.get(key, (writing, 0))
                there = before.fields.get(key, "")
                if writer == writing and number < newest:
                    continue
                # One's own text of the same writing is replaced; so is a text that this one goes on with.
                others = [one for one in others if (one.field, one.writing) != (key, writing)]
                if number < newest:
                    others = _with_other(others, key, text, writing, besides=there)
                    continue
                if writer != writing:
                    others = _with_other(others, key, there, writer, besides=text)
                others = [one for one in others if one.field != key or one.text.strip() not in text]
                taken[key], typed_by[key] = text, (writing, number)
            self._write(name, taken, {}, typed_by=typed_by, others=tuple(others))
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
        whole = {
            "fields": dict(kept.fields),
            "own": dict(kept.own),
            "about": dict(kept.about),
            "saved": dict(kept.saved),
            "typed_by": dict(kept.typed_by),
            "others": [asdict(other) for other in kept.others],
        }
        write_durably(path, json.dumps(whole, ensure_ascii=False).encode())

    def _turn(self, name: str) -> threading.Lock:
        return _turns[hash(self._path(name)) % len(_turns)]

    def _writings_ended(self) -> deque[str]:
        found = _ended.get(self._folder)
        if found is None:
            found = _ended[self._folder] = deque(_listed(self._folder / _ENDED_FILE), maxlen=_KEPT_ENDED)
        return found

    def _end(self, writing: str) -> None:
        with _ending:
            ended = self._writings_ended()
            ended.append(writing)
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                write_durably(self._folder / _ENDED_FILE, json.dumps(list(ended)).encode())
            except OSError as error:
                # What was saved is saved: an error here would look as if it were not. This process remembers.
                _log.error("That a writing has ended could not be noted in %s: %s", self._folder, error)

    def _path(self, name: str) -> Path:
        if not re.fullmatch(DRAFT_NAME, name):
            raise InputError(f"{name!r} is no name of a draft")
        return self._folder / f"{name}.json"


def _with_other(others: list[OtherText], field: str, text: str, writing: str, *, besides: str) -> list[OtherText]:
    """Return the texts that met another one, with one more, unless nothing of it is missing in that other one."""
    if text.strip() in besides:
        return others
    return [*others, OtherText(field, text, writing, utc_now().isoformat())][-_MOST_OTHERS:]


def _without(kept: Unsaved, other: OtherText) -> tuple[OtherText, ...]:
    return tuple(one for one in kept.others if one != other)


def _left_by_other_tabs(kept: Unsaved, ending: str | None) -> tuple[OtherText, ...]:
    """Return what stays of a draft when one writing of it ends."""
    left = [one for one in kept.others if one.writing != ending]
    writers = {writer for writer, _ in kept.typed_by.values()}
    if ending in writers or len(left) < len(kept.others):
        for key, (writer, _) in kept.typed_by.items():
            if writer != ending:
                stored = kept.own.get(key, "") + kept.saved.get(key, "")
                left = _with_other(left, key, kept.fields.get(key, ""), writer, besides=stored)
    # Else it was never open in the tab that gives it up: who does so means all that it holds.
    return tuple(left)


def _listed(path: Path) -> list[str]:
    try:
        return [str(one) for one in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        return []


def new_writing() -> str:
    """Return the id of one act of writing, from the first key to saving or giving up."""
    return uuid.uuid4().hex


def note_draft(item_id: str) -> str:
    """Return the name of the draft of the note with which an item is rejected."""
    return f"reject_{item_id}"
