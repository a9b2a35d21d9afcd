"""Authors and reviewers who work over HTTP as the pages do: one press of a button is one act, sent until answered."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

import httpx

from pipeline.review import REVIEWABLE
from tests.load.notes import DECISIONS, Kind, Notes, Save
from tests.load.scene import CATEGORY, Person, Scene, Thing

PATIENCE_S = 180
"""A request that is not answered for so long, tries included, is a fault."""

RETRY_S = 0.2
MAX_CONFLICTS = 200
LONG_NOTE = "The lesion touches the upper edge and the vessel; seen at two magnifications. " * 6
DECIDED = ("approved", "rejected")

Spoiled = Literal["twice", "at once", "cut"]
SPOILED: tuple[Spoiled, ...] = ("twice", "at once", "cut")
"""How an answer gets lost: after it came, while a second request is under way, or since nobody waits for it."""


class GivenUpError(Exception):
    """A request was never answered."""


@dataclass
class _Known:
    """What a client knows of an object: its row version and, of an item, its state."""

    id: str
    version: int
    roi_id: str = ""
    state: str = ""


@dataclass(frozen=True)
class Pace:
    """How a client works: seconds between two saves (from, to), and the share of its requests that it spoils."""

    pause: tuple[float, float] = (0.0, 0.0)
    spoiled: float = 0.05


class Client:
    """One signed-in person's browser, without the browser."""

    def __init__(self, person: Person, url: str, notes: Notes, *, seed: int, pace: Pace) -> None:
        self.person = person
        self._notes = notes
        self._rng = random.Random(f"{seed}/{person.name}")
        self._pace = pace
        headers = {"Cookie": person.cookie, "Origin": url}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False)
        self._other = httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False)
        self._writings: dict[str, str] = {}
        self._number = 0

    def work(self, saves: int | None, stop: threading.Event) -> None:
        """Make so many saves, or save until `stop` is set where it is None."""
        made = 0
        try:
            while not stop.is_set() and (saves is None or made < saves):
                made += self._save_something()
                time.sleep(self._rng.uniform(*self._pace.pause))
        except Exception as error:
            self._notes.fault(f"{self.person.name} ended: {type(error).__name__}: {error}")
        finally:
            self._http.close()
            self._other.close()

    def _save_something(self) -> int:
        """Make one save and return 1, or 0 where there was nothing to save."""
        raise NotImplementedError

    def _draft(self, name: str, field_name: str) -> int:
        """Send what is typed in a field."""
        self._number += 1
        writing = self._writings.setdefault(name, uuid.uuid4().hex)
        text = f"[{self._number}] {self._words()} is what I am just"
        body = {
            "account": self.person.account_id,
            "writing": writing,
            "fields": {field_name: text},
            "number": time.time_ns() // 1_000_000,
        }
        status, answer, ms = self._ask(f"/api/drafts/{name}", body)
        if status != HTTPStatus.OK or answer.get("kept") is not True:
            self._notes.fault(f"draft {name}: {status} {answer}")
            return 0
        self._note("draft", writing, name, {field_name: text}, number=self._number, ms=ms)
        return 1

    def _press(self, path: str, body: Mapping[str, Any]) -> tuple[str, int, dict[str, Any], float | None]:
        """Press a button once; return the act, the status, the answer and its time in ms."""
        act = uuid.uuid4().hex
        self._notes.sending(self.person.account_id, act)
        status, answer, ms = self._ask(path, {"account": self.person.account_id, "act": act, **body})
        if status == HTTPStatus.CONFLICT:
            self._notes.conflict(self.person.account_id, act, ms)
        elif status != HTTPStatus.OK:
            self._notes.fault(f"{path}: {status} {answer}")
        return act, status, answer, ms

    def _note(
        self,
        kind: Kind,
        act: str,
        object_id: str,
        texts: Mapping[str, str],
        *,
        number: int = 0,
        version: int = 0,
        over: int | None = None,
        ended: tuple[str, str] | None = None,
        ms: float | None = None,
    ) -> None:
        self._notes.saved(
            Save(
                kind=kind,
                account_id=self.person.account_id,
                who=self.person.name,
                act=act,
                object_id=object_id,
                texts=dict(texts),
                version=version,
                over=over,
                number=number,
                ended=ended,
                ms=ms,
            )
        )

    def _ask(self, path: str, body: Mapping[str, Any]) -> tuple[int, dict[str, Any], float | None]:
        """Post until answered, some requests twice as if their answer had been lost."""
        if self._rng.random() >= self._pace.spoiled:
            return self._post(self._http, path, body)
        self._notes.again()
        how = self._rng.choice(SPOILED)
        if how == "cut":
            try:
                self._http.post(path, json=body, timeout=self._rng.uniform(0.002, 0.05))
            except httpx.TransportError:
                self._notes.again()
            status, answer, _ = self._post(self._http, path, body)
            return status, answer, None
        if how == "at once":
            with ThreadPoolExecutor(1) as second:
                other = second.submit(self._post, self._other, path, body)
                first = self._post(self._http, path, body)
                again = other.result()
        else:
            first = self._post(self._http, path, body)
            again = self._post(self._http, path, body)
        if _told(first) != _told(again):
            self._notes.fault(f"{path} sent {how} was answered {first[:2]} and {again[:2]}")
        return again[0], again[1], None

    def _post(self, http: httpx.Client, path: str, body: Mapping[str, Any]) -> tuple[int, dict[str, Any], float | None]:
        end = time.monotonic() + PATIENCE_S
        repeated = False
        while True:
            begun = time.perf_counter()
            try:
                response = http.post(path, json=body)
            except httpx.TransportError as error:
                if time.monotonic() > end:
                    raise GivenUpError(f"{path}: {type(error).__name__}") from error
                self._notes.again()
                repeated = True
                time.sleep(RETRY_S)
                continue
            ms = (time.perf_counter() - begun) * 1000
            if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                return response.status_code, {"error": response.text[:200]}, None
            return response.status_code, response.json(), None if repeated else ms

    def _words(self) -> str:
        return f"case {uuid.uuid4().hex[:10]}: the change beside the central vein"


