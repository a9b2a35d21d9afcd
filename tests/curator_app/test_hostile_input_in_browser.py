"""What only a browser shows: scripts in every text, posts and connections of another site, two people on one thing."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from curator_app.drafts import DraftStore
from curator_app.identity import Access, secret_key
from db.tables import AccountSession, ItemVersion, Release
from pipeline.ingest import SlideMetadata, add_slides
from pipeline.people import add_account, close_account, invite
from pipeline.releases import build_release
from pipeline.review import decide, list_items
from pipeline.rois import list_rois, select_roi
from pipeline.sampling import sample_candidates
from pipeline.seeds import SeedText, list_seeds, save_seed
from pipeline.workspace import Workspace
from tests.curator_app.filled import fill_with_items
from tests.curator_app.looks import AT_REST, press
from tests.curator_app.served import Served, serving
from tests.curator_app.visitors import PASSWORD, actor, add_person, cookie_of, opened_session
from tests.databases import new_workspace

pytestmark = pytest.mark.browser

WAIT_MS = 20_000

MARKUP = (
    '<img src=x onerror="__hit=1"><script>__hit=1</script><svg onload=__hit=1>'
    "![p](https://evil.example/p) [l](javascript:__hit=1) &lt;b&gt; &amp; <b>b</b> **s** `c` $x^2$ :red[r] "
    ":smile: a -> b <= c www.evil.example"
)
ATTRIBUTE = "\" autofocus onfocus=window.__hit=1 x='"
SHORT = f"<img src=x onerror=window.__hit=1>{ATTRIBUTE}&lt;i&gt;"
"""For names, which are short."""
FILE_NAME = "<img src=x onerror=window.__hit=1>&lt;u&gt;"
HIT = "() => window.__hit"


@contextmanager
def window(browser: Browser, served: Served, who: str | None) -> Iterator[BrowserContext]:
    """A browser of its own, signed in as somebody."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    if who is not None:
        access = Access(served.workspace, secret_key(served.workspace))
        name, _, value = cookie_of(access, opened_session(served.workspace, who)).partition("=")
        context.add_cookies([{"name": name, "value": value, "url": served.url, "httpOnly": True, "sameSite": "Lax"}])
    try:
        yield context
    finally:
        context.close()


def open_at(page: Page, served: Served, path: str) -> None:
    """Open a page of the app and wait until it stands."""
    page.goto(served.url + path)
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    page.wait_for_function(AT_REST)


# Texts


