"""Single sign-on in Chromium, at a provider that runs on this machine."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from itsdangerous import URLSafeTimedSerializer
from playwright.sync_api import Browser, BrowserContext, Page, expect

from pipeline.people import close_account, end_sessions_of, find_account, list_people
from pipeline.workspace import Workspace
from tests.curator_app.provider import CLIENT, CLIENT_SECRET, NAME, TestProvider, running_provider, trusting
from tests.curator_app.served import Served, serving
from tests.databases import new_workspace

pytestmark = pytest.mark.browser

WAIT_MS = 20_000
KNOWN_SECRET = "a secret that lies about in a file"


@pytest.fixture(scope="module")
def provider() -> Iterator[TestProvider]:
    """A running provider."""
    with running_provider() as running:
        yield running


@pytest.fixture(scope="module")
def served(chromium: Browser, provider: TestProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A served workspace that trusts the provider."""
    folder = tmp_path_factory.mktemp("single_sign_on")
    _leave_configuration_about(folder)
    workspace = trusting(new_workspace(folder / "workspace"), folder, provider.url)
    with serving(workspace, folder) as running:
        yield running


def _leave_configuration_about(folder: Path) -> None:
    """Put files where Streamlit looks for some: none of them may decide on who somebody is."""
    (folder / ".streamlit").mkdir()
    (folder / ".streamlit" / "secrets.toml").write_text(f'[auth]\ncookie_secret = "{KNOWN_SECRET}"\n')
    (folder / ".streamlit" / "config.toml").write_text('[server.trustedUserHeaders]\nX-Subject = "sub"\n')


@contextmanager
def _browser(chromium: Browser) -> Iterator[Page]:
    """A person's own browser, with no cookies yet."""
    context = chromium.new_context(viewport={"width": 1024, "height": 768})
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    try:
        yield page
    finally:
        context.close()


def _go_to_provider(page: Page, served: Served, address: str = "/") -> None:
    page.goto(f"{served.url}{address}")
    page.get_by_role("link", name=f"Sign in with {NAME}").click()
    expect(page.get_by_placeholder("sub")).to_be_visible()


def _authorize(page: Page, subject: str) -> None:
    page.get_by_placeholder("sub").fill(subject)
    page.get_by_role("button", name="Authorize", exact=True).click()


def _signed_in(page: Page, heading: str) -> None:
    expect(page.get_by_role("heading", level=1, name=heading)).to_be_visible()


def _refused(page: Page, words: str) -> None:
    """Expect a page that says why, leads back, and leaves nothing of the provider behind."""
    expect(page.get_by_role("alert")).to_contain_text(words)
    assert _identity_cookies(page.context) == []
    page.get_by_role("link", name="Back to the sign-in").click()
    expect(page.get_by_label("Sign-in name")).to_be_visible()


def _identity_cookies(context: BrowserContext) -> list[str]:
    return [cookie["name"] for cookie in context.cookies() if str(cookie["name"]).startswith("_streamlit_user")]


def _roles(workspace: Workspace, name: str) -> list[str]:
    return next([role.value for role in person.roles] for person in list_people(workspace) if person.name == name)


def test_signing_in_leads_to_the_page_that_was_wanted(
    chromium: Browser, served: Served, provider: TestProvider
) -> None:
    provider.know("s-1", name="Pia Meyer", preferred_username="pia", groups=["pathologists", "staff"])
    with _browser(chromium) as page:
        _go_to_provider(page, served, "/write-seeds")
        _authorize(page, "s-1")
        _signed_in(page, "Write seeds")
        assert page.url == f"{served.url}/write-seeds"
        assert _identity_cookies(page.context) == []
        assert _roles(served.workspace, "pia") == ["author"]
        expect(page.get_by_test_id("stSidebar").get_by_text("Pia Meyer")).to_be_visible()
        page.goto(f"{served.url}/api/session")
        assert '"signed_in":true' in page.content()
    log = served.log.read_text()
    assert CLIENT_SECRET not in log
    assert "Traceback" not in log


