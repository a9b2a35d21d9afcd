"""People in browsers: real pages, real keys, each save timed from the key to the answer and to the page's going on."""

from __future__ import annotations

import asyncio
import random
import re
import shutil
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Browser, Error, Locator, Page, Response, async_playwright

from db.tables import Act
from evaluation.items import CATEGORIES
from tests.curator_app.conftest import CHROMIUM_ARGUMENTS, CHROMIUM_NAMES
from tests.curator_app.looks import AT_REST
from tests.load.notes import Kind, Notes, Save
from tests.load.scene import Person, Scene

WAIT_MS = 120_000
OPENED_AT_ONCE = 4
"""Pages that are opened side by side; opening one is no saving."""

_TEXTS = ("question", "answer", "category", "notes", "note")

KEY_DELAY_MS = 15
PAUSE_S = (15.0, 45.0)
"""Seconds between two saves, in which a person looks; far shorter ones only measure how fast Chromium draws."""

NOT_CHOSEN = "Choose what the question asks for"
"""What the form says as long as it has no category."""

SIZE = {"width": 1280, "height": 800}


@dataclass
class Timed:
    """Times in ms of what browsers saved, by kind: to the route's answer, and to the page's having gone on.

    `made_by_page` counts saves that the route refused and that the page made all the same, under the same act: what
    is chosen on the page reaches the button with the next drawing of it, and a busy machine draws late.
    """

    notes: Notes = field(default_factory=Notes)
    answered: dict[str, list[float]] = field(default_factory=dict)
    went_on: dict[str, list[float]] = field(default_factory=dict)
    drafts: list[float] = field(default_factory=list)
    made_by_page: int = 0
    sessions: int = 0
    seconds: float = 0.0


def save_in_browsers(scene: Scene, url: str, *, saves: int) -> Timed:
    """Have every person of a scene make so many saves in a browser of their own, all side by side.

    Raises:
        FileNotFoundError: there is no Chromium.
    """
    path = next((found for name in CHROMIUM_NAMES if (found := shutil.which(name))), None)
    if path is None:
        raise FileNotFoundError(f"no Chromium ({', '.join(CHROMIUM_NAMES)}) on this machine")
    return asyncio.run(_all(scene, url, path, saves))


async def _all(scene: Scene, url: str, chromium: str, saves: int) -> Timed:
    timed = Timed(sessions=len(scene.authors) + len(scene.reviewers))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
        slots = asyncio.Semaphore(OPENED_AT_ONCE)
        people = [(person, "write-seeds", _write_seeds) for person in scene.authors]
        people += [(person, "items", _decide) for person in scene.reviewers]
        pages = await asyncio.gather(*(_open(browser, url, person, page, slots) for person, page, _ in people))
        begun = time.monotonic()
        await asyncio.gather(
            *(
                _work(work, page, person, scene, timed, saves)
                for page, (person, _, work) in zip(pages, people, strict=True)
            )
        )
        timed.seconds = time.monotonic() - begun
        await browser.close()
    return timed


async def _open(browser: Browser, url: str, person: Person, address: str, slots: asyncio.Semaphore) -> Page:
    name, _, value = person.cookie.partition("=")
    context = await browser.new_context(viewport=SIZE)  # type: ignore[arg-type]
    await context.add_cookies([{"name": name, "value": value, "url": url}])
    page = await context.new_page()
    page.set_default_timeout(WAIT_MS)
    async with slots:
        await page.goto(f"{url}/{address}")
        await page.locator(".viewer[data-open]").first.wait_for()
        await page.wait_for_function(AT_REST)
    return page


_ROUND: tuple[tuple[Kind, str, str], ...] = (
    ("approve", "a", "Approved"),
    ("undo", "u", "Taken back"),
    ("reject", "Control+Enter", "Rejected"),
    ("undo", "u", "Taken back"),
)
"""What a reviewer does again and again, by which key, and what the page says then."""