@pytest.fixture(scope="module")
def hostile(chromium: Browser, drawn_slides: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A served workspace in which every text that somebody can write is an attack."""
    folder = tmp_path_factory.mktemp("hostile")
    workspace = new_workspace(folder / "workspace")
    slide = shutil.copy(drawn_slides[0], folder / f"{FILE_NAME}.tiff")
    told = SlideMetadata(
        organ=FILE_NAME, source=SHORT, licence=SHORT, species=SHORT, stain=SHORT, institution=SHORT, study=SHORT
    )
    report = add_slides(workspace, [Path(slide)], told, who="test")
    assert not report.problems
    fill_with_items(workspace, folder)
    sample_candidates(workspace, organ=FILE_NAME, count=2, size=128, who="test")
    roi = list_rois(workspace, states=("candidate",))[0][0]
    select_roi(workspace, roi.id, who="test")
    save_seed(workspace, SeedText(f"{MARKUP}?", MARKUP, "identify_pathology", MARKUP), roi_id=roi.id, who="test")
    _poison_items(workspace)
    first, *_ = list_items(workspace, states=("passed", "escalated"))
    decide(workspace, first.item.id, "approve", who="test", note=MARKUP)
    for name, role in (("ada", "admin"), ("bob", "author"), ("otto", "auditor")):
        add_account(workspace, name, roles=[role], password=PASSWORD, display_name=SHORT[:80], who="test")
    add_account(workspace, "gone", roles=["reader"], password=PASSWORD, display_name=SHORT[:80], who="test")
    close_account(workspace, "gone", reason=MARKUP, who="ada")
    invite(workspace, roles=["reader"], display_name=SHORT[:80], who="ada")
    release = build_release(workspace, name="atlas", version="1.0.0", annotation_licence=SHORT, who="test").release
    with workspace.writing() as session:
        row = session.get_one(Release, release.id)
        row.name, row.created_by = SHORT, SHORT
        session.add(row)
    with serving(workspace, folder) as served:
        yield served
    workspace.engine.dispose()


def _poison_items(workspace: Workspace) -> None:
    """Put the attack into every text of every item, as a model could have written it."""

    def poisoned(value: object) -> object:
        if isinstance(value, dict):
            kept = ("id", "format", "kind", "letter", "key")
            return {name: each if name in kept else poisoned(each) for name, each in value.items()}
        if isinstance(value, list):
            return [poisoned(each) for each in value]
        return f"{MARKUP} {value}" if isinstance(value, str) else value

    with workspace.writing() as session:
        for entry in list_items(workspace):
            version = session.get_one(ItemVersion, entry.version.id)
            version.content = poisoned(version.content)  # type: ignore[assignment]
            session.add(version)


PLACES = (
    ("/", "ada", ()),
    ("/slides", "ada", (f"{FILE_NAME}.tiff",)),
    ("/sample-rois", "ada", ()),
    ("/write-seeds", "ada", (MARKUP,)),
    ("/items", "ada", (MARKUP,)),
    ("/releases", "ada", (SHORT,)),
    ("/benchmark", "ada", ()),
    ("/people", "ada", (SHORT[:80],)),
    ("/my-account", "ada", (SHORT[:80],)),
    ("/items", "otto", ()),
    ("/password", "ada", ()),
    (f"/sign-in?next={MARKUP}", None, ()),
    (f"/invitation/{MARKUP.replace('/', '%2F')}", None, ()),
    (f"/{FILE_NAME}/x", "ada", ()),
)


@pytest.mark.parametrize(("path", "who", "said"), PLACES, ids=[f"{path[:14]} {who}" for path, who, _ in PLACES])
def test_a_text_is_shown_as_it_was_written_and_does_nothing(
    chromium: Browser, hostile: Served, path: str, who: str | None, said: tuple[str, ...]
) -> None:
    with window(chromium, hostile, who) as context:
        elsewhere: list[str] = []
        context.on(
            "request",
            lambda request: (
                None if request.url.startswith((hostile.url, "blob:", "data:")) else elsewhere.append(request.url)
            ),
        )
        page = context.new_page()
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        open_at(page, hostile, path)
        for text in said:
            # As one reads it: runs of blanks are one.
            page.wait_for_function(_SHOWS, arg=" ".join(text.split()))
        page.mouse.move(400, 400)
        assert page.evaluate(HIT) is None
        assert page.evaluate(_LIVE_MARKUP) == []
        assert dialogs == []
        assert elsewhere == []


_ALL_TEXT = """
const texts = [];
const walk = (root) => {
  texts.push(root.textContent ?? '');
  for (const element of root.querySelectorAll('*')) {
    if (element.value && ['INPUT', 'TEXTAREA'].includes(element.tagName)) texts.push(element.value);
    for (const name of ['title', 'aria-label', 'alt']) texts.push(element.getAttribute(name) ?? '');
    if (element.shadowRoot) walk(element.shadowRoot);
  }
};
walk(document.body);
"""
_SHOWS = "(wanted) => {" + _ALL_TEXT + "return texts.join('\\n').replace(/\\s+/g, ' ').includes(wanted); }"
_LIVE_MARKUP = """() => {
  const found = [];
  const walk = (root) => {
    for (const element of root.querySelectorAll('*')) {
      for (const { name, value } of element.attributes) {
        if (/^on/i.test(name) || /^\\s*javascript:/i.test(value)) found.push(element.outerHTML.slice(0, 200));
      }
      if (/evil\\.example/.test(`${element.src} ${element.href}`)) found.push(element.outerHTML.slice(0, 200));
      if (element.shadowRoot) walk(element.shadowRoot);
    }
  };
  walk(document.body);
  return found;
}"""


# Another site


class _OtherSite:
    """Pages on another port of this computer: for cookies the same site, so that they come with its requests."""

    def __init__(self) -> None:
        site = self
        self.html = ""

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(site.html.encode())

            def log_message(self, format: str, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def other_site() -> Iterator[_OtherSite]:
    """Another site, whose page a test writes."""
    site = _OtherSite()
    yield site
    site.close()


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("/sign-out", "application/x-www-form-urlencoded"),
        ("/password", "application/x-www-form-urlencoded"),
        ("/sign-in", "application/x-www-form-urlencoded"),
        ("/api/drafts/seed_x", "text/plain"),
        ("/sign-out", "multipart/form-data"),
    ],
)
def test_a_form_of_another_site_changes_nothing(
    chromium: Browser, hostile: Served, other_site: _OtherSite, target: str, kind: str
) -> None:
    account = actor(hostile.workspace, "bob").account_id
    body = json.dumps({"account": account, "writing": "w", "fields": {"question": "=not mine"}})
    name, _, rest = body.partition("=")
    other_site.html = (
        f"<form method=post action='{hostile.url}{target}' enctype='{kind}'>"
        f"<input name='{name}' value='{rest}'></form><script>document.forms[0].submit()</script>"
    )
    with window(chromium, hostile, "bob") as context:
        page = context.new_page()
        with page.expect_response(lambda response: response.url.startswith(hostile.url)) as answered:
            page.goto(other_site.url)
        assert answered.value.status == 403
        assert answered.value.request.headers["origin"] == other_site.url
        assert "cookie" in answered.value.request.all_headers(), "the browser sent the session along"
        open_at(page, hostile, "/my-account")
    assert DraftStore(hostile.workspace.acting_as(actor(hostile.workspace, "bob"))).read("seed_x").fields == {}


def test_scripts_of_another_site_read_and_open_nothing(
    chromium: Browser, hostile: Served, other_site: _OtherSite
) -> None:
    roi = list_rois(hostile.workspace)[0][0].id
    other_site.html = "<p>another site</p>"
    with window(chromium, hostile, "bob") as context:
        page = context.new_page()
        page.goto(other_site.url)
        for target in ("/api/session", "/", f"/api/rois/{roi}/image", "/_stcore/host-config"):
            said = page.evaluate(
                "(url) => fetch(url, { credentials: 'include' }).then((answer) => answer.text(), () => 'refused')",
                hostile.url + target,
            )
            assert said == "refused", target
        sent = page.evaluate(
            "(url) => fetch(url, { method: 'POST', mode: 'no-cors', credentials: 'include' })"
            ".then((answer) => answer.type, () => 'refused')",
            f"{hostile.url}/sign-out",
        )
        assert sent in ("opaque", "refused")
        ended = page.evaluate(
            """(url) => new Promise((done) => {
              const socket = new WebSocket(url, ['streamlit', 'xsrf']);
              socket.onopen = () => done('open');
              socket.onerror = () => done('refused');
            })""",
            f"{hostile.url.replace('http', 'ws')}/_stcore/stream",
        )
        assert ended == "refused"
        shown = page.evaluate(
            """(url) => new Promise((done) => {
              const image = new Image();
              image.onload = () => done(image.naturalWidth);
              image.onerror = () => done(0);
              image.src = url;
            })""",
            f"{hostile.url}/api/rois/{roi}/image",
        )
        assert shown == 0, "not even as a picture"
        page.evaluate(
            "(url) => { const f = document.createElement('iframe'); f.src = url; document.body.append(f); }",
            hostile.url,
        )
        page.wait_for_timeout(500)
        assert all(
            "Histocurator" not in frame.title() for frame in page.frames[1:] if frame.url.startswith(hostile.url)
        )
        open_at(page, hostile, "/my-account")
    with hostile.workspace.reading() as session:
        assert all(one.ended_because != "signed out" for one in session.exec(AccountSession.__table__.select()).all())  # type: ignore[attr-defined]


# Two people


@pytest.fixture
def shared(chromium: Browser, tmp_path: Path) -> Iterator[Served]:
    """A served workspace on which two authors work."""
    workspace = fill_with_items(new_workspace(tmp_path / "workspace"), tmp_path)
    for name in ("bob", "eve"):
        add_person(workspace, name, "author")
    with serving(workspace, tmp_path) as served:
        yield served
    workspace.engine.dispose()


def test_two_people_on_one_seed_lose_no_text(chromium: Browser, shared: Served) -> None:
    text = SeedText("Is this the first text?", "yes", "identify_pathology")
    # On the first ROI, which the page opens.
    seed = save_seed(shared.workspace, text, roi_id=list_rois(shared.workspace)[0][0].id, who="test")
    with window(chromium, shared, "bob") as first, window(chromium, shared, "eve") as second:
        pages = []
        for context, text in ((first, "Is this the text of bob?"), (second, "Is this the text of eve?")):
            page = context.new_page()
            open_at(page, shared, "/write-seeds")
            page.get_by_role("button", name="Edit", exact=True).first.click()
            question = page.get_by_label("Question, or a statement")
            expect(question).not_to_have_value("")
            question.fill(text)
            pages.append(page)
        save = [page.get_by_role("button", name="Save the change") for page in pages]
        save[0].click()
        expect(pages[0].get_by_text(re.compile(r"Saved \d\d:")).first).to_be_visible()
        save[1].click()
        two = pages[1].get_by_role("dialog")
        expect(two).to_contain_text("While you wrote, Bob saved another text at")
        for text in ("Is this the text of bob?", "Is this the text of eve?"):
            expect(two).to_contain_text(text)
        expect(pages[1].get_by_label("Question, or a statement")).to_have_value("Is this the text of eve?")
        assert _question(shared, seed.id) == "Is this the text of bob?"
        pages[1].wait_for_function(AT_REST)
        two.get_by_role("button", name="Keep mine, over Bob’s").click()
        expect(pages[1].get_by_text(re.compile(r"Saved \d\d:")).first).to_be_visible()
    assert _question(shared, seed.id) == "Is this the text of eve?"


def _question(served: Served, seed_id: str) -> str:
    return next(entry.seed.question for entry in list_seeds(served.workspace) if entry.seed.id == seed_id)


def test_two_people_on_one_item_lose_no_text(chromium: Browser, shared: Served) -> None:
    with window(chromium, shared, "bob") as first, window(chromium, shared, "eve") as second:
        pages = []
        for context, text in ((first, "What did bob write here?"), (second, "What did eve write here?")):
            page = context.new_page()
            open_at(page, shared, "/items")
            if pages:
                # The queue gives each another item; eve goes to that of bob all the same.
                page.get_by_role("button", name="Before").click()
                expect(page.get_by_text("Bob is on this until")).to_be_visible()
                page.wait_for_function(AT_REST)
            page.get_by_role("button", name=re.compile("^Edit")).click()
            stem = page.get_by_label("Stem (a question that ends with ?)")
            stem.fill(text)
            pages.append(page)
        press(pages[0], "Control+Enter")
        expect(pages[0].get_by_text(re.compile("Saved as v")).first).to_be_visible()
        press(pages[1], "Control+Enter")
        expect(pages[1].get_by_role("dialog")).to_contain_text("While you wrote, Bob saved another text at")
        stem = pages[1].get_by_label("Stem (a question that ends with ?)")
        expect(stem).to_have_value("What did eve write here?")
    stems = [entry.content.stem for entry in list_items(shared.workspace)]
    assert "What did bob write here?" in stems
    item = next(
        entry.item.id for entry in list_items(shared.workspace) if entry.content.stem.startswith("What did bob")
    )
    kept = DraftStore(shared.workspace.acting_as(actor(shared.workspace, "eve"))).read(f"edit_{item}")
    assert "What did eve write here?" in kept.fields.values()
