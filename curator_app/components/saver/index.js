// Saves before a button is pressed. The click is held back while its save goes to the server; it is repeated, under
// one name of the act, until the server answers. Then the page hears of the click, with the act, and goes on.
// A save under way goes on where the page is left, and belongs to whatever stands in its place when the page is drawn
// anew: else a second click would save a second time.
const states = new WeakMap();
const mounted = new Set();
const underWay = new Map(); // by button and subject: what is to be said of a save

// Without a connection Streamlit disables every button. Those that save do so without it.
window.addEventListener("histocurator:away", () => { for (const saver of mounted) saver.enable(); });

/** Say how a save stands; null when it has ended. */
function say(button, subject, words) {
  const key = `${button} ${subject}`;
  if (words === null) underWay.delete(key);
  else underWay.set(key, words);
  for (const saver of mounted) saver.show();
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
    await askUntilAnswered(address, body, (words) => say(button, subject, words));
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
