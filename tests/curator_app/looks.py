"""What is wrong with a page as a browser shows it: clipped texts, controls without a name, broken pictures."""

from __future__ import annotations

from playwright.sync_api import Page

PICTURE_PATIENCE = 60
"""How many quarters of a second a busy machine may take for the pictures of a page."""

_COLLECT = """
const all = [];
const walk = (root) => {
  for (const element of root.querySelectorAll('*')) {
    all.push(element);
    if (element.shadowRoot) walk(element.shadowRoot);
  }
};
walk(document);
const shown = (element) => {
  const box = element.getBoundingClientRect();
  const seen = { opacityProperty: true, visibilityProperty: true };
  return box.width > 1 && box.height > 1 && element.checkVisibility(seen);
};
"""

_CLIPPED = (
    "() => {"
    + _COLLECT
    + """
  const faults = [];
  for (const element of all) {
    const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join('');
    if (!text || !shown(element) || ['STYLE', 'SCRIPT'].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    // Text that wraps anywhere and ends after so many lines is shortened on purpose; its ellipsis counts as width.
    const shortened = style.webkitLineClamp !== 'none' && style.overflowWrap === 'anywhere';
    const hides = style.overflowX !== 'visible' && !shortened;
    if (hides && element.scrollWidth > element.clientWidth + 1) faults.push('cut off: ' + text.slice(0, 60));
    const box = element.getBoundingClientRect();
    if (box.right > innerWidth + 1) faults.push('beyond the right edge: ' + text.slice(0, 60));
  }
  for (const element of all.filter((e) => e.tagName === 'BUTTON' && shown(e))) {
    const high = element.scrollHeight > element.clientHeight + 2;
    if (high) faults.push('too low for its text: ' + element.textContent.slice(0, 60));
  }
  if (document.documentElement.scrollWidth > innerWidth + 1) faults.push('the page scrolls sideways');
  return faults;
}"""
)

_UNNAMED = (
    "() => {"
    + _COLLECT
    + """
  const named = (e) => {
    const by = (e.getAttribute('aria-labelledby') || '').split(' ').filter(Boolean);
    const labels = by.map((id) => e.getRootNode().getElementById(id)?.textContent || '').join('');
    const own = e.labels ? [...e.labels].map((l) => l.textContent).join('') : '';
    return (e.getAttribute('aria-label') || labels || own || e.textContent || e.title || '').trim() !== '';
  };
  const controls = 'button, a[href], input:not([type=hidden]), textarea, select, [role=button], [role=img]';
  return all.filter((e) => e.matches(controls) && shown(e) && !named(e)).map((e) => e.outerHTML.slice(0, 160));
}"""
)

_BROKEN = (
    "() => {"
    + _COLLECT
    + """
  return all.filter((e) => e.tagName === 'IMG' && shown(e) && !(e.complete && e.naturalWidth > 0))
    .map((e) => e.src);
}"""
)


def clipped_texts(page: Page) -> list[str]:
    """Return texts that are cut off or lie beyond the window's right edge."""
    faults: list[str] = page.evaluate(_CLIPPED)
    return faults


def unnamed_controls(page: Page) -> list[str]:
    """Return controls and pictures that a screen reader would have no name for."""
    faults: list[str] = page.evaluate(_UNNAMED)
    return faults


def broken_pictures(page: Page) -> list[str]:
    """Return the addresses of visible pictures that did not load, after giving them time to."""
    faults: list[str] = page.evaluate(_BROKEN)
    for _ in range(PICTURE_PATIENCE):
        if not faults:
            break
        page.wait_for_timeout(250)
        faults = page.evaluate(_BROKEN)
    return faults


AT_REST = """async () => {
    // A script that is about to run again is at rest for a moment too; a key pressed then is lost.
    const app = document.querySelector("[data-testid=stApp]");
    for (let quiet = 0; quiet < 10; quiet += 1) {
        if (app?.getAttribute("data-test-script-state") !== "notRunning") return false;
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return true;
}"""


def press(page: Page, key: str) -> None:
    """Press a key once the page is at rest: while it is being drawn, a key finds no button."""
    page.wait_for_function(AT_REST)
    page.keyboard.press(key)