def test_a_second_sign_in_is_the_same_account_with_the_roles_of_today(
    chromium: Browser, served: Served, provider: TestProvider
) -> None:
    provider.know("s-2", name="Ron", preferred_username="ron", groups=["readers"])
    for groups, roles in ((["readers"], ["reader"]), (["readers", "pathologists"], ["author", "reader"])):
        provider.know("s-2", name="Ron", preferred_username="ron", groups=groups)
        with _browser(chromium) as page:
            _go_to_provider(page, served)
            _authorize(page, "s-2")
            _signed_in(page, "Home")
        assert _roles(served.workspace, "ron") == roles
    assert [person.name for person in list_people(served.workspace) if person.name.startswith("ron")] == ["ron"]


def test_who_has_no_role_there_any_more_is_refused_in_words(
    chromium: Browser, served: Served, provider: TestProvider
) -> None:
    provider.know("s-3", preferred_username="tia", groups=["readers"])
    with _browser(chromium) as page:
        _go_to_provider(page, served)
        _authorize(page, "s-3")
        _signed_in(page, "Home")
    provider.know("s-3", preferred_username="tia", groups=[])
    with _browser(chromium) as page:
        _go_to_provider(page, served)
        _authorize(page, "s-3")
        _refused(page, "no role in this workspace any more")
    assert _roles(served.workspace, "tia") == []


def test_a_stranger_is_refused_in_words(chromium: Browser, served: Served) -> None:
    with _browser(chromium) as page:
        _go_to_provider(page, served)
        _authorize(page, "stranger")
        _refused(page, "no role in this workspace. Ask its administrator")
    assert "stranger" not in [person.name for person in list_people(served.workspace)]


def test_a_closed_account_is_refused_in_words(chromium: Browser, served: Served, provider: TestProvider) -> None:
    subject = f"s-4-{len(list_people(served.workspace))}"
    provider.know(subject, preferred_username=subject, groups=["readers"])
    with _browser(chromium) as page:
        _go_to_provider(page, served)
        _authorize(page, subject)
        _signed_in(page, "Home")
        close_account(served.workspace, subject, reason="left the institute", who="test")
        page.goto(served.url)
        expect(page.get_by_label("Sign-in name")).to_be_visible()
        _go_to_provider(page, served)
        _authorize(page, subject)
        _refused(page, "account in this workspace is closed")


def test_after_signing_out_nobody_is_let_in_again_by_themselves(
    chromium: Browser, served: Served, provider: TestProvider
) -> None:
    provider.know("s-5", preferred_username="uta", groups=["pathologists"])
    with _browser(chromium) as page:
        _go_to_provider(page, served)
        _authorize(page, "s-5")
        _signed_in(page, "Home")
        page.goto(f"{served.url}/sign-out")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Sign-in name")).to_be_visible()
        page.goto(served.url)
        expect(page.get_by_label("Sign-in name")).to_be_visible()
        assert page.url == f"{served.url}/sign-in"


def test_an_old_identity_cookie_does_not_open_a_second_session(
    chromium: Browser, served: Served, provider: TestProvider
) -> None:
    provider.know("s-6", preferred_username="vic", groups=["pathologists"])
    kept: list[dict[str, object]] = []
    with _browser(chromium) as page:
        _go_to_provider(page, served)
        page.route("**/sign-in/complete*", lambda route: (kept.extend(page.context.cookies()), route.continue_())[1])
        _authorize(page, "s-6")
        _signed_in(page, "Home")
    end_sessions_of(served.workspace, "vic", who="test")
    identity = [cookie for cookie in kept if str(cookie["name"]).startswith("_streamlit")]
    assert "_streamlit_user" in [cookie["name"] for cookie in identity]
    with _browser(chromium) as page:
        page.context.add_cookies(identity)  # type: ignore[arg-type]
        page.goto(served.url)
        _refused(page, "completed before")


def test_a_ticket_in_another_browser_opens_nothing(chromium: Browser, served: Served, provider: TestProvider) -> None:
    provider.know("s-7", preferred_username="wim", groups=["pathologists"])
    taken: list[str] = []
    with _browser(chromium) as page:
        _go_to_provider(page, served)
        page.route("**/sign-in/complete*", lambda route: (taken.append(route.request.url), route.abort())[1])
        with page.expect_event("requestfailed", lambda request: "/sign-in/complete" in request.url):
            _authorize(page, "s-7")
    with _browser(chromium) as thief:
        thief.goto(taken[0])
        _refused(thief, "another browser")
    assert "wim" not in [person.name for person in list_people(served.workspace)]


