"""A workspace for the app's tests, and a browser where there is one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright
from streamlit.testing.v1 import AppTest

from curator_app.session import use_workspace
from pipeline.workspace import Workspace
from tests.pipeline.conftest import drawn_slides, filled_folder, with_rois, with_seeds, with_slides, workspace

__all__ = ["drawn_slides", "filled_folder", "with_rois", "with_seeds", "with_slides", "workspace"]

CHROMIUM_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--force-prefers-reduced-motion",
]
REQUIRE_ALL = "HISTOCURATOR_REQUIRE_ALL"


@pytest.fixture(autouse=True)
def _own_main_module() -> Iterator[None]:
    """AppTest leaves its script as the main module, which later tests' child processes would run again."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


def open_page(workspace: Workspace, module: str) -> AppTest:
    """Run a page of the app on a workspace, without a browser."""
    use_workspace(workspace)
    script = f"from curator_app.pages import {module}\n{module}.show()\n"
    return AppTest.from_string(script, default_timeout=30).run()


def chromium_path() -> str | None:
    """Return the machine's Chromium, None where there is none."""
    return next((found for name in CHROMIUM_NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The machine's Chromium, without a window.

    Per module: while it runs, its event loop is in the way of tests that start their own.
    """
    path = chromium_path()
    if path is None:
        message = f"no Chromium ({', '.join(CHROMIUM_NAMES)}) on this machine; install Debian's chromium"
        if os.environ.get(REQUIRE_ALL) == "1":
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


BROWSER_TRIES = 4
"""On a busy machine a page can be drawn anew in the middle of a key or a word; a fault shows in every try."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests in a browser further tries."""
    for item in items:
        if item.get_closest_marker("browser") is not None:
            item.add_marker(pytest.mark.flaky(reruns=BROWSER_TRIES - 1))
