// Text of several lines that loses nothing. What is typed goes to the server as a draft 300 ms after the last key, and
// at once when the field or the page is left. Until the server has it, it stands in this browser as well (unsent.js),
// where the next page finds and sends it, whatever became of the tab.
const PAUSE_MS = 300;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30000;
const KEPT_ALIVE_BYTES = 60000; // browsers let no more than 64 KiB outlive their page
const COUNTED_FROM = 0.9; // of the longest text
const REFUSED = [413, 422];
const states = new WeakMap();
const drafts = new Map();
const fields = new Set();
let lastNumber = 0;

/** One act of writing: the texts that the server does not have yet, and whether it can be reached. */
class Draft {
  constructor(place) {
    this.place = place;
    this.unsent = {};
    this.state = { kind: "quiet" };
    this.timer = 0;
    this.wait = FIRST_WAIT_MS;
    this.sending = 0;
    this.shown = null;
    this.number = 0;
  }

  body() {
    const { account, writing } = this.place;
    return JSON.stringify({ account, writing, fields: this.unsent, number: this.number });
  }

  type(field, text) {
    this.unsent[field.data.draft.field] = text;
    // When it was typed, not when it is sent again: an older text that arrives late is told by it, also one of another
    // tab. Never lower than before.
    this.number = lastNumber = Math.max(lastNumber + 1, Date.now());
    this.shown = field;
    this.keep();
    this.sendIn(PAUSE_MS);
  }

  keep() {
    const body = Object.keys(this.unsent).length ? this.body() : null;
    this.isKept = window.histocuratorUnsent.keep(this.place, body);
  }

  sendIn(pause) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), pause);
  }

  async send() {
    clearTimeout(this.timer);
    if (!Object.keys(this.unsent).length) return;
    const sent = { ...this.unsent };
    const body = this.body();
    this.sending += 1;
    try {
      const answer = await fetch(`/api/drafts/${this.place.name}`, { method: "POST", body,
        keepalive: new Blob([body]).size < KEPT_ALIVE_BYTES, headers: { "Content-Type": "application/json" } });
      await this.heard(answer, sent);
    } catch {
      this.failed("no connection");
    } finally {
      this.sending -= 1;
    }
  }

  async heard(answer, sent) {
    if (answer.ok) {
      const { kept, at } = await answer.json();
      this.forget(sent);
      const wasAway = this.wait > FIRST_WAIT_MS;
      this.wait = FIRST_WAIT_MS;
      // What else could not be sent goes at once, and need not wait for its time.
      if (wasAway) window.dispatchEvent(new Event("histocurator:answered"));
      this.say(kept ? { kind: "saved", at } : { kind: "quiet" });
    } else if (REFUSED.includes(answer.status)) {
      this.forget(sent);
      const { error } = await answer.json();
      this.say({ kind: "refused", why: error });
    } else if (answer.status === 401) {
      this.say({ kind: "unsent", why: "you are signed out" });
      window.dispatchEvent(new Event("histocurator:signed-out"));
    } else {
      // Where it is the disk or the database, the server says so itself.
      const { why } = await answer.json().catch(() => ({}));
      this.failed(why ?? "the server does not answer");
    }
  }

  forget(sent) {
    for (const [name, text] of Object.entries(sent)) {
      if (this.unsent[name] === text) delete this.unsent[name];
    }
    this.keep();
  }

  failed(why) {
    this.say({ kind: "unsent", why });
    this.sendIn(this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT_MS);
  }

  say(state) {
    this.state = state;
    for (const field of fields) field.showState();
  }
}

function draftOf(place) {
  const key = `${place.account} ${place.name} ${place.writing}`;
  if (!drafts.has(key)) drafts.set(key, new Draft(place));
  return drafts.get(key);
}

function sendAll() {
  for (const draft of drafts.values()) draft.send();
}

function handOverAll() {
  for (const field of fields) field.handOver();
}

let pointerIsDown = false;
window.addEventListener("pointerdown", () => { pointerIsDown = true; }, true);
for (const kind of ["pointerup", "pointercancel"]) {
  window.addEventListener(kind, () => {
    pointerIsDown = false;
    // After the click, if one follows.
    setTimeout(() => { for (const field of fields) field.handOverIfLeft(); });
  }, true);
}
// Before the page hears of a click, by whatever means it was made: its text arrives with the button, never after it.
window.addEventListener("click", handOverAll, true);
window.addEventListener("pagehide", sendAll);
document.addEventListener("visibilitychange", sendAll);
window.addEventListener("online", sendAll);
window.addEventListener("histocurator:signed-in", sendAll);
window.addEventListener("histocurator:answered", sendAll);

