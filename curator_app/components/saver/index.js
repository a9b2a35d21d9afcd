// Saves before a button is pressed. The click is held back while its save goes to the server; it is repeated, under
// one name of the act, until the server answers. Then the page hears of the click, with the act, and goes on.
// A save under way goes on where the page is left, and belongs to whatever stands in its place when the page is drawn
// anew: else a second click would save a second time.
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15000;
const SHOWN_AFTER_MS = 400;
const ANSWER_WITHIN_MS = 20000;
const BACK = ["online", "histocurator:back", "histocurator:signed-in", "histocurator:answered"];
const states = new WeakMap();
const mounted = new Set();
const underWay = new Map(); // by button and subject: what is to be said of a save
const waiting = new Set();

// Without a connection Streamlit disables every button. Those that save do so without it.
window.addEventListener("histocurator:away", () => { for (const saver of mounted) saver.enable(); });
for (const name of BACK) window.addEventListener(name, () => { for (const go of waiting) go(); });

/** Say how a save stands; null when it has ended. */
function say(button, subject, words) {
  const key = `${button} ${subject}`;
  if (words === null) underWay.delete(key);
  else underWay.set(key, words);
  for (const saver of mounted) saver.show();
}

function pause(wait) {
  return new Promise((resolve) => {
    const go = () => {
      clearTimeout(timer);
      waiting.delete(go);
      resolve();
    };
    const timer = setTimeout(go, wait);
    waiting.add(go);
  });
}

/** Return why there is no answer yet, or null where there is one. */
async function ask(address, body) {
  const ended = new AbortController();
  const late = setTimeout(() => ended.abort(), ANSWER_WITHIN_MS);
  try {
    const answer = await fetch(address, { method: "POST", body, signal: ended.signal,
      headers: { "Content-Type": "application/json" } });
    // Read to its end: an answer that is cut off is none.
    const said = await answer.text();
    if (answer.status === 401) {
      window.dispatchEvent(new Event("histocurator:signed-out"));
      return "you are signed out";
    }
    if (answer.status < 500) return null;
    // Where it is the disk or the database, the server says so itself.
    return whyOf(said) ?? "the server does not answer";
  } catch {
    return "no connection";
  } finally {
    clearTimeout(late);
  }
}

function newAct() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function whyOf(said) {
  try {
    return JSON.parse(said).why;
  } catch {
    return undefined;
  }
}

class Saver {
  constructor(root) {
    root.innerHTML = `<p role="status" hidden></p>`;
    this.line = root.querySelector("p");
    this.passing = false;
    this.onClick = (event) => this.clicked(event);
    window.addEventListener("click", this.onClick, true);
    mounted.add(this);
  }

  holds(event) {
    const button = event.composedPath().find((element) => element.tagName === "BUTTON");
    return Boolean(button?.closest(`.st-key-${CSS.escape(this.data.button)}`));
  }

  clicked(event) {
    if (this.passing || !this.holds(event)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (!underWay.has(`${this.data.button} ${this.data.subject}`)) this.save();
  }

  enable() {
    const button = document.querySelector(`.st-key-${CSS.escape(this.data.button)} button[data-away]`);
    if (button) button.disabled = false;
  }

  body(act) {
    const texts = {};
    for (const [name, key] of Object.entries(this.data.texts)) {
      const shared = window.histocuratorTexts?.get(key);
      if (shared) texts[name] = shared.text();
    }
    for (const [name, { key, values }] of Object.entries(this.data.choices)) {
      const places = [...document.querySelectorAll(`.st-key-${CSS.escape(key)} input[type=radio]`)];
      const chosen = places.findIndex((place) => place.checked);
      if (chosen in values) texts[name] = values[chosen];
    }
    return JSON.stringify({ ...this.data.body, ...texts, act });
  }

  async save() {
    const { address, button, subject } = this.data;
    const act = newAct();
    const body = this.body(act);
    say(button, subject, "");
    const slow = setTimeout(() => say(button, subject, "Saving…"), SHOWN_AFTER_MS);
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      const why = await ask(address, body);
      clearTimeout(slow);
      if (why === null) {
        if (wait > FIRST_WAIT_MS) window.dispatchEvent(new Event("histocurator:answered"));
        break;
      }
      say(button, subject, `▲ Not saved yet: ${why}. Trying again…`);
      await pause(wait);
    }
    if (window.histocuratorConnection.isAway) {
      say(button, subject, "Saved. The page goes on when it is connected again.");
      await window.histocuratorConnection.untilBack();
    }
    say(button, subject, null);
    // None where the page was left.
    const here = [...mounted].find((saver) => saver.data.button === button);
    // The answer itself is not passed on: the page makes the same change under the same act and sees what came of it.
    here?.setStateValue("answered", { act, subject });
    if (here?.data.subject === subject) here.press(button);
  }

  press(key) {
    this.passing = true;
    document.querySelector(`.st-key-${CSS.escape(key)} button`)?.click();
    this.passing = false;
  }

  show() {
    const own = [...underWay].filter(([key, words]) => words && key.startsWith(`${this.data.button} `));
    this.line.textContent = own.at(-1)?.[1] ?? "";
    this.line.hidden = !this.line.textContent;
  }

  close() {
    mounted.delete(this);
    window.removeEventListener("click", this.onClick, true);
  }
}

export default function ({ data, parentElement, setStateValue }) {
  let saver = states.get(parentElement);
  if (!saver) {
    saver = new Saver(parentElement.querySelector(".root"));
    states.set(parentElement, saver);
  }
  saver.data = data;
  saver.setStateValue = setStateValue;
  saver.show();
  return () => {
    saver.close();
    states.delete(parentElement);
  };
}