_Work = Callable[[Page, Person, Scene, Timed, int], Awaitable[None]]


async def _work(work: _Work, page: Page, person: Person, scene: Scene, timed: Timed, saves: int) -> None:
    page.on("requestfinished", lambda request: _note_draft(request.url, request.timing, timed))
    try:
        await work(page, person, scene, timed, saves)
    except Error as error:
        timed.notes.fault(f"{person.name} ended: {error.message[:300]}")


def _note_draft(url: str, timing: Any, timed: Timed) -> None:
    if "/api/drafts/" in url:
        timed.drafts.append(timing["responseEnd"])


async def _write_seeds(page: Page, person: Person, scene: Scene, timed: Timed, saves: int) -> None:
    for number in range(saves):
        question = f"{uuid.uuid4().hex[:8]} what is seen?"
        await asyncio.sleep(random.uniform(*PAUSE_S))
        await page.get_by_text(re.compile(r"^1 ")).first.click()
        await page.get_by_text(NOT_CHOSEN).wait_for(state="hidden")
        await page.get_by_role("textbox", name="Answer").fill(f"necrosis {number}")
        await page.get_by_label("Question, or a statement").click()
        await page.keyboard.type(question, delay=KEY_DELAY_MS)
        done = page.get_by_text(re.compile(rf"Saved \d\d:\d\d:\d\d: {question[:8]}"))
        await _save(page, person, scene, timed, "new seed", "/api/seeds", "Control+Enter", done)


async def _decide(page: Page, person: Person, scene: Scene, timed: Timed, saves: int) -> None:
    """Approve, take back, reject with a note, take back."""
    said = page.locator("#hc-said")
    for number in range(saves):
        await asyncio.sleep(random.uniform(*PAUSE_S))
        kind, key, words = _ROUND[number % len(_ROUND)]
        if kind == "reject":
            await page.keyboard.press("r")
            await page.get_by_label("What is wrong").click()
            await page.keyboard.type(f"{uuid.uuid4().hex[:8]} is not seen", delay=KEY_DELAY_MS)
        await _save(page, person, scene, timed, kind, "/decisions", key, said.filter(has_text=words))


async def _save(
    page: Page,
    person: Person,
    scene: Scene,
    timed: Timed,
    kind: Kind,
    address: str,
    key: str,
    done: Locator,
) -> None:
    """Press what saves, wait for the route's answer and for the page's word of it."""
    begun = time.perf_counter()
    async with page.expect_response(lambda response: address in response.url) as answer:
        await page.keyboard.press(key)
    response: Response = await answer.value
    answered = time.perf_counter()
    asked = response.request.post_data_json
    await done.first.wait_for()
    went_on = time.perf_counter()
    if response.ok:
        timed.answered.setdefault(kind, []).append((answered - begun) * 1000)
        timed.went_on.setdefault(kind, []).append((went_on - begun) * 1000)
    else:
        timed.made_by_page += 1
    texts = {name: asked[name] for name in _TEXTS if name in asked}
    if kind == "new seed":
        texts["category"] = CATEGORIES[0]
    timed.notes.sending(person.account_id, asked["act"])
    made = await asyncio.to_thread(_made, scene, person.account_id, asked["act"])
    if made is None:
        timed.notes.fault(f"lost: {kind} of {person.name}, {response.status}, {texts}")
    else:
        timed.notes.saved(
            Save(
                kind=kind,
                account_id=person.account_id,
                who=person.name,
                act=asked["act"],
                object_id=made.object_id,
                texts=texts,
                version=made.row_version,
                over=asked["version"],
            )
        )
    await page.wait_for_function(AT_REST)


def _made(scene: Scene, account_id: str, act: str) -> Act | None:
    """Return what the database says of an act: the page reads the answer's status alone, so no body is to be had."""
    with scene.workspace.reading() as session:
        return session.get(Act, (account_id, act))