class Field {
  constructor(root) {
    this.root = root;
    root.classList.add("text-field");
    root.innerHTML = `<label for="text"></label><textarea id="text" spellcheck="true" aria-describedby="help"></textarea>
      <div class="below"><span id="help" class="help"></span><span class="state" aria-hidden="true"></span>
      <span class="count"></span><span class="hidden" role="status"></span></div>`;
    this.label = root.querySelector("label");
    this.area = root.querySelector("textarea");
    this.help = root.querySelector(".help");
    this.stateLine = root.querySelector(".state");
    this.count = root.querySelector(".count");
    this.spoken = root.querySelector("[role=status]");
    this.given = null;
    this.composing = false;
    this.area.addEventListener("input", () => this.typed());
    this.area.addEventListener("compositionstart", () => { this.composing = true; });
    this.area.addEventListener("compositionend", () => {
      this.composing = false;
      if (this.later) this.update(this.later);
    });
    this.area.addEventListener("blur", () => this.handOverIfLeft());
    this.area.addEventListener("keydown", (event) => this.onKey(event));
    fields.add(this);
  }

  update(data) {
    if (this.composing && data.revision !== this.data.revision) {
      this.later = data;
      return;
    }
    this.later = null;
    const before = this.data;
    this.data = data;
    this.draft = data.draft && draftOf(data.draft);
    this.label.textContent = data.label;
    this.help.textContent = data.help;
    if (data.submits) this.area.dataset.submits = data.submits;
    this.area.rows = data.rows;
    this.area.placeholder = data.placeholder;
    this.area.style.setProperty("--rows", data.rows);
    if (before?.revision !== data.revision) this.take(before);
    this.share(before?.key);
    this.showCount();
    this.showState();
  }

  /** Python sends another text. Where it asked for none, one that was typed and that it does not have yet stays. */
  take(before) {
    const unsent = this.draft?.unsent[this.data.draft.field];
    const asked = before && !this.data.first;
    if (asked) delete this.draft?.unsent[this.data.draft.field];
    // One place may show one text after the other: what was typed last belongs to the one before.
    const same = before && before.key === this.data.key;
    const mine = unsent ?? (same && this.area.value !== this.given ? this.area.value : undefined);
    const typed = asked ? undefined : mine;
    this.given = this.data.text;
    if (this.area.value !== (typed ?? this.data.text)) this.area.value = typed ?? this.data.text;
    if (typed !== undefined) this.handOver();
  }

  typed() {
    this.draft?.type(this, this.area.value);
    this.showCount();
    this.showState();
  }

  /** Other components of the page, such as what saves a form, ask here for the text. */
  share(former) {
    const texts = (window.histocuratorTexts ??= new Map());
    if (former !== this.data.key && texts.get(former)?.field === this) texts.delete(former);
    texts.set(this.data.key, { field: this, text: () => this.area.value });
  }

  handOver() {
    if (!this.data || this.area.value === this.given) return;
    this.given = this.area.value;
    this.draft?.send();
    this.setStateValue("typed", { text: this.area.value, revision: this.data.revision, number: this.draft?.number || lastNumber });
  }

  handOverIfLeft() {
    if (!pointerIsDown && this.root.getRootNode().activeElement !== this.area) this.handOver();
  }

  onKey(event) {
    // Streamlit has keys of its own (r, c) and does not see that somebody types in here.
    if (event.key.length === 1 && !event.ctrlKey && !event.metaKey) event.stopPropagation();
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    this.handOver();
    if (this.data.submits) document.querySelector(`.st-key-${CSS.escape(this.data.submits)} button`)?.click();
  }

  showCount() {
    const length = [...this.area.value].length;
    const { limit } = this.data;
    const words = `${length.toLocaleString("en")} of ${limit.toLocaleString("en")} characters`;
    this.count.textContent = length <= COUNTED_FROM * limit ? ""
      : length <= limit ? words : `▲ ${words}: ${(length - limit).toLocaleString("en")} too many`;
    this.area.setAttribute("aria-invalid", length > limit);
  }

  showState() {
    const state = this.draft?.shown === this || this.draft?.shown?.data.draft.field === this.data.draft?.field
      ? this.draft?.state : undefined;
    const typing = this.draft && this.data.draft.field in this.draft.unsent;
    const kept = this.draft?.isKept === false ? "leave this tab open" : "kept in this browser";
    const words = {
      saved: () => (typing ? "…" : `✓ draft saved ${state.at}`),
      unsent: () => `▲ not saved yet: ${state.why}, ${kept}`,
      refused: () => `▲ not kept as a draft: ${state.why}`,
    }[state?.kind]?.() ?? "";
    this.stateLine.textContent = words;
    this.stateLine.dataset.kind = state?.kind ?? "quiet";
    // Saving every few words is no news for who listens; that it fails is.
    const spoken = ["unsent", "refused"].includes(state?.kind) ? words : "";
    if (this.spoken.textContent !== spoken) this.spoken.textContent = spoken;
  }

  close() {
    this.handOver();
    this.draft?.send();
    fields.delete(this);
    if (window.histocuratorTexts?.get(this.data?.key)?.field === this) window.histocuratorTexts.delete(this.data.key);
  }
}

export default function ({ data, parentElement, setStateValue }) {
  let field = states.get(parentElement);
  if (!field) {
    field = new Field(parentElement.querySelector(".root"));
    states.set(parentElement, field);
  }
  field.setStateValue = setStateValue;
  field.update(data);
  return () => {
    field.close();
    states.delete(parentElement);
  };
}