def _told(answer: tuple[int, dict[str, Any], float | None]) -> tuple[int, object, object]:
    """Return what two answers to one act have in common: the status and, of a save, the object and its version."""
    status, said, _ = answer
    if status != HTTPStatus.OK:
        return status, None, None
    return status, said.get("seed") or said.get("item"), said.get("version")


class Author(Client):
    """Types drafts, writes seeds, changes own ones and those that all authors change."""

    def __init__(self, person: Person, scene: Scene, url: str, notes: Notes, *, seed: int, pace: Pace) -> None:
        super().__init__(person, url, notes, seed=seed, pace=pace)
        self._rois = scene.rois
        self._shared = [_Known(thing.id, thing.version, thing.roi_id) for thing in scene.shared]
        self._own: list[_Known] = []

    def _save_something(self) -> int:
        what = self._rng.choices(("draft", "new", "own", "shared"), (50, 18, 16, 16))[0]
        if what == "draft":
            field_name = self._rng.choice(("question", "answer", "notes"))
            if self._own and self._rng.random() < 0.3:
                return self._draft(f"change_{self._rng.choice(self._own).id}", field_name)
            return self._draft(f"seed_{self._rng.choice(self._rois)}", field_name)
        if what == "own" and self._own:
            return self._change(self._rng.choice(self._own))
        if what == "shared" and self._shared:
            return self._change(self._rng.choice(self._shared))
        return self._write(self._rng.choice(self._rois))

    def _texts(self) -> dict[str, str]:
        return {
            "question": f"{self._words()}, what is it?",
            "answer": self._rng.choice(("necrosis", "Fatty change", "Entzündung, portal")),
            "category": CATEGORY,
            "notes": self._rng.choice(("", "", LONG_NOTE.strip())),
        }

    def _write(self, roi_id: str) -> int:
        texts, name = self._texts(), f"seed_{roi_id}"
        writing = self._writings.get(name)
        ends = {"draft": name, "writing": writing} if writing else {}
        body = {"roi": roi_id, "seed": None, "version": None, **texts, **ends}
        act, status, answer, ms = self._press("/api/seeds", body)
        if status != HTTPStatus.OK:
            return 0
        self._own.append(_Known(answer["seed"], answer["version"], roi_id))
        ended = (name, self._writings.pop(name)) if writing else None
        self._note("new seed", act, answer["seed"], texts, version=answer["version"], ended=ended, ms=ms)
        return 1

    def _change(self, known: _Known) -> int:
        """Save over the version that is known; where that is not the last one, over the one that the answer names."""
        texts, name = self._texts(), f"change_{known.id}"
        writing = self._writings.get(name)
        ends = {"draft": name, "writing": writing} if writing else {}
        for _ in range(MAX_CONFLICTS):
            over = known.version
            body = {"roi": known.roi_id, "seed": known.id, "version": over, **texts, **ends}
            act, status, answer, ms = self._press("/api/seeds", body)
            if status == HTTPStatus.CONFLICT:
                known.version = answer["version"]
                continue
            if status != HTTPStatus.OK:
                return 0
            known.version = answer["version"]
            ended = (name, self._writings.pop(name)) if writing else None
            self._note("seed edit", act, known.id, texts, version=known.version, over=over, ended=ended, ms=ms)
            return 1
        self._notes.fault(f"{known.id} was a conflict {MAX_CONFLICTS} times")
        return 0