@pytest.mark.parametrize("secret", [KNOWN_SECRET, CLIENT_SECRET, ""])
def test_a_forged_identity_cookie_leads_to_the_sign_in(chromium: Browser, served: Served, secret: str) -> None:
    now = int(time.time())
    identity = {"iss": "x", "sub": "forged", "aud": CLIENT, "iat": now, "exp": now + 600, "groups": ["pathologists"]}
    content = json.dumps(identity | {"origin": served.url, "is_logged_in": True})
    forged = str(URLSafeTimedSerializer(secret, salt="_streamlit_user").dumps(content))
    with _browser(chromium) as page:
        page.context.add_cookies([{"name": "_streamlit_user", "value": forged, "url": served.url}])
        page.goto(served.url)
        expect(page.get_by_label("Sign-in name")).to_be_visible()
        assert page.url == f"{served.url}/sign-in"
    assert "forged" not in [person.name for person in list_people(served.workspace)]


def test_a_header_does_not_say_who_somebody_is(chromium: Browser, served: Served, provider: TestProvider) -> None:
    provider.know("s-10", preferred_username="zoe", groups=["readers"])
    with _browser(chromium) as page:
        _go_to_provider(page, served)
        page.set_extra_http_headers({"X-Subject": "the-subject-of-somebody-else"})
        _authorize(page, "s-10")
        _signed_in(page, "Home")
    account = find_account(served.workspace, "zoe")
    assert account is not None
    assert account.identity_subject == "s-10"


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another-app"},
        {"aud": ["another-app"], "azp": CLIENT},
        {"nonce": "of another sign-in"},
        {"iss": "https://other.example"},
        {"exp": 1},
        {"iat": 1_700_000_000},
    ],
    ids=["audience", "audience with our azp", "nonce", "issuer", "expired", "old"],
)
def test_a_token_that_is_not_meant_for_this_sign_in_is_refused(
    chromium: Browser, served: Served, provider: TestProvider, claims: dict[str, object]
) -> None:
    provider.know("s-8", preferred_username="xaver", groups=["pathologists"], **claims)
    with _browser(chromium) as page:
        _go_to_provider(page, served)
        _authorize(page, "s-8")
        _refused(page, "")
    assert "xaver" not in [person.name for person in list_people(served.workspace)]


def test_who_says_no_at_the_provider_reads_so(chromium: Browser, served: Served) -> None:
    with _browser(chromium) as page:
        _go_to_provider(page, served)
        page.get_by_role("button", name="Deny").click()
        _refused(page, f"Signing in with {NAME} was cancelled")


def test_a_callback_without_its_beginning_is_refused(chromium: Browser, served: Served) -> None:
    with _browser(chromium) as page:
        page.goto(f"{served.url}/oauth2callback?state=invented&code=invented")
        _refused(page, "was not accepted here")


def test_a_provider_that_is_down_is_said_in_words(chromium: Browser, tmp_path: Path) -> None:
    with running_provider() as gone:
        url = gone.url
    workspace = trusting(new_workspace(tmp_path / "workspace"), tmp_path, url)
    with serving(workspace, tmp_path) as served, _browser(chromium) as page:
        page.goto(served.url)
        page.get_by_role("link", name=f"Sign in with {NAME}").click()
        expect(page.get_by_role("heading", name=f"No way to {NAME}")).to_be_visible()
        _refused(page, "Try again in a few minutes")
        assert CLIENT_SECRET not in served.log.read_text()


def test_signing_in_under_another_name_of_this_computer_ends_at_the_known_one(
    chromium: Browser, served: Served, provider: TestProvider
) -> None:
    provider.know("s-9", preferred_username="yan", groups=["readers"])
    with _browser(chromium) as page:
        page.goto(f"http://localhost:{served.port}/my-account")
        page.get_by_role("link", name=f"Sign in with {NAME}").click()
        _authorize(page, "s-9")
        expect(page).to_have_url(f"{served.url}/my-account")
        _signed_in(page, "My account")
