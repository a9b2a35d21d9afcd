// While a page has no connection, Streamlit opens a dialog, which takes the keyboard out of the field that somebody
// types in, and disables all buttons. Here the dialog is closed before a key can go astray, a line says what is the
// matter, and the page's own parts hear of it: `histocurator:away` and `histocurator:back`, and
// `histocuratorConnection.isAway`. What was disabled for this reason alone carries `data-away`.
window.histocuratorConnection = (() => {
  const CONNECTED = "CONNECTED";
  const STATE = "data-test-connection-state";
  const TITLE = "Connection error";
  const SHOWN_AFTER_MS = 1500;
  const KEPT = "The server cannot be reached. What you type is kept in this browser, and what you save is asked for " +
    "again until the server answers.";
  let wasConnected = false;
  let isAway = false;
  let typedIn = null;
  let line = null;
  let timer = 0;

  function stateNow() {
    return document.querySelector("[data-testid=stApp]")?.getAttribute(STATE);
  }

  function focused() {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    return element;
  }

  function say(words) {
    if (!line) {
      const host = document.createElement("div");
      host.id = "histocurator-connection";
      const root = host.attachShadow({ mode: "open" });
      root.innerHTML = `<style>p { position: fixed; z-index: 1000000; left: 50%; top: 8px; transform: translateX(-50%);
        box-sizing: border-box; margin: 0; max-width: min(46rem, calc(100vw - 24px)); padding: 8px 14px;
        border: 1px solid; border-radius: 6px; background: #fff; color: #5b3a00;
        font: 14px/1.4 "Source Sans", system-ui, sans-serif; }
        p:empty { display: none; } @media (prefers-color-scheme: dark) { p { background: #1b2126; color: #ffd591; } }
        </style><p role="status"></p>`;
      line = root.querySelector("p");
      document.body.append(host);
    }
    line.textContent = words;
  }

  function away() {
    isAway = true;
    timer = setTimeout(() => say(`▲ ${KEPT}`), SHOWN_AFTER_MS);
    window.dispatchEvent(new Event("histocurator:away"));
  }

  function back() {
    isAway = false;
    clearTimeout(timer);
    if (line) say("");
    for (const button of document.querySelectorAll("[data-away]")) button.removeAttribute("data-away");
    window.dispatchEvent(new Event("histocurator:back"));
  }

  function closeDialog() {
    for (const dialog of document.querySelectorAll("[role=dialog]")) {
      if (dialog.querySelector("h2")?.textContent !== TITLE) continue;
      dialog.querySelector("button[aria-label=Close]")?.click();
      // It gives the focus to nobody: the person goes on where they were.
      for (const wait of [0, 50, 200]) setTimeout(giveBack, wait);
    }
  }

  function isStray(element) {
    if (!element || element === document.body || element === document.documentElement) return true;
    return element.closest?.("[role=dialog]")?.querySelector("h2")?.textContent === TITLE;
  }

  /** Focus the field that the dialog took the focus from; returns whether it did. */
  function giveBack() {
    if (!typedIn?.isConnected || !isStray(focused())) return false;
    typedIn.focus({ preventScroll: true });
    return true;
  }

  function changed(records) {
    const connected = stateNow() === CONNECTED;
    if (connected && isAway) back();
    if (!connected && !isAway && wasConnected) away();
    wasConnected ||= connected;
    if (!isAway) return;
    closeDialog();
    for (const { target, attributeName, oldValue } of records) {
      if (attributeName === "disabled" && oldValue === null && target.disabled) target.setAttribute("data-away", "");
    }
    if (records.some(({ attributeName }) => attributeName === "disabled")) {
      window.dispatchEvent(new Event("histocurator:away"));
    }
  }

  // The dialog's own focus does not count.
  window.addEventListener("focusin", () => {
    const element = focused();
    if (!element.closest?.("[role=dialog]")) typedIn = element;
  }, true);
  window.addEventListener("pointerdown", (event) => {
    if (!event.composedPath().includes(typedIn)) typedIn = null;
  }, true);
  // A key that comes while the dialog opens or closes: a character goes where the focus is after this listener, and is
  // no shortcut of the page.
  window.addEventListener("keydown", (event) => {
    if (!isAway || !giveBack()) return;
    if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) event.stopImmediatePropagation();
  }, true);
  document.addEventListener("DOMContentLoaded", () => {
    new MutationObserver(changed).observe(document.body, { subtree: true, childList: true, attributes: true,
      attributeOldValue: true, attributeFilter: [STATE, "disabled"] });
  });

  /** Wait until the page is connected and has been drawn. */
  async function untilBack() {
    for (let quiet = 0; quiet < 6;) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      const app = document.querySelector("[data-testid=stApp]");
      const rests = app?.getAttribute(STATE) === CONNECTED && app.getAttribute("data-test-script-state") === "notRunning";
      quiet = rests ? quiet + 1 : 0;
    }
  }

  return { get isAway() { return isAway; }, untilBack };
})();