class Reviewer(Client):
    """Types notes, approves, rejects with a note and takes back, on own items and on those of all reviewers."""

    def __init__(
        self, person: Person, items: Sequence[Thing], url: str, notes: Notes, *, seed: int, pace: Pace
    ) -> None:
        super().__init__(person, url, notes, seed=seed, pace=pace)
        self._items = [_Known(thing.id, thing.version, state=thing.state) for thing in items]

    def _save_something(self) -> int:
        item = self._rng.choice(self._items)
        if self._rng.random() < 0.25:
            return self._draft(f"reject_{item.id}", "note")
        return self._decide(item)

    def _decide(self, item: _Known) -> int:
        """Decide on what is known; where somebody decided meanwhile, look again and decide on that."""
        for _ in range(MAX_CONFLICTS):
            decision: Kind = "undo" if item.state in DECIDED else self._rng.choice(("approve", "reject"))
            note = f"{self._words()} is not seen" if decision == "reject" else ""
            name = f"reject_{item.id}"
            writing = self._writings.get(name) if decision == "reject" else None
            over = item.version
            body = {"decision": decision, "note": note, "version": over, **({"writing": writing} if writing else {})}
            act, status, answer, ms = self._press(f"/api/items/{item.id}/decisions", body)
            if status == HTTPStatus.CONFLICT:
                item.version, item.state = answer["version"], answer["state"]
                if item.state not in (*REVIEWABLE, *DECIDED):
                    self._notes.fault(f"{item.id} is {item.state}: nobody but the reviewers touches it")
                    return 0
                continue
            if status != HTTPStatus.OK:
                return 0
            item.version, item.state = answer["version"], _STATES[decision]
            ended = (name, self._writings.pop(name)) if writing else None
            self._note(decision, act, item.id, {"note": note}, version=item.version, over=over, ended=ended, ms=ms)
            return 1
        self._notes.fault(f"{item.id} was a conflict {MAX_CONFLICTS} times")
        return 0


_STATES: Mapping[Kind, str] = {"approve": "approved", "reject": "rejected", "undo": "passed"}


@dataclass
class Crowd:
    """Clients at work, each in a thread of its own."""

    notes: Notes
    stop: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def wait(self) -> None:
        """Wait until all have made their saves."""
        for thread in self.threads:
            thread.join()


@contextmanager
def crowd(scene: Scene, url: str, *, saves: int | None, seed: int, pace: Pace) -> Iterator[Crowd]:
    """Have all people of a scene work; at the end of the block they end what they have begun.

    Args:
        scene: who works on what. A tenth of the items is everybody's, the others are divided among the reviewers.
        url: the server.
        saves: how many each makes; None for as many as there is time for.
        seed: decides what they do.
        pace: how they work.
    """
    notes = Notes()
    common = scene.items[: max(1, len(scene.items) // 10)] if scene.items else []
    rest = scene.items[len(common) :]
    clients: list[Client] = [Author(one, scene, url, notes, seed=seed, pace=pace) for one in scene.authors]
    for number, person in enumerate(scene.reviewers):
        own = [*rest[number :: len(scene.reviewers)], *common]
        clients.append(Reviewer(person, own, url, notes, seed=seed, pace=pace))
    at_work = Crowd(notes)
    for client in clients:
        work: Callable[..., None] = client.work
        at_work.threads.append(threading.Thread(target=work, args=(saves, at_work.stop), daemon=True))
    for thread in at_work.threads:
        thread.start()
    try:
        yield at_work
    finally:
        at_work.stop.set()
        at_work.wait()


__all__ = ["DECISIONS", "Author", "Client", "Crowd", "GivenUpError", "Pace", "Reviewer", "crowd"]
